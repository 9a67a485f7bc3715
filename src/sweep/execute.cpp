#include "railyard/sweep/execute.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "railyard/core/check.hpp"

namespace railyard::sweep {

namespace {

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// The runs of all specs in order, handed out one at a time to whoever asks.
class Pool {
 public:
  Pool(std::span<const scenario::Spec> specs, Watcher* watcher, Keep keep)
      : specs_(specs), watcher_(watcher), keep_(keep) {
    if (specs.size() > 1) {
      memo_ = scenario::make_memo([this](const std::function<void()>& work) {
        const std::lock_guard lock(memo_mutex_);
        work();
      });
    }
    for (std::size_t spec = 0; spec < specs.size(); ++spec) {
      const std::size_t policies = specs[spec].policy_names().size();
      for (std::size_t policy = 0; policy < policies; ++policy) {
        auto& same = same_[specs[spec].run_key(policy)];
        if (same.empty()) runs_.push_back({spec, policy});
        same.push_back({spec, policy});
      }
      out_.push_back({std::vector<std::optional<metrics::PolicyResult>>(policies),
                      std::vector<metrics::RunFacts>(policies),
                      std::vector<metrics::PolicyDetail>(keep == Keep::details ? policies : 0)});
    }
  }

  [[nodiscard]] std::size_t size() const { return runs_.size(); }

  void work() {
    while (const auto run = next()) one(*run);
  }

  std::vector<Executed> result() {
    if (error_) std::rethrow_exception(error_);
    return std::move(out_);
  }

 private:
  /// Hands a run's progress to the watcher, and the watcher's wish to stop to the run.
  class Relay final : public scenario::Progress {
   public:
    Relay(Pool& pool, Run run) : pool_(pool), run_(run) {}
    void update(double simulated_s, std::size_t jobs_done, std::size_t jobs,
                std::uint64_t events) override {
      const std::lock_guard lock(pool_.mutex_);
      if (pool_.watcher_ != nullptr)
        pool_.watcher_->update(run_, simulated_s, jobs_done, jobs, events);
    }
    bool stop() override {
      const std::lock_guard lock(pool_.mutex_);
      stopped_ = stopped_ || pool_.must_stop();
      return stopped_;
    }
    [[nodiscard]] bool stopped() const { return stopped_; }

   private:
    Pool& pool_;
    Run run_;
    bool stopped_ = false;
  };

  [[nodiscard]] bool must_stop() { return error_ || (watcher_ != nullptr && watcher_->stop()); }

  std::optional<Run> next() {
    const std::lock_guard lock(mutex_);
    if (next_ == runs_.size() || must_stop()) return std::nullopt;
    if (watcher_ != nullptr) watcher_->started(runs_[next_]);
    return runs_[next_++];
  }

  void one(const Run& run) {
    const scenario::Spec& spec = specs_[run.spec];
    Relay relay(*this, run);
    metrics::RunFacts facts;
    const auto start = std::chrono::steady_clock::now();
    try {
      metrics::PolicyDetail detail;
      metrics::PolicyResult result =
          scenario::run_policy(spec, run.policy, facts,
                               {&relay, keep_ == Keep::details ? &detail : nullptr, memo_.get()});
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      facts.wall_s = wall.count();
      facts.peak_rss_bytes = peak_rss_bytes();
      const std::lock_guard lock(mutex_);
      if (relay.stopped()) return;
      out_[run.spec].facts[run.policy] = facts;
      if (watcher_ != nullptr) watcher_->finished(run);
      for (const Run& other : same_.at(spec.run_key(run.policy))) {
        Executed& out = out_[other.spec];
        out.policies[other.policy] = result;
        if (keep_ == Keep::details) out.details[other.policy] = detail;
        if (watcher_ != nullptr && out.complete()) watcher_->completed(other.spec, out);
      }
    } catch (const InternalError& error) {
      fail(std::make_exception_ptr(
          InternalError(fmt::format("{} (scenario {}, seed {}, policy {})", error.what(),
                                    spec.name(), spec.seed(), spec.policy_names()[run.policy]))));
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  std::span<const scenario::Spec> specs_;
  Watcher* watcher_;
  Keep keep_;
  std::vector<Run> runs_;  ///< the first of each kind
  std::map<std::uint64_t, std::vector<Run>> same_;
  std::vector<Executed> out_;
  std::mutex memo_mutex_;
  /// Of points that differ in what does not touch their iterations. A scenario by itself has none:
  /// how much each of its policy sets simulates is then the same on any number of threads.
  std::shared_ptr<cluster::IterationMemo> memo_;
  std::size_t next_ = 0;
  std::exception_ptr error_;
  std::mutex mutex_;
};

}  // namespace

bool Executed::complete() const {
  return std::all_of(policies.begin(), policies.end(),
                     [](const auto& policy) { return policy.has_value(); });
}

std::vector<metrics::PolicyResult> Executed::finished() const {
  std::vector<metrics::PolicyResult> out;
  for (const auto& policy : policies) {
    if (policy) out.push_back(*policy);
  }
  return out;
}

std::vector<Executed> execute(std::span<const scenario::Spec> specs, unsigned threads,
                              Watcher* watcher, Keep keep) {
  RAILYARD_CHECK(threads > 0, "nothing runs on no thread");
  Pool pool(specs, watcher, keep);
  std::vector<std::thread> others;
  const auto wanted = std::min<std::size_t>(threads, pool.size());
  for (std::size_t i = 1; i < wanted; ++i) others.emplace_back([&pool] { pool.work(); });
  pool.work();
  for (std::thread& thread : others) thread.join();
  return pool.result();
}

}  // namespace railyard::sweep
