#include <fmt/format.h>

#include <array>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/describe.hpp"

namespace railyard::cli {

namespace {

topology::Topology read_topology(const std::string& path) {
  config::Errors errors;
  auto fabric = topology::build_file(path, errors);
  errors.throw_if_any();
  return fabric;
}

std::string summary(const topology::Topology& fabric) {
  return fmt::format(
      "{}: {} GPUs ({}) in {} hosts, {} leaves, {} minipods; {} nodes, {} directed links\n",
      fabric.builder(), fabric.gpu_count(), fabric.gpu_kind(), fabric.hosts().size(),
      fabric.leaf_count(), fabric.minipod_count(), fabric.node_count(), fabric.links().size());
}

std::string terabits(Bandwidth bandwidth) {
  return fmt::format("{:.2f}", static_cast<double>(bandwidth.bytes_per_s()) * 8e-12);
}

report::Table minipod_table(const topology::Topology& fabric,
                            const topology::Description& description) {
  report::Table table{{{"minipod", "", {}, true, false},
                       {"hosts", "", {}, false, false},
                       {"uplinks", "Tb/s", {}, false, false}}};
  for (std::size_t i = 0; i < description.hosts_per_minipod.size(); ++i) {
    table.columns[0].cells.push_back(fabric.minipod_name(static_cast<MinipodId>(i)));
    table.columns[1].cells.push_back(fmt::format("{}", description.hosts_per_minipod[i]));
    table.columns[2].cells.push_back(terabits(description.uplinks_per_minipod[i]));
  }
  return table;
}

/// Hops or latencies of a sample of pairs of GPUs.
report::Table histogram(const std::string& title, const std::string& unit, double scale,
                        const std::vector<topology::Count>& counts, std::uint64_t sampled) {
  report::Table table{{{title, unit, {}, false, false}, {"pairs", "%", {}, false, false}}};
  for (const topology::Count& count : counts) {
    table.columns[0].cells.push_back(
        fmt::format("{:.6g}", static_cast<double>(count.value) * scale));
    table.columns[1].cells.push_back(fmt::format(
        "{:.1f}", 100.0 * static_cast<double>(count.pairs) / static_cast<double>(sampled)));
  }
  return table;
}

std::string oversubscription_lines(const topology::Description& description) {
  const auto line = [](const char* what, const topology::Oversubscription& ratio) {
    if (ratio.overall <= 0) return std::string();
    return fmt::format("{}: {:.2f}:1 oversubscribed ({:.2f} to {:.2f})\n", what, ratio.overall,
                       ratio.least, ratio.most);
  };
  std::string text = line("leaves", description.leaf) + line("minipods", description.minipod);
  if (description.bisection > Bandwidth{}) {
    text += fmt::format("bisection between minipods: {} Tb/s\n", terabits(description.bisection));
  }
  return text;
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
                    "tier (both directions counted),\noversubscription, hops and latencies.\n"
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
    if (const auto faults = topology::validate(fabric); !faults.empty()) {
      std::vector<std::string> lines;
      for (const std::string& fault : faults) {
        lines.push_back(fmt::format("{}: {}", line.words()[1], fault));
      }
      throw config::ConfigError(lines);
    }
    write_stdout(fmt::format("{}: valid\n", line.words()[1]));
    return kGood;
  }
  const topology::Description description = topology::describe(fabric);
  constexpr double kMicrosecondsPerTick = 1e6 / static_cast<double>(kTicksPerSecond);
  write_stdout(
      summary(fabric) + oversubscription_lines(description) + '\n' + to_text(tier_table(fabric)) +
      '\n' + to_text(minipod_table(fabric, description)) + '\n' +
      to_text(histogram("hops", "", 1, description.hops, description.sampled_pairs)) + '\n' +
      to_text(histogram("latency", "us", kMicrosecondsPerTick, description.latencies,
                        description.sampled_pairs)));
  return kGood;
}

}  // namespace railyard::cli
