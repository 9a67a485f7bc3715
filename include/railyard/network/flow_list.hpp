// A list of flows with dependencies, run to its end: the network by itself, without jobs.
//
// A flow starts when its start time has come and everything it waits for has happened. What it may
// wait for is another flow's signal: `received` (its last byte is at the receiver) or `sent` (its
// sender holds it for complete). When these lie behind the end of the transfer itself is the
// transport's business (transport.hpp). A relay passes the signals it gets on to its targets, one
// each, in order: htsim's multishot trigger.
//
// Invariants of a FlowList: endpoints differ, sizes are positive, dependencies form no cycle. The
// readers establish them and name the line that does not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/network/flow_limit.hpp"
#include "railyard/network/flow_network.hpp"
#include "railyard/network/link_series.hpp"
#include "railyard/network/network_model.hpp"
#include "railyard/network/transport.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::network {

/// What of a flow another one can wait for.
enum class Signal : std::uint8_t { received, sent };

struct ListedFlow {
  std::string id;
  std::uint32_t source = 0;       ///< index of an endpoint
  std::uint32_t destination = 0;  ///< another one
  Bytes size;                     ///< > 0
  TimePoint start{};              ///< not before
  double share = 1.0;             ///< weight among others, > 0
  Bandwidth cap{};                ///< its sender is never faster; zero: no cap
  std::uint8_t priority = 0;      ///< strict, higher goes first, below kPriorities
  std::uint32_t line = 0;         ///< of the file
};

struct Dependency {
  std::uint32_t flow = 0;    ///< waits for
  std::uint32_t before = 0;  ///< this one's
  Signal signal = Signal::received;
};

/// The k-th signal lets the k-th target start. There are at least as many signals as targets.
struct Relay {
  std::vector<std::uint32_t> targets;
  std::vector<std::pair<std::uint32_t, Signal>> inputs;
};

struct FlowList {
  std::string name;                    ///< of the file, for messages
  std::vector<std::string> endpoints;  ///< as the file names them
  std::vector<ListedFlow> flows;       ///< in file order
  std::vector<Dependency> dependencies;
  std::vector<Relay> relays;
  std::vector<std::string> own_links;  ///< by flow, names or ids; empty: no flow has any

  [[nodiscard]] std::string place(std::size_t flow) const;
};

/// CSV with the columns id, src, dst, bytes, one of start | start_s | start_us | start_ps, and
/// optionally deps (ids separated by ';', received), dep (sent), links (separated by spaces), share
/// (weight among others, default 1), cap_Bps (never faster; empty: no cap), priority (0 to 7,
/// strict, higher goes first, default 0).
[[nodiscard]] FlowList read_flow_csv(const std::filesystem::path& path);

/// A connection matrix of htsim (.cm) with its triggers. htsim's own programs disagree on the unit
/// of `start`, so one must be stated when a start is not 0: the ticks of one unit (a picosecond is
/// a tenth of a tick).
[[nodiscard]] FlowList read_connection_matrix(const std::filesystem::path& path,
                                              std::optional<double> ticks_per_start);

/// Links given as a table: id, bw_Bps, lat_s, name.
struct LinkTable {
  std::string file;
  std::vector<std::string> ids;
  std::vector<std::string> names;  ///< empty where the table has none
  std::vector<Bandwidth> capacities;
  std::vector<Duration> latencies;
};
[[nodiscard]] LinkTable read_link_table(const std::filesystem::path& path);

/// Which links every flow takes. Flows with one path share it. Where the routing needs the load, a
/// flow without links of its own gets its route when it starts, and, with a re-path interval, asks
/// again at the multiples of that.
struct FlowRoutes {
  std::vector<Bandwidth> capacities;           ///< by link
  std::vector<topology::LinkUse> uses;         ///< of all routes, one after the other
  std::vector<std::uint32_t> first_use{0};     ///< routes + 1
  std::vector<Duration> latencies;             ///< by route: of its longest path
  std::vector<std::uint32_t> route_of_flow;    ///< kRouteAtStart: `by_load` says it
  bool sprayed = false;                        ///< a usage below 1 is a share of the packets
  const topology::Topology* fabric = nullptr;  ///< in which flows may be led around failed links
  const topology::Routing* by_load = nullptr;  ///< must outlive the run
  std::vector<GpuId> gpus;                     ///< by endpoint, for these two

  [[nodiscard]] std::span<const topology::LinkUse> route(std::size_t index) const {
    return {uses.data() + first_use[index], first_use[index + 1] - first_use[index]};
  }
};

/// Over given links: each flow's own ones, else those that `routes` (src, dst, links) has for its
/// endpoints; `routes` may be empty when all flows have their own.
[[nodiscard]] FlowRoutes routes_over_links(const FlowList& list, const LinkTable& links,
                                           const std::filesystem::path& routes);

/// Over a fabric whose GPUs the endpoints number: a flow's own links, else what the routing says,
/// each flow a connection of its own. Without a routing all flows must have their own links.
[[nodiscard]] FlowRoutes routes_over_fabric(const FlowList& list,
                                            const topology::Topology& topology,
                                            const topology::Routing* routing);

inline constexpr std::uint32_t kRouteAtStart = UINT32_MAX - 1;

/// From `time` on, links have this share of their capacity; 0: they are down.
struct Fault {
  TimePoint time{};
  std::vector<LinkId> links;
  double factor = 1.0;
};

/// CSV: time (seconds), event (fail | degrade | recover), link or node (all links of it), value
/// (degrade: the share of the capacity that stays). In order of time.
[[nodiscard]] std::vector<Fault> read_fault_table(const std::filesystem::path& path,
                                                  const LinkTable& links);
[[nodiscard]] std::vector<Fault> read_fault_table(const std::filesystem::path& path,
                                                  const topology::Topology& fabric);

/// What happens to the links during a run. A flow on a failed link is led over the equal paths that
/// are left, if the fabric has any, and back when all its own links are up; else it stands still,
/// and is given up after the timeout. (Only with the models that share links.)
struct FaultPlan {
  std::vector<Fault> faults;
  std::optional<Duration> timeout;
};

/// The finish of a flow that was given up, stands still for ever, or waits for such a one.
inline constexpr TimePoint kNever = TimePoint::max();

struct FlowTimes {
  TimePoint start = kNever;  ///< when it could start
  TimePoint finish =
      kNever;        ///< as the transport counts: at the receiver, or the last acknowledgement
  Duration alone{};  ///< what it takes on an idle network
};

struct FlowListResult {
  std::vector<FlowTimes> times;  ///< by flow
  NetworkCounters counters;
  std::uint64_t events = 0;   ///< starts, completions and signals
  std::uint64_t repaths = 0;  ///< moves of running flows, off failed links or to lighter ones
};

/// What a run fills beside its result, by the links of `routes`; null: not wanted. Only with the
/// models that share links.
struct FlowRecords {
  LinkSeries* series = nullptr;  ///< filled and closed
  FlowLimits* limits = nullptr;  ///< flows by their index in the list
};

[[nodiscard]] FlowListResult run_flow_list(const FlowList& list, const FlowRoutes& routes,
                                           const NetworkModel& model, const Transport& transport,
                                           const FaultPlan& faults = {}, FlowRecords records = {});

}  // namespace railyard::network
