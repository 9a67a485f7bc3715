#include "engine.hpp"

#include <algorithm>
#include <utility>

#include "railyard/core/check.hpp"

namespace railyard::training {
namespace {

using workload::Task;
using workload::TaskKind;

// A flow's tag: stepped flag, job, task, step.
constexpr unsigned kStepBits = 26;
constexpr unsigned kTaskBits = 27;
constexpr std::size_t kJobsMax = std::size_t{1} << (64 - kStepBits - kTaskBits);
constexpr std::uint64_t kStepMask = (std::uint64_t{1} << kStepBits) - 1;
constexpr std::uint64_t kTaskMask = (std::uint64_t{1} << kTaskBits) - 1;

std::uint64_t tag_of(std::uint32_t job, std::uint32_t task, std::uint32_t step_plus_one) {
  return (((static_cast<std::uint64_t>(job) << kTaskBits) | task) << kStepBits) | step_plus_one;
}

}  // namespace

Engine::Engine(std::span<const std::shared_ptr<const Program>> jobs,
               const topology::Topology& topology, const RouteTable& routes, Interrupt* interrupt)
    : routes_(routes),
      interrupt_(interrupt),
      model_(jobs.empty() ? network::NetworkModel{} : jobs.front()->model),
      network_(topology,
               routes.all_links() ? network::LinkStatistics::on : network::LinkStatistics::off),
      loggp_ends_(model_.loggp,
                  model_.fidelity == network::Fidelity::loggp ? topology.gpu_count() : 0) {
  RAILYARD_CHECK(jobs.size() <= kJobsMax, "{} jobs share links; at most {} can", jobs.size(),
                 kJobsMax);
  if (routes.by_load()) router_.emplace(topology);
  for (const auto& program : jobs) {
    RAILYARD_CHECK(program->dag->tasks.size() < kTaskMask, "too many tasks in one job");
    for (const SteppedCollective& form : program->stepped) {
      RAILYARD_CHECK(form.steps.size() < kStepMask, "too many transfers in one collective");
    }
    JobRun job;
    job.program = program.get();
    const std::size_t tasks = program->dag->tasks.size();
    job.log.start.resize(tasks);
    job.log.end.resize(tasks);
    job.log.blocker.resize(tasks);
    job.flows_left.resize(tasks);
    job.steps_of.resize(tasks);
    job.routes.resize(program->routes.size(), network::kUnregistered);
    if (model_.fidelity != network::Fidelity::fluid) prepare_alone(job, topology);
    jobs_.push_back(std::move(job));
  }
}

bool Engine::tick_has_more() const {
  return (!queue_.empty() && queue_.top().key.time == now_);
}

/// Everything that is due at the next instant, once. False: nothing is left to do.
bool Engine::step() {
  const TimePoint flow_time = network_.next_completion();
  const TimePoint event_time = queue_.empty() ? TimePoint::max() : queue_.top().key.time;
  const TimePoint next = std::min(flow_time, event_time);
  if (next == TimePoint::max()) return false;
  RAILYARD_DCHECK(next >= now_, "time goes back");
  now_ = next;
  if (flow_time == now_) {
    finished_.clear();
    network_.finish_due(now_, finished_);
    events_ += finished_.size();
    if (router_) {
      for (const network::FinishedFlow& flow : finished_) router_->left(flow.flow);
    }
    for (const network::FinishedFlow& flow : finished_) handle_flow(flow.tag);
    drain();
  }
  while (!queue_.empty() && queue_.top().key.time == now_) {
    ++events_;
    handle(queue_.pop().payload);
    drain();
  }
  return true;
}

void Engine::handle(const Event& event) {
  switch (event.kind) {
    case Event::start_job:
      begin_iteration(event.job);
      break;
    case Event::chain_done:
      release_stream(event.job, event.task);
      finish(event.job, event.task);
      break;
    case Event::arrived:
      // A collective holds its stream until its result is there; a send has let go when it left.
      if (jobs_[event.job].program->dag->tasks[event.task].kind == TaskKind::collective) {
        release_stream(event.job, event.task);
      }
      finish(event.job, event.task);
      break;
    case Event::step_arrived:
      step_arrived(event.job, event.task, event.step);
      break;
    case Event::flow_done:
      handle_flow(tag_of(event.job, event.task, event.step));
      break;
    case Event::message_sent:
    case Event::message_in:
    case Event::message_taken:
    case Event::message_received:
      handle_message(event);
      break;
  }
}

void Engine::handle_flow(std::uint64_t tag) {
  const auto step = static_cast<std::uint32_t>(tag & kStepMask);
  const auto task = static_cast<std::uint32_t>((tag >> kStepBits) & kTaskMask);
  const auto job = static_cast<std::uint32_t>(tag >> (kStepBits + kTaskBits));
  if (step == 0) {
    flow_left(job, task);
    const std::uint32_t leader = jobs_[job].program->dag->tasks[task].stream;
    for (const std::uint32_t stream : routes_.followers(job, leader)) {
      const std::uint32_t cursor = jobs_[job].cursor[stream];
      const std::uint32_t follower = jobs_[job].program->stream_tasks[cursor];
      RAILYARD_CHECK(jobs_[job].flows_left[follower] == 1, "streams {} and {} are out of step",
                     leader, stream);
      flow_left(job, follower);
    }
  } else {
    step_left(job, task, step - 1);
  }
}

void Engine::begin_iteration(std::uint32_t j) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const workload::IterationDag& dag = *program.dag;
  job.iteration_start = now_;
  job.tasks_left = static_cast<std::uint32_t>(dag.tasks.size());
  job.last_task = kNoTask;
  job.waiting.resize(dag.tasks.size());
  for (std::size_t i = 0; i < dag.tasks.size(); ++i) {
    job.waiting[i] = dag.tasks[i].dependency_count;
    job.log.blocker[i] = kNoTask;
  }
  job.cursor.assign(program.first_in_stream.begin(), program.first_in_stream.end() - 1);
  job.busy.assign(dag.streams, 0);
  for (std::uint32_t s = 0; s < dag.streams; ++s) {
    if (program.first_in_stream[s] < program.first_in_stream[s + 1]) {
      wake(j, program.stream_tasks[program.first_in_stream[s]], kNoTask);
    }
  }
}

void Engine::drain() {
  while (!ready_.empty()) {
    const Ready next = ready_.back();
    ready_.pop_back();
    start(next.job, next.task);
  }
}

/// Starts a task if its dependencies are done and its stream has reached it and is idle.
void Engine::wake(std::uint32_t j, std::uint32_t task, std::uint32_t blocker) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const std::uint32_t stream = program.dag->tasks[task].stream;
  if (job.waiting[task] != 0 || job.busy[stream] != 0) return;
  const std::uint32_t position = job.cursor[stream];
  if (position == program.first_in_stream[stream + 1] || program.stream_tasks[position] != task) {
    return;
  }
  job.busy[stream] = 1;
  job.log.blocker[task] = blocker;
  ready_.push_back(Ready{j, task});
}

void Engine::release_stream(std::uint32_t j, std::uint32_t task) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const std::uint32_t stream = program.dag->tasks[task].stream;
  job.busy[stream] = 0;
  const std::uint32_t position = ++job.cursor[stream];
  if (position < program.first_in_stream[stream + 1]) {
    wake(j, program.stream_tasks[position], task);
  }
}

void Engine::finish(std::uint32_t j, std::uint32_t task) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  job.log.end[task] = now_;
  job.last_task = task;
  for (std::uint32_t d = program.first_dependent[task]; d < program.first_dependent[task + 1];
       ++d) {
    const std::uint32_t dependent = program.dependents[d];
    if (--job.waiting[dependent] == 0) wake(j, dependent, task);
  }
  if (--job.tasks_left == 0) {
    job.iterations.push_back(now_ - job.iteration_start);
    ended_.push_back(j);
  }
}

void Engine::start(std::uint32_t j, std::uint32_t task) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const Task& what = program.dag->tasks[task];
  job.log.start[task] = now_;
  const std::uint32_t activity_id = program.activity_of_task[task];
  if (activity_id == 0 ? workload::has_duration(what.kind)
                       : program.activities[activity_id - 1].timed) {
    start_chain(j, task);
    return;
  }
  if (activity_id == 0) {
    release_stream(j, task);
    finish(j, task);
    return;
  }
  const Activity& activity = program.activities[activity_id - 1];
  if (activity.stepped != 0) {
    start_stepped(j, task, activity);
    return;
  }
  if (model_.fidelity == network::Fidelity::loggp) {
    job.flows_left[task] = activity.flow_count;
    job.arrivals_left[task] = activity.flow_count;
    for (std::uint32_t f = 0; f < activity.flow_count; ++f) start_message(j, task, f);
    return;
  }
  std::uint32_t started = 0;
  for (std::uint32_t f = 0; f < activity.flow_count; ++f) {
    const BoundFlow& flow = program.flows[activity.first_flow + f];
    if (!routes_.leads(j, flow.route)) continue;
    start_flow(j, flow, tag_of(j, task, 0));
    ++started;
  }
  // Where none leads, the one flow of the task that leads ends this one too.
  job.flows_left[task] = std::max(started, 1U);
}

/// The network knows a route from its first flow on.
void Engine::start_flow(std::uint32_t j, const BoundFlow& flow, std::uint64_t tag) {
  if (model_.fidelity == network::Fidelity::analytic) {
    const double ticks =
        static_cast<double>(flow.size.count()) * jobs_[j].ticks_per_byte[flow.route];
    const auto task = static_cast<std::uint32_t>((tag >> kStepBits) & kTaskMask);
    queue_.push(now_ + to_ticks(ticks), Phase::completion,
                Event{Event::flow_done, j, task, static_cast<std::uint32_t>(tag & kStepMask)});
    return;
  }
  network::FlowSpec spec{flow.size, {}, 1.0, tag};
  spec.priority = priority_of(jobs_[j], tag);
  if (jobs_[j].program->by_load) {
    spec.route = router_->choose(*jobs_[j].program, flow.route);
    router_->started(network_.start(now_, spec));
    return;
  }
  network::RouteId& route = jobs_[j].routes[flow.route];
  if (route == network::kUnregistered) route = network_.add_route(routes_.links(j, flow.route));
  spec.registered = route;
  network_.start(now_, spec);
}

void Engine::set_priorities(std::span<const std::uint8_t> priorities) {
  if (priorities.empty()) return;
  RAILYARD_CHECK(priorities.size() == jobs_.size(), "{} priorities for {} jobs", priorities.size(),
                 jobs_.size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    RAILYARD_CHECK(priorities[j] < priority_levels(jobs_[j].program->gradients_last),
                   "priority {} of job {}", priorities[j], j);
    jobs_[j].priority = priorities[j];
  }
}

/// Of a flow in the network.
std::uint8_t Engine::priority_of(const JobRun& job, std::uint64_t tag) const {
  if (!job.program->gradients_last) return job.priority;
  const auto task = static_cast<std::uint32_t>((tag >> kStepBits) & kTaskMask);
  const bool waits = job.program->dag->tasks[task].cause == workload::Cause::data;
  return static_cast<std::uint8_t>(2 * job.priority + (waits ? 0 : 1));
}

/// Tasks of fixed length in a row on one stream: one event at the end of the last.
void Engine::start_chain(std::uint32_t j, std::uint32_t task) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const std::uint32_t links = program.chain[task];
  std::uint32_t& cursor = job.cursor[program.dag->tasks[task].stream];
  TimePoint end = now_;
  std::uint32_t last = task;
  for (std::uint32_t link = 0; link < links; ++link) {
    const std::uint32_t member = program.stream_tasks[cursor + link];
    const std::uint32_t activity = program.activity_of_task[member];
    job.log.start[member] = end;
    if (link > 0) job.log.blocker[member] = last;
    end += activity == 0
               ? program.dag->tasks[member].duration
               : program.activities[activity - 1].alone + program.activities[activity - 1].tail;
    job.log.end[member] = end;
    last = member;
  }
  cursor += links - 1;
  job.tasks_left -= links - 1;
  if (end == now_) {
    release_stream(j, last);
    finish(j, last);
  } else {
    queue_.push(end, Phase::completion, Event{Event::chain_done, j, last, 0});
  }
}

void Engine::flow_left(std::uint32_t j, std::uint32_t task) {
  JobRun& job = jobs_[j];
  if (--job.flows_left[task] != 0) return;
  const Program& program = *job.program;
  const Duration tail = program.activities[program.activity_of_task[task] - 1].tail;
  const bool is_send = program.dag->tasks[task].kind == TaskKind::send;
  if (is_send) release_stream(j, task);
  if (tail > Duration{}) {
    queue_.push(now_ + tail, Phase::completion, Event{Event::arrived, j, task, 0});
    return;
  }
  if (!is_send) release_stream(j, task);
  finish(j, task);
}

void Engine::start_stepped(std::uint32_t j, std::uint32_t task, const Activity& activity) {
  JobRun& job = jobs_[j];
  const SteppedCollective& form = job.program->stepped[activity.stepped - 1];
  std::uint32_t slot = 0;
  if (job.free_stepping.empty()) {
    slot = static_cast<std::uint32_t>(job.stepping.size());
    job.stepping.emplace_back();
  } else {
    slot = job.free_stepping.back();
    job.free_stepping.pop_back();
  }
  job.steps_of[task] = slot;
  auto& waiting = job.stepping[slot].waiting;
  waiting.resize(form.steps.size());
  for (std::size_t i = 0; i < form.steps.size(); ++i) {
    waiting[i] = form.steps[i].dependency_count + (form.steps[i].first_on_channel ? 0U : 1U);
  }
  job.flows_left[task] = static_cast<std::uint32_t>(form.steps.size());
  for (std::uint32_t i = 0; i < form.steps.size(); ++i) {
    if (form.steps[i].dependency_count == 0 && form.steps[i].first_on_channel) {
      start_step(j, task, form, i);
    }
  }
}

void Engine::start_step(std::uint32_t j, std::uint32_t task, const SteppedCollective& form,
                        std::uint32_t step) {
  if (model_.fidelity == network::Fidelity::loggp) {
    start_message(j, task, step);
    return;
  }
  start_flow(j, form.steps[step].flow, tag_of(j, task, step + 1));
}

void Engine::step_enabled(std::uint32_t j, std::uint32_t task, std::uint32_t step) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const Activity& activity = program.activities[program.activity_of_task[task] - 1];
  if (--job.stepping[job.steps_of[task]].waiting[step] == 0) {
    start_step(j, task, program.stepped[activity.stepped - 1], step);
  }
}

void Engine::step_left(std::uint32_t j, std::uint32_t task, std::uint32_t step) {
  const Program& program = *jobs_[j].program;
  const Activity& activity = program.activities[program.activity_of_task[task] - 1];
  const auto& form = program.stepped[activity.stepped - 1].steps[step];
  const std::uint32_t next = form.next_on_channel;
  if (form.latency > Duration{}) {
    queue_.push(now_ + form.latency, Phase::completion, Event{Event::step_arrived, j, task, step});
  } else {
    step_arrived(j, task, step);
  }
  if (next != 0) step_enabled(j, task, next - 1);
}

void Engine::step_arrived(std::uint32_t j, std::uint32_t task, std::uint32_t step) {
  JobRun& job = jobs_[j];
  const Program& program = *job.program;
  const Activity& activity = program.activities[program.activity_of_task[task] - 1];
  const SteppedCollective& form = program.stepped[activity.stepped - 1];
  const auto& done = form.steps[step];
  for (std::uint32_t d = 0; d < done.dependent_count; ++d) {
    step_enabled(j, task, form.dependents[done.first_dependent + d]);
  }
  if (--job.flows_left[task] == 0) {
    job.free_stepping.push_back(job.steps_of[task]);
    queue_.push(now_ + activity.tail, Phase::completion, Event{Event::arrived, j, task, 0});
  }
}

}  // namespace railyard::training
