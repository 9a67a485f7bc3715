#include "collective_binder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/topology/ring_order.hpp"
#include "step_classes.hpp"

namespace railyard::training {

using workload::Cause;
using workload::Task;

namespace {

/// The schedule so many times in a row: what starts one waits for all that came to its rank in
/// the one before.
collective::Schedule repeated(const collective::Schedule& once, std::uint32_t repeat) {
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

/// Bytes on the wire per byte of data.
double wire_of(const collective::StepCosts& costs, const Edge& edge, bool reducer) {
  if (reducer) return costs.reducer_wire;
  return edge.tier == topology::Tier::nvlink ? costs.nvlink_wire : costs.network_wire;
}

Bytes scaled(Bytes size, double factor) {
  if (factor == 1.0) return size;
  return Bytes(static_cast<std::int64_t>(std::llround(static_cast<double>(size.count()) * factor)));
}

}  // namespace

const CollectiveBinder::Group& CollectiveBinder::group_of(std::uint32_t id) {
  const auto [found, inserted] = groups_.try_emplace(id);
  if (inserted) {
    for (const Rank rank : program_.dag->groups[id])
      found->second.gpus.push_back(program_.gpu_of_rank[index(rank)]);
    found->second.shape = shape_of(found->second.gpus, topology_);
    if (program_.dag->collectives.ring_order == collective::RingOrder::topology)
      found->second.shape.ring = topology::ring_order(topology_, found->second.gpus);
  }
  return found->second;
}

std::uint32_t CollectiveBinder::bind(const Task& task) {
  const Key key{task.group,
                static_cast<int>(task.operation),
                static_cast<int>(task.cause),
                task.size.count(),
                task.repeat,
                task.shares,
                task.by_source};
  if (const auto found = activities_.find(key); found != activities_.end()) return found->second;
  const Group& group = group_of(task.group);
  collective::Request request{task.operation, task.size, {}};
  if (task.shares != 0) request.shares = program_.dag->shares[task.shares - 1];
  request.by_source = task.by_source;
  const ResolvedCollective what = resolve(program_.dag->collectives.of(task.operation), request,
                                          group.gpus, group.shape, topology_, network_.protocol);
  const Activity activity =
      coupled_activity(what.algorithm->coupled(request, group.shape), group, what, task.repeat);
  if (activity.flow_count == 0 && activity.stepped == 0) return activities_[key] = 0;
  program_.activities.push_back(activity);
  const auto count = static_cast<std::uint32_t>(program_.activities.size());
  if (network_.execution == Execution::stepped || loggp()) {
    wanted_.push_back(Wanted{count - 1, task.group, task.repeat, std::move(request), what});
  }
  return activities_[key] = count;
}

void CollectiveBinder::bind_steps() {
  StepClasses classes(program_, topology_);
  for (const Wanted& wanted : wanted_) {
    const Group& group = groups_.at(wanted.group);
    Activity& activity = program_.activities[wanted.activity];
    const collective::Schedule once = wanted.what.algorithm->schedule(wanted.request, group.shape);
    const auto whole = [&] {
      return bind_schedule(repeated(once, wanted.repeat), group, wanted.what);
    };
    if (!activity.timed) {
      keep(activity, whole());
      activity.flow_count = 0;
      activity.tail = wanted.what.costs.once;
      continue;
    }
    const Duration length =
        classes.length(bind_schedule(once, group, wanted.what), wanted.repeat, whole) +
        wanted.what.costs.once;
    activity.latency = std::min(activity.latency, length);
    activity.tail = activity.latency;
    activity.alone = length - activity.latency;
  }
  wanted_.clear();
}

/// In place of the form that the activity had.
void CollectiveBinder::keep(Activity& activity, SteppedCollective form) {
  if (activity.stepped != 0) {
    program_.stepped[activity.stepped - 1] = std::move(form);
    return;
  }
  program_.stepped.push_back(std::move(form));
  activity.stepped = static_cast<std::uint32_t>(program_.stepped.size());
}

std::uint32_t CollectiveBinder::edge_between(const Group& group, std::uint32_t source,
                                             std::uint32_t destination, std::uint32_t connection,
                                             const std::string& algorithm) {
  const std::uint32_t ranks = group.shape.ranks();
  if (source < ranks && destination < ranks) {
    return routes_.edge_of(group.gpus[source], group.gpus[destination], connection);
  }
  const GpuId gpu = group.gpus[source < ranks ? source : destination];
  const auto edge = routes_.reducer_edge(gpu, source < ranks);
  if (loggp()) {
    throw config::ConfigError(fmt::format(
        "collective algorithm \"{}\" reduces in switches, but the messages of the LogGP "
        "network end at GPUs; use ring",
        algorithm));
  }
  if (!edge) {
    throw config::ConfigError(fmt::format(
        "collective algorithm \"{}\" reduces in NVSwitches, but {} has none between its GPUs; use "
        "ring",
        algorithm, topology_.host_name(topology_.host_of(gpu))));
  }
  return *edge;
}

Duration CollectiveBinder::step_latency(const Edge& edge,
                                        const collective::StepCosts& costs) const {
  if (loggp()) return Duration{};
  if (!costs.with_wires) return routes_.message_latency(edge, costs.step);
  const Duration fixed =
      edge.tier == topology::Tier::nvlink ? costs.step.nvlink : costs.step.network;
  return std::max(fixed, program_.routes[edge.route].latency) * costs.rounds;
}

CollectiveBinder::BoundPhase CollectiveBinder::bind_phase(const collective::CoupledPhase& phase,
                                                          const Group& group,
                                                          const ResolvedCollective& what,
                                                          std::uint32_t repeat,
                                                          Activity& activity) {
  Bytes largest;
  for (const auto& edge : phase.edges) largest = std::max(largest, edge.size);
  const std::uint32_t ranks = group.shape.ranks();
  Duration inside{};
  Duration between{};
  Duration chunk_inside{};
  Duration chunk_between{};
  for (const auto& part : phase.edges) {
    const std::uint32_t edge_at =
        edge_between(group, part.source, part.destination, part.connection, what.name);
    const Edge edge = program_.edges[edge_at];
    const bool reducer = part.source >= ranks || part.destination >= ranks;
    const bool crosses =
        !reducer && group.shape.island_of[part.source] != group.shape.island_of[part.destination];
    Duration& step = crosses ? between : inside;
    step = std::max(step, step_latency(edge, what.costs));
    if (phase.chunk > Bytes(0)) {
      Duration& chunk = crosses ? chunk_between : chunk_inside;
      chunk = std::max(
          chunk,
          routes_.alone_on(edge.route, scaled(phase.chunk, wire_of(what.costs, edge, reducer))));
    }
    const double share =
        static_cast<double>(part.size.count()) / static_cast<double>(largest.count());
    routes_.add_usage(edge_at, share * wire_of(what.costs, edge, reducer));
    activity.tier_bytes[static_cast<std::size_t>(edge.tier)] +=
        static_cast<double>(part.size.count()) * repeat;
  }
  BoundPhase bound;
  const std::uint32_t crossing = phase.crossing_steps;
  bound.latency = (inside * (phase.latency_steps - crossing) + between * crossing) * repeat;
  bound.flow.size = largest * repeat;
  bound.flow.route = routes_.add_route();
  bound.alone = routes_.alone_on(bound.flow.route, bound.flow.size);
  const Duration filling =
      (chunk_inside * phase.filling + chunk_between * phase.filling_crossing) * repeat;
  if (filling > Duration{}) {
    // As bytes of the flow, so that whoever shares its links slows the filling too.
    bound.flow.size =
        scaled(bound.flow.size,
               1.0 + static_cast<double>(filling.count()) /
                         static_cast<double>(std::max<std::int64_t>(1, bound.alone.count())));
    bound.alone = routes_.alone_on(bound.flow.route, bound.flow.size);
  }
  return bound;
}

Activity CollectiveBinder::coupled_activity(const collective::Coupled& form, const Group& group,
                                            const ResolvedCollective& what, std::uint32_t repeat) {
  Activity activity;
  std::vector<BoundPhase> phases;
  for (const collective::CoupledPhase& phase : form.phases) {
    if (phase.edges.empty()) continue;
    phases.push_back(bind_phase(phase, group, what, repeat, activity));
    activity.alone += phases.back().alone;
    activity.latency += phases.back().latency;
  }
  if (phases.empty()) return activity;
  activity.latency += what.costs.once * repeat;
  if (phases.size() == 1) {
    activity.first_flow = static_cast<std::uint32_t>(program_.flows.size());
    activity.flow_count = 1;
    activity.tail = activity.latency;
    program_.flows.push_back(phases.front().flow);
  } else {
    activity.tail = what.costs.once * repeat;
    keep(activity, bind_chain(phases));
  }
  return activity;
}

/// Phases one after the other: each waits for the arrival of the one before.
SteppedCollective CollectiveBinder::bind_chain(const std::vector<BoundPhase>& phases) const {
  SteppedCollective bound;
  for (std::uint32_t i = 0; i < phases.size(); ++i) {
    SteppedCollective::Step step;
    step.flow = phases[i].flow;
    step.latency = phases[i].latency;
    step.dependency_count = i == 0 ? 0 : 1;
    step.first_dependent = static_cast<std::uint32_t>(bound.dependents.size());
    if (i + 1 < phases.size()) {
      bound.dependents.push_back(i + 1);
      step.dependent_count = 1;
    }
    bound.steps.push_back(step);
  }
  return bound;
}

SteppedCollective CollectiveBinder::bind_schedule(const collective::Schedule& schedule,
                                                  const Group& group,
                                                  const ResolvedCollective& what) {
  SteppedCollective bound;
  const auto count = schedule.transfers.size();
  const std::uint32_t ranks = group.shape.ranks();
  bound.steps.resize(count);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last_on_channel;
  for (std::uint32_t i = 0; i < count; ++i) {
    const collective::Transfer& transfer = schedule.transfers[i];
    SteppedCollective::Step& step = bound.steps[i];
    const Edge edge = program_.edges[edge_between(group, transfer.source, transfer.destination,
                                                  transfer.connection, what.name)];
    const bool reducer = transfer.source >= ranks || transfer.destination >= ranks;
    step.flow = BoundFlow{edge.route, scaled(transfer.size, wire_of(what.costs, edge, reducer))};
    step.latency = step_latency(edge, what.costs);
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
  return bound;
}

}  // namespace railyard::training
