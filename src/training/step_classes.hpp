// Stepped collectives that are alike: each class runs once by itself, and its length serves all.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <vector>

#include "railyard/training/program.hpp"

namespace railyard::training {

/// Two stepped collectives are of one class when their steps are the same after naming links by
/// first use: sizes, latencies, dependencies, channels, usages, and what the links can carry.
class StepClasses {
 public:
  StepClasses(const Program& program, const topology::Topology& topology)
      : program_(program), topology_(topology) {}

  /// Time of `repeat` rounds of `once` with nothing else on their links, from the start until the
  /// last step has arrived. `whole` makes the rounds; it is asked once a class.
  template <std::invocable Whole>
  [[nodiscard]] Duration length(const SteppedCollective& once, std::uint32_t repeat, Whole whole) {
    const auto [found, inserted] = lengths_.try_emplace(key_of(once, repeat));
    if (inserted) found->second = by_itself(whole());
    return found->second;
  }

 private:
  using Key = std::vector<std::uint64_t>;

  [[nodiscard]] Key key_of(const SteppedCollective& form, std::uint32_t repeat) const;
  [[nodiscard]] Duration by_itself(SteppedCollective form) const;

  const Program& program_;
  const topology::Topology& topology_;
  std::map<Key, Duration> lengths_;
};

}  // namespace railyard::training
