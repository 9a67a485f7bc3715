#include "iteration_oracle.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "railyard/core/rng.hpp"

namespace railyard::cluster {
namespace {

/// Two independent 64-bit chains, so that no two components of a run collide.
class WideDigest {
 public:
  void add(std::uint64_t value) {
    first_ = mix64(first_ ^ value);
    second_ = mix64(second_ + std::rotl(value, 32));
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(Duration duration) { add(duration.count()); }
  [[nodiscard]] MemoKey key() const { return {first_, second_}; }

 private:
  std::uint64_t first_ = 0x6d656d6f;
  std::uint64_t second_ = 0x6b6579;
};

void add_model(const network::NetworkModel& model, WideDigest& digest) {
  digest.add(static_cast<std::uint64_t>(model.fidelity));
  digest.add(model.seed);
  const network::LogGp& loggp = model.loggp;
  digest.add(static_cast<std::uint64_t>(loggp.latency.has_value()));
  digest.add(loggp.latency.value_or(Duration{}));
  digest.add(loggp.overhead);
  digest.add(loggp.gap);
  digest.add(static_cast<std::uint64_t>(loggp.rate.has_value()));
  digest.add(loggp.rate.value_or(Bandwidth{}).bytes_per_s());
  digest.add(loggp.overhead_s_per_byte);
}

void add_program(const training::Program& program, const topology::Topology& topology,
                 bool exact_links, std::vector<std::uint32_t>& names, std::uint32_t& next_name,
                 WideDigest& digest) {
  digest.add(program.dag_digest);
  add_model(program.model, digest);
  if (program.gradients_last) digest.add(std::uint64_t{1});
  if (program.by_load) {
    // Which paths flows will choose depends on all they could choose: only the same GPUs are alike.
    digest.add(program.label);
    for (const GpuId gpu : program.gpu_of_rank) digest.add(static_cast<std::uint64_t>(gpu));
  }
  digest.add(static_cast<std::uint64_t>(program.routes.size()));
  for (const training::BoundRoute& route : program.routes) {
    digest.add(route.latency);
    digest.add(static_cast<std::uint64_t>(route.links.size()));
    for (const topology::LinkUse& use : route.links) {
      std::uint32_t& name = names[index(use.link)];
      if (name == 0) {
        name = next_name++;
        digest.add(topology.link(use.link).capacity.bytes_per_s());
        if (exact_links) digest.add(static_cast<std::uint64_t>(index(use.link)));
      }
      digest.add(static_cast<std::uint64_t>(name));
      digest.add(use.usage);
    }
  }
  // Flows and fixed costs follow from the DAG but for the islands a group's ranks sit in.
  digest.add(static_cast<std::uint64_t>(program.flows.size()));
  for (const training::BoundFlow& flow : program.flows) {
    digest.add(static_cast<std::uint64_t>(flow.route));
    digest.add(flow.size.count());
  }
  for (const training::Activity& activity : program.activities) {
    digest.add(activity.latency);
    digest.add(static_cast<std::uint64_t>(activity.first_flow));
    for (const double bytes : activity.tier_bytes) digest.add(bytes);
  }
  for (const training::SteppedCollective& form : program.stepped) {
    for (const auto& step : form.steps) {
      digest.add(static_cast<std::uint64_t>(step.flow.route));
      digest.add(step.flow.size.count());
      digest.add(step.latency);
    }
  }
}

}  // namespace

MemoKey memo_key(std::span<const std::shared_ptr<const training::Program>> jobs,
                 const topology::Topology& topology, std::span<const std::uint8_t> priorities,
                 bool exact_links, const training::RunLimits& limits) {
  WideDigest digest;
  digest.add(static_cast<std::uint64_t>(limits.iterations_max));
  digest.add(static_cast<std::uint64_t>(limits.phases));
  digest.add(static_cast<std::uint64_t>(limits.iterations_together));
  digest.add(static_cast<std::uint64_t>(exact_links ? topology.links().size() : 0));
  std::vector<std::uint32_t> names(topology.links().size(), 0);
  std::uint32_t next_name = 1;
  for (const auto& program : jobs) {
    add_program(*program, topology, exact_links, names, next_name, digest);
  }
  for (const std::uint8_t priority : priorities) digest.add(static_cast<std::uint64_t>(priority));
  return digest.key();
}

const training::EngineResult& IterationOracle::steady_state(
    std::span<const std::shared_ptr<const training::Program>> jobs,
    const training::Company& company) {
  const bool exact_links = want_links_ && jobs.size() == 1;
  const MemoKey key = memo_key(jobs, *topology_, company.priorities, exact_links, limits_);
  if (const auto found = memo_.find(key); found != memo_.end()) {
    ++hits_;
    return *found->second;
  }
  return *memo_.emplace(key, simulated(key, jobs, company)).first->second;
}

/// Asks the shared memo first, but for routes by load: what they may choose from is the same
/// throughout a run, and not in the key.
std::shared_ptr<const training::EngineResult> IterationOracle::simulated(
    const MemoKey& key, std::span<const std::shared_ptr<const training::Program>> jobs,
    const training::Company& company) {
  const auto by_load = [](const auto& program) { return program->by_load.has_value(); };
  const bool asks = shared_ != nullptr && std::none_of(jobs.begin(), jobs.end(), by_load);
  if (asks) {
    if (auto found = shared_->find(key)) {
      ++hits_;
      return found;
    }
  }
  ++misses_;
  auto result = std::make_shared<const training::EngineResult>(
      training::run_to_steady_state(jobs, *topology_, limits_, want_links_, company, interrupt_));
  counters_ += result->counters;
  if (asks) shared_->add(key, result);
  return result;
}

}  // namespace railyard::cluster
