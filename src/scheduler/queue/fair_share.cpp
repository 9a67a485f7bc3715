// Fair share: jobs of the user with the least recent use go first. Use is GPU-seconds, forgotten
// with a half-life as in Slurm's multifactor priority and Maui: a GPU-second counts 2^(−age /
// half_life). Jobs that name no user share one.
#include <cmath>
#include <map>
#include <string>

#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class FairShare final : public QueueOrder {
 public:
  explicit FairShare(double half_life_s) : half_life_s_(half_life_s) {}

  double key(const JobView& job, TimePoint now) const override {
    const auto found = users_.find(job.user);
    return found == users_.end() ? 0.0 : usage(found->second, now);
  }

  void observe(const Event& event, const ClusterView& view) override {
    const JobView& job = view.job(event.job);
    const bool starts = event.kind == Event::Kind::started;
    if (!starts && event.kind != Event::Kind::preempted && event.kind != Event::Kind::finished) {
      return;
    }
    auto found = users_.find(job.user);
    if (found == users_.end()) found = users_.emplace(job.user, User{}).first;
    User& user = found->second;
    user.usage = usage(user, view.now);
    user.at = view.now;
    const double gpus = job.shape.gpus;
    user.gpus += starts ? gpus : -gpus;
  }

 private:
  struct User {
    double usage = 0;  ///< GPU-seconds, decayed to `at`
    TimePoint at{};
    double gpus = 0;  ///< held since
  };

  /// The integral of gpus · 2^(−age / h) since `at`, and what is left of the use before:
  /// gpus · h / ln 2 · (1 − 2^(−t/h)) + usage · 2^(−t/h).
  [[nodiscard]] double usage(const User& user, TimePoint now) const {
    const double left = std::exp2(-in_seconds(now - user.at) / half_life_s_);
    constexpr double kLn2 = 0.693147180559945309417;
    return user.usage * left + user.gpus * half_life_s_ / kLn2 * (1 - left);
  }

  double half_life_s_;
  std::map<std::string, User, std::less<>> users_;
};

std::unique_ptr<QueuePolicy> create_fair_share(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = std::make_unique<FairShare>(in_seconds(parameters.get<Duration>("half_life")));
  policy->hold = hold_of(parameters);
  return policy;
}

}  // namespace

QueueEntry fair_share_entry() {
  return {{.name = "fair_share",
           .summary = "jobs of the user with the least recent GPU-seconds first",
           .parameters = {{.name = "half_life",
                           .type = config::ParameterType::duration,
                           .fallback = "\"7d\"",
                           .help = "after this time a GPU-second counts half",
                           .min = 1},
                          hold_parameter("\"pass\"")}},
          &create_fair_share};
}

}  // namespace railyard::scheduler
