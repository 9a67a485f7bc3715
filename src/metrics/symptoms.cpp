#include "railyard/metrics/symptoms.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "railyard/core/check.hpp"

namespace railyard::metrics {

namespace {

using enum Symptom;

constexpr std::array<SymptomDescription, 3> kSymptoms{{
    {low_busy_share, "low_busy_share", "low busy share", 0.80, true,
     "a pipeline filled by GPipe's rule, four micro-batches a stage (Huang et al., 2019), idles at "
     "most a fifth of the time: (p - 1) / (m + p - 1) < 1/5 where m = 4p"},
    {unstable_speed, "unstable_speed", "unstable speed", 0.08, false,
     "GPUs of one kind differ by 8 % among themselves (Sinha et al., SC'22): less is not seen"},
    {latency_spread, "latency_spread", "latency spread", 0.02, false,
     "the least that a placement was published to gain is 1.8 % of an iteration (Arnold, 96 GPUs): "
     "below that there is nothing to win back"},
}};

constexpr std::string_view kComputing = "share of an iteration spent computing";
constexpr std::string_view kOfIteration = "of the iteration";
constexpr std::string_view kStanding = "share of the time since its start that did not advance it";
constexpr std::string_view kSlower =
    "share of an iteration that transfers take longer than alone on their routes";

constexpr std::array<CauseDescription, 16> kCauses{{
    {low_busy_share, "bubble", "pipeline bubble", kComputing, kOfIteration,
     "more micro-batches (a larger global_batch, a smaller micro_batch), more virtual_stages, a "
     "schedule with a smaller bubble (zb_h1, dualpipe), or fewer stages"},
    {low_busy_share, "exposed_tp", "tensor collectives", kComputing, kOfIteration,
     "tensor_overlap, sequence_parallel, or a smaller tensor degree"},
    {low_busy_share, "exposed_pp", "sends between stages", kComputing, kOfIteration,
     "overlap_sends, a placement that keeps pipelines together (unit pp), or fewer stages"},
    {low_busy_share, "exposed_dp", "gradient collectives", kComputing, kOfIteration,
     "overlap_gradients, a larger global_batch, hierarchical collectives, compression, or a "
     "placement that keeps data-parallel groups together (unit dp)"},
    {low_busy_share, "exposed_ep", "exchange of experts", kComputing, kOfIteration,
     "expert groups within a host or leaf (a smaller expert degree), or a capacity_factor"},
    {low_busy_share, "exposed_cp", "exchange of attention's keys and values", kComputing,
     kOfIteration, "a smaller context degree, or context groups within a host"},
    {low_busy_share, "latency", "fixed costs of messages", kComputing, kOfIteration,
     "larger messages: a larger micro_batch or gradient_bucket, fewer ranks in a group"},
    {low_busy_share, "contention", "links that flows share", kComputing, kOfIteration,
     "see latency_spread: another placement, routing or priority of traffic"},
    {unstable_speed, "neighbours", "other jobs come and go on its links",
     "what its slowest iteration takes longer than its fastest", "of its time lost to them",
     "a placement that shares no links (tight_pack), or priorities of traffic (\"traffic\")"},
    {unstable_speed, "preemptions", "it is preempted", kStanding, "times preempted",
     "a queue or reservation that does not preempt, rarer decisions (a longer \"interval\": fewer "
     "preemptions, each at least that long), or a cheaper checkpoint and restart"},
    {unstable_speed, "failures", "its hosts fail", kStanding, "hosts lost",
     "a checkpoint_interval of \"young_daly\", or a cheaper checkpoint and restart"},
    {latency_spread, "neighbours", "other jobs on its links", kSlower, "of its time lost to them",
     "a placement that shares no links (tight_pack), or priorities of traffic (\"traffic\")"},
    {latency_spread, "pipelines_apart", "sends of pipelines that cross minipods", kSlower,
     "of the iteration on sends",
     "a placement that keeps pipelines in one minipod (arnold with unit pp and a small alpha)"},
    {latency_spread, "data_groups_apart", "collectives of groups that cross minipods", kSlower,
     "of the iteration on collectives",
     "a placement that keeps data-parallel groups in one minipod (arnold with unit dp and a large "
     "alpha), or hierarchical collectives"},
    {latency_spread, "collisions", "its own flows meet on links", kSlower, kOfIteration,
     "routing that spreads flows: more queue_pairs, spray"},
    {latency_spread, "spread_hosts", "hosts on more leaves or minipods than it needs",
     "what an iteration alone takes longer than on the fewest leaves and minipods",
     "longer than there",
     "a placement that keeps it together (tight_pack, arnold), or a queue "
     "that waits for room"},
}};

const SymptomDescription& description(Symptom symptom) {
  return kSymptoms.at(static_cast<std::size_t>(symptom));
}

bool shows(Symptom symptom, double value) {
  const SymptomDescription& known = description(symptom);
  return known.below ? value < known.bound : value > known.bound;
}

Finding finding(const JobResult& job, Symptom symptom, std::string_view cause, double value,
                double part) {
  const auto* const found = std::find_if(
      kCauses.begin(), kCauses.end(),
      [&](const CauseDescription& one) { return one.symptom == symptom && one.key == cause; });
  RAILYARD_CHECK(found != kCauses.end(), "no cause \"{}\"", cause);
  return {&description(symptom), found, job.name, value, part};
}

double share(Duration part, Duration total) {
  return static_cast<double>(part.count()) / static_cast<double>(total.count());
}

/// The largest part of the iteration that is not computing: its key is the cause's.
std::optional<Finding> busy_share(const JobResult& job) {
  if (!job.attribution || job.attribution->total() <= Duration{}) return std::nullopt;
  const Attribution& parts = *job.attribution;
  const double busy = share(parts.compute, parts.total());
  // What computes nothing at all (a micro-benchmark) has no busy share to speak of.
  if (parts.compute <= Duration{} || !shows(low_busy_share, busy)) return std::nullopt;
  const AttributionPart* most = nullptr;
  for (const AttributionPart& part : attribution_parts()) {
    if (part.member == &Attribution::compute) continue;
    if (most == nullptr || parts.*part.member > parts.*most->member) most = &part;
  }
  return finding(job, low_busy_share, most->key, busy, share(parts.*most->member, parts.total()));
}

/// From its first start to its end, the share in which it held no GPUs, or did work that was lost,
/// or read and wrote checkpoints.
std::optional<Finding> stops(const JobResult& job) {
  if (job.preemptions + job.failures == 0 || !job.kept_s || job.runs.empty()) return std::nullopt;
  const double span = job.runs.back().until_s - job.runs.front().from_s;
  if (span <= 0) return std::nullopt;
  const double standing = 1 - *job.kept_s / span;
  if (!shows(unstable_speed, standing)) return std::nullopt;
  const bool preempted = job.preemptions >= job.failures;
  return finding(job, unstable_speed, preempted ? "preemptions" : "failures", standing,
                 preempted ? job.preemptions : job.failures);
}

std::optional<Finding> speed(const JobResult& job) {
  if (auto stopped = stops(job)) return stopped;
  if (!job.iteration_s_min || !job.iteration_s_max || *job.iteration_s_min <= 0) {
    return std::nullopt;
  }
  const double swing = *job.iteration_s_max / *job.iteration_s_min - 1;
  if (!shows(unstable_speed, swing) || job.shared_share.value_or(0) <= 0) return std::nullopt;
  return finding(job, unstable_speed, "neighbours", swing, job.contention_share.value_or(0));
}

/// Of a recorded job only the ratio to its reference placement is known.
std::optional<Finding> recorded_spread(const JobResult& job) {
  const double lost = job.contention_share.value_or(0);
  const bool placed = job.iteration_s_alone && job.iteration_s_reference.value_or(0) > 0;
  const double longer = placed ? *job.iteration_s_alone / *job.iteration_s_reference - 1 : 0;
  if (lost >= longer) {
    if (!shows(latency_spread, lost)) return std::nullopt;
    return finding(job, latency_spread, "neighbours", lost, lost);
  }
  if (!shows(latency_spread, longer)) return std::nullopt;
  return finding(job, latency_spread, "spread_hosts", longer, longer);
}

std::optional<Finding> spread(const JobResult& job) {
  if (!job.attribution || job.attribution->total() <= Duration{}) return recorded_spread(job);
  const Attribution& parts = *job.attribution;
  const double slower = share(parts.contention, parts.total());
  if (!shows(latency_spread, slower)) return std::nullopt;
  const double lost = job.contention_share.value_or(0);
  if (2 * lost >= slower) return finding(job, latency_spread, "neighbours", slower, lost);
  // Sends and collectives that stay inside a minipod meet others by chance; across, by lack of
  // links.
  const Duration sends = parts.contention_pp;
  const Duration collectives = parts.contention - sends;
  if (sends >= collectives && job.spread_pp_max.value_or(1) > 1) {
    return finding(job, latency_spread, "pipelines_apart", slower, share(sends, parts.total()));
  }
  if (collectives > sends && job.spread_dp_max.value_or(1) > 1) {
    return finding(job, latency_spread, "data_groups_apart", slower,
                   share(collectives, parts.total()));
  }
  return finding(job, latency_spread, "collisions", slower, slower);
}

}  // namespace

std::span<const SymptomDescription> symptom_catalog() {
  return kSymptoms;
}

std::span<const CauseDescription> cause_catalog() {
  return kCauses;
}

std::vector<Finding> findings_of(const JobResult& job) {
  std::vector<Finding> out;
  for (auto found : {busy_share(job), speed(job), spread(job)}) {
    if (found) out.push_back(std::move(*found));
  }
  return out;
}

std::vector<Finding> findings_of(const PolicyResult& policy) {
  std::vector<std::optional<Finding>> worst(kCauses.size());
  for (const JobResult& job : policy.jobs) {
    for (Finding& found : findings_of(job)) {
      auto& known = worst[static_cast<std::size_t>(found.cause - kCauses.data())];
      const bool worse = !known || (found.symptom->below ? found.value < known->value
                                                         : found.value > known->value);
      const std::uint32_t jobs = known ? known->jobs + 1 : 1;
      if (worse) known = std::move(found);
      known->jobs = jobs;
    }
  }
  std::vector<Finding> out;
  for (auto& found : worst) {
    if (found) out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace railyard::metrics
