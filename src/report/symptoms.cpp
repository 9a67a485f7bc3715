#include "railyard/metrics/symptoms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sections.hpp"

namespace railyard::report {

namespace {

using metrics::Finding;

/// What one symptom of one cause looks like under the policies that show it.
struct ShownSymptom {
  const metrics::SymptomDescription* symptom = nullptr;
  std::string policies;
  std::size_t count = 0;  ///< of them
  Finding least;
  Finding most;
};

std::string percent(double share) {
  return fmt::format("{:.3g}", share * 100);
}

/// "12.5 %", "12.5 to 14 %" between two.
std::string between(double a, double b) {
  const std::string low = percent(std::min(a, b));
  const std::string high = percent(std::max(a, b));
  return low == high ? low + " %" : fmt::format("{} to {} %", low, high);
}

std::string part_text(const ShownSymptom& shown) {
  const auto& cause = *shown.most.cause;
  const double a = shown.least.part;
  const double b = shown.most.part;
  // Counts stand for themselves; shares read as per cent.
  const bool count = cause.key == "preemptions" || cause.key == "failures";
  if (!count) return fmt::format("{} {}", between(a, b), cause.part);
  return a == b ? fmt::format("{} {}", a, cause.part)
                : fmt::format("{} to {} {}", std::min(a, b), std::max(a, b), cause.part);
}

}  // namespace

std::vector<std::string> symptoms(const metrics::RunResult& result) {
  // By cause: policies that show the same stand in one sentence.
  std::map<const metrics::CauseDescription*, ShownSymptom> all;
  for (const auto& policy : result.policies) {
    for (const Finding& found : metrics::findings_of(policy)) {
      auto [at, first] = all.try_emplace(found.cause);
      ShownSymptom& shown = at->second;
      shown.symptom = found.symptom;
      shown.policies += (first ? "" : ", ") + policy.name;
      ++shown.count;
      if (first || found.value < shown.least.value) shown.least = found;
      if (first || found.value > shown.most.value) shown.most = found;
    }
  }
  std::vector<std::string> out;
  for (const auto& [cause, shown] : all) {
    const Finding& worst = shown.symptom->below ? shown.least : shown.most;
    const std::uint32_t others = std::max(shown.least.jobs, shown.most.jobs) - 1;
    out.push_back(fmt::format(
        "{}: {} of \"{}\"{}: {} is {}, {} {:g} %; cause: {}, {}; remedy: {}",
        shown.count == result.policies.size() ? "every policy" : shown.policies,
        shown.symptom->title, worst.job,
        others > 0 ? fmt::format(" (and of {} more)", others) : std::string(), cause->measure,
        between(shown.least.value, shown.most.value), shown.symptom->below ? "below" : "above",
        shown.symptom->bound * 100, cause->title, part_text(shown), cause->remedy));
  }
  return out;
}

}  // namespace railyard::report
