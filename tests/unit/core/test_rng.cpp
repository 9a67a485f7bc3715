#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"

namespace {

using railyard::Rng;
using railyard::RngStreams;

/// Pearson's statistic against equal shares.
template <std::size_t Size>
double chi_square(const std::array<std::int64_t, Size>& counts) {
  double total = 0;
  for (const std::int64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(Size);
  double sum = 0;
  for (const std::int64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

// 99.9 % quantiles of chi-square (tables): 13.816 with 2 degrees of freedom, 20.515 with 5.
constexpr double kChiSquare2 = 13.816;
constexpr double kChiSquare5 = 20.515;
constexpr int kDraws = 60'000;

// First outputs of xoshiro256++ seeded by splitmix64 from 0, as in the tests of Rust's rand_xoshiro
// crate (seed_from_u64(0)): an implementation by other hands.
TEST_CASE("the generator is xoshiro256++ seeded by splitmix64") {
  Rng rng(0);
  for (const std::uint64_t expected :
       {UINT64_C(5987356902031041503), UINT64_C(7051070477665621255), UINT64_C(6633766593972829180),
        UINT64_C(211316841551650330)}) {
    CHECK(rng.next() == expected);
  }
}

TEST_CASE("a small bound is met evenly: a die of six sides") {
  Rng rng(1);
  std::array<std::int64_t, 6> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(rng.below(counts.size()))];
  CHECK(chi_square(counts) < kChiSquare5);
}

// 3·2^62 values out of 2^64: a plain remainder hits the lowest third twice as often, and a plain
// multiplication hits the multiples of three twice as often (floor(3x/4) for x mod 4 is 0, 0, 1,
// 2). Both would give a statistic near 7,500.
TEST_CASE("a bound near the range of the generator is met without bias") {
  constexpr std::uint64_t kThird = UINT64_C(1) << 62U;
  Rng rng(2);
  std::array<std::int64_t, 3> by_third{};
  std::array<std::int64_t, 3> by_remainder{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = rng.below(3 * kThird);
    REQUIRE(value < 3 * kThird);
    ++by_third[static_cast<std::size_t>(value / kThird)];
    ++by_remainder[static_cast<std::size_t>(value % 3)];
  }
  CHECK(chi_square(by_third) < kChiSquare2);
  CHECK(chi_square(by_remainder) < kChiSquare2);
}

TEST_CASE("a bound of one gives zero and a bound of zero is refused") {
  Rng rng(3);
  CHECK(rng.below(1) == 0);
  CHECK_THROWS_AS(static_cast<void>(rng.below(0)), railyard::InternalError);
}

// Mean of a uniform is 1/2 with standard deviation 1/sqrt(12 n); of an exponential its mean, with
// mean/sqrt(n).
TEST_CASE("uniform and exponential numbers have their range and mean") {
  constexpr double kSigmas = 4;
  constexpr double kMean = 250;
  Rng rng(4);
  double uniforms = 0;
  double exponentials = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = rng.uniform();
    REQUIRE(uniform >= 0);
    REQUIRE(uniform < 1);
    uniforms += uniform;
    const double exponential = rng.exponential(kMean);
    REQUIRE(exponential >= 0);
    exponentials += exponential;
  }
  CHECK(std::abs(uniforms / kDraws - 0.5) < kSigmas / std::sqrt(12.0 * kDraws));
  CHECK(std::abs(exponentials / kDraws - kMean) < kSigmas * kMean / std::sqrt(double{kDraws}));
}

// Mean 0 and variance 1, with standard deviations 1/sqrt(n) and sqrt(2/n); 2.275 % lie above 2.
TEST_CASE("normal numbers have the mean, variance and tail of the standard normal") {
  constexpr double kSigmas = 4;
  Rng rng(6);
  double sum = 0;
  double squares = 0;
  double above = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double normal = rng.normal();
    sum += normal;
    squares += normal * normal;
    if (normal > 2) ++above;
  }
  CHECK(std::abs(sum / kDraws) < kSigmas / std::sqrt(double{kDraws}));
  CHECK(std::abs(squares / kDraws - 1) < kSigmas * std::sqrt(2.0 / kDraws));
  CHECK(std::abs(above / kDraws - 0.02275) < kSigmas * std::sqrt(0.02275 / kDraws));
}

TEST_CASE("a stream does not depend on which others were drawn from") {
  const RngStreams streams(42);
  std::vector<std::uint64_t> alone;
  Rng first = streams.stream("failures", 3);
  for (int i = 0; i < 8; ++i) alone.push_back(first.next());
  Rng other = streams.stream("arrivals");
  Rng again = streams.stream("failures", 3);
  for (const std::uint64_t expected : alone) {
    static_cast<void>(other.next());
    CHECK(again.next() == expected);
  }
}

// Six streams that differ in seed, name or index alone; two of them sharing one 64-bit number among
// eight by chance has a probability near 10^-16.
TEST_CASE("streams of another seed, name or index share no numbers") {
  std::vector<Rng> streams{RngStreams(1).stream("failures"),    RngStreams(2).stream("failures"),
                           RngStreams(1).stream("failures", 1), RngStreams(1).stream("failures", 2),
                           RngStreams(1).stream("arrivals"),    RngStreams(1).stream("")};
  std::vector<std::uint64_t> numbers;
  for (Rng& stream : streams) {
    for (int i = 0; i < 8; ++i) numbers.push_back(stream.next());
  }
  std::sort(numbers.begin(), numbers.end());
  CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
}

// All 6 orders of three values, 10,000 expected each.
TEST_CASE("a shuffle keeps the values and makes every order equally often") {
  Rng rng(5);
  std::array<std::int64_t, 6> counts{};
  for (int i = 0; i < kDraws; ++i) {
    std::array<int, 3> values{0, 1, 2};
    rng.shuffle(std::span<int>(values));
    std::array<int, 3> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    REQUIRE(sorted == std::array<int, 3>{0, 1, 2});
    const int order = values[0] * 2 + (values[1] > values[2] ? 1 : 0);
    ++counts[static_cast<std::size_t>(order)];
  }
  CHECK(chi_square(counts) < kChiSquare5);
}

}  // namespace
