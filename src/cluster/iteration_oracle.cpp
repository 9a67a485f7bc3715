#include "iteration_oracle.hpp"

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

void add_program(const training::Program& program, const topology::Topology& topology,
                 bool exact_links, std::vector<std::uint32_t>& names, std::uint32_t& next_name,
                 WideDigest& digest) {
  digest.add(program.dag_digest);
  if (program.gradients_last) digest.add(std::uint64_t{1});
  if (program.by_load) {
    // Which paths flows will choose depends on all they could choose: only the same GPUs are alike.
    digest.add(program.label);
    for (const GpuId gpu : program.gpu_of_rank) digest.add(static_cast<std::uint64_t>(gpu));
  }
  digest.add(static_cast<std::uint64_t>(program.routes.size()));
  for (const training::BoundRoute& route : program.routes) {
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
                 bool exact_links) {
  WideDigest digest;
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
  MemoKey key = memo_key(jobs, *topology_, company.priorities, exact_links);
  if (const auto found = memo_.find(key); found != memo_.end()) {
    ++hits_;
    return found->second;
  }
  training::EngineResult result =
      training::run_to_steady_state(jobs, *topology_, limits_, want_links_, company, interrupt_);
  counters_ += result.counters;
  return memo_.emplace(key, std::move(result)).first->second;
}

}  // namespace railyard::cluster
