#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <memory>
#include <numeric>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/network/flow_list.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::cli {

namespace {

/// An option that names a member of a catalog: a name, or JSON with parameters.
template <typename Factory>
config::Choice choice_of(const CommandLine& line, const std::string& option,
                         std::string_view fallback, std::string_view family,
                         std::span<const config::CatalogEntry<Factory>> table) {
  const std::string given = line.text(option).value_or(std::string(fallback));
  const bool is_json = !given.empty() && (given.front() == '{' || given.front() == '"');
  const auto document =
      config::Document::parse_text(is_json ? given : '"' + given + '"', "--" + option);
  config::Errors errors;
  config::Choice choice =
      config::decode_choice(document.root(), errors, family, config::descriptions(table));
  errors.throw_if_any();
  return choice;
}

template <typename Factory>
auto made(const config::Choice& choice, std::span<const config::CatalogEntry<Factory>> table) {
  return config::entry_of(table, choice.name).create(choice.parameters);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::optional<double> ticks_per_start(const CommandLine& line) {
  const auto unit = line.text("start-unit");
  if (!unit) return std::nullopt;
  constexpr auto kSecond = static_cast<double>(kTicksPerSecond);
  const std::pair<std::string_view, double> known[] = {{"ps", kSecond * 1e-12},
                                                       {"ns", kSecond * 1e-9},
                                                       {"us", kSecond * 1e-6},
                                                       {"ms", kSecond * 1e-3},
                                                       {"s", kSecond}};
  std::vector<std::string_view> names;
  for (const auto& [name, ticks] : known) {
    if (name == *unit) return ticks;
    names.push_back(name);
  }
  throw config::ConfigError(
      unknown(fmt::format("--start-unit: \"{}\" is no unit", *unit), *unit, names));
}

network::FlowList read_flows(const CommandLine& line) {
  const std::string& path = line.words()[0];
  const bool is_matrix = ends_with(path, ".cm") || ends_with(path, ".cm.gz");
  if (is_matrix) return network::read_connection_matrix(path, ticks_per_start(line));
  if (line.has("start-unit")) {
    throw config::ConfigError(
        "--start-unit: only for .cm files; the columns of a table of flows "
        "say it: start_s, start_us, start_ps");
  }
  return network::read_flow_csv(path);
}

network::FlowRoutes over_links(const CommandLine& line, const network::FlowList& list) {
  for (const char* option : {"routing", "seed"}) {
    if (line.has(option))
      throw config::ConfigError(fmt::format("--{}: needs --topology, not --links", option));
  }
  const network::LinkTable links = network::read_link_table(*line.text("links"));
  return network::routes_over_links(list, links, line.text("routes").value_or(""));
}

/// A fabric and its routing, which must outlive a run whose routes depend on the load.
struct Fabric {
  std::unique_ptr<const topology::Topology> topology;  ///< the routing refers to it
  std::unique_ptr<topology::Routing> routing;
  bool sprayed = false;
};

Fabric read_fabric(const CommandLine& line) {
  if (line.has("routes")) throw config::ConfigError("--routes: needs --links, not --topology");
  config::Errors errors;
  Fabric fabric;
  fabric.topology = std::make_unique<const topology::Topology>(
      topology::build_file(input_file(*line.text("topology"), "topologies"), errors));
  errors.throw_if_any();
  if (line.text("routing").value_or("") == "source") return fabric;
  auto choice = choice_of(line, "routing", "ecmp", "routing", topology::routing_catalog());
  if (const auto seed = line.number("seed")) {
    if (choice.name != "ecmp") {
      throw config::ConfigError(
          fmt::format("--seed: routing \"{}\" draws nothing; only ecmp does", choice.name));
    }
    const auto salt = static_cast<std::uint64_t>(choice.parameters.get<std::int64_t>("seed_salt"));
    choice.parameters.set("seed_salt", static_cast<std::int64_t>((salt + *seed) & INT64_MAX), true);
  }
  fabric.routing = config::entry_of(topology::routing_catalog(), choice.name)
                       .create(*fabric.topology, choice.parameters);
  fabric.sprayed = choice.name == "spray";
  return fabric;
}

/// Completion times of some flows, in seconds.
struct Statistics {
  std::size_t flows = 0;
  std::size_t unfinished = 0;
  double mean_s = 0;
  double p50_s = 0;
  double p99_s = 0;
  double max_s = 0;
  double slowdown_mean = 0;  ///< against the flow alone
};

/// The smallest value that at least this share of the sorted values does not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Statistics statistics_of(const network::FlowListResult& result,
                         const std::vector<std::size_t>& flows) {
  std::vector<double> times;
  Statistics out;
  for (const std::size_t flow : flows) {
    const network::FlowTimes& one = result.times[flow];
    if (one.finish == network::kNever) {
      ++out.unfinished;
      continue;
    }
    times.push_back(in_seconds(one.finish - one.start));
    out.slowdown_mean += times.back() / std::max(in_seconds(one.alone), 1e-11);
  }
  out.flows = flows.size();
  if (times.empty()) return out;
  std::sort(times.begin(), times.end());
  const auto count = static_cast<double>(times.size());
  out.mean_s = std::accumulate(times.begin(), times.end(), 0.0) / count;
  out.p50_s = quantile(times, 0.5);
  out.p99_s = quantile(times, 0.99);
  out.max_s = times.back();
  out.slowdown_mean /= count;
  return out;
}

/// Flows by size: one class per power of ten.
struct SizeClass {
  std::string label;
  std::int64_t from = 0;
  std::vector<std::size_t> flows;
};

std::string bytes_label(std::int64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && bytes % 1000 == 0) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::vector<SizeClass> size_classes(const network::FlowList& list) {
  std::vector<SizeClass> out;
  for (std::int64_t from = 1; from < INT64_C(1'000'000'000'000'000'000); from *= 10)
    out.push_back({fmt::format("{} to {}", bytes_label(from), bytes_label(from * 10)), from, {}});
  for (std::size_t flow = 0; flow < list.flows.size(); ++flow) {
    std::size_t at = 0;
    while (at + 1 < out.size() && list.flows[flow].size.count() >= out[at + 1].from) ++at;
    out[at].flows.push_back(flow);
  }
  std::erase_if(out, [](const SizeClass& one) { return one.flows.empty(); });
  return out;
}

struct Summary {
  double makespan_s = 0;
  Statistics all;
  std::vector<std::pair<SizeClass, Statistics>> by_size;
};

Summary summary_of(const network::FlowList& list, const network::FlowListResult& result) {
  Summary out;
  for (const network::FlowTimes& one : result.times) {
    if (one.finish != network::kNever)
      out.makespan_s = std::max(out.makespan_s, in_seconds(one.finish));
  }
  std::vector<std::size_t> all(list.flows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  out.all = statistics_of(result, all);
  for (SizeClass& one : size_classes(list)) {
    const Statistics statistics = statistics_of(result, one.flows);
    out.by_size.emplace_back(std::move(one), statistics);
  }
  return out;
}

std::string json_of(const Statistics& one) {
  return fmt::format(
      "\"flows\": {}, \"unfinished\": {}, \"fct_s_mean\": {}, \"fct_s_p50\": {}, \"fct_s_p99\": "
      "{}, \"fct_s_max\": {}, "
      "\"slowdown_mean\": {}",
      one.flows, one.unfinished, one.mean_s, one.p50_s, one.p99_s, one.max_s, one.slowdown_mean);
}

std::string json_text(const Summary& summary, const network::FlowListResult& result) {
  std::string out = fmt::format("{{\n  \"makespan_s\": {}, {},\n  \"by_size\": [",
                                summary.makespan_s, json_of(summary.all));
  for (std::size_t i = 0; i < summary.by_size.size(); ++i) {
    const auto& [size, statistics] = summary.by_size[i];
    out += fmt::format("{}\n    {{\"bytes_min\": {}, {}}}", i == 0 ? "" : ",", size.from,
                       json_of(statistics));
  }
  return out +
         fmt::format(
             "\n  ],\n  \"events\": {}, \"repaths\": {}, \"solves\": {}, \"flows_touched\": {}, "
             "\"links_touched\": {}\n}}\n",
             result.events, result.repaths, result.counters.solves, result.counters.flows_touched,
             result.counters.links_touched);
}

report::Table table_of(const Summary& summary) {
  report::Table table{{{"flows of", "", {}, true, false},
                       {"flows", "", {}, false, false},
                       {"mean", "us", {}, false, false},
                       {"p50", "us", {}, false, false},
                       {"p99", "us", {}, false, false},
                       {"max", "us", {}, false, false},
                       {"slowdown", "mean", {}, false, false}}};
  const auto add = [&table](const std::string& name, const Statistics& one) {
    table.columns[0].cells.push_back(name);
    table.columns[1].cells.push_back(fmt::format("{}", one.flows));
    const double times[] = {one.mean_s, one.p50_s, one.p99_s, one.max_s};
    for (std::size_t i = 0; i < 4; ++i)
      table.columns[2 + i].cells.push_back(fmt::format("{:.3f}", times[i] * 1e6));
    table.columns[6].cells.push_back(fmt::format("{:.3f}", one.slowdown_mean));
  };
  add("all sizes", summary.all);
  for (const auto& [size, statistics] : summary.by_size) add(size.label, statistics);
  return table;
}

std::string printed(const Summary& summary, const network::FlowListResult& result,
                    report::Format format) {
  switch (format) {
    case report::Format::json:
      return json_text(summary, result);
    case report::Format::csv:
      return report::to_csv(table_of(summary));
    case report::Format::markdown:
      return report::to_markdown(table_of(summary));
    case report::Format::table:
      break;
  }
  std::string unfinished;
  if (summary.all.unfinished > 0)
    unfinished = fmt::format("{} flows did not finish\n", summary.all.unfinished);
  return fmt::format("makespan {:.3f} us\n{}\n", summary.makespan_s * 1e6, unfinished) +
         report::to_text(table_of(summary));
}

std::string times_csv(const network::FlowList& list, const network::FlowListResult& result) {
  std::string out = "id,start_s,finish_s\n";
  for (std::size_t flow = 0; flow < list.flows.size(); ++flow) {
    const auto exact = [](TimePoint time) {
      if (time == network::kNever) return std::string();
      return report::exact_seconds(time.time_since_epoch().count());
    };
    out += fmt::format("{},{},{}\n", report::csv_field(list.flows[flow].id),
                       exact(result.times[flow].start), exact(result.times[flow].finish));
  }
  return out;
}

constexpr std::string_view kNoLinks = "the network models analytic and loggp share no links";

network::FaultPlan fault_plan(const CommandLine& line, const network::NetworkModel& model,
                              const std::optional<Fabric>& fabric) {
  network::FaultPlan plan;
  if (const auto given = line.text("timeout")) {
    plan.timeout = config::parse_duration(*given);
    if (!plan.timeout)
      throw config::ConfigError(
          fmt::format("--timeout: expected a time as 5ms, found \"{}\"", *given));
    if (!line.has("faults")) throw config::ConfigError("--timeout: needs --faults");
  }
  const auto file = line.text("faults");
  if (!file) return plan;
  if (!model.shares_links()) {
    throw config::ConfigError(fmt::format("--faults: {}", kNoLinks));
  }
  plan.faults =
      fabric ? network::read_fault_table(*file, *fabric->topology)
             : network::read_fault_table(*file, network::read_link_table(*line.text("links")));
  return plan;
}

std::optional<network::LinkSeries> series_of(const CommandLine& line,
                                             const network::NetworkModel& model,
                                             const network::FlowRoutes& routes) {
  if (!line.has("series")) {
    if (line.has("bins")) throw config::ConfigError("--bins: needs --series");
    return std::nullopt;
  }
  if (!model.shares_links()) {
    throw config::ConfigError(fmt::format("--series: {}", kNoLinks));
  }
  constexpr std::uint64_t kBinsMost = 1'000'000;
  const std::uint64_t bins = line.number("bins").value_or(64);
  if (bins < 2 || bins > kBinsMost || bins % 2 != 0) {
    throw config::ConfigError(
        fmt::format("--bins: expected an even number from 2 to {}, found {}", kBinsMost, bins));
  }
  return network::LinkSeries(routes.capacities.size(), bins);
}

/// What has no meaning in a model without shared links is refused there.
void check_sharing(const network::FlowList& list, const network::NetworkModel& model,
                   const std::optional<Fabric>& fabric) {
  if (model.shares_links()) return;
  for (std::size_t flow = 0; flow < list.flows.size(); ++flow) {
    const network::ListedFlow& one = list.flows[flow];
    if (one.priority == 0 && one.share == 1.0) continue;
    throw config::ConfigError(fmt::format("{}: flow \"{}\" has a {}, but {}", list.place(flow),
                                          one.id, one.priority > 0 ? "priority" : "share",
                                          kNoLinks));
  }
  if (fabric && fabric->routing && fabric->routing->repath_interval() > Duration{}) {
    throw config::ConfigError(fmt::format("--routing: a re-path interval, but {}", kNoLinks));
  }
}

/// Names and capacities of the links of a run, as the series print them.
struct NamedLinks {
  std::vector<std::string> names;
  std::vector<std::string> tiers;
  std::vector<Bandwidth> capacities;
};

NamedLinks named_links(const CommandLine& line, const std::optional<Fabric>& fabric) {
  NamedLinks out;
  if (!fabric) {
    network::LinkTable table = network::read_link_table(*line.text("links"));
    out.names = table.names.empty() ? std::move(table.ids) : std::move(table.names);
    out.capacities = std::move(table.capacities);
    out.tiers.resize(out.names.size());
    return out;
  }
  for (std::size_t at = 0; at < fabric->topology->links().size(); ++at) {
    const topology::Link& link = fabric->topology->links()[at];
    out.names.push_back(fabric->topology->link_name(static_cast<LinkId>(at)));
    out.tiers.emplace_back(topology::name(link.tier));
    out.capacities.push_back(link.capacity);
  }
  return out;
}

/// Bins of the links that carried something, link after link, and of their tiers: there the share
/// of the capacity of all links of the tier, and the flows on them summed over the links.
std::string series_csv(const network::LinkSeries& series, const NamedLinks& links) {
  struct Sum {
    double capacity_bytes_per_s = 0;
    std::vector<network::LinkSeries::Bin> bins;
  };
  std::map<std::string, Sum> tiers;
  std::string out = "link,tier,start_s,end_s,utilization,flows\n";
  const double width = in_seconds(series.width());
  const double end = in_seconds(series.end().time_since_epoch());
  const auto append = [&](const std::string& link, const std::string& tier, double capacity,
                          std::span<const network::LinkSeries::Bin> bins) {
    for (std::size_t at = 0; at < bins.size(); ++at) {
      const double from = width * static_cast<double>(at);
      if (from >= end) return;
      const double to = std::min(end, from + width);
      out +=
          fmt::format("{},{},{},{},{:.6g},{:.6g}\n", report::csv_field(link), tier, from, to,
                      bins[at].bytes / (capacity * (to - from)),
                      bins[at].flow_ticks / (static_cast<double>(kTicksPerSecond) * (to - from)));
    }
  };
  for (std::size_t at = 0; at < links.names.size(); ++at) {
    const auto bins = series.bins(static_cast<LinkId>(at));
    const auto capacity = static_cast<double>(links.capacities[at].bytes_per_s());
    Sum& sum = tiers[links.tiers[at]];
    sum.capacity_bytes_per_s += capacity;
    if (bins.empty()) continue;
    append(links.names[at], links.tiers[at], capacity, bins);
    sum.bins.resize(bins.size());
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      sum.bins[bin].bytes += bins[bin].bytes;
      sum.bins[bin].flow_ticks += bins[bin].flow_ticks;
    }
  }
  for (const auto& [tier, sum] : tiers) {
    if (!tier.empty()) append("", tier, sum.capacity_bytes_per_s, sum.bins);
  }
  return out;
}

/// Which link each flow had for its bottleneck, why, and for how long.
std::string limits_csv(network::FlowLimits& limits, const network::FlowList& list,
                       const NamedLinks& links) {
  std::string out = "id,link,cause,time_s\n";
  for (const network::FlowLimit& limit : limits.totals()) {
    out += fmt::format("{},{},{},{}\n", report::csv_field(list.flows[limit.flow].id),
                       limit.link == network::kNoLink
                           ? std::string()
                           : report::csv_field(links.names[index(limit.link)]),
                       network::name(limit.cause), report::exact_seconds(limit.time.count()));
  }
  return out;
}

constexpr const char* kFlowsAbout =
    "The network by itself: runs a list of flows over a fabric, or over given links and routes, "
    "and prints how\nlong they take. FLOWS is a table (.csv, .csv.gz) with the columns "
    "id,src,dst,bytes, one of start | start_s |\nstart_us | start_ps, and optionally deps (ids "
    "separated by ';' that the receiver must have), dep (complete at its\nsender), links (of the "
    "flow's own route), share (weight among others), cap_Bps (never faster) and priority\n(0 to 7: "
    "the higher first, the others share what is left); or a connection matrix of htsim (.cm).";

void declare_flows(CommandLine& line) {
  line.option("topology", "FILE", "the fabric; src and dst number its GPUs");
  line.option("routing", "NAME",
              "with --topology: see railyard list routings, or source: all flows have links "
              "(default: ecmp)")
      .one_of({"source"})
      .member_of("routings");
  line.option("seed", "N", "with --routing ecmp: another draw of collisions");
  line.option("links", "FILE", "links in place of a fabric: id,bw_Bps,lat_s,name");
  line.option("routes", "FILE", "with --links: src,dst,links (ids separated by blanks)");
  line.option("network", "NAME", "see railyard list networks (default: fluid)")
      .member_of("networks");
  line.option("transport", "NAME", "see railyard list transports (default: ideal)")
      .member_of("transports");
  line.option("faults", "FILE",
              "links that fail, degrade and recover: time,event,link or node,value");
  line.option("timeout", "TIME",
              "with --faults: flows that stand still for so long are given up (default: never)");
  line.option("start-unit", "UNIT", "of the starts in a .cm file: ps, ns, us, ms or s")
      .one_of({"ps", "ns", "us", "ms", "s"});
  line.option("out", "FILE", "writes id,start_s,finish_s of every flow");
  line.option("series", "FILE",
              "writes link,tier,start_s,end_s,utilization,flows: every link over time, and every "
              "tier (no link)");
  line.option("limits", "FILE",
              "writes id,link,cause,time_s: which link held each flow back, and for how long");
  line.option("bins", "N", "with --series: steps of time, even (default: 64)");
}

}  // namespace

CommandLine flows_options() {
  CommandLine line(
      {"flows",
       "FLOWS",
       kFlowsAbout,
       {"railyard flows tests/cli/flows.csv --topology topologies/clos_minipod_2048.json "
        "--routing spray",
        "railyard flows tests/cli/flows.csv --links tests/cli/links.csv --routes "
        "tests/cli/routes.csv --transport nscc"}});
  declare_flows(line);
  line.format_option();
  line.flag("quiet", "says nothing on stderr");
  return line;
}

int flows(const CommandLine& line) {
  line.expect_words(1, 1, "a list of flows");
  if (line.has("topology") == line.has("links")) {
    throw config::ConfigError(
        "railyard flows: expected either --topology or --links (with --routes)");
  }
  const report::Format format = line.format();
  const auto model_choice =
      choice_of(line, "network", "fluid", "network model", network::network_model_catalog());
  const auto transport_choice =
      choice_of(line, "transport", "ideal", "transport", network::transport_catalog());
  const auto model = made(model_choice, network::network_model_catalog());
  const auto transport = made(transport_choice, network::transport_catalog());
  if (model.fidelity == network::Fidelity::packet_corrected && !transport.has_packets()) {
    throw config::ConfigError(
        "--network packet_corrected: transport \"ideal\" has no packets; choose one with "
        "--transport");
  }
  if (model.fidelity == network::Fidelity::loggp && transport.initial_window.count() > 0) {
    throw config::ConfigError(
        "--transport: an initial window, but --network loggp has no acknowledgements to wait for");
  }
  const network::FlowList list = read_flows(line);
  std::optional<Fabric> fabric;
  if (line.has("topology")) fabric = read_fabric(line);
  network::FlowRoutes routes =
      fabric ? network::routes_over_fabric(list, *fabric->topology, fabric->routing.get())
             : over_links(line, list);
  routes.sprayed = fabric && fabric->sprayed;
  check_sharing(list, model, fabric);
  const network::FaultPlan plan = fault_plan(line, model, fabric);
  std::optional<network::LinkSeries> series = series_of(line, model, routes);
  std::optional<network::FlowLimits> limits;
  if (line.has("limits")) {
    if (!model.shares_links()) throw config::ConfigError(fmt::format("--limits: {}", kNoLinks));
    limits.emplace();
  }
  const double read_s = line.elapsed_s();
  const std::clock_t before = std::clock();
  const auto result =
      network::run_flow_list(list, routes, model, transport, plan,
                             {series ? &*series : nullptr, limits ? &*limits : nullptr});
  const double run_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  if (!line.has("quiet")) {
    say(fmt::format(
        "{} flows, {} routes; read in {:.4f} s, run in {:.6f} s of CPU, {} events, {} solves",
        list.flows.size(), routes.latencies.size(), read_s, run_s, result.events,
        result.counters.solves));
  }
  if (const auto out = line.text("out")) write_file(*out, times_csv(list, result));
  if (series) write_file(*line.text("series"), series_csv(*series, named_links(line, fabric)));
  if (limits)
    write_file(*line.text("limits"), limits_csv(*limits, list, named_links(line, fabric)));
  write_stdout(printed(summary_of(list, result), result, format));
  return kGood;
}

}  // namespace railyard::cli
