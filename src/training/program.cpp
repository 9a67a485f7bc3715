#include "railyard/training/program.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "activity_flows.hpp"
#include "collective_binder.hpp"
#include "demand.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/core/rng.hpp"
#include "route_binder.hpp"

namespace railyard::training {
namespace {

using topology::LinkUse;
using workload::IterationDag;
using workload::Task;
using workload::TaskKind;

class Binder {
 public:
  Binder(Program& program, const topology::Topology& topology, const NetworkSettings& network,
         std::uint64_t label)
      : program_(program),
        network_(network),
        loggp_(network.model.fidelity == network::Fidelity::loggp),
        routes_(program, topology, *network.routing, label),
        collectives_(program, topology, network, routes_) {}

  /// Coupled collectives become stepped ones where that is asked for, once it is known which of
  /// them are timed.
  void bind_steps() { collectives_.bind_steps(); }

  void bind_tasks() {
    const IterationDag& dag = *program_.dag;
    program_.activity_of_task.assign(dag.tasks.size(), 0);
    for (std::size_t i = 0; i < dag.tasks.size(); ++i) {
      const Task& task = dag.tasks[i];
      if (task.kind == TaskKind::send) {
        program_.activity_of_task[i] = send_activity(task);
      } else if (task.kind == TaskKind::collective) {
        program_.activity_of_task[i] = collectives_.bind(task);
      }
    }
  }

 private:
  using SendKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;

  [[nodiscard]] GpuId gpu(Rank rank) const { return program_.gpu_of_rank[index(rank)]; }

  /// Fixed cost of a send. The engine charges those of LogGP.
  [[nodiscard]] Duration send_latency(const Edge& edge) const {
    if (loggp_) return Duration{};
    return network_.protocol.base + routes_.message_latency(edge, network_.protocol.ring);
  }

  std::uint32_t send_activity(const Task& task) {
    const SendKey key{task.actor, task.peer, task.size.count()};
    if (const auto found = sends_.find(key); found != sends_.end()) return found->second;
    const auto& from = program_.dag->actors[task.actor];
    const auto& to = program_.dag->actors[task.peer];
    Activity activity;
    activity.first_flow = static_cast<std::uint32_t>(program_.flows.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Edge edge = program_.edges[routes_.edge_of(gpu(from[i]), gpu(to[i]))];
      activity.latency = std::max(activity.latency, send_latency(edge));
      activity.alone = std::max(activity.alone, routes_.alone_on(edge.route, task.size));
      activity.tier_bytes[static_cast<std::size_t>(edge.tier)] +=
          static_cast<double>(task.size.count());
      program_.flows.push_back(BoundFlow{edge.route, task.size});
    }
    activity.tail = activity.latency;
    activity.flow_count = static_cast<std::uint32_t>(program_.flows.size()) - activity.first_flow;
    program_.activities.push_back(activity);
    return sends_[key] = static_cast<std::uint32_t>(program_.activities.size());
  }

  Program& program_;
  const NetworkSettings& network_;
  bool loggp_;
  RouteBinder routes_;
  CollectiveBinder collectives_;
  std::map<SendKey, std::uint32_t> sends_;
};

/// Marks activities whose links no other stream of the job ever uses, below the NICs: GPU ports
/// belong to one job, and a stream runs one task at a time, so these never share a link.
void mark_timed(Program& program, const topology::Topology& topology) {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  constexpr std::uint32_t kSeveral = kNobody - 1;
  const IterationDag& dag = *program.dag;
  std::vector<std::uint32_t> user(topology.links().size(), kNobody);
  const auto for_each_link = [&](const Activity& activity, auto&& visit) {
    for_each_flow(program, activity, [&](const BoundFlow& flow) {
      for (const LinkUse& use : program.routes[flow.route].links) visit(use.link);
    });
  };
  std::vector<std::uint8_t> collective(program.activities.size(), 0);
  for (std::size_t i = 0; i < dag.tasks.size(); ++i) {
    if (program.activity_of_task[i] == 0) continue;
    const std::uint32_t stream = dag.tasks[i].stream;
    collective[program.activity_of_task[i] - 1] = dag.tasks[i].kind == TaskKind::collective;
    for_each_link(program.activities[program.activity_of_task[i] - 1], [&](LinkId link) {
      std::uint32_t& owner = user[index(link)];
      owner = owner == kNobody || owner == stream ? stream : kSeveral;
    });
  }
  for (std::size_t i = 0; i < program.activities.size(); ++i) {
    Activity& activity = program.activities[i];
    if (collective[i] == 0 || activity.flow_count != 1 || activity.stepped != 0) continue;
    bool own = true;
    for_each_link(activity, [&](LinkId link) {
      own = own && topology.link(link).tier == topology::Tier::nvlink &&
            user[index(link)] != kSeveral;
    });
    activity.timed = own;
  }
}

void link_tasks(Program& program) {
  const IterationDag& dag = *program.dag;
  const std::size_t tasks = dag.tasks.size();
  program.first_dependent.assign(tasks + 1, 0);
  program.first_in_stream.assign(dag.streams + 1, 0);
  for (const Task& task : dag.tasks) {
    ++program.first_in_stream[task.stream + 1];
    for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
      ++program.first_dependent[dag.dependencies[task.first_dependency + d] + 1];
    }
  }
  for (std::size_t i = 0; i < tasks; ++i) {
    program.first_dependent[i + 1] += program.first_dependent[i];
  }
  for (std::uint32_t s = 0; s < dag.streams; ++s) {
    program.first_in_stream[s + 1] += program.first_in_stream[s];
  }
  program.dependents.resize(program.first_dependent.back());
  program.stream_tasks.resize(tasks);
  std::vector<std::uint32_t> dependent_at(program.first_dependent.begin(),
                                          program.first_dependent.end() - 1);
  std::vector<std::uint32_t> stream_at(program.first_in_stream.begin(),
                                       program.first_in_stream.end() - 1);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const Task& task = dag.tasks[i];
    program.stream_tasks[stream_at[task.stream]++] = i;
    for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
      program.dependents[dependent_at[dag.dependencies[task.first_dependency + d]]++] = i;
    }
  }
}

/// Does `task` always take the same time, whatever else runs?
bool fixed_length(const Program& program, std::uint32_t task) {
  const std::uint32_t activity = program.activity_of_task[task];
  return activity == 0 ? workload::has_duration(program.dag->tasks[task].kind)
                       : program.activities[activity - 1].timed;
}

bool waits_only_for(const IterationDag& dag, std::uint32_t task, std::uint32_t before) {
  const Task& what = dag.tasks[task];
  return what.dependency_count == 0 ||
         (what.dependency_count == 1 && dag.dependencies[what.first_dependency] == before);
}

bool lets_go_only(const Program& program, std::uint32_t before, std::uint32_t task) {
  const std::uint32_t first = program.first_dependent[before];
  const std::uint32_t count = program.first_dependent[before + 1] - first;
  return count == 0 || (count == 1 && program.dependents[first] == task);
}

/// Joins a task to the one before it on its stream when each is all the other waits for or lets go.
void find_chains(Program& program) {
  const IterationDag& dag = *program.dag;
  program.chain.assign(dag.tasks.size(), 1);
  for (std::uint32_t s = 0; s < dag.streams; ++s) {
    std::uint32_t head = program.first_in_stream[s];
    for (std::uint32_t at = head + 1; at < program.first_in_stream[s + 1]; ++at) {
      const std::uint32_t before = program.stream_tasks[at - 1];
      const std::uint32_t task = program.stream_tasks[at];
      const bool joined = fixed_length(program, before) && fixed_length(program, task) &&
                          waits_only_for(dag, task, before) && lets_go_only(program, before, task);
      if (!joined) {
        head = at;
        continue;
      }
      ++program.chain[program.stream_tasks[head]];
      program.chain[task] = 0;
    }
  }
}

std::uint64_t digest_of(const IterationDag& dag) {
  Digest digest;
  for (const Task& task : dag.tasks) {
    digest.add((static_cast<std::uint64_t>(task.kind) << 16U) |
               (static_cast<std::uint64_t>(task.cause) << 8U) |
               static_cast<std::uint64_t>(task.operation));
    digest.add((static_cast<std::uint64_t>(task.stream) << 32U) | task.actor);
    digest.add((static_cast<std::uint64_t>(task.peer) << 32U) | task.group);
    digest.add((static_cast<std::uint64_t>(task.repeat) << 32U) | task.dependency_count);
    digest.add(task.size.count());
    digest.add(task.duration);
    if (task.shares != 0) {
      digest.add(static_cast<std::uint64_t>(task.by_source));
      for (const std::uint32_t share : dag.shares[task.shares - 1])
        digest.add(static_cast<std::uint64_t>(share));
    }
  }
  for (const std::string& text : dag.collectives.text) digest.add(std::string_view(text));
  if (dag.collectives.ring_order != collective::RingOrder::rank)
    digest.add(static_cast<std::uint64_t>(dag.collectives.ring_order));
  for (const std::uint32_t dependency : dag.dependencies) {
    digest.add(static_cast<std::uint64_t>(dependency));
  }
  return digest.value();
}

}  // namespace

std::shared_ptr<const Program> bind_job(std::shared_ptr<const IterationDag> dag,
                                        std::vector<GpuId> gpu_of_rank,
                                        const topology::Topology& topology,
                                        const NetworkSettings& network, std::uint64_t label) {
  RAILYARD_CHECK(gpu_of_rank.size() == dag->ranks, "{} ranks on {} GPUs", dag->ranks,
                 gpu_of_rank.size());
  auto program = std::make_shared<Program>();
  program->dag_digest = digest_of(*dag);
  program->dag = std::move(dag);
  program->gpu_of_rank = std::move(gpu_of_rank);
  program->model = network.model;
  program->gradients_last = network.gradients_last;
  program->label = label;
  if (network.routing->needs_load()) program->by_load.emplace().routing = network.routing;
  link_tasks(*program);
  Binder binder(*program, topology, network, mix64(label));
  binder.bind_tasks();
  if (network.reuse && network.model.fidelity != network::Fidelity::loggp) {
    mark_timed(*program, topology);
  }
  binder.bind_steps();
  find_chains(*program);
  find_demand(*program, topology);
  return program;
}

}  // namespace railyard::training
