// A job's DAG on its GPUs: every task bound to routes, ready to run any number of iterations.
//
// This is the only place where ranks meet GPUs. Most routes are pure functions of connections, so a
// task's flows are the same in every iteration and are bound once; where the routing needs the
// load, what is bound is the route on an idle network, and each flow gets its own when it starts
// (docs/adr/0017). Sends between the ranks of two actors are one flow a rank. A collective is
// either `coupled` (one flow with a usage on all its edges' links, paced by the slowest edge) or
// `stepped` (every transfer a flow).
// What one stream alone ever puts on links (tensor collectives on NVLink) is `timed`: its length is
// known (a stepped one runs once by itself for all groups that are alike), so it never enters the
// network. That is exact, and `NetworkSettings::reuse` turns it off.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/collective/collective.hpp"
#include "railyard/collective/protocol.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/network/network_model.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/workload/iteration_dag.hpp"

namespace railyard::training {

/// How collectives run.
enum class Execution : std::uint8_t { coupled, stepped };

/// How jobs use the network: the scenario's `network` object.
struct NetworkSettings {
  std::shared_ptr<const topology::Routing> routing;
  collective::Protocol protocol;
  Execution execution = Execution::coupled;
  /// False: every transfer is a flow, also where its time is known beforehand. The same results to
  /// the tick, for those who want to see it.
  bool reuse = true;
  /// Traffic of tensor, pipeline, context and expert groups goes before that of data-parallel ones
  /// (gradients and sharded weights) wherever they share a link.
  bool gradients_last = false;
  /// fluid, analytic or loggp. Under loggp every collective is stepped and `protocol` is not used:
  /// what a message costs beside its bytes are L, o and g.
  network::NetworkModel model;
};

/// A flow that a task starts: `size` over a bound route.
struct BoundFlow {
  std::uint32_t route = 0;  ///< into Program::routes
  Bytes size;
};

/// A set of links with usages, bound once.
struct BoundRoute {
  std::vector<topology::LinkUse> links;
  Duration latency{};
};

/// What a task does on the network.
struct Activity {
  std::uint32_t first_flow = 0;  ///< into Program::flows
  std::uint32_t flow_count = 0;
  bool timed = false;         ///< its links are its stream's own: takes `alone`, without flows
  std::uint32_t stepped = 0;  ///< 1 + index into Program::stepped; 0: not stepped
  Duration latency{};         ///< fixed costs in all
  Duration tail{};   ///< of them after the last byte has left (or the last step has arrived)
  Duration alone{};  ///< transfer time on an idle network, without latency
  std::array<double, topology::kTiers> tier_bytes{};  ///< by the highest tier of each edge's route
};

/// A stepped collective: transfers as flows with their dependencies.
struct SteppedCollective {
  struct Step {
    BoundFlow flow;
    Duration latency{};
    std::uint32_t dependency_count = 0;  ///< arrivals it waits for
    std::uint32_t first_dependent = 0;
    std::uint32_t dependent_count = 0;
    std::uint32_t next_on_channel =
        0;  ///< 1 + the transfer behind it on (source, channel); 0: none
    bool first_on_channel = true;
  };
  std::vector<Step> steps;
  std::vector<std::uint32_t> dependents;
};

/// A connection between two GPUs that some task uses.
struct Edge {
  GpuId source{};
  GpuId destination{};
  std::uint32_t route = 0;  ///< into Program::routes
  topology::Tier tier = topology::Tier::nvlink;
  std::uint64_t label = 0;  ///< of the connection, for the routing
};

/// Of which connections the routes of a program consist, so that each can be chosen by the load.
struct LoadRoutes {
  struct Part {
    std::uint32_t edge = 0;  ///< into Program::edges
    double share = 1.0;      ///< of the flow's rate
  };
  std::shared_ptr<const topology::Routing> routing;
  std::vector<Part> parts;                   ///< route after route
  std::vector<std::uint32_t> first_part{0};  ///< routes + 1
};

/// The most a program can ask of a link: a port (NIC, NVLink) sends and receives at most at its own
/// rate, so the ports whose flows cross a link bound its load.
struct LinkDemand {
  LinkId link{};
  double bytes_per_s = 0;
  bool port = false;  ///< the tightest link of an end point of some edge
};

/// Immutable once built; shared by runs and threads.
struct Program {
  std::shared_ptr<const workload::IterationDag> dag;
  std::uint64_t dag_digest = 0;  ///< of the DAG's content: equal for jobs of one kind
  std::vector<GpuId> gpu_of_rank;
  network::NetworkModel model;
  bool gradients_last = false;
  std::vector<BoundRoute> routes;
  std::optional<LoadRoutes> by_load;  ///< flows get their routes when they start
  std::uint64_t label = 0;            ///< as given to bind_job
  std::vector<Edge> edges;            ///< every connection used, in order of first use
  std::vector<LinkDemand> demand;     ///< of the links it uses, ascending
  std::vector<BoundFlow> flows;
  std::vector<SteppedCollective> stepped;
  std::vector<Activity> activities;
  std::vector<std::uint32_t>
      activity_of_task;  ///< 1 + index; 0: compute, barrier or nothing to send
  /// Tasks of fixed length that follow each other on a stream with nothing between them run as one:
  /// at the first their number, at the others 0; 1 for tasks on their own.
  std::vector<std::uint32_t> chain;
  // Reverse dependencies and stream order, CSR.
  std::vector<std::uint32_t> first_dependent;
  std::vector<std::uint32_t> dependents;
  std::vector<std::uint32_t> first_in_stream;
  std::vector<std::uint32_t> stream_tasks;
};

/// Binds `dag` to GPUs. `label` separates the connections of jobs in the routing hash. Throws
/// config::ConfigError when a collective algorithm refuses the group it is asked to serve.
[[nodiscard]] std::shared_ptr<const Program> bind_job(
    std::shared_ptr<const workload::IterationDag> dag, std::vector<GpuId> gpu_of_rank,
    const topology::Topology& topology, const NetworkSettings& network, std::uint64_t label);

/// Flows of jobs keep the path of their start; who reads a routing for them refuses to move them.
inline constexpr std::string_view kNoRepath =
    "flows of jobs keep the path they got when they started: leave repath_interval out (`railyard "
    "flows` moves running flows)";

/// The links that flows of the connection may take; `scratch` holds them where the load decides.
[[nodiscard]] std::span<const topology::LinkUse> may_use(const Program& program, const Edge& edge,
                                                         std::vector<topology::LinkUse>& scratch);

/// Computing time of one iteration, in ticks, summed over the GPUs.
[[nodiscard]] double busy_gpu_ticks(const Program& program);

/// Transfer time of one iteration, in ticks, on the link that it loads most, if it had that link to
/// itself. What is `timed` is left out: nobody else can use its links.
[[nodiscard]] double fullest_link_ticks(const Program& program, const topology::Topology& topology);

}  // namespace railyard::training
