// The engine without shared links: flows as if alone (analytic), and messages under LogGP.
#include <algorithm>

#include "engine.hpp"

namespace railyard::training {

void Engine::prepare_alone(JobRun& job, const topology::Topology& topology) const {
  const Program& program = *job.program;
  for (const BoundRoute& route : program.routes) {
    double ticks_per_byte = 0;
    for (const topology::LinkUse& use : route.links) {
      const auto capacity = static_cast<double>(topology.link(use.link).capacity.bytes_per_s());
      ticks_per_byte =
          std::max(ticks_per_byte, use.usage * static_cast<double>(kTicksPerSecond) / capacity);
    }
    job.ticks_per_byte.push_back(ticks_per_byte);
  }
  if (model_.fidelity != network::Fidelity::loggp) return;
  job.edge_of_route.resize(program.routes.size());
  for (std::uint32_t e = 0; e < program.edges.size(); ++e)
    job.edge_of_route[program.edges[e].route] = e;
  job.arrivals_left.resize(program.dag->tasks.size());
}

/// The transfer of a stepped collective, or one of a send's flows.
const BoundFlow& Engine::message(const JobRun& job, const Event& event) const {
  const Program& program = *job.program;
  const Activity& activity = program.activities[program.activity_of_task[event.task] - 1];
  if (activity.stepped != 0) return program.stepped[activity.stepped - 1].steps[event.step].flow;
  return program.flows[activity.first_flow + event.step];
}

/// (k-1)G
Duration Engine::long_part(const JobRun& job, const BoundFlow& flow) const {
  const double ticks_per_byte = model_.loggp.rate
                                    ? static_cast<double>(kTicksPerSecond) /
                                          static_cast<double>(model_.loggp.rate->bytes_per_s())
                                    : job.ticks_per_byte[flow.route];
  return to_ticks(static_cast<double>(flow.size.count() - 1) * ticks_per_byte);
}

void Engine::start_message(std::uint32_t j, std::uint32_t task, std::uint32_t step) {
  const JobRun& job = jobs_[j];
  Event event{Event::message_sent, j, task, step};
  const BoundFlow& flow = message(job, event);
  const Edge& edge = job.program->edges[job.edge_of_route[flow.route]];
  const auto departure =
      loggp_ends_.depart(index(edge.source), now_, flow.size, long_part(job, flow));
  queue_.push(departure.overhead_end, Phase::completion, event);
  event.kind = Event::message_in;
  const Duration latency = model_.loggp.latency.value_or(job.program->routes[flow.route].latency);
  queue_.push(departure.first + latency, Phase::completion, event);
}

void Engine::handle_message(const Event& event) {
  JobRun& job = jobs_[event.job];
  const Program& program = *job.program;
  const Activity& activity = program.activities[program.activity_of_task[event.task] - 1];
  const BoundFlow& flow = message(job, event);
  const auto destination = index(program.edges[job.edge_of_route[flow.route]].destination);
  Event next = event;
  switch (event.kind) {
    case Event::message_sent:
      if (activity.stepped != 0) {
        const auto& step = program.stepped[activity.stepped - 1].steps[event.step];
        if (step.next_on_channel != 0)
          step_enabled(event.job, event.task, step.next_on_channel - 1);
      } else if (--job.flows_left[event.task] == 0) {
        release_stream(event.job, event.task);
      }
      return;
    case Event::message_in:
      next.kind = Event::message_taken;
      queue_.push(loggp_ends_.take_in(destination, now_, long_part(job, flow)), Phase::completion,
                  next);
      return;
    case Event::message_taken:
      next.kind = Event::message_received;
      queue_.push(loggp_ends_.deliver(destination, now_, flow.size), Phase::completion, next);
      return;
    default:
      if (activity.stepped != 0) {
        step_arrived(event.job, event.task, event.step);
      } else if (--job.arrivals_left[event.task] == 0) {
        finish(event.job, event.task);
      }
  }
}

}  // namespace railyard::training
