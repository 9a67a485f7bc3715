#include <fmt/format.h>

#include <array>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/builder.hpp"

namespace railyard::cli {

namespace {

topology::Topology read_topology(const std::string& path) {
  config::Errors errors;
  auto fabric = topology::build(config::Document::parse_file(path).root(), errors);
  errors.throw_if_any();
  return fabric;
}

std::string summary(const topology::Topology& fabric) {
  return fmt::format(
      "{}: {} GPUs ({}) in {} hosts, {} leaves, {} minipods; {} nodes, {} directed links\n",
      fabric.builder(), fabric.gpu_count(), fabric.gpu_kind(), fabric.hosts().size(),
      fabric.leaf_count(), fabric.minipod_count(), fabric.node_count(), fabric.links().size());
}

report::Table minipod_table(const topology::Topology& fabric) {
  std::vector<std::size_t> hosts(fabric.minipod_count());
  std::vector<std::size_t> gpus(fabric.minipod_count());
  for (const topology::Host& host : fabric.hosts()) {
    ++hosts[index(host.minipod)];
    gpus[index(host.minipod)] += host.gpus;
  }
  report::Table table{{{"minipod", "", {}, true, false},
                       {"hosts", "", {}, false, false},
                       {"GPUs", "", {}, false, false}}};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    table.columns[0].cells.push_back(fabric.minipod_name(static_cast<MinipodId>(i)));
    table.columns[1].cells.push_back(fmt::format("{}", hosts[i]));
    table.columns[2].cells.push_back(fmt::format("{}", gpus[i]));
  }
  return table;
}

report::Table tier_table(const topology::Topology& fabric) {
  std::array<std::size_t, topology::kTiers> links{};
  std::array<double, topology::kTiers> bytes_per_s{};
  std::array<double, topology::kTiers> slowest{};
  std::array<double, topology::kTiers> fastest{};
  for (const topology::Link& link : fabric.links()) {
    const auto tier = static_cast<std::size_t>(link.tier);
    const auto rate = static_cast<double>(link.capacity.bytes_per_s());
    slowest.at(tier) = links.at(tier) == 0 ? rate : std::min(slowest.at(tier), rate);
    fastest.at(tier) = std::max(fastest.at(tier), rate);
    bytes_per_s.at(tier) += rate;
    ++links.at(tier);
  }
  report::Table table{{{"tier", "", {}, true, false},
                       {"links", "", {}, false, false},
                       {"slowest", "Gb/s", {}, false, false},
                       {"fastest", "Gb/s", {}, false, false},
                       {"together", "Tb/s", {}, false, false}}};
  for (std::size_t tier = 0; tier < topology::kTiers; ++tier) {
    if (links.at(tier) == 0) continue;
    table.columns[0].cells.emplace_back(name(static_cast<topology::Tier>(tier)));
    table.columns[1].cells.push_back(fmt::format("{}", links.at(tier)));
    table.columns[2].cells.push_back(fmt::format("{:.1f}", slowest.at(tier) * 8e-9));
    table.columns[3].cells.push_back(fmt::format("{:.1f}", fastest.at(tier) * 8e-9));
    table.columns[4].cells.push_back(fmt::format("{:.2f}", bytes_per_s.at(tier) * 8e-12));
  }
  return table;
}

}  // namespace

int topology(const Arguments& arguments) {
  CommandLine line({"topology",
                    "show|validate FILE",
                    "show: what a description of a fabric builds: hosts, minipods, links of every "
                    "tier (both directions counted).\n"
                    "validate: builds it and says what is wrong, exit 2.",
                    {"railyard topology show topologies/clos_minipod_2048.json",
                     "railyard topology validate topologies/clos_minipod_2048.json"}});
  if (!line.parse(arguments)) return kGood;
  line.expect_words(2, 2, "show or validate, and a file");
  const std::string& action = line.words()[0];
  if (action != "show" && action != "validate") {
    throw config::ConfigError(unknown(fmt::format("\"{}\" is no action of topology", action),
                                      action, {"show", "validate"}));
  }
  const topology::Topology fabric = read_topology(line.words()[1]);
  if (action == "validate") {
    write_stdout(fmt::format("{}: valid\n", line.words()[1]));
    return kGood;
  }
  write_stdout(summary(fabric) + '\n' + to_text(tier_table(fabric)) + '\n' +
               to_text(minipod_table(fabric)));
  return kGood;
}

}  // namespace railyard::cli
