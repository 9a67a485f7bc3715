#include "railyard/training/iteration_engine.hpp"

#include <algorithm>
#include <utility>

#include "engine.hpp"
#include "railyard/core/check.hpp"

namespace railyard::training {
namespace {

std::array<double, topology::kTiers> tier_bytes(const Program& program) {
  std::array<double, topology::kTiers> sums{};
  for (const std::uint32_t id : program.activity_of_task) {
    if (id == 0) continue;
    for (std::size_t t = 0; t < sums.size(); ++t)
      sums[t] += program.activities[id - 1].tier_bytes[t];
  }
  return sums;
}

/// Mean and range of the iterations counted so far, over all phases.
class Sample {
 public:
  void add(Duration iteration) { iterations_.push_back(iteration); }

  void fill(JobIterations& out) {
    RAILYARD_CHECK(!iterations_.empty(), "a job without a full iteration");
    std::sort(iterations_.begin(), iterations_.end());
    double sum = 0;
    for (const Duration iteration : iterations_) sum += static_cast<double>(iteration.count());
    out.iteration_ticks = sum / static_cast<double>(iterations_.size());
    out.shortest = iterations_.front();
    out.longest = iterations_.back();
    out.p99 = iterations_[(iterations_.size() * 99 + 99) / 100 - 1];
  }

 private:
  std::vector<Duration> iterations_;
};

EngineCounters counters_of(Engine& engine, std::uint64_t iterations) {
  return EngineCounters{engine.events(), iterations, engine.network().counters()};
}

/// One job alone: until two iterations in a row agree to the tick.
void run_alone(const std::shared_ptr<const Program>& program, const topology::Topology& topology,
               const RunLimits& limits, bool want_links, Interrupt* interrupt,
               EngineResult& result) {
  const RouteTable routes(std::span(&program, 1), topology, want_links);
  Engine engine(std::span(&program, 1), topology, routes, interrupt);
  JobIterations& out = result.jobs.front();
  const Duration offset{};
  TimePoint window_start{};
  engine.run(std::span(&offset, 1), [&](std::uint32_t) {
    const auto& done = engine.job(0).iterations;
    const std::size_t n = done.size();
    out.periodic = n >= 2 && done[n - 1] == done[n - 2];
    if (out.periodic || n >= limits.iterations_max) return false;
    window_start = engine.now();
    engine.network().reset_usage(engine.now());
    return true;
  });
  const auto& done = engine.job(0).iterations;
  RAILYARD_CHECK(!done.empty(),
                 "the DAG never ends: a dependency waits for something that never runs");
  out.attribution = critical_path(engine.job(0));
  Sample sample;
  sample.add(done.back());
  if (!out.periodic) {
    for (std::size_t i = 1; i + 1 < done.size(); ++i) sample.add(done[i]);
  }
  sample.fill(out);
  if (want_links) {
    result.links = engine.network().link_usage(engine.now());
    result.window = engine.now() - window_start;
  }
  result.counters += counters_of(engine, done.size());
}

/// Offset of job j in phase p of `phases`: stratified over its own iteration, other strides per
/// job.
Duration phase_offset(std::size_t j, std::uint32_t phase, std::uint32_t phases, Duration alone) {
  if (j == 0) return Duration{};
  const auto stratum = static_cast<std::int64_t>((phase * (2 * j - 1)) % phases);
  return Duration((alone.count() * (2 * stratum + 1)) / (2 * static_cast<std::int64_t>(phases)));
}

/// A job that gets next to nothing of its links must not keep the others running for ever.
constexpr std::uint32_t kPatience = 50;

std::vector<Duration> times_alone(std::span<const std::shared_ptr<const Program>> jobs,
                                  const topology::Topology& topology, EngineCounters& counters) {
  std::vector<Duration> alone;
  for (const auto& job : jobs) {
    const RouteTable routes(std::span(&job, 1), topology, false);
    Engine engine(std::span(&job, 1), topology, routes);
    const Duration none{};
    engine.run(std::span(&none, 1), [](std::uint32_t) { return false; });
    alone.push_back(engine.job(0).iterations.front());
    counters += counters_of(engine, 1);
  }
  return alone;
}

void run_together(std::span<const std::shared_ptr<const Program>> jobs,
                  const topology::Topology& topology, const RunLimits& limits,
                  const Company& company, Interrupt* interrupt, EngineResult& result) {
  std::vector<Sample> samples(jobs.size());
  const RouteTable routes(jobs, topology, false);
  for (std::uint32_t phase = 0; phase < limits.phases; ++phase) {
    Engine engine(jobs, topology, routes, interrupt);
    engine.set_priorities(company.priorities);
    std::vector<Duration> offsets;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      offsets.push_back(phase_offset(j, phase, limits.phases, company.alone[j]));
    }
    // Iterations count from when all jobs are there.
    const TimePoint all_there(*std::max_element(offsets.begin(), offsets.end()));
    std::vector<std::uint32_t> counted(jobs.size(), 0);
    std::size_t satisfied = 0;
    std::uint64_t iterations = 0;
    const std::uint64_t enough = std::uint64_t{kPatience} * limits.iterations_together;
    engine.run(offsets, [&](std::uint32_t j) {
      const Duration last = engine.job(j).iterations.back();
      ++iterations;
      if (engine.now() - last < all_there) return true;
      samples[j].add(last);
      if (++counted[j] == limits.iterations_together) {
        result.jobs[j].attribution = critical_path(engine.job(j));
        ++satisfied;
      }
      return satisfied < jobs.size() && counted[j] < enough;
    });
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (counted[j] == 0) samples[j].add(engine.now() - all_there);
    }
    result.counters += counters_of(engine, iterations);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) samples[j].fill(result.jobs[j]);
}

}  // namespace

EngineCounters& EngineCounters::operator+=(const EngineCounters& other) {
  events += other.events;
  iterations += other.iterations;
  network.flows_started += other.network.flows_started;
  network.flows_finished += other.network.flows_finished;
  network.solves += other.network.solves;
  network.flows_touched += other.network.flows_touched;
  network.links_touched += other.network.links_touched;
  return *this;
}

std::uint32_t priority_levels(bool gradients_last) {
  return gradients_last ? network::kPriorities / 2 : network::kPriorities;
}

EngineResult run_to_steady_state(std::span<const std::shared_ptr<const Program>> jobs,
                                 const topology::Topology& topology, const RunLimits& limits,
                                 bool want_links, const Company& company, Interrupt* interrupt) {
  EngineResult result;
  result.jobs.resize(jobs.size());
  if (jobs.size() == 1) {
    run_alone(jobs.front(), topology, limits, want_links, interrupt, result);
  } else {
    std::vector<Duration> simulated;
    Company known = company;
    if (company.alone.empty()) {
      simulated = times_alone(jobs, topology, result.counters);
      known.alone = simulated;
    }
    run_together(jobs, topology, limits, known, interrupt, result);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    result.jobs[j].busy_gpu_ticks = busy_gpu_ticks(*jobs[j]);
    result.jobs[j].tier_bytes = tier_bytes(*jobs[j]);
  }
  return result;
}

TaskTimes run_once(const std::shared_ptr<const Program>& job, const topology::Topology& topology) {
  const RouteTable routes(std::span(&job, 1), topology, false);
  Engine engine(std::span(&job, 1), topology, routes);
  const Duration offset{};
  engine.run(std::span(&offset, 1), [](std::uint32_t) { return false; });
  const JobRun& run = engine.job(0);
  RAILYARD_CHECK(!run.iterations.empty(), "the recorded DAG never ends");
  TaskTimes times;
  for (std::size_t i = 0; i < run.log.start.size(); ++i) {
    times.start.push_back(run.log.start[i].time_since_epoch().count());
    times.end.push_back(run.log.end[i].time_since_epoch().count());
  }
  return times;
}

}  // namespace railyard::training
