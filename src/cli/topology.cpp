#include <fmt/format.h>

#include <array>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/describe.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/topology/writer.hpp"
#include "topology.hpp"

namespace railyard::cli {

namespace {

std::string summary(const topology::Topology& fabric) {
  std::string kinds;
  for (const std::string& kind : fabric.gpu_kinds()) kinds += (kinds.empty() ? "" : " + ") + kind;
  return fmt::format(
      "{}: {} GPUs ({}) in {} hosts, {} leaves, {} minipods; {} nodes, {} directed links\n",
      fabric.builder(), fabric.gpu_count(), kinds, fabric.hosts().size(), fabric.leaf_count(),
      fabric.minipod_count(), fabric.node_count(), fabric.links().size());
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

/// What `show` says, SI units; `bisection_bytes_per_s` is null with one minipod.
std::string to_json(const topology::Topology& fabric, const topology::Description& description) {
  std::string out = fmt::format(
      "{{\"builder\": {}, \"gpu\": {}, \"gpus\": {}, \"hosts\": {}, \"leaves\": {}, "
      "\"minipods\": {}, \"nodes\": {}, \"links\": {},\n \"tiers\": [",
      config::json_string(fabric.builder()), config::json_string(fabric.gpu_kind()),
      description.gpus, description.hosts, description.leaves, description.minipods,
      fabric.node_count(), fabric.links().size());
  bool first = true;
  for (std::size_t tier = 0; tier < topology::kTiers; ++tier) {
    if (description.tiers.at(tier).links == 0) continue;
    out += fmt::format("{}{{\"tier\": \"{}\", \"links\": {}, \"up_bytes_per_s\": {}}}",
                       first ? "" : ", ", name(static_cast<topology::Tier>(tier)),
                       description.tiers.at(tier).links,
                       description.tiers.at(tier).capacity.bytes_per_s());
    first = false;
  }
  const auto ratio = [](const topology::Oversubscription& it) {
    return it.overall > 0 ? fmt::format("{}", it.overall) : std::string("null");
  };
  out += fmt::format(
      "],\n \"oversubscription\": {{\"leaf\": {}, \"minipod\": {}}}, "
      "\"bisection_bytes_per_s\": {},\n \"hops\": [",
      ratio(description.leaf), ratio(description.minipod),
      description.bisection > Bandwidth{} ? fmt::format("{}", description.bisection.bytes_per_s())
                                          : std::string("null"));
  const auto counts = [&out](const std::vector<topology::Count>& all, std::string_view key,
                             double scale) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      out += fmt::format("{}{{\"{}\": {}, \"pairs\": {}}}", i == 0 ? "" : ", ", key,
                         static_cast<double>(all[i].value) * scale, all[i].pairs);
    }
  };
  counts(description.hops, "links", 1);
  out += "],\n \"latencies\": [";
  counts(description.latencies, "latency_s", 1.0 / static_cast<double>(kTicksPerSecond));
  return out + "]}\n";
}

}  // namespace

topology::Topology read_topology(const CommandLine& line, const std::string& path) {
  const auto description =
      topology::describe_file(input_file(path, "topologies")).set(line.changes());
  config::Errors errors;
  auto fabric = topology::build(description.root(), errors);
  errors.throw_if_any();
  return fabric;
}

void show_topology(const CommandLine& line, const topology::Topology& fabric) {
  const topology::Description description = topology::describe(fabric);
  switch (line.format()) {
    case report::Format::json:
      return write_stdout(to_json(fabric, description));
    case report::Format::csv:
      return write_stdout(to_csv(tier_table(fabric)));
    case report::Format::markdown:
      return write_stdout(to_markdown(tier_table(fabric)));
    case report::Format::table:
      break;
  }
  constexpr double kMicrosecondsPerTick = 1e6 / static_cast<double>(kTicksPerSecond);
  write_stdout(
      summary(fabric) + oversubscription_lines(description) + '\n' + to_text(tier_table(fabric)) +
      '\n' + to_text(minipod_table(fabric, description)) + '\n' +
      to_text(histogram("hops", "", 1, description.hops, description.sampled_pairs)) + '\n' +
      to_text(histogram("latency", "us", kMicrosecondsPerTick, description.latencies,
                        description.sampled_pairs)));
}

void convert_topology(const CommandLine& line, const topology::Topology& fabric) {
  std::vector<std::string_view> known;
  for (const topology::WriterEntry& writer : topology::writer_catalog())
    known.push_back(writer.name);
  const auto to = line.text("to");
  if (!to) {
    throw config::ConfigError(
        fmt::format("topology convert needs --to; there are {}", fmt::join(known, ", ")));
  }
  const auto at = std::find(known.begin(), known.end(), *to);
  if (at == known.end())
    throw config::ConfigError(unknown(fmt::format("--to: \"{}\" is no writer", *to), *to, known));
  const auto& writer = topology::writer_catalog()[static_cast<std::size_t>(at - known.begin())];
  const std::string text = writer.write(fabric);
  const auto out = line.text("output");
  if (out) {
    write_file(*out, text);
  } else {
    write_stdout(text);
  }
}

namespace {

void validate_topology(const CommandLine& line, const topology::Topology& fabric) {
  const std::string& file = line.words()[1];
  if (const auto faults = topology::validate(fabric); !faults.empty()) {
    std::vector<std::string> lines;
    for (const std::string& fault : faults) lines.push_back(fmt::format("{}: {}", file, fault));
    throw config::ConfigError(lines);
  }
  write_stdout(fmt::format("{}: valid\n", file));
}

struct Action {
  std::string_view name;
  void (*run)(const CommandLine&, const topology::Topology&);
};
constexpr std::array<Action, 5> kActions{{{"show", &show_topology},
                                          {"validate", &validate_topology},
                                          {"convert", &convert_topology},
                                          {"bandwidth", &show_bandwidth},
                                          {"bottlenecks", &show_bottlenecks}}};

std::vector<std::string_view> action_names() {
  std::vector<std::string_view> out;
  for (const Action& action : kActions) out.push_back(action.name);
  return out;
}

constexpr std::string_view kTopologyAbout =
    "FILE is a topology file, or what another program prints of a fabric (`railyard list "
    "readers`).\n"
    "show: hosts, minipods, links of every tier (both directions counted), oversubscription, hops, "
    "latencies.\n"
    "validate: builds it and says what is wrong, exit 2.\n"
    "convert: writes it for another program (`railyard list writers`), to stdout or --output.\n"
    "bandwidth: what a pair of GPUs gets on every level, alone and when all talk; bisection; "
    "suggested groups.\n"
    "bottlenecks: the hottest links under a pattern of traffic, and the rates that are left.";

}  // namespace

CommandLine topology_options() {
  CommandLine line(
      {"topology",
       "show|validate|convert|bandwidth|bottlenecks FILE",
       kTopologyAbout,
       {"railyard topology show topologies/clos_minipod_2048.json",
        "railyard topology bandwidth topologies/superpod_a100.json",
        "railyard topology bottlenecks topologies/clos_minipod_2048.json --pattern shift --shift 8",
        "railyard topology convert topologies/superpod_a100.json --to slurm"},
       action_names()});
  line.format_option();
  line.repeated("set", "/POINTER=VALUE",
                "changes the description; of another program's file, adds what it does not say");
  line.option("to", "FORMAT", "convert: json, graphml, graphviz, simai, htsim, slurm or host")
      .member_of("writers");
  line.option("output,o", "FILE", "convert: write here instead of stdout");
  line.option("routing", "NAME",
              "bandwidth, bottlenecks: a name, or JSON with parameters (default: spray)")
      .member_of("routings");
  line.option("pattern", "NAME",
              "bottlenecks: permutation, all_to_all, ring, shift or incast (default: permutation)")
      .one_of({"permutation", "all_to_all", "ring", "shift", "incast"});
  line.option("shift", "N", "bottlenecks: GPUs that a shift is wide (default: those of a host)");
  line.option("target", "GPU", "bottlenecks: where an incast ends (default: 0)");
  line.option("seed", "N", "bottlenecks: of the permutation (default: 1)");
  line.option("top", "N", "bottlenecks: links to list (default: 10)");
  return line;
}

int topology(const CommandLine& line) {
  line.expect_words(2, 2, "show, validate, convert, bandwidth or bottlenecks, and a file");
  const std::string& action = line.words()[0];
  for (const Action& each : kActions) {
    if (each.name != action) continue;
    each.run(line, read_topology(line, line.words()[1]));
    return kGood;
  }
  throw config::ConfigError(
      unknown(fmt::format("\"{}\" is no action of topology", action), action, action_names()));
}

}  // namespace railyard::cli
