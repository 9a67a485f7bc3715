#include "railyard/study/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/topology/hostlist.hpp"

namespace railyard::study {

namespace {

constexpr std::size_t kHostsMax = 10'000'000;

/// Hosts of a list by the numbers they have in `known`; a new name gets the next number.
std::vector<std::uint32_t> numbers_of(const std::string& list,
                                      std::map<std::string, std::uint32_t, std::less<>>& known) {
  std::vector<std::string> names;
  if (!list.empty()) {
    if (const auto fault = topology::expand_hostlist(list, kHostsMax, names); !fault.empty()) {
      throw config::ConfigError(fmt::format("the result lists hosts \"{}\": {}", list, fault));
    }
  }
  std::vector<std::uint32_t> out;
  for (std::string& name : names) {
    const auto next = static_cast<std::uint32_t>(known.size());
    out.push_back(known.emplace(std::move(name), next).first->second);
  }
  return out;
}

/// Free GPUs of every host, as jobs take them and give them back.
class Hosts {
 public:
  explicit Hosts(const metrics::ClusterResult& cluster) : per_host_(cluster.gpus_per_host) {
    for (std::uint32_t leaf = 0; leaf < cluster.leaves.size(); ++leaf) {
      const std::string& minipod = cluster.leaves[leaf].minipod;
      const auto at = std::find(minipods_.begin(), minipods_.end(), minipod);
      const auto m = static_cast<std::uint32_t>(at - minipods_.begin());
      if (at == minipods_.end()) minipods_.push_back(minipod);
      for (const std::uint32_t host : numbers_of(cluster.leaves[leaf].hosts, known_)) {
        free_.resize(std::max<std::size_t>(free_.size(), host + 1), 0);
        leaf_of_.resize(free_.size(), 0);
        minipod_of_.resize(free_.size(), 0);
        free_[host] = per_host_;
        leaf_of_[host] = leaf;
        minipod_of_[host] = m;
      }
    }
    hosts_with_free_.assign(per_host_ + 1, 0);
    hosts_with_free_[per_host_] = static_cast<std::uint32_t>(free_.size());
    background_ = numbers(cluster.background);
    for (const std::uint32_t host : background_) change(host, per_host_, true);
  }

  std::vector<std::uint32_t> numbers(const std::string& list) {
    auto out = numbers_of(list, known_);
    for (const std::uint32_t host : out) {
      if (host >= free_.size()) {
        throw config::ConfigError(
            fmt::format("the result lists hosts \"{}\", which its cluster does not have", list));
      }
    }
    return out;
  }

  void change(std::uint32_t host, std::uint32_t gpus, bool take) {
    --hosts_with_free_[free_[host]];
    RAILYARD_CHECK(!take || free_[host] >= gpus, "host {} has {} free GPUs, {} are taken", host,
                   free_[host], gpus);
    free_[host] = take ? free_[host] - gpus : free_[host] + gpus;
    ++hosts_with_free_[free_[host]];
  }

  [[nodiscard]] std::uint32_t whole() const { return hosts_with_free_[per_host_]; }
  [[nodiscard]] std::uint32_t largest_part() const {
    for (std::uint32_t gpus = per_host_; gpus > 0; --gpus) {
      if (hosts_with_free_[gpus] > 0) return gpus;
    }
    return 0;
  }
  [[nodiscard]] double background_gpus() const {
    return static_cast<double>(background_.size()) * per_host_;
  }

  /// What a start takes, of what is free now.
  [[nodiscard]] Placed placed(const std::vector<std::uint32_t>& hosts, std::uint32_t wanted) const {
    std::vector<std::uint32_t> free_of_minipod(minipods_.size(), 0);
    std::map<std::uint32_t, std::uint32_t> free_of_leaf;
    for (std::uint32_t host = 0; host < free_.size(); ++host) {
      if (free_[host] != per_host_) continue;
      ++free_of_minipod[minipod_of_[host]];
      ++free_of_leaf[leaf_of_[host]];
    }
    std::vector<std::uint32_t> taken(minipods_.size(), 0);
    std::set<std::uint32_t> leaves;
    for (const std::uint32_t host : hosts) {
      ++taken[minipod_of_[host]];
      leaves.insert(leaf_of_[host]);
    }
    Placed out;
    for (std::size_t m = 0; m < minipods_.size(); ++m) {
      if (taken[m] > 0) ++out.minipods;
      if (taken[m] > 0 || free_of_minipod[m] > 0) {
        out.shares.push_back({minipods_[m], free_of_minipod[m], taken[m]});
      }
    }
    out.leaves = static_cast<std::uint32_t>(leaves.size());
    std::vector<std::uint32_t> by_leaf;
    for (const auto& [leaf, free] : free_of_leaf) by_leaf.push_back(free);
    out.minipods_least = wanted == 0 ? 1 : fewest(std::move(free_of_minipod), wanted);
    out.leaves_least = wanted == 0 ? 1 : fewest(std::move(by_leaf), wanted);
    return out;
  }

 private:
  /// Domains that hold so many hosts, the emptiest first.
  static std::uint32_t fewest(std::vector<std::uint32_t> free, std::uint32_t wanted) {
    std::sort(free.begin(), free.end(), std::greater<>{});
    std::uint32_t domains = 0;
    for (std::uint32_t held = 0; held < wanted && domains < free.size(); ++domains) {
      held += free[domains];
    }
    return domains;
  }

  std::uint32_t per_host_;
  std::map<std::string, std::uint32_t, std::less<>> known_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> leaf_of_;
  std::vector<std::uint32_t> minipod_of_;
  std::vector<std::string> minipods_;
  std::vector<std::uint32_t> hosts_with_free_;  ///< by number of free GPUs
  std::vector<std::uint32_t> background_;
};

/// At one time: those who leave come first, then who waits, then the job's own start, then others'.
enum class Change : std::uint8_t { release, wait, own_start, take };
struct Event {
  double at = 0;
  Change change{};
  std::uint32_t job = 0;
  std::uint32_t run = 0;
  bool begins = false;  ///< of a wait
};

class History {
 public:
  History(const metrics::RunResult& result, const metrics::PolicyResult& policy, std::uint32_t job)
      : policy_(policy),
        own_(job),
        hosts_(result.cluster),
        per_host_(result.cluster.gpus_per_host) {
    for (std::uint32_t j = 0; j < policy.jobs.size(); ++j) {
      for (const metrics::JobRun& run : policy.jobs[j].runs) end_ = std::max(end_, run.until_s);
      end_ = std::max(end_, policy.jobs[j].submit_s.value_or(0));
    }
    for (std::uint32_t j = 0; j < policy.jobs.size(); ++j) add_job(j);
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tuple(a.at, a.change, a.job, a.run, a.begins) <
             std::tuple(b.at, b.change, b.job, b.run, b.begins);
    });
  }

  Explanation explain() {
    Explanation out;
    out.job = policy_.jobs[own_];
    out.scheduling = policy_.scheduling;
    out.policy = policy_.name;
    wanted_ = out.job.gpus < per_host_ ? 0 : (out.job.gpus + per_host_ - 1) / per_host_;
    out.hosts_wanted = wanted_;
    if (policy_.links_of == out.job.name) out.links = policy_.links;
    for (const Event& event : events_) {
      if (waiting_ && event.at > last_) account(event.at - last_);
      last_ = std::max(last_, event.at);
      apply(event, out);
    }
    if (waiting_ && end_ > last_) account(end_ - last_);
    close_wait(out, false);
    return out;
  }

 private:
  [[nodiscard]] bool is_ahead(std::uint32_t other) const {
    const auto& a = policy_.jobs[other];
    const auto& b = policy_.jobs[own_];
    return std::pair(a.submit_s.value_or(0), other) < std::pair(b.submit_s.value_or(0), own_);
  }

  void add_wait(std::uint32_t j, double from, std::optional<double> until) {
    if (until && *until <= from && j != own_) return;
    events_.push_back({from, Change::wait, j, 0, true});
    // Its own wait ends with its start, which may be at the same time.
    if (until && j != own_) events_.push_back({*until, Change::wait, j, 0, false});
  }

  void add_job(std::uint32_t j) {
    const metrics::JobResult& job = policy_.jobs[j];
    if (job.status == "rejected") return;
    const bool counts = j == own_ || is_ahead(j);
    double since = job.submit_s.value_or(0);
    for (std::uint32_t r = 0; r < job.runs.size(); ++r) {
      const metrics::JobRun& run = job.runs[r];
      if (counts) add_wait(j, since, run.from_s);
      events_.push_back({run.from_s, j == own_ ? Change::own_start : Change::take, j, r, false});
      // Who leaves as he comes holds nothing.
      if (run.until_s > run.from_s) {
        events_.push_back({run.until_s, Change::release, j, r, false});
      }
      since = run.until_s;
    }
    if (counts && job.status == "queued") add_wait(j, since, std::nullopt);
  }

  [[nodiscard]] std::uint32_t gpus_on_host(std::uint32_t j) const {
    return std::min(policy_.jobs[j].gpus, per_host_);
  }

  void move(const Event& event, bool take) {
    const metrics::JobRun& run = policy_.jobs[event.job].runs[event.run];
    if (run.until_s <= run.from_s) return;
    auto& held = held_[event.job];
    if (take) held = hosts_.numbers(run.hosts);
    for (const std::uint32_t host : held) hosts_.change(host, gpus_on_host(event.job), take);
    if (!take) held_.erase(event.job);
  }

  void apply(const Event& event, Explanation& out) {
    switch (event.change) {
      case Change::release:
        move(event, false);
        break;
      case Change::wait:
        if (event.job == own_) {
          waiting_ = Waiting{};
          waiting_->from_s = event.at;
        } else if (event.begins) {
          ahead_now_.insert(event.job);
        } else {
          ahead_now_.erase(event.job);
        }
        break;
      case Change::own_start: {
        close_wait(out, true);
        const std::string& list = policy_.jobs[own_].runs[event.run].hosts;
        out.placed = hosts_.placed(hosts_.numbers(list), wanted_);
        out.placed->at_s = event.at;
        out.placed->hosts = list;
        move(event, true);
        break;
      }
      case Change::take:
        move(event, true);
        if (waiting_ && !is_ahead(event.job)) overtook_.insert(event.job);
        break;
    }
  }

  void account(double span) {
    const std::uint32_t free = wanted_ > 0 ? hosts_.whole() : hosts_.largest_part();
    const bool enough = free >= (wanted_ > 0 ? wanted_ : policy_.jobs[own_].gpus);
    if (!enough) {
      waiting_->short_s += span;
      waiting_->most_free = std::max(waiting_->most_free, free);
    } else if (!ahead_now_.empty()) {
      waiting_->behind_s += span;
      ahead_.insert(ahead_now_.begin(), ahead_now_.end());
    } else {
      waiting_->other_s += span;
    }
    waiting_->background_gpu_s += hosts_.background_gpus() * span;
    for (const auto& [job, held] : held_) {
      const double gpu_s =
          static_cast<double>(held.size()) * static_cast<double>(gpus_on_host(job)) * span;
      holders_[job] += gpu_s;
      waiting_->held_gpu_s += gpu_s;
    }
  }

  void add_held_back(Waiting& wait) const {
    for (const metrics::HeldBack& held : policy_.jobs[own_].held_back) {
      const double span = std::min(held.until_s, wait.until_s) - std::max(held.from_s, wait.from_s);
      if (span <= 0) continue;
      const auto known = std::find_if(wait.held_back.begin(), wait.held_back.end(),
                                      [&held](const HeldBy& by) { return by.why == held.why; });
      if (known == wait.held_back.end()) {
        wait.held_back.push_back({held.why, span});
      } else {
        known->held_s += span;
      }
    }
  }

  void close_wait(Explanation& out, bool ended) {
    if (!waiting_) return;
    waiting_->until_s = ended ? last_ : end_;
    waiting_->ended = ended;
    for (const auto& [job, gpu_s] : holders_) {
      waiting_->holders.push_back({policy_.jobs[job].name, gpu_s});
    }
    std::stable_sort(waiting_->holders.begin(), waiting_->holders.end(),
                     [](const Holder& a, const Holder& b) { return a.gpu_s > b.gpu_s; });
    add_held_back(*waiting_);
    for (const std::uint32_t job : ahead_) waiting_->ahead.push_back(policy_.jobs[job].name);
    for (const std::uint32_t job : overtook_) {
      waiting_->overtaken_by.push_back(policy_.jobs[job].name);
    }
    out.waits.push_back(std::move(*waiting_));
    waiting_.reset();
    holders_.clear();
    ahead_.clear();
    overtook_.clear();
  }

  const metrics::PolicyResult& policy_;
  std::uint32_t own_;
  Hosts hosts_;
  std::uint32_t per_host_;
  std::uint32_t wanted_ = 0;
  double end_ = 0;
  double last_ = 0;
  std::vector<Event> events_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> held_;  ///< hosts by job
  std::set<std::uint32_t> ahead_now_;
  std::optional<Waiting> waiting_;
  std::map<std::uint32_t, double> holders_;
  std::set<std::uint32_t> ahead_;
  std::set<std::uint32_t> overtook_;
};

}  // namespace

Explanation explain(const metrics::RunResult& result, std::size_t policy, std::size_t job) {
  RAILYARD_CHECK(policy < result.policies.size() && job < result.policies[policy].jobs.size(),
                 "job {} of policy set {}", job, policy);
  if (result.cluster.gpus_per_host == 0) {
    throw config::ConfigError(fmt::format(
        "the result was written by a version that did not record who held which hosts ({}): run "
        "the scenario again",
        result.version));
  }
  return History(result, result.policies[policy], static_cast<std::uint32_t>(job)).explain();
}

}  // namespace railyard::study
