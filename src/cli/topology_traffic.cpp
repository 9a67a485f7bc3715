// `topology bandwidth` and `topology bottlenecks`.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/config/document.hpp"
#include "railyard/network/traffic.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/describe.hpp"
#include "railyard/topology/ring_order.hpp"
#include "railyard/topology/routing.hpp"
#include "topology.hpp"

namespace railyard::cli {

namespace {

/// --routing: a name, or JSON.
std::unique_ptr<topology::Routing> read_routing(const CommandLine& line,
                                                const topology::Topology& fabric) {
  const std::string given = line.text("routing").value_or("spray");
  const std::string text = given.starts_with('{') ? given : config::json_string(given);
  config::Errors errors;
  const auto document = config::Document::parse_text(text, "--routing");
  const auto table = topology::routing_catalog();
  const auto choice =
      config::decode_choice(document.root(), errors, "routing", config::descriptions(table));
  errors.throw_if_any();
  return config::entry_of(table, choice.name).create(fabric, choice.parameters);
}

std::string gigabytes(double bytes_per_s) {
  return fmt::format("{:.2f}", bytes_per_s * 1e-9);
}

double in_microseconds(Duration duration) {
  return static_cast<double>(duration.count()) * 1e6 / static_cast<double>(kTicksPerSecond);
}

/// A group of GPUs that hang together below a level.
struct Groups {
  std::string_view level;
  std::size_t count = 0;
  std::size_t gpus_min = 0;
  std::size_t gpus_max = 0;
};

Groups groups_by(std::string_view level, std::vector<std::size_t> gpus) {
  gpus.erase(std::remove(gpus.begin(), gpus.end(), std::size_t{0}), gpus.end());
  if (gpus.empty()) return {level};
  return {level, gpus.size(), *std::min_element(gpus.begin(), gpus.end()),
          *std::max_element(gpus.begin(), gpus.end())};
}

/// Hosts, leaves and minipods: within each, GPUs talk without what is above.
std::vector<Groups> groups_of(const topology::Topology& fabric) {
  std::vector<std::size_t> hosts;
  std::vector<std::size_t> leaves(fabric.leaf_count(), 0);
  std::vector<std::size_t> minipods(fabric.minipod_count(), 0);
  for (const topology::Host& host : fabric.hosts()) {
    hosts.push_back(host.gpus);
    leaves[index(host.leaf)] += host.gpus;
    minipods[index(host.minipod)] += host.gpus;
  }
  std::vector<Groups> out;
  for (const Groups& groups :
       {groups_by("host", hosts), groups_by("leaf", leaves), groups_by("minipod", minipods),
        groups_by("cluster", {fabric.gpu_count()})}) {
    const bool new_level = out.empty() || groups.count != out.back().count;
    if (groups.gpus_max > 1 && new_level) out.push_back(groups);
  }
  return out;
}

/// The seeds' rule: where levels are less than 30 % apart, grouping by them gains little.
constexpr double kLevelsDiffer = 1.3;

std::vector<std::string> warnings_of(const std::vector<network::LevelBandwidth>& levels) {
  double least = 0;
  double most = 0;
  std::size_t between_hosts = 0;
  for (const auto& level : levels) {
    if (level.tier < topology::Tier::leaf) continue;
    least = between_hosts == 0 ? level.fair_bytes_per_s : std::min(least, level.fair_bytes_per_s);
    most = std::max(most, level.fair_bytes_per_s);
    ++between_hosts;
  }
  if (between_hosts < 2 || most >= least * kLevelsDiffer) return {};
  return {
      fmt::format("levels between hosts hardly differ ({:.0f} %, less than 30 %); "
                  "topology-aware grouping gains little",
                  100 * (most / least - 1))};
}

report::Table level_table(const std::vector<network::LevelBandwidth>& levels) {
  report::Table table{{{"level", "", {}, true, false},
                       {"GPUs", "", {}, false, false},
                       {"hops", "", {}, false, false},
                       {"latency", "us", {}, false, false},
                       {"a pair alone", "GB/s", {}, false, false},
                       {"when all talk", "GB/s", {}, false, false},
                       {"slowest", "GB/s", {}, false, false}}};
  for (const auto& level : levels) {
    const std::string cells[] = {
        std::string(name(level.tier)),        fmt::format("{}", level.flows),
        fmt::format("{}", level.hops),        fmt::format("{:.3f}", in_microseconds(level.latency)),
        gigabytes(level.alone_bytes_per_s),   gigabytes(level.fair_bytes_per_s),
        gigabytes(level.fair_bytes_per_s_min)};
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      table.columns[i].cells.push_back(cells[i]);
  }
  return table;
}

report::Table group_table(const std::vector<Groups>& groups) {
  report::Table table{{{"groups by", "", {}, true, false},
                       {"groups", "", {}, false, false},
                       {"GPUs each", "", {}, false, false}}};
  for (const Groups& each : groups) {
    table.columns[0].cells.emplace_back(each.level);
    table.columns[1].cells.push_back(fmt::format("{}", each.count));
    table.columns[2].cells.push_back(each.gpus_min == each.gpus_max
                                         ? fmt::format("{}", each.gpus_max)
                                         : fmt::format("{}-{}", each.gpus_min, each.gpus_max));
  }
  return table;
}

/// All GPUs' hosts in the order in which a ring should visit them, each once.
std::vector<HostId> ring_of_hosts(const topology::Topology& fabric) {
  std::vector<GpuId> gpus;
  for (std::size_t g = 0; g < fabric.gpu_count(); ++g) gpus.push_back(static_cast<GpuId>(g));
  std::vector<HostId> out;
  std::vector<bool> visited(fabric.hosts().size(), false);
  for (const std::uint32_t rank : topology::ring_order(fabric, gpus)) {
    const HostId host = fabric.host_of(gpus[rank]);
    if (visited[index(host)]) continue;
    visited[index(host)] = true;
    out.push_back(host);
  }
  return out;
}

/// "ring order: host-0 host-1 …", with what it crosses.
std::string ring_text(const topology::Topology& fabric) {
  constexpr std::size_t kNamed = 16;
  const std::vector<HostId> hosts = ring_of_hosts(fabric);
  std::string names;
  std::vector<GpuId> ring;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const topology::Host& host = fabric.host(hosts[i]);
    if (host.gpus > 0) ring.push_back(host.first_gpu);
    if (i < kNamed) names += (i == 0 ? "" : ", ") + fabric.host_name(hosts[i]);
  }
  if (hosts.size() > kNamed)
    names += fmt::format(", ... ({} hosts; all of them with --format json)", hosts.size());
  const topology::RingCrossings crossings = topology::ring_crossings(fabric, ring);
  return report::wrapped("ring order: ", names) +
         fmt::format("it changes the leaf {} times and the minipod {} times\n", crossings.leaves,
                     crossings.minipods);
}

std::string groups_json(const std::vector<Groups>& groups) {
  std::string out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    out += fmt::format("{}{{\"by\": \"{}\", \"groups\": {}, \"gpus_min\": {}, \"gpus_max\": {}}}",
                       i == 0 ? "" : ", ", groups[i].level, groups[i].count, groups[i].gpus_min,
                       groups[i].gpus_max);
  }
  return out;
}

std::string bandwidth_json(const std::vector<network::LevelBandwidth>& levels,
                           const std::vector<Groups>& groups, Bandwidth bisection,
                           const std::vector<std::string>& warnings) {
  std::string out = "{\"levels\": [";
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto& level = levels[i];
    out += fmt::format(
        "{}\n  {{\"level\": \"{}\", \"flows\": {}, \"hops\": {}, \"latency_s\": {}, "
        "\"pair_alone_bytes_per_s\": {}, \"all_bytes_per_s_mean\": {}, \"all_bytes_per_s_min\": "
        "{}}}",
        i == 0 ? "" : ",", name(level.tier), level.flows, level.hops, in_seconds(level.latency),
        level.alone_bytes_per_s, level.fair_bytes_per_s, level.fair_bytes_per_s_min);
  }
  out += fmt::format(
      "],\n \"bisection_bytes_per_s\": {},\n \"groups\": [",
      bisection > Bandwidth{} ? fmt::format("{}", bisection.bytes_per_s()) : std::string("null"));
  out += groups_json(groups) + "],\n \"warnings\": [";
  for (std::size_t i = 0; i < warnings.size(); ++i)
    out += (i == 0 ? "" : ", ") + config::json_string(warnings[i]);
  return out + "]}\n";
}

}  // namespace

void show_bandwidth(const CommandLine& line, const topology::Topology& fabric) {
  const auto routing = read_routing(line, fabric);
  const auto levels = network::level_bandwidths(fabric, *routing);
  const auto groups = groups_of(fabric);
  const Bandwidth bisection = topology::describe(fabric, 1, 0).bisection;
  const auto warnings = warnings_of(levels);
  switch (line.format()) {
    case report::Format::json:
      return write_stdout(bandwidth_json(levels, groups, bisection, warnings));
    case report::Format::csv:
      return write_stdout(to_csv(level_table(levels)));
    case report::Format::markdown:
      return write_stdout(to_markdown(level_table(levels)));
    case report::Format::table:
      break;
  }
  std::string text = to_text(level_table(levels)) + '\n' + to_text(group_table(groups));
  if (bisection > Bandwidth{}) {
    text += fmt::format("\nbisection between minipods: {} GB/s\n",
                        gigabytes(static_cast<double>(bisection.bytes_per_s())));
  }
  for (const std::string& warning : warnings) text += '\n' + report::wrapped("warning: ", warning);
  write_stdout(text);
}

namespace {

network::PatternSpec read_pattern(const CommandLine& line, const topology::Topology& fabric) {
  network::PatternSpec out;
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < network::kPatterns; ++i)
    known.push_back(name(static_cast<network::Pattern>(i)));
  const std::string given = line.text("pattern").value_or("permutation");
  const auto at = std::find(known.begin(), known.end(), given);
  if (at == known.end())
    throw config::ConfigError(
        unknown(fmt::format("--pattern: \"{}\" is unknown", given), given, known));
  out.pattern = static_cast<network::Pattern>(at - known.begin());
  const auto only = [&](const char* option, network::Pattern pattern) {
    if (line.has(option) && out.pattern != pattern) {
      throw config::ConfigError(
          fmt::format("--{} is of the pattern {}, not of {}", option, name(pattern), given));
    }
  };
  only("shift", network::Pattern::shift);
  only("target", network::Pattern::incast);
  only("seed", network::Pattern::permutation);
  out.seed = line.number("seed").value_or(1);
  out.distance = line.number("shift").value_or(fabric.hosts().front().gpus);
  const std::uint64_t target = line.number("target").value_or(0);
  if (target >= fabric.gpu_count()) {
    throw config::ConfigError(
        fmt::format("--target: there are GPUs 0 to {}, not {}", fabric.gpu_count() - 1, target));
  }
  out.target = static_cast<GpuId>(target);
  return out;
}

/// Links that carry something, hottest first; equal ones by number.
std::vector<LinkId> hottest(const network::Traffic& traffic) {
  std::vector<LinkId> out;
  for (std::size_t i = 0; i < traffic.links.size(); ++i) {
    if (traffic.links[i].flows > 0) out.push_back(static_cast<LinkId>(i));
  }
  std::stable_sort(out.begin(), out.end(), [&traffic](LinkId a, LinkId b) {
    return traffic.links[index(a)].load > traffic.links[index(b)].load;
  });
  return out;
}

struct TierLoad {
  std::size_t links = 0;
  double mean = 0;
  double most = 0;
  std::size_t binding = 0;  ///< flows that a link of this tier holds
};

std::array<TierLoad, topology::kTiers> loads_by_tier(const topology::Topology& fabric,
                                                     const network::Traffic& traffic) {
  std::array<TierLoad, topology::kTiers> out;
  for (std::size_t i = 0; i < traffic.links.size(); ++i) {
    TierLoad& tier = out.at(static_cast<std::size_t>(fabric.links()[i].tier));
    ++tier.links;
    tier.mean += traffic.links[i].load;
    tier.most = std::max(tier.most, traffic.links[i].load);
  }
  for (const LinkId link : traffic.bottleneck)
    ++out.at(static_cast<std::size_t>(fabric.link(link).tier)).binding;
  for (TierLoad& tier : out) {
    if (tier.links > 0) tier.mean /= static_cast<double>(tier.links);
  }
  return out;
}

report::Table tier_table(const std::array<TierLoad, topology::kTiers>& tiers) {
  report::Table table{{{"tier", "", {}, true, false},
                       {"mean load", "", {}, false, false},
                       {"highest", "", {}, false, false},
                       {"flows it holds", "", {}, false, false}}};
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    if (tiers.at(i).links == 0) continue;
    table.columns[0].cells.emplace_back(name(static_cast<topology::Tier>(i)));
    table.columns[1].cells.push_back(fmt::format("{:.3f}", tiers.at(i).mean));
    table.columns[2].cells.push_back(fmt::format("{:.3f}", tiers.at(i).most));
    table.columns[3].cells.push_back(fmt::format("{}", tiers.at(i).binding));
  }
  return table;
}

report::Table link_table(const topology::Topology& fabric, const network::Traffic& traffic,
                         const std::vector<LinkId>& links) {
  report::Table table{{{"link", "", {}, true, false},
                       {"tier", "", {}, true, false},
                       {"flows", "", {}, false, false},
                       {"load", "", {}, false, false},
                       {"used", "%", {}, false, false}}};
  for (const LinkId link : links) {
    const network::LinkLoad& load = traffic.links[index(link)];
    const std::string cells[] = {fabric.link_name(link), std::string(name(fabric.link(link).tier)),
                                 fmt::format("{}", load.flows), fmt::format("{:.3f}", load.load),
                                 fmt::format("{:.1f}", 100 * load.utilization)};
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      table.columns[i].cells.push_back(cells[i]);
  }
  return table;
}

/// Rates of flows beside what each could have alone.
struct Rates {
  double least = 0;
  double mean = 0;
  double sum = 0;
  double share = 0;  ///< sum over what the sources could send together
};

Rates rates_of(const topology::Topology& fabric, const std::vector<topology::Connection>& flows,
               const network::Traffic& traffic) {
  Rates out;
  std::vector<double> could(fabric.gpu_count(), 0);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    out.sum += traffic.rate_bytes_per_s[i];
    double& source = could[index(flows[i].source)];
    source = std::max(source, traffic.alone_bytes_per_s[i]);
  }
  out.least = *std::min_element(traffic.rate_bytes_per_s.begin(), traffic.rate_bytes_per_s.end());
  out.mean = out.sum / static_cast<double>(flows.size());
  out.share = out.sum / std::accumulate(could.begin(), could.end(), 0.0);
  return out;
}

std::string bottlenecks_json(const topology::Topology& fabric, const network::Traffic& traffic,
                             const Rates& rates, const std::vector<LinkId>& links) {
  std::string out = fmt::format(
      "{{\"flows\": {}, \"rate_bytes_per_s_min\": {}, \"rate_bytes_per_s_mean\": {}, "
      "\"rate_bytes_per_s_sum\": {}, \"share_of_alone\": {},\n \"links\": [",
      traffic.rate_bytes_per_s.size(), rates.least, rates.mean, rates.sum, rates.share);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const network::LinkLoad& load = traffic.links[index(links[i])];
    out += fmt::format(
        "{}\n  {{\"link\": {}, \"tier\": \"{}\", \"flows\": {}, \"load\": {}, \"utilization\": "
        "{}}}",
        i == 0 ? "" : ",", config::json_string(fabric.link_name(links[i])),
        name(fabric.link(links[i]).tier), load.flows, load.load, load.utilization);
  }
  out += fmt::format("],\n \"groups\": [{}],\n \"ring_order\": [", groups_json(groups_of(fabric)));
  const std::vector<HostId> ring = ring_of_hosts(fabric);
  for (std::size_t i = 0; i < ring.size(); ++i)
    out += (i == 0 ? "" : ", ") + config::json_string(fabric.host_name(ring[i]));
  return out + "]}\n";
}

/// A matrix of more flows than this would take minutes and gigabytes.
constexpr std::uint64_t kFlowsMax = 1'100'000;

}  // namespace

void show_bottlenecks(const CommandLine& line, const topology::Topology& fabric) {
  const network::PatternSpec pattern = read_pattern(line, fabric);
  const std::uint64_t gpus = fabric.gpu_count();
  if (pattern.pattern == network::Pattern::all_to_all && gpus * (gpus - 1) > kFlowsMax) {
    throw config::ConfigError(fmt::format(
        "all_to_all of {} GPUs is {} flows, more than {}: take a shift or a permutation", gpus,
        gpus * (gpus - 1), kFlowsMax));
  }
  const auto flows = network::flows_of(fabric, pattern);
  if (flows.empty()) throw config::ConfigError("the pattern has no flow: no GPU sends to another");
  const auto routing = read_routing(line, fabric);
  const network::Traffic traffic = network::carry(fabric, *routing, flows);
  std::vector<LinkId> links = hottest(traffic);
  links.resize(std::min<std::size_t>(links.size(), line.number("top").value_or(10)));
  const Rates rates = rates_of(fabric, flows, traffic);
  switch (line.format()) {
    case report::Format::json:
      return write_stdout(bottlenecks_json(fabric, traffic, rates, links));
    case report::Format::csv:
      return write_stdout(to_csv(link_table(fabric, traffic, links)));
    case report::Format::markdown:
      return write_stdout(to_markdown(link_table(fabric, traffic, links)));
    case report::Format::table:
      break;
  }
  write_stdout(fmt::format("{}: {} flows, {} GB/s together, {:.1f} % of what their senders could; "
                           "mean {}, slowest {} GB/s\n\n",
                           name(pattern.pattern), flows.size(), gigabytes(rates.sum),
                           100 * rates.share, gigabytes(rates.mean), gigabytes(rates.least)) +
               to_text(tier_table(loads_by_tier(fabric, traffic))) + '\n' +
               to_text(link_table(fabric, traffic, links)) +
               "\nload: demand over capacity, if every GPU sent as fast as it could alone\n\n" +
               to_text(group_table(groups_of(fabric))) + '\n' + ring_text(fabric));
}

}  // namespace railyard::cli
