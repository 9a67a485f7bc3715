#include <doctest/doctest.h>

#include <cmath>

#include "railyard/scheduler/predictor.hpp"

namespace railyard::scheduler {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Predictor> predictor(std::string_view name) {
  const auto table = predictor_catalog();
  const auto choice = config::default_choice(name, config::descriptions(table));
  return config::entry_of(table, name).create(choice.parameters);
}

JobView job_of(std::string_view user, std::uint32_t gpus, std::string_view group = "") {
  JobView job;
  job.user = user;
  job.group = group;
  job.shape.gpus = gpus;
  return job;
}

double hours(const Predictor& predictor, const JobView& job) {
  return in_seconds(predictor.predict(job, std::nullopt, Rng(1))->run) / 3600;
}

TEST_CASE("The oracle tells the truth and nobody makes an estimate of nothing") {
  const auto oracle = predictor("oracle");
  CHECK(oracle->sees_truth());
  CHECK(oracle->predict(job_of("a", 8), Duration(12'345), Rng(1))->run == Duration(12'345));
  CHECK_FALSE(predictor("none")->predict(job_of("a", 8), std::nullopt, Rng(1)).has_value());
  CHECK_FALSE(predictor("history_mean")->sees_truth());
}

// |e^(sigma z) - 1| has the mean e^(sigma²/2) (2 Phi(sigma) - 1) = 0.4339 at sigma 0.5, and a
// standard deviation of about 0.4: 20,000 draws are within 0.012 (four sigmas). The median is 1.
TEST_CASE("The noisy oracle errs as its closed form says, the same way each time it is asked") {
  const auto noisy = predictor("noisy_oracle");
  const RngStreams streams(3);
  double error = 0;
  int above = 0;
  constexpr int kJobs = 20'000;
  for (std::uint64_t j = 0; j < kJobs; ++j) {
    const auto estimate = noisy->predict(job_of("a", 8), Duration(1h), streams.stream("p", j));
    const auto again = noisy->predict(job_of("a", 8), Duration(2h), streams.stream("p", j));
    const double factor = in_seconds(estimate->run) / 3600;
    REQUIRE(in_seconds(again->run) / 7200 == doctest::Approx(factor).epsilon(1e-9));
    REQUIRE(estimate->log_sigma == 0.5);
    error += std::abs(factor - 1) / kJobs;
    if (factor > 1) ++above;
  }
  CHECK(std::abs(error - 0.4339) < 0.012);
  CHECK(std::abs(above - kJobs / 2) < 4 * std::sqrt(kJobs) / 2);
}

// ann's 8-GPU jobs took 1, 2, 3 h: mean 2 h, known after three. Her 64-GPU jobs are another
// size, so all of ann's count; bob has no history and gets everybody's.
TEST_CASE("The history mean asks a wider circle until enough jobs have finished") {
  const auto history = predictor("history_mean");
  CHECK(hours(*history, job_of("ann", 8)) == 1);  // "initial"
  history->learn(job_of("ann", 8), 1h);
  CHECK(hours(*history, job_of("ann", 8)) == 1);  // everybody's, of one job
  history->learn(job_of("zoe", 8), 9h);
  CHECK(hours(*history, job_of("ann", 8)) == 5);
  history->learn(job_of("ann", 8), 2h);
  history->learn(job_of("ann", 8), 3h);
  CHECK(hours(*history, job_of("ann", 8)) == 2);
  CHECK(hours(*history, job_of("ann", 5)) == 2);  // the bucket of 5 to 8 GPUs
  history->learn(job_of("ann", 64), 14h);
  CHECK(hours(*history, job_of("ann", 8)) == 2);
  CHECK(hours(*history, job_of("ann", 64)) == 5);  // ann: (1 + 2 + 3 + 14) / 4
  CHECK(hours(*history, job_of("bob", 8)) == doctest::Approx(29.0 / 5));
}

// Run time = 10 min x GPUs, for one user: with the penalty small beside 400 jobs, the logarithm's
// line is found to a few per cent.
TEST_CASE("Ridge regression finds a power law of the size") {
  const auto ridge = predictor("ridge");
  CHECK(hours(*ridge, job_of("ann", 8)) == 1);  // "initial"
  Rng rng(5);
  for (int j = 0; j < 400; ++j) {
    const std::uint32_t gpus = 1U << rng.below(7);
    ridge->learn(job_of("ann", gpus), Duration(10min) * gpus);
  }
  for (const std::uint32_t gpus : {1U, 8U, 64U}) {
    CHECK(hours(*ridge, job_of("ann", gpus)) == doctest::Approx(gpus / 6.0).epsilon(0.05));
  }
  CHECK(ridge->predict(job_of("ann", 8), std::nullopt, Rng(1))->log_sigma < 0.5);
}

}  // namespace
}  // namespace railyard::scheduler
