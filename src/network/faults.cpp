#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "network/alive_route.hpp"
#include "network/flow_names.hpp"
#include "railyard/config/csv.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::network {
namespace {

using LinksOf = std::unordered_map<std::string, std::vector<LinkId>>;

/// `links` and `nodes` map names to the links concerned.
std::vector<Fault> read_faults(const std::filesystem::path& path, const LinksOf& links,
                               const LinksOf& nodes) {
  config::Csv csv = config::Csv::parse_file(path);
  config::Errors errors;
  const auto time = csv.required("time", errors);
  const auto event = csv.required("event", errors);
  const auto link = csv.optional("link");
  const auto node = csv.optional("node");
  const auto value = csv.optional("value");
  if (!link && !node) (void)csv.required("link", errors);
  csv.finish({}, errors);
  errors.throw_if_any();
  std::vector<Fault> out;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    Fault fault;
    constexpr double kSecondsMax = 4e7;
    fault.time =
        TimePoint(from_seconds(csv.real(row, time, errors, {.min = 0, .max = kSecondsMax})));
    const std::string_view what = config::trimmed(csv.text(row, event));
    const bool has_value = value && !csv.is_empty(row, value);
    if (what == "degrade") {
      fault.factor = csv.real(row, value, errors, {.min = 1e-6, .max = 1});
      if (!has_value)
        csv.fail(row, event, errors, "needs a value: the share of capacity that stays");
    } else if (what == "fail" || what == "recover") {
      fault.factor = what == "fail" ? 0 : 1;
      if (has_value) csv.fail(row, value, errors, "only degrade has a value");
    } else {
      csv.fail(row, event, errors, fmt::format("\"{}\" is none of fail, degrade, recover", what));
    }
    const bool by_link = link && !csv.is_empty(row, link);
    const bool by_node = node && !csv.is_empty(row, node);
    if (by_link == by_node) {
      csv.fail(row, by_link ? node : event, errors, "name either a link or a node");
      continue;
    }
    const config::CsvColumn column = by_link ? link : node;
    const std::string name(config::trimmed(csv.text(row, column)));
    const LinksOf& known = by_link ? links : nodes;
    const auto found = known.find(name);
    if (found == known.end()) {
      csv.fail(row, column, errors,
               fmt::format("there is no {} \"{}\"", by_link ? "link" : "node", name));
      continue;
    }
    fault.links = found->second;
    out.push_back(std::move(fault));
  }
  errors.throw_if_any();
  std::ranges::stable_sort(out, {}, &Fault::time);
  return out;
}

}  // namespace

std::vector<Fault> read_fault_table(const std::filesystem::path& path, const LinkTable& links) {
  LinksOf by_name;
  for (std::uint32_t link = 0; link < links.ids.size(); ++link)
    by_name.emplace(links.ids[link], std::vector{static_cast<LinkId>(link)});
  for (std::uint32_t link = 0; link < links.ids.size(); ++link)
    by_name.emplace(links.names[link], std::vector{static_cast<LinkId>(link)});
  return read_faults(path, by_name, {});
}

std::vector<Fault> read_fault_table(const std::filesystem::path& path,
                                    const topology::Topology& fabric) {
  LinksOf links;
  LinksOf nodes;
  for (std::uint32_t node = 0; node < fabric.node_count(); ++node)
    nodes[fabric.node_name(static_cast<NodeId>(node))] = {};
  for (std::uint32_t number = 0; number < fabric.links().size(); ++number) {
    const auto link = static_cast<LinkId>(number);
    links[fabric.link_name(link)] = {link};
    nodes[fabric.node_name(fabric.link(link).from)].push_back(link);
    nodes[fabric.node_name(fabric.link(link).to)].push_back(link);
  }
  return read_faults(path, links, nodes);
}

bool alive_route(const topology::Topology& fabric, GpuId source, GpuId destination,
                 std::span<const double> factors, const AliveChoice& choice, topology::Route& out) {
  std::vector<topology::LinkUse> paths;
  fabric.paths().spread(source, destination, paths);
  // Links stand in order of travel. Backwards: a link leads on when it is alive and ends at the
  // destination or where one begins that leads on.
  const NodeId end = fabric.link(paths.back().link).to;
  std::unordered_map<std::uint32_t, std::vector<LinkId>> onward;  // by node, looked into only
  for (auto use = paths.rbegin(); use != paths.rend(); ++use) {
    const topology::Link& link = fabric.link(use->link);
    const bool leads_on =
        link.to == end || onward.contains(static_cast<std::uint32_t>(index(link.to)));
    if (factors[index(use->link)] <= 0 || !leads_on) continue;
    onward[static_cast<std::uint32_t>(index(link.from))].push_back(use->link);
  }
  const NodeId begin = fabric.link(paths.front().link).from;
  if (!onward.contains(static_cast<std::uint32_t>(index(begin)))) return false;
  out.clear();
  std::unordered_map<std::uint32_t, double> share;
  std::unordered_map<std::uint32_t, Duration> reached;
  share[static_cast<std::uint32_t>(index(begin))] = 1.0;
  for (const topology::LinkUse& use : paths) {
    const topology::Link& link = fabric.link(use.link);
    const auto from = static_cast<std::uint32_t>(index(link.from));
    const auto at = onward.find(from);
    const auto carried = share.find(from);
    if (at == onward.end() || carried == share.end()) continue;
    const std::vector<LinkId>& choices = at->second;
    if (std::find(choices.begin(), choices.end(), use.link) == choices.end()) continue;
    double part = carried->second / static_cast<double>(choices.size());
    if (!choice.spread) {
      const std::uint64_t hash = mix64(choice.hash ^ mix64(from));
      if (choices[hash % choices.size()] != use.link) continue;
      part = 1.0;
    }
    const auto to = static_cast<std::uint32_t>(index(link.to));
    share[to] += part;
    reached[to] = std::max(reached[to], reached[from] + link.latency);
    out.latency = std::max(out.latency, reached[to]);
    out.tier = std::max(out.tier, link.tier);
    out.links.push_back({use.link, part});
  }
  return true;
}

}  // namespace railyard::network
