#include "railyard/training/program.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "demand.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::training {
namespace {

using collective::Operation;
using topology::LinkUse;
using workload::Cause;
using workload::IterationDag;
using workload::Task;
using workload::TaskKind;

/// Transfer time of a size over an idle route.
Duration alone_on(const BoundRoute& route, Bytes size, const topology::Topology& topology) {
  double ticks = 0;
  for (const LinkUse& use : route.links) {
    const double rate =
        static_cast<double>(topology.link(use.link).capacity.bytes_per_s()) / use.usage;
    ticks = std::max(ticks, static_cast<double>(size.count()) * kTicksPerSecond / rate);
  }
  return to_ticks(ticks);
}

class Binder {
 public:
  Binder(Program& program, const topology::Topology& topology, const NetworkSettings& network,
         std::uint64_t label)
      : program_(program),
        topology_(topology),
        network_(network),
        loggp_(network.model.fidelity == network::Fidelity::loggp),
        label_(label),
        usage_(topology.links().size(), 0.0) {}

  void bind_tasks() {
    const IterationDag& dag = *program_.dag;
    program_.activity_of_task.assign(dag.tasks.size(), 0);
    for (std::size_t i = 0; i < dag.tasks.size(); ++i) {
      const Task& task = dag.tasks[i];
      if (task.kind == TaskKind::send) {
        program_.activity_of_task[i] = send_activity(task);
      } else if (task.kind == TaskKind::collective) {
        program_.activity_of_task[i] = collective_activity(task);
      }
    }
  }

 private:
  using SendKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;
  using CollectiveKey = std::tuple<std::uint32_t, int, int, std::int64_t,
                                   std::uint32_t>;  // group, op, cause, size, n

  [[nodiscard]] GpuId gpu(Rank rank) const { return program_.gpu_of_rank[index(rank)]; }

  std::uint32_t edge_of(Rank from, Rank to) {
    const GpuId source = gpu(from);
    const GpuId destination = gpu(to);
    const std::uint64_t key = (static_cast<std::uint64_t>(source) << 32U) | index(destination);
    const auto [found, inserted] =
        edges_.try_emplace(key, static_cast<std::uint32_t>(program_.edges.size()));
    if (inserted) {
      network_.routing->route({source, destination, label_}, scratch_);
      const auto route = static_cast<std::uint32_t>(program_.routes.size());
      program_.routes.push_back(BoundRoute{scratch_.links, scratch_.latency});
      program_.edges.push_back(Edge{source, destination, route, scratch_.tier});
    }
    return found->second;
  }

  /// Fixed cost of one message over an edge: the protocol's and the wires'. The engine charges
  /// those of LogGP.
  [[nodiscard]] Duration message_latency(const Edge& edge,
                                         const collective::TransferLatency& protocol) const {
    if (loggp_) return Duration{};
    return (edge.tier == topology::Tier::nvlink ? protocol.nvlink : protocol.network) +
           program_.routes[edge.route].latency;
  }

  /// Once per collective or send.
  [[nodiscard]] Duration base() const { return loggp_ ? Duration{} : network_.protocol.base; }

  std::uint32_t finish_activity(Activity activity) {
    program_.activities.push_back(activity);
    return static_cast<std::uint32_t>(program_.activities.size());
  }

  void add_usage(const Edge& edge, double share) {
    for (const LinkUse& use : program_.routes[edge.route].links) {
      double& sum = usage_[index(use.link)];
      if (sum == 0.0) touched_.push_back(use.link);
      sum += use.usage * share;
    }
  }

  /// A route of the usages added since the last one.
  std::uint32_t add_route() {
    std::sort(touched_.begin(), touched_.end());
    BoundRoute route;
    for (const LinkId link : touched_) {
      route.links.push_back(LinkUse{link, std::exchange(usage_[index(link)], 0.0)});
    }
    touched_.clear();
    program_.routes.push_back(std::move(route));
    return static_cast<std::uint32_t>(program_.routes.size() - 1);
  }

  /// Edges whose routes differ only in which of equal links they take: link by link the same
  /// capacity and usage. Together they behave as one flow with the sum of their usages.
  [[nodiscard]] bool alike(const std::vector<std::uint32_t>& edges) const {
    const auto& first = program_.routes[program_.edges[edges.front()].route].links;
    return std::all_of(edges.begin(), edges.end(), [&](std::uint32_t edge) {
      const auto& links = program_.routes[program_.edges[edge].route].links;
      return std::equal(links.begin(), links.end(), first.begin(), first.end(),
                        [&](const LinkUse& a, const LinkUse& b) {
                          return a.usage == b.usage &&
                                 topology_.link(a.link).capacity == topology_.link(b.link).capacity;
                        });
    });
  }

  std::uint32_t send_activity(const Task& task) {
    const SendKey key{task.actor, task.peer, task.size.count()};
    if (const auto found = sends_.find(key); found != sends_.end()) return found->second;
    const auto& from = program_.dag->actors[task.actor];
    const auto& to = program_.dag->actors[task.peer];
    Activity activity;
    activity.first_flow = static_cast<std::uint32_t>(program_.flows.size());
    std::vector<std::uint32_t> edges;
    for (std::size_t i = 0; i < from.size(); ++i) {
      edges.push_back(edge_of(from[i], to[i]));
      const Edge edge = program_.edges[edges.back()];
      activity.latency =
          std::max(activity.latency, base() + message_latency(edge, network_.protocol.ring));
      activity.alone =
          std::max(activity.alone, alone_on(program_.routes[edge.route], task.size, topology_));
      activity.tier_bytes[static_cast<std::size_t>(edge.tier)] +=
          static_cast<double>(task.size.count());
    }
    if (edges.size() > 1 && !loggp_ && !network_.routing->hashes() && alike(edges)) {
      for (const std::uint32_t edge : edges) add_usage(program_.edges[edge], 1.0);
      program_.flows.push_back(BoundFlow{add_route(), task.size});
    } else {
      for (const std::uint32_t edge : edges) {
        program_.flows.push_back(BoundFlow{program_.edges[edge].route, task.size});
      }
    }
    activity.tail = activity.latency;
    activity.flow_count = static_cast<std::uint32_t>(program_.flows.size()) - activity.first_flow;
    return sends_[key] = finish_activity(activity);
  }

  [[nodiscard]] const collective::Algorithm& algorithm(const std::string& name) {
    auto& slot = algorithms_[name];
    if (!slot) {
      const auto table = collective::algorithm_catalog();
      const auto choice = config::default_choice(name, config::descriptions(table));
      slot = config::entry_of(table, name).create(choice.parameters);
    }
    return *slot;
  }

  [[nodiscard]] collective::GroupShape shape_of(const std::vector<Rank>& group) const {
    collective::GroupShape shape;
    std::map<HostId, std::uint32_t> islands;
    for (const Rank rank : group) {
      const HostId host = topology_.host_of(gpu(rank));
      const auto next = static_cast<std::uint32_t>(islands.size());
      shape.island_of.push_back(islands.try_emplace(host, next).first->second);
    }
    return shape;
  }

  std::uint32_t collective_activity(const Task& task) {
    const CollectiveKey key{task.group, static_cast<int>(task.operation),
                            static_cast<int>(task.cause), task.size.count(), task.repeat};
    if (const auto found = collectives_.find(key); found != collectives_.end()) {
      return found->second;
    }
    const std::vector<Rank>& group = program_.dag->groups[task.group];
    const collective::GroupShape shape = shape_of(group);
    const collective::Request request{task.operation, task.size};
    const std::string name = task.cause == Cause::data ? program_.dag->algorithm_of(task.operation)
                                                       : std::string("ring");
    const collective::Algorithm& chosen = algorithm(name);
    if (const std::string refusal = chosen.refusal(request, shape); !refusal.empty()) {
      throw config::ConfigError(
          fmt::format("collective algorithm \"{}\" cannot run this {} over {} ranks: {}", name,
                      collective::name(task.operation), group.size(), refusal));
    }
    const collective::TransferLatency& protocol =
        name == "double_binary_tree" ? network_.protocol.tree : network_.protocol.ring;
    Activity activity =
        coupled_activity(chosen.coupled(request, shape), group, task.repeat, protocol);
    const bool steps =
        network_.execution == Execution::stepped && task.cause == Cause::data && task.repeat == 1;
    if (activity.flow_count > 0 && (steps || loggp_)) {
      bind_steps(repeated(chosen.schedule(request, shape), task.repeat), group, protocol);
      activity.flow_count = 0;
      activity.tail = base();
      activity.stepped = static_cast<std::uint32_t>(program_.stepped.size());
    }
    const bool nothing = activity.flow_count == 0 && activity.stepped == 0;
    return collectives_[key] = nothing ? 0 : finish_activity(activity);
  }

  Activity coupled_activity(const collective::Coupled& form, const std::vector<Rank>& group,
                            std::uint32_t repeat, const collective::TransferLatency& protocol) {
    Activity activity;
    activity.first_flow = static_cast<std::uint32_t>(program_.flows.size());
    Bytes largest;
    for (const auto& edge : form.edges) largest = std::max(largest, edge.size);
    if (largest == Bytes{}) return activity;

    Duration step{};
    for (const auto& form_edge : form.edges) {
      const Edge edge =
          program_.edges[edge_of(group[form_edge.source], group[form_edge.destination])];
      step = std::max(step, message_latency(edge, protocol));
      const double share =
          static_cast<double>(form_edge.size.count()) / static_cast<double>(largest.count());
      add_usage(edge, share);
      activity.tier_bytes[static_cast<std::size_t>(edge.tier)] +=
          static_cast<double>(form_edge.size.count()) * repeat;
    }
    const Bytes size(static_cast<std::int64_t>(
        std::llround(static_cast<double>(largest.count()) * (1.0 + form.fill) * repeat)));
    const std::uint32_t route = add_route();
    activity.alone = alone_on(program_.routes[route], size, topology_);
    activity.latency = (base() + step * form.latency_steps) * repeat;
    activity.tail = activity.latency;
    program_.flows.push_back(BoundFlow{route, size});
    activity.flow_count = 1;
    return activity;
  }

  /// The schedule so many times in a row: what starts one waits for all that came to its rank in
  /// the one before.
  static collective::Schedule repeated(const collective::Schedule& once, std::uint32_t repeat) {
    collective::Schedule out = once;
    const auto count = static_cast<std::uint32_t>(once.transfers.size());
    for (std::uint32_t round = 1; round < repeat; ++round) {
      for (const collective::Transfer& transfer : once.transfers) {
        collective::Transfer again = transfer;
        again.first_dependency = static_cast<std::uint32_t>(out.dependencies.size());
        for (std::uint32_t d = 0; d < transfer.dependency_count; ++d)
          out.dependencies.push_back(once.dependencies[transfer.first_dependency + d] +
                                     round * count);
        for (std::uint32_t i = 0; transfer.dependency_count == 0 && i < count; ++i) {
          if (once.transfers[i].destination == transfer.source)
            out.dependencies.push_back((round - 1) * count + i);
        }
        again.dependency_count =
            static_cast<std::uint32_t>(out.dependencies.size()) - again.first_dependency;
        out.transfers.push_back(again);
      }
    }
    return out;
  }

  void bind_steps(const collective::Schedule& schedule, const std::vector<Rank>& group,
                  const collective::TransferLatency& protocol) {
    SteppedCollective bound;
    const auto count = schedule.transfers.size();
    bound.steps.resize(count);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last_on_channel;
    for (std::uint32_t i = 0; i < count; ++i) {
      const collective::Transfer& transfer = schedule.transfers[i];
      SteppedCollective::Step& step = bound.steps[i];
      const Edge edge =
          program_.edges[edge_of(group[transfer.source], group[transfer.destination])];
      step.flow = BoundFlow{edge.route, transfer.size};
      step.latency = message_latency(edge, protocol);
      step.dependency_count = transfer.dependency_count;
      const std::pair channel{transfer.source, transfer.channel};
      if (const auto before = last_on_channel.find(channel); before != last_on_channel.end()) {
        bound.steps[before->second].next_on_channel = i + 1;
        step.first_on_channel = false;
      }
      last_on_channel[channel] = i;
      for (std::uint32_t d = 0; d < transfer.dependency_count; ++d) {
        ++bound.steps[schedule.dependencies[transfer.first_dependency + d]].dependent_count;
      }
    }
    std::uint32_t next = 0;
    for (SteppedCollective::Step& step : bound.steps) {
      step.first_dependent = next;
      next += std::exchange(step.dependent_count, 0U);
    }
    bound.dependents.resize(next);
    for (std::uint32_t i = 0; i < count; ++i) {
      const collective::Transfer& transfer = schedule.transfers[i];
      for (std::uint32_t d = 0; d < transfer.dependency_count; ++d) {
        auto& before = bound.steps[schedule.dependencies[transfer.first_dependency + d]];
        bound.dependents[before.first_dependent + before.dependent_count++] = i;
      }
    }
    program_.stepped.push_back(std::move(bound));
  }

  Program& program_;
  const topology::Topology& topology_;
  const NetworkSettings& network_;
  bool loggp_;
  std::uint64_t label_;
  topology::Route scratch_;
  std::vector<double> usage_;  ///< per link, of the route being put together
  std::vector<LinkId> touched_;
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;
  std::map<SendKey, std::uint32_t> sends_;
  std::map<CollectiveKey, std::uint32_t> collectives_;
  std::map<std::string, std::unique_ptr<collective::Algorithm>> algorithms_;
};

/// Marks activities whose links no other stream of the job ever uses, below the NICs: GPU ports
/// belong to one job, and a stream runs one task at a time, so these never share a link.
void mark_timed(Program& program, const topology::Topology& topology) {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  constexpr std::uint32_t kSeveral = kNobody - 1;
  const IterationDag& dag = *program.dag;
  std::vector<std::uint32_t> user(topology.links().size(), kNobody);
  const auto for_each_link = [&](const Activity& activity, auto&& visit) {
    for (std::uint32_t f = 0; f < activity.flow_count; ++f) {
      const BoundFlow& flow = program.flows[activity.first_flow + f];
      for (const LinkUse& use : program.routes[flow.route].links) visit(use.link);
    }
    if (activity.stepped == 0) return;
    for (const auto& step : program.stepped[activity.stepped - 1].steps) {
      for (const LinkUse& use : program.routes[step.flow.route].links) visit(use.link);
    }
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
  }
  for (const std::uint32_t dependency : dag.dependencies) {
    digest.add(static_cast<std::uint64_t>(dependency));
  }
  return digest.value();
}

}  // namespace

std::shared_ptr<const Program> bind(std::shared_ptr<const IterationDag> dag,
                                    std::vector<GpuId> gpu_of_rank,
                                    const topology::Topology& topology,
                                    const NetworkSettings& network, std::uint64_t label) {
  RAILYARD_CHECK(gpu_of_rank.size() == dag->ranks, "{} ranks on {} GPUs", dag->ranks,
                 gpu_of_rank.size());
  RAILYARD_CHECK(!network.routing->needs_load(), "routes are bound before any flow starts");
  auto program = std::make_shared<Program>();
  program->dag_digest = digest_of(*dag);
  program->dag = std::move(dag);
  program->gpu_of_rank = std::move(gpu_of_rank);
  program->model = network.model;
  link_tasks(*program);
  Binder(*program, topology, network, mix64(label)).bind_tasks();
  if (network.model.fidelity != network::Fidelity::loggp) mark_timed(*program, topology);
  find_chains(*program);
  find_demand(*program, topology);
  return program;
}

}  // namespace railyard::training
