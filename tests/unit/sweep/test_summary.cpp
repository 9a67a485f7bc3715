#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "railyard/core/rng.hpp"
#include "railyard/sweep/summary.hpp"

using namespace railyard;
using metrics::Metric;
using sweep::Choice;

namespace {

/// Settings of one policy each, with a throughput (more is better) and a queueing time (less is).
std::vector<sweep::Setting> settings(const std::vector<std::pair<double, double>>& values) {
  std::vector<sweep::Setting> out;
  for (const auto& [throughput, queue] : values) {
    sweep::PolicyMeans policy;
    policy.name = "p";
    policy.metrics[static_cast<std::size_t>(Metric::throughput_tokens_per_s)] =
        sweep::mean_of({throughput});
    policy.metrics[static_cast<std::size_t>(Metric::queue_s_mean)] = sweep::mean_of({queue});
    out.push_back({{}, {out.size()}, {policy}});
  }
  return out;
}

std::vector<std::size_t> numbers(const std::vector<Choice>& choices) {
  std::vector<std::size_t> out;
  for (const Choice& choice : choices) out.push_back(choice.setting);
  return out;
}

}  // namespace

// 1, 2, 3, 4: mean 2.5, variance 5/3, standard error sqrt(5/12) = 0.6455; t of 3 degrees of
// freedom 3.182: 2.054.
TEST_CASE("the confidence interval is Student's") {
  const auto mean = sweep::mean_of({1, 2, 3, 4});
  REQUIRE(mean);
  CHECK(mean->mean == 2.5);
  CHECK(*mean->half_width == doctest::Approx(3.182 * std::sqrt(5.0 / 12)).epsilon(1e-6));
  CHECK_FALSE(sweep::mean_of({7})->half_width);
  CHECK_FALSE(sweep::mean_of({}));
}

// By the meaning of the interval: of 2,000 samples of five standard normals, 95 % cover zero, with
// a standard deviation of sqrt(0.95 x 0.05 / 2000) = 0.5 %. The same of 40, beyond the table.
TEST_CASE("intervals cover the true mean in 95 % of samples") {
  for (const std::size_t size : {std::size_t{5}, std::size_t{40}}) {
    Rng rng(size);
    int covered = 0;
    for (int sample = 0; sample < 2000; ++sample) {
      std::vector<double> values;
      for (std::size_t i = 0; i < size; ++i) values.push_back(rng.normal());
      const auto mean = sweep::mean_of(values);
      if (std::abs(mean->mean) <= *mean->half_width) ++covered;
    }
    CHECK(covered / 2000.0 == doctest::Approx(0.95).epsilon(0.02));
  }
}

TEST_CASE("the best come first, whichever way a metric is better") {
  const auto all = settings({{1, 5}, {3, 7}, {2, 6}});
  CHECK(numbers(sweep::ranked(all, Metric::throughput_tokens_per_s)) ==
        std::vector<std::size_t>{1, 2, 0});
  CHECK(numbers(sweep::ranked(all, Metric::queue_s_mean)) == std::vector<std::size_t>{0, 2, 1});
}

// Against the definition, on 300 sets of points on a coarse lattice, where ties are common: a
// member is equalled or beaten in both and beaten in one by nobody.
TEST_CASE("the front is made of those that nothing beats in both metrics") {
  Rng rng(1);
  for (int set = 0; set < 300; ++set) {
    std::vector<std::pair<double, double>> values(1 + rng.below(12));
    for (auto& [x, y] : values) {
      x = static_cast<double>(rng.below(6));
      y = static_cast<double>(rng.below(6));
    }
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto beats = [&](const auto& other) {
        return other.first >= values[i].first && other.second <= values[i].second &&
               other != values[i];
      };
      if (std::none_of(values.begin(), values.end(), beats)) wanted.push_back(i);
    }
    auto front = numbers(sweep::pareto_front(settings(values), Metric::throughput_tokens_per_s,
                                             Metric::queue_s_mean));
    std::sort(front.begin(), front.end());
    CHECK(front == wanted);
  }
}

// Two seeds: 10 against 5 and 30 against 10 are ratios of 2 and 3, mean 2.5; the ratio of the means
// would be 40 / 15.
TEST_CASE("ratios to the baseline are taken seed by seed") {
  sweep::Sweep sweep;
  std::vector<sweep::PointResult> results;
  for (const auto& [base, own] : {std::pair{5.0, 10.0}, {10.0, 30.0}}) {
    sweep.points.push_back({{}, 0, 0});
    metrics::RunResult run;
    run.baseline = "base";
    for (const auto& [name, value] : {std::pair{"base", base}, {"own", own}}) {
      run.policies.emplace_back().name = name;
      run.policies.back().metrics.set(Metric::makespan_s, value);
    }
    results.push_back({results.size(), run});
  }
  const auto all = sweep::settings_of(sweep, results);
  REQUIRE(all.size() == 1);
  CHECK(all[0].points.size() == 2);
  const auto makespan = static_cast<std::size_t>(Metric::makespan_s);
  CHECK(all[0].policies[1].metrics[makespan]->mean == 20);
  CHECK(all[0].policies[1].ratios[makespan]->mean == 2.5);
}
