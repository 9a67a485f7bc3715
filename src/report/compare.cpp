#include "railyard/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "railyard/core/check.hpp"

namespace railyard::report {

namespace {

// Ordered: policies keep the order of the file.
using Json = nlohmann::ordered_json;

/// A value of the file with its pointer, for messages.
class Value {
 public:
  Value(const Json& json, std::string file, std::string pointer)
      : json_(json), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[nodiscard]] Value at(const std::string& key) const {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    if (found == json_.end()) fail(fmt::format("the key \"{}\" is missing", key));
    return {*found, file_, pointer_ + "/" + key};
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) fail("expected a string");
    return json_.get<std::string>();
  }
  [[nodiscard]] std::optional<double> number() const {
    if (json_.is_null()) return std::nullopt;
    if (!json_.is_number()) fail("expected a number or null");
    return json_.get<double>();
  }
  template <typename Integer>
  [[nodiscard]] std::optional<Integer> integer() const {
    if (json_.is_null()) return std::nullopt;
    if (!json_.is_number_unsigned()) fail("expected a whole number or null");
    return json_.get<Integer>();
  }
  /// Calls with every member (objects) or element (arrays) and its key or index.
  template <typename Use>
  void each(Use use) const {
    if (!json_.is_structured()) fail("expected an object or an array");
    for (const auto& [key, element] : json_.items())
      use(key, Value(element, file_, pointer_ + "/" + key));
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> out;
    each([&out](const std::string&, const Value& element) { out.push_back(element.text()); });
    return out;
  }
  [[nodiscard]] bool is_null() const { return json_.is_null(); }
  [[noreturn]] void fail(const std::string& what) const {
    throw ResultError(fmt::format("{} {}: {}", file_, pointer_.empty() ? "/" : pointer_, what));
  }

 private:
  const Json& json_;
  std::string file_;
  std::string pointer_;
};

metrics::JobResult read_job(const Value& value) {
  metrics::JobResult job;
  job.name = value.at("name").text();
  job.gpus = value.at("gpus").integer<std::uint32_t>().value_or(0);
  job.status = value.at("status").text();
  job.submit_s = value.at("submit_s").number();
  job.start_s = value.at("start_s").number();
  job.finish_s = value.at("finish_s").number();
  job.iteration_s = value.at("iteration_s").number();
  job.iteration_s_min = value.at("iteration_s_min").number();
  job.iteration_s_max = value.at("iteration_s_max").number();
  job.slowdown = value.at("slowdown").number();
  job.spread_dp_max = value.at("spread_dp_max").integer<std::uint32_t>();
  job.spread_pp_max = value.at("spread_pp_max").integer<std::uint32_t>();
  job.minipods = value.at("minipods").integer<std::uint32_t>();
  job.leaves = value.at("leaves").integer<std::uint32_t>();
  return job;
}

metrics::LinkResult read_link(const Value& value) {
  metrics::LinkResult link;
  link.name = value.at("name").text();
  link.tier = value.at("tier").text();
  link.bytes = value.at("bytes").number().value_or(0);
  link.utilization = value.at("utilization").number().value_or(0);
  link.busy_share = value.at("busy_share").number().value_or(0);
  link.binding_share = value.at("binding_share").number().value_or(0);
  return link;
}

metrics::PolicyResult read_policy(const std::string& name, const Value& value) {
  metrics::PolicyResult policy;
  policy.name = name;
  const Value metrics = value.at("metrics");
  for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
    const std::string key(metrics::metric_catalog()[i].key);
    policy.metrics.set(static_cast<metrics::Metric>(i), metrics.at(key).number());
  }
  const Value attribution = metrics.at("attribution");
  if (!attribution.is_null()) {
    metrics::Attribution parts;
    for (const auto& part : metrics::attribution_parts()) {
      const double seconds = attribution.at(std::string(part.key)).number().value_or(0);
      if (!(seconds >= 0)) attribution.fail("a part of an iteration cannot be negative");
      parts.*part.member = from_seconds(seconds);  // exact: it was written from ticks
    }
    policy.attribution = parts;
  }
  value.at("jobs").each(
      [&](const std::string&, const Value& job) { policy.jobs.push_back(read_job(job)); });
  value.at("links").each(
      [&](const std::string&, const Value& link) { policy.links.push_back(read_link(link)); });
  policy.warnings = value.at("warnings").texts();
  policy.placement = value.at("placement").text();
  return policy;
}

std::string percent_text(double before, double after) {
  if (before == 0.0) return fmt::format("{:+}", after);
  const double percent = (after / before - 1) * 100;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 0.01 ? 6 : 2);
}

}  // namespace

metrics::RunResult parse_result(const std::string& text, const std::string& name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw ResultError(fmt::format("{}: not JSON: {}", name, error.what()));
  }
  const Value root(json, name, "");
  metrics::RunResult result;
  result.version = root.at("railyard").text();
  result.scenario = root.at("scenario").text();
  result.seed = root.at("seed").integer<std::uint64_t>().value_or(0);
  result.digest = root.at("digest").text();
  result.baseline = root.at("baseline").text();
  root.at("policies").each([&](const std::string& policy, const Value& value) {
    result.policies.push_back(read_policy(policy, value));
  });
  const auto is_baseline = [&](const auto& policy) { return policy.name == result.baseline; };
  if (std::none_of(result.policies.begin(), result.policies.end(), is_baseline)) {
    root.at("baseline").fail(fmt::format("no policy is named \"{}\"", result.baseline));
  }
  result.notes = root.at("notes").texts();
  result.description = root.at("description").text();
  return result;
}

metrics::RunResult read_result(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? path / "result.json" : path;
  if (!fs::exists(file, ignored)) throw ResultError(fmt::format("{}: no such file", file.string()));
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) throw IoError(fmt::format("{}: cannot be read", file.string()));
  return parse_result(text, file.string());
}

double Tolerances::of(std::string_view metric) const {
  for (const std::string_view key : {metric, std::string_view("*")}) {
    if (const auto found = relative.find(key); found != relative.end()) return found->second;
  }
  return 0;
}

std::string Difference::change() const {
  if (metric.empty() || !before || !after)
    return before || (metric.empty() && !after) ? "vanished" : "appeared";
  return percent_text(*before, *after);
}

std::vector<Difference> compare(const metrics::RunResult& before, const metrics::RunResult& after,
                                const Tolerances& tolerances) {
  std::vector<Difference> out;
  const auto find = [](const metrics::RunResult& result, const std::string& name) {
    const auto at = std::find_if(result.policies.begin(), result.policies.end(),
                                 [&name](const auto& policy) { return policy.name == name; });
    return at == result.policies.end() ? nullptr : &*at;
  };
  const auto moved = [&](std::string_view metric, std::optional<double> a,
                         std::optional<double> b) {
    if (a.has_value() != b.has_value()) return true;
    if (!a || *a == *b) return false;
    return !(std::abs(*a - *b) <= tolerances.of(metric) * std::abs(*a));
  };
  for (const metrics::PolicyResult& old : before.policies) {
    const metrics::PolicyResult* now = find(after, old.name);
    if (now == nullptr) {
      out.push_back({old.name, "", std::nullopt, std::nullopt});
      continue;
    }
    for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
      const auto metric = static_cast<metrics::Metric>(i);
      const std::string key(metrics::metric_catalog()[i].key);
      const auto a = old.metrics.get(metric);
      const auto b = now->metrics.get(metric);
      if (moved(key, a, b)) out.push_back({old.name, key, a, b});
    }
    for (const auto& part : metrics::attribution_parts()) {
      const auto seconds = [&part](const metrics::PolicyResult& policy) -> std::optional<double> {
        if (!policy.attribution) return std::nullopt;
        return in_seconds((*policy.attribution).*part.member);
      };
      const std::string key = fmt::format("attribution_{}_s", part.key);
      if (moved(key, seconds(old), seconds(*now)))
        out.push_back({old.name, key, seconds(old), seconds(*now)});
    }
  }
  for (const metrics::PolicyResult& policy : after.policies) {
    if (find(before, policy.name) == nullptr) out.push_back({policy.name, "", std::nullopt, 1.0});
  }
  return out;
}

}  // namespace railyard::report
