#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <unordered_map>

#include "network/flow_names.hpp"
#include "railyard/config/csv.hpp"
#include "railyard/core/check.hpp"
#include "railyard/network/flow_list.hpp"

namespace railyard::network {
namespace {

constexpr std::uint32_t kNoRoute = UINT32_MAX;

/// Finds links by what a file calls them.
using LinksByName = std::unordered_map<std::string, std::uint32_t>;

/// htsim's queues carry the number of a bundled cable behind a point, and an underscore on the way
/// down: "US3->LS_1.0" is the first link from US3 to LS1.
std::string without_queue_marks(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool before_digit = i + 1 < name.size() && name[i + 1] >= '0' && name[i + 1] <= '9';
    if (name[i] == '_' && before_digit) continue;
    if (name[i] == '.' && before_digit) {
      if (name.substr(i) != ".0") out += fmt::format("#{}", name.substr(i + 1));
      break;
    }
    out += name[i];
  }
  return out;
}

std::optional<std::uint32_t> find_link(const LinksByName& links, std::string_view name) {
  auto at = links.find(std::string(name));
  if (at == links.end()) at = links.find(without_queue_marks(name));
  if (at == links.end()) at = links.find(without_queue_marks(name) + "#0");
  if (at == links.end()) return std::nullopt;
  return at->second;
}

/// Collects routes, equal ones once.
class RouteStore {
 public:
  RouteStore(FlowRoutes& routes, std::span<const Duration> latencies)
      : routes_(routes), latencies_(latencies), used_by_(latencies.size(), 0) {}

  /// A route of links separated by blanks; kNoRoute where the text is wrong: `fail` was told.
  template <typename Fail>
  std::uint32_t of_text(std::string_view text, const LinksByName& links, const Fail& fail) {
    const auto known = of_text_.find(std::string(text));
    if (known != of_text_.end()) return known->second;
    ++texts_;
    Duration latency{};
    const std::size_t begin = routes_.uses.size();
    std::string fault;
    std::string_view rest = text;
    for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
      const auto link = find_link(links, word);
      if (!link) {
        fault = fmt::format("there is no link \"{}\"", word);
      } else if (used_by_[*link] == texts_) {
        fault = fmt::format("link \"{}\" occurs twice in one route", word);
      } else {
        used_by_[*link] = texts_;
        latency += latencies_[*link];
        routes_.uses.push_back({static_cast<LinkId>(*link), 1.0});
      }
      if (!fault.empty()) break;
    }
    if (fault.empty() && routes_.uses.size() == begin) fault = "a route has at least one link";
    if (!fault.empty()) {
      routes_.uses.resize(begin);
      fail(fault);
      return kNoRoute;
    }
    const std::uint32_t route = close(latency);
    of_text_.emplace(std::string(text), route);
    return route;
  }

  std::uint32_t of_route(const topology::Route& route) {
    routes_.uses.insert(routes_.uses.end(), route.links.begin(), route.links.end());
    return close(route.latency);
  }

 private:
  std::uint32_t close(Duration latency) {
    routes_.latencies.push_back(latency);
    routes_.first_use.push_back(static_cast<std::uint32_t>(routes_.uses.size()));
    return static_cast<std::uint32_t>(routes_.latencies.size() - 1);
  }

  FlowRoutes& routes_;
  std::span<const Duration> latencies_;
  std::vector<std::uint32_t> used_by_;  ///< by link: the text that named it last
  std::uint32_t texts_ = 0;
  std::unordered_map<std::string, std::uint32_t> of_text_;
};

/// Where a fault of a flow's route is reported: at the flow's line.
auto fault_of(const FlowList& list, std::size_t flow, config::Errors& errors) {
  return [&list, flow, &errors](const std::string& what) {
    errors.add(fmt::format("{}: flow {}: {}", list.place(flow), list.flows[flow].id, what));
  };
}

bool has_own_links(const FlowList& list, std::size_t flow) {
  return !list.own_links.empty() && !config::trimmed(list.own_links[flow]).empty();
}

using Pair = std::pair<std::string, std::string>;

std::map<Pair, std::uint32_t> read_routes(const std::filesystem::path& path,
                                          const LinksByName& links, RouteStore& store,
                                          config::Errors& errors) {
  config::Csv csv = config::Csv::parse_file(path);
  const auto source = csv.required("src", errors);
  const auto destination = csv.required("dst", errors);
  const auto route = csv.required("links", errors);
  csv.finish({}, errors);
  errors.throw_if_any();
  std::map<Pair, std::uint32_t> out;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const auto fail = [&](const std::string& what) { csv.fail(row, route, errors, what); };
    Pair pair{config::trimmed(csv.text(row, source)), config::trimmed(csv.text(row, destination))};
    const std::uint32_t index = store.of_text(csv.text(row, route), links, fail);
    if (!out.emplace(std::move(pair), index).second) {
      csv.fail(row, destination, errors, "there is a route between these two already");
    }
  }
  errors.throw_if_any();
  return out;
}

/// The GPUs that the endpoints number.
std::vector<GpuId> gpus_of(const FlowList& list, const topology::Topology& topology,
                           config::Errors& errors) {
  std::vector<GpuId> out;
  std::vector<bool> wrong;
  for (const std::string& name : list.endpoints) {
    std::uint64_t gpu = 0;
    const auto [stop, fault] = std::from_chars(name.data(), name.data() + name.size(), gpu);
    const bool good =
        fault == std::errc{} && stop == name.data() + name.size() && gpu < topology.gpu_count();
    wrong.push_back(!good);
    out.push_back(static_cast<GpuId>(good ? gpu : 0));
  }
  for (std::size_t flow = 0; flow < list.flows.size(); ++flow) {
    for (const std::uint32_t end : {list.flows[flow].source, list.flows[flow].destination}) {
      if (!wrong[end]) continue;
      fault_of(list, flow, errors)(fmt::format("\"{}\" is no GPU of the fabric: they are 0 to {}",
                                               list.endpoints[end], topology.gpu_count() - 1));
    }
  }
  return out;
}

}  // namespace

LinkTable read_link_table(const std::filesystem::path& path) {
  config::Csv csv = config::Csv::parse_file(path);
  config::Errors errors;
  const auto id = csv.required("id", errors);
  const auto bandwidth = csv.required("bw_Bps", errors);
  const auto latency = csv.required("lat_s", errors);
  const auto name = csv.optional("name");
  csv.finish({}, errors);
  if (csv.rows() == 0) errors.add(csv.name() + ": has a header but not one link");
  errors.throw_if_any();
  LinkTable table;
  table.file = csv.name();
  std::map<std::string, std::size_t, std::less<>> row_of;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    constexpr double kMost = 1e18;
    const double rate = csv.real(row, bandwidth, errors, {.min = 1, .max = kMost});
    table.capacities.emplace_back(std::llround(rate));
    table.latencies.push_back(from_seconds(csv.real(row, latency, errors, {.min = 0, .max = 1e6})));
    table.ids.emplace_back(config::trimmed(csv.text(row, id)));
    table.names.emplace_back(name ? config::trimmed(csv.text(row, name)) : std::string_view());
    const auto [first, fresh] = row_of.emplace(table.ids.back(), row);
    if (!fresh) {
      csv.fail(row, id, errors,
               fmt::format("\"{}\" is taken by {}", table.ids.back(), csv.place(first->second)));
    }
  }
  errors.throw_if_any();
  return table;
}

FlowRoutes routes_over_links(const FlowList& list, const LinkTable& links,
                             const std::filesystem::path& routes) {
  FlowRoutes out;
  out.capacities = links.capacities;
  LinksByName by_name;
  for (std::uint32_t link = 0; link < links.ids.size(); ++link)
    by_name.emplace(links.ids[link], link);
  for (std::uint32_t link = 0; link < links.ids.size(); ++link) {
    if (!links.names[link].empty()) by_name.emplace(links.names[link], link);
  }
  config::Errors errors;
  RouteStore store(out, links.latencies);
  std::map<Pair, std::uint32_t> given;
  if (!routes.empty()) given = read_routes(routes, by_name, store, errors);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> of_endpoints;
  for (std::size_t flow = 0; flow < list.flows.size(); ++flow) {
    const auto fail = fault_of(list, flow, errors);
    if (has_own_links(list, flow)) {
      out.route_of_flow.push_back(store.of_text(list.own_links[flow], by_name, fail));
      continue;
    }
    const ListedFlow& one = list.flows[flow];
    const auto [at, fresh] = of_endpoints.emplace(std::pair(one.source, one.destination), kNoRoute);
    if (fresh) {
      const auto found = given.find({list.endpoints[one.source], list.endpoints[one.destination]});
      if (found != given.end()) at->second = found->second;
    }
    if (at->second == kNoRoute) {
      fail(fmt::format(
          "no route from \"{}\" to \"{}\": {}", list.endpoints[one.source],
          list.endpoints[one.destination],
          routes.empty() ? "give --routes, or a column \"links\"" : routes.string() + " has none"));
    }
    out.route_of_flow.push_back(at->second);
  }
  errors.throw_if_any();
  return out;
}

FlowRoutes routes_over_fabric(const FlowList& list, const topology::Topology& topology,
                              const topology::Routing* routing) {
  FlowRoutes out;
  std::vector<Duration> latencies;
  for (const topology::Link& link : topology.links()) {
    out.capacities.push_back(link.capacity);
    latencies.push_back(link.latency);
  }
  config::Errors errors;
  const std::vector<GpuId> gpus = gpus_of(list, topology, errors);
  errors.throw_if_any();
  LinksByName by_name;
  if (!list.own_links.empty()) {
    for (std::uint32_t link = 0; link < latencies.size(); ++link)
      by_name.emplace(topology.link_name(static_cast<LinkId>(link)), link);
    for (std::uint32_t link = 0; link < latencies.size(); ++link)
      by_name.emplace(fmt::format("{}", link), link);
  }
  RouteStore store(out, latencies);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> of_endpoints;
  topology::Route route;
  for (std::size_t flow = 0; flow < list.flows.size(); ++flow) {
    const auto fail = fault_of(list, flow, errors);
    const ListedFlow& one = list.flows[flow];
    if (has_own_links(list, flow)) {
      out.route_of_flow.push_back(store.of_text(list.own_links[flow], by_name, fail));
      continue;
    }
    if (routing == nullptr) {
      fail("has no links of its own, and no routing is given");
      out.route_of_flow.push_back(kNoRoute);
      continue;
    }
    if (routing->needs_load()) {
      out.route_of_flow.push_back(kRouteAtStart);
      continue;
    }
    auto at = of_endpoints.emplace(std::pair(one.source, one.destination), kNoRoute).first;
    if (routing->hashes() || at->second == kNoRoute) {
      routing->route({gpus[one.source], gpus[one.destination], flow}, route);
      at->second = store.of_route(route);
    }
    out.route_of_flow.push_back(at->second);
  }
  errors.throw_if_any();
  if (routing != nullptr) {
    out.fabric = &topology;
    out.gpus = gpus;
    if (routing->needs_load()) out.by_load = routing;
  }
  return out;
}

}  // namespace railyard::network
