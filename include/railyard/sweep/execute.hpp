// Runs the policies of scenarios on several threads. Parallelism is across runs only: a run has one
// thread, and what is returned is ordered by scenario and policy and the same for any number of
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "railyard/metrics/detail.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/scenario/scenario.hpp"

namespace railyard::sweep {

/// One policy of one scenario.
struct Run {
  std::size_t spec = 0;
  std::size_t policy = 0;
};

/// What happened to one scenario. An interrupted run has no result.
struct Executed {
  std::vector<std::optional<metrics::PolicyResult>> policies;  ///< in scenario order
  std::vector<metrics::RunFacts> facts;                        ///< one per policy
  std::vector<metrics::PolicyDetail> details;                  ///< one per policy, where kept
  [[nodiscard]] bool complete() const;
  /// Results of the policies that finished, for scenario::assemble.
  [[nodiscard]] std::vector<metrics::PolicyResult> finished() const;
};

/// Looks on. `execute` never calls two of these functions at once.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void started(const Run&) {}
  virtual void update(const Run&, double /*simulated_s*/, std::size_t /*jobs_done*/,
                      std::size_t /*jobs*/, std::uint64_t /*events*/) {}
  virtual void finished(const Run&) {}
  /// All policies of a scenario are done. What it throws ends the others, as a run's fault does.
  virtual void completed(std::size_t /*spec*/, const Executed&) {}
  /// True: start nothing more and leave what runs.
  [[nodiscard]] virtual bool stop() { return false; }
};

/// Details take memory with every job: many scenarios go without.
enum class Keep : std::uint8_t { results, details };

/// Runs everything; one entry per spec. Runs with the same Spec::run_key are made once: a baseline
/// that no axis touches, say; the others have no facts of their own. Several specs share a memo of
/// iterations: what an axis does not touch is simulated once. An exception of a run stops
/// the others and is thrown here, with scenario, seed and policy added to an InternalError.
[[nodiscard]] std::vector<Executed> execute(std::span<const scenario::Spec> specs, unsigned threads,
                                            Watcher* watcher = nullptr, Keep keep = Keep::results);

}  // namespace railyard::sweep
