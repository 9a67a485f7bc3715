// Random numbers that are the same on every compiler, library and machine.
//
// Generator: xoshiro256++ (Blackman & Vigna, "Scrambled linear pseudorandom number generators", ACM
// TOMS 2021), seeded by splitmix64. Distributions are our own, integers first; those of <random>
// differ between libraries and are banned. Streams are named: adding a consumer shifts nobody
// else's numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace railyard {

/// 64-bit finaliser of splitmix64: a fixed bijection that scatters its input.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  [[nodiscard]] std::uint64_t next();
  /// Uniform in [0, bound), without bias (Lemire, "Fast random integer generation in an interval",
  /// 2019). bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1), 53 random bits.
  [[nodiscard]] double uniform();
  /// Exponential with the given mean (inversion). Uses log: round the result to ticks before it
  /// orders events.
  [[nodiscard]] double exponential(double mean);
  /// Standard normal (Marsaglia's polar method). Uses log: round as above.
  [[nodiscard]] double normal();

  /// Fisher-Yates.
  template <typename T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

/// The run's source of named streams: (seed, name, index) -> an independent generator.
class RngStreams {
 public:
  explicit RngStreams(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] Rng stream(std::string_view name, std::uint64_t index = 0) const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
};

}  // namespace railyard
