#include <doctest/doctest.h>

#include "railyard/core/check.hpp"
#include "railyard/metrics/run_result.hpp"

using namespace railyard;
using namespace railyard::metrics;

// Nearest rank: the ceil(share x n)-th smallest. n = 5, sorted 10 20 30 40 50: ceil(2.5) = 3rd,
// ceil(4.75) = 5th, ceil(1) = 1st.
TEST_CASE("a percentile is the value of nearest rank") {
  const std::vector<double> values{50, 20, 40, 10, 30};
  CHECK(percentile(values, 0.5) == 30);
  CHECK(percentile(values, 0.95) == 50);
  CHECK(percentile(values, 0.2) == 10);
  CHECK(percentile(values, 1.0) == 50);
}

// In doubles 0.07 x 100 = 7.000000000000001, whose ceiling is 8; the rank meant is 7.
TEST_CASE("a percentile is not pushed up a rank by the rounding of its share") {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  CHECK(percentile(values, 0.07) == 7);
  CHECK(percentile(values, 0.99) == 99);
  CHECK(percentile(values, 0.991) == 100);
}

TEST_CASE("nothing has no percentile, and a share outside (0, 1] is a fault of the caller") {
  CHECK_FALSE(percentile({}, 0.5).has_value());
  CHECK_THROWS_AS((void)percentile({1.0}, 0.0), InternalError);
  CHECK_THROWS_AS((void)percentile({1.0}, 1.01), InternalError);
}

// Nine parts of 1, 2, 4, ..., 256 ticks: the sum 511 misses or doubles none.
TEST_CASE("an attribution sums all its parts") {
  Attribution attribution;
  std::int64_t ticks = 1;
  for (const AttributionPart& part : attribution_parts()) {
    attribution.*part.member = Duration(ticks);
    ticks *= 2;
  }
  CHECK(attribution.total() == Duration(511));
}

// Counters add: 3 + 4 events, 1.5 s + 2 s. The peak of one process is the larger of two readings.
TEST_CASE("facts of two policies add up, but for the peak of memory") {
  RunFacts a;
  a.wall_s = 1.5;
  a.events = 3;
  a.flows = 10;
  a.solves = 20;
  a.flows_touched = 30;
  a.iterations_simulated = 40;
  a.memo_hits = 50;
  a.peak_rss_bytes = 700;
  RunFacts b;
  b.wall_s = 2;
  b.events = 4;
  b.flows = 1;
  b.solves = 2;
  b.flows_touched = 3;
  b.iterations_simulated = 4;
  b.memo_hits = 5;
  b.peak_rss_bytes = 600;
  a += b;
  CHECK(a.wall_s == 3.5);
  CHECK(a.events == 7);
  CHECK(a.flows == 11);
  CHECK(a.solves == 22);
  CHECK(a.flows_touched == 33);
  CHECK(a.iterations_simulated == 44);
  CHECK(a.memo_hits == 55);
  CHECK(a.peak_rss_bytes == 700);
}

namespace {

RunResult small_result() {
  RunResult result;
  PolicyResult policy;
  policy.name = "best_fit";
  policy.metrics.set(Metric::mfu, 0.4);
  policy.attribution = Attribution{};
  policy.ticks = {0, 100};
  policy.jobs.push_back({});
  result.policies.push_back(policy);
  return result;
}

}  // namespace

// Each change below alters behaviour, so each must alter the digest; 0.0 is a value and empty is
// none.
TEST_CASE("the digest follows behaviour") {
  const std::string before = digest_of(small_result());
  CHECK(digest_of(small_result()) == before);

  RunResult changed = small_result();
  changed.policies[0].ticks[1] = 101;
  CHECK(digest_of(changed) != before);
  changed = small_result();
  changed.policies[0].metrics.set(Metric::restarts, 0.0);
  CHECK(digest_of(changed) != before);
  changed = small_result();
  changed.policies[0].attribution->bubble = Duration(1);
  CHECK(digest_of(changed) != before);
  changed = small_result();
  changed.policies[0].jobs[0].status = "rejected";
  CHECK(digest_of(changed) != before);
}

// The key goes into the digest with the value: the same number is another cost.
TEST_CASE("the digest follows costs where there are some") {
  RunResult total = small_result();
  total.policies[0].metrics.set(Metric::cost_total, 1.0);
  CHECK(digest_of(total) != digest_of(small_result()));
  RunResult per_job = small_result();
  per_job.policies[0].metrics.set(Metric::cost_per_job, 1.0);
  CHECK(digest_of(per_job) != digest_of(total));
}

// A sentence in a scenario's description moves no train.
TEST_CASE("the digest does not follow words") {
  RunResult changed = small_result();
  changed.description = "other words";
  changed.notes = {"a note"};
  changed.policies[0].warnings = {"a warning"};
  CHECK(digest_of(changed) == digest_of(small_result()));
}
