#include "scheduler/unit_greedy.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

class Greedy {
 public:
  Greedy(const UnitProblem& problem, const GreedySettings& settings)
      : problem_(problem),
        settings_(settings),
        left_(problem.free_hosts.begin(), problem.free_hosts.end()),
        used_(problem.free_hosts.size(), false) {}

  UnitAssignment run() {
    UnitAssignment assignment;
    for (std::uint32_t unit = 0; unit < problem_.units; ++unit) {
      std::vector<UnitPart> parts = least_growth();
      for (const UnitPart& part : parts) {
        left_[part.minipod] -= part.hosts;
        used_[part.minipod] = true;
      }
      spread_ = std::max(spread_, static_cast<std::uint32_t>(parts.size()));
      assignment.units.push_back(std::move(parts));
    }
    measure(assignment, problem_.free_hosts.size());
    return assignment;
  }

 private:
  /// What the objective becomes with the unit there.
  [[nodiscard]] double objective(const std::vector<UnitPart>& parts) const {
    auto minipods = static_cast<double>(std::ranges::count(used_, true));
    for (const UnitPart& part : parts) minipods += used_[part.minipod] ? 0 : 1;
    const double spread = std::max(spread_, static_cast<std::uint32_t>(parts.size()));
    const double of_minipods = settings_.w_minipods * minipods;
    const double of_spread = settings_.w_spread * spread;
    return settings_.larger_of_the_two ? std::max(of_minipods, of_spread) : of_minipods + of_spread;
  }

  /// The whole unit in one minipod, used or fresh.
  [[nodiscard]] std::optional<std::vector<UnitPart>> whole(bool used) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t m = 0; m < left_.size(); ++m) {
      if (used_[m] != used || left_[m] < problem_.unit_size) continue;
      if (!best || (used ? left_[m] < left_[*best] : left_[m] > left_[*best])) best = m;
    }
    if (!best) return std::nullopt;
    return std::vector<UnitPart>{{*best, problem_.unit_size}};
  }

  /// Over the rest of used minipods, most left first, then of fresh ones.
  [[nodiscard]] std::vector<UnitPart> divided() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t m = 0; m < left_.size(); ++m) order.push_back(m);
    std::ranges::sort(order, [this](std::uint32_t a, std::uint32_t b) {
      return std::tuple(!used_[a], left_[b], a) < std::tuple(!used_[b], left_[a], b);
    });
    std::vector<UnitPart> parts;
    std::uint32_t wanted = problem_.unit_size;
    for (const std::uint32_t m : order) {
      const std::uint32_t hosts = std::min(wanted, left_[m]);
      if (hosts == 0) continue;
      parts.push_back({m, hosts});
      wanted -= hosts;
    }
    RAILYARD_CHECK(wanted == 0, "{} hosts of a unit find no place", wanted);
    return parts;
  }

  [[nodiscard]] std::vector<UnitPart> least_growth() const {
    constexpr double kEqual = 1e-9;
    std::vector<UnitPart> best = divided();
    double least = objective(best);
    // From the last resort to the first choice: who costs no more replaces.
    for (const bool used : {false, true}) {
      auto parts = whole(used);
      if (!parts || objective(*parts) > least + kEqual) continue;
      least = objective(*parts);
      best = std::move(*parts);
    }
    return best;
  }

  const UnitProblem& problem_;
  const GreedySettings& settings_;
  std::vector<std::uint32_t> left_;
  std::vector<bool> used_;
  std::uint32_t spread_ = 0;
};

}  // namespace

UnitAssignment greedy_units(const UnitProblem& problem, const GreedySettings& settings) {
  RAILYARD_CHECK(problem.units > 0 && problem.unit_size > 0, "{} units of {} hosts", problem.units,
                 problem.unit_size);
  return Greedy(problem, settings).run();
}

}  // namespace railyard::scheduler
