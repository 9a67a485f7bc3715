// What a placement decision takes: Arnold's three solvers on the settings of Table 1 of arXiv
// 2509.15940, on a 9,600-GPU job, and on a cluster of 12,800 hosts.
//
// `units` lines are the decision alone, how units are divided over minipods; `place` lines are the
// whole policy, down to the list of hosts.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/scheduler/background.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/topology/builder.hpp"
#include "scheduler/unit_assignment.hpp"
#include "scheduler/unit_greedy.hpp"
#include "scheduler/unit_mip.hpp"
#include "support.hpp"

namespace {

using namespace railyard;
using namespace railyard::scheduler;
using benchmark::Measurement;

constexpr double kAlpha = 0.3;

struct Setting {
  std::string name;
  std::vector<std::uint32_t> free_hosts;
  std::uint32_t units = 0;
  std::uint32_t unit_size = 0;
  [[nodiscard]] UnitProblem problem() const {
    return {.free_hosts = free_hosts, .units = units, .unit_size = unit_size};
  }
};

Measurement measurement(const std::string& name, std::uint64_t decisions,
                        const UnitAssignment& found) {
  Digest digest;
  for (const auto& unit : found.units) {
    for (const UnitPart& part : unit) {
      digest.add(std::uint64_t{part.minipod});
      digest.add(std::uint64_t{part.hosts});
    }
  }
  return {name,
          "decisions",
          decisions,
          {{"minipods", found.minipods}, {"T", found.spread}},
          digest.hex()};
}

Measurement closed_form(const Setting& setting, std::uint64_t decisions) {
  UnitAssignment found;
  for (std::uint64_t i = 0; i < decisions; ++i) {
    const auto candidates = unit_candidates(setting.problem());
    std::vector<double> costs;
    for (const auto& candidate : candidates) costs.push_back(candidate.cost(kAlpha, 1 - kAlpha));
    found = cheapest(candidates, costs);
  }
  return measurement("units exact " + setting.name, decisions, found);
}

Measurement greedy(const Setting& setting, std::uint64_t decisions) {
  UnitAssignment found;
  for (std::uint64_t i = 0; i < decisions; ++i) {
    found = greedy_units(setting.problem(), {.w_minipods = kAlpha, .w_spread = 1 - kAlpha});
  }
  return measurement("units greedy " + setting.name, decisions, found);
}

/// CBC's cuts and branches are its own: their numbers are no part of what is compared.
Measurement programme(const Setting& setting, std::uint32_t nodes) {
  const MipAnswer answer =
      solve_mip(setting.problem(), {.w_minipods = kAlpha, .w_spread = 1 - kAlpha, .nodes = nodes});
  Measurement out{"units mip " + setting.name, "decisions", 1, {}, "-"};
  const double cost = answer.assignment ? answer.assignment->cost(kAlpha, 1 - kAlpha) : 0;
  out.note = fmt::format(
      "{} nodes, objective {:.4g}, {}", answer.nodes, cost,
      answer.proven ? "proven" : fmt::format("not proven, at least {:.4g}", answer.bound));
  return out;
}

topology::Topology large_cluster() {
  const auto document = config::Document::parse_text(
      R"({"builder": "clos", "gpu": "H100", "gpus_per_host": 8,
          "hosts_per_minipod": {"minipods": 25, "hosts": 512}, "hosts_per_leaf": 8,
          "nvlink": {"bandwidth": "450GB/s"}, "nic": {"bandwidth": "400Gbps"},
          "switch_link": {"bandwidth": "400Gbps"}})",
      "cluster.json");
  config::Errors errors;
  topology::Topology built = topology::build(document.root(), errors);
  errors.throw_if_any();
  return built;
}

void measure_policy(const benchmark::Options& options, const topology::Topology& topology,
                    const char* name, const GangShape& gang) {
  Inventory inventory(topology);
  const double busy = 1.0 - static_cast<double>(gang.gpus + 800) / (12'800.0 * 8);
  for (const HostSlot& slot : occupy(topology, busy, Rng(1))) inventory.take(slot);
  const auto table = placement_catalog();
  const auto policy =
      config::entry_of(table, "arnold")
          .create(config::default_choice("arnold", config::descriptions(table)).parameters);
  benchmark::measure(options, [&] {
    constexpr std::uint64_t kDecisions = 50;
    std::size_t hosts = 0;
    for (std::uint64_t i = 0; i < kDecisions; ++i) {
      hosts = policy->place(gang, inventory, Rng(1))->slots.size();
    }
    return Measurement{name, "decisions", kDecisions, {{"hosts", hosts}}, "-"};
  });
}

void measure_large(const benchmark::Options& options) {
  const topology::Topology topology = large_cluster();
  measure_policy(options, topology, "place 9,600 GPUs of 102,400",
                 {.gpus = 9600, .tensor = 8, .pipeline = 8, .data = 150});
  measure_policy(options, topology, "place 100,000 GPUs of 102,400",
                 {.gpus = 100'000, .tensor = 8, .pipeline = 20, .data = 625});
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = benchmark::parse_options(argc, argv);
  const std::vector<Setting> settings{
      {"(i)", {6, 6, 6}, 6, 2},
      {"(ii)", {88, 88, 88, 87, 87}, 12, 8},
      {"(iii)", {93, 93, 93, 93, 93, 93, 93, 92, 92, 92, 92}, 46, 8},
      {"9,600 GPUs", std::vector<std::uint32_t>(16, 128), 150, 8}};
  for (const Setting& setting : settings) {
    benchmark::measure(options, [&] { return closed_form(setting, 1000); });
    benchmark::measure(options, [&] { return greedy(setting, 100); });
  }
  if (options.smoke) return 0;
  Setting large{"12,500 hosts", {}, 625, 20};
  for (std::uint32_t minipod = 0; minipod < 25; ++minipod) {
    large.free_hosts.push_back(489 + minipod);
  }
  benchmark::measure(options, [&] { return closed_form(large, 1000); });
  benchmark::measure(options, [&] { return greedy(large, 100); });
  measure_large(options);
  constexpr std::uint32_t kNodes = 200;
  for (const Setting& setting : settings) {
    benchmark::measure(options, [&] { return programme(setting, kNodes); });
  }
  return 0;
}
