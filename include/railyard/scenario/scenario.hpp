// The composition root: a scenario file to a validated Spec, to a world, to a result. The only
// place that knows everybody.
//
// auto document = config::Document::parse_file(path); // --set changes are applied to the document
// scenario::Spec spec = scenario::load(document, name); // all errors of the file at once
// (ConfigError)
// for each policy: metrics::PolicyResult r = scenario::run_policy(spec, i, facts, progress); //
// independent: threads allowed
//   metrics::RunResult result = scenario::assemble(spec, results);
//
// Runs are functions of (spec, seed, version): policies may run in any order or in parallel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/metrics/detail.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/metrics/timeline.hpp"
#include "railyard/workload/recording.hpp"

namespace railyard::scheduler {
struct Catalogs;
}

namespace railyard::cluster {
class IterationMemo;
}

namespace railyard::scenario {

struct World;  // decoded scenario and the immutable things built from it; private

class Spec {
 public:
  explicit Spec(std::shared_ptr<const World> world);
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] std::vector<std::string> policy_names() const;
  [[nodiscard]] std::size_t baseline() const;  ///< index of the baseline policy
  /// What a policy set's run is a function of, as one number: the scenario without its other
  /// policy sets and its texts for people, the seed, the set and its name. Files are taken as
  /// unchanged between two loads.
  [[nodiscard]] std::uint64_t run_key(std::size_t policy) const;
  /// One line a job, fabric size, policies: what --dry-run prints.
  [[nodiscard]] std::vector<std::string> summary() const;
  [[nodiscard]] const World& world() const { return *world_; }

 private:
  std::shared_ptr<const World> world_;
};

/// Decodes, builds and cross-checks everything; simulates nothing. Throws ConfigError with all
/// errors. `catalogs`: the policies that a scenario may name; null: those in the tree.
using Catalogs = std::shared_ptr<const scheduler::Catalogs>;
[[nodiscard]] Spec load(const config::Document& document, const std::string& name,
                        std::optional<std::uint64_t> seed = std::nullopt,
                        Catalogs catalogs = nullptr);

/// Called now and then from within the simulation, on its thread.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void update(double simulated_s, std::size_t jobs_done, std::size_t jobs,
                      std::uint64_t events) = 0;
  /// True: stop as soon as possible (interrupt).
  [[nodiscard]] virtual bool stop() { return false; }
};

/// What runs may share: iterations that one has simulated, the others need not. `turns` does what
/// it is given while nobody else does; whoever runs on several threads has a lock for it.
[[nodiscard]] std::shared_ptr<cluster::IterationMemo> make_memo(
    std::function<void(const std::function<void()>& work)> turns);

/// Who else takes part in a run; nobody needs to.
struct RunCompany {
  Progress* progress = nullptr;
  metrics::PolicyDetail* detail = nullptr;  ///< filled in
  cluster::IterationMemo* memo = nullptr;   ///< shared with other runs; the results are the same
};
[[nodiscard]] metrics::PolicyResult run_policy(const Spec& spec, std::size_t policy,
                                               metrics::RunFacts& facts,
                                               const RunCompany& company = {});
/// Orders policies as in the scenario, computes metrics over the jobs finished under every policy,
/// and the digest.
[[nodiscard]] metrics::RunResult assemble(const Spec& spec,
                                          std::vector<metrics::PolicyResult> policies);

/// What a page shows beside a result whose policies are named, from the details that their runs
/// filled in, in that order; with an iteration of the first job under those named in `timelines`,
/// where that job is no recorded one.
[[nodiscard]] metrics::Detail detail(const Spec& spec, std::vector<metrics::PolicyDetail> policies,
                                     const std::vector<std::string>& timelines);

/// Where a rank of a job runs.
struct RankPlace {
  std::string host;
  std::uint32_t gpu = 0;  ///< of the host
};

/// Rank = tensor + `tensor` · (data + `data` · stage), the order of Megatron's process groups.
struct PlacedJob {
  std::string job;
  std::string policy;
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t data = 1;  ///< context ranks included
  std::vector<RankPlace> ranks;
};

/// Where the first job's ranks go under a policy, on the cluster as the scenario starts; nothing is
/// simulated (`place`). Throws ConfigError where the policy finds no place.
[[nodiscard]] PlacedJob place(const Spec& spec, std::size_t policy);

/// One iteration of the first job under a policy, as the scenario starts: its DAG, where its ranks
/// sit, and start and end tick of every task (`trace record`).
[[nodiscard]] workload::Recording record(const Spec& spec, std::size_t policy);

/// One iteration of the first job under a policy, from an idle network: a row per rank group and
/// stream with its tasks, and a row per link between switches (on a fabric without any: per link of
/// its highest tier) with the times in which it was used.
[[nodiscard]] metrics::Timeline timeline(const Spec& spec, std::size_t policy);
/// The same without links, for the actors with tensor and data rank 0 only: one pipeline.
[[nodiscard]] metrics::Timeline pipeline_timeline(const Spec& spec, std::size_t policy);
/// The same of a recording whose times are those of a replay in its context.
[[nodiscard]] metrics::Timeline timeline(const workload::Recording& recording);

/// Start and end of every task when the recording's DAG runs again from an idle network, on the
/// fabric and with the network settings of its context (`trace replay`). Where that names no GPUs,
/// rank r runs on GPU r. Throws ConfigError when the recording does not say where it ran.
[[nodiscard]] std::vector<workload::TaskTimes> replay(const workload::Recording& recording);

}  // namespace railyard::scenario
