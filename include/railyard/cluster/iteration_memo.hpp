// Iterations of components of jobs that several runs share: the points of a sweep.
//
// What is remembered is a function of its key (IterationOracle says what is in it), so that a run
// gives the same results with and without a memo, and whoever else uses it; only how much was
// simulated differs. Runs on several threads take turns as their owner says; two that want the same
// component at once both simulate it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "railyard/training/iteration_engine.hpp"

namespace railyard::cluster {

using MemoKey = std::array<std::uint64_t, 2>;

/// Does the work while nobody else does any that it was given.
using TakeTurns = std::function<void(const std::function<void()>& work)>;

class IterationMemo {
 public:
  /// Keeps nothing more once what is kept takes so much memory. `turns` empty: for one thread.
  explicit IterationMemo(TakeTurns turns = {}, std::size_t bytes_max = std::size_t{512} << 20U)
      : turns_(std::move(turns)), bytes_max_(bytes_max) {}

  /// Null: not there.
  [[nodiscard]] std::shared_ptr<const training::EngineResult> find(const MemoKey& key) const;
  void add(const MemoKey& key, std::shared_ptr<const training::EngineResult> result);

 private:
  void take_turns(const std::function<void()>& work) const;

  TakeTurns turns_;
  std::map<MemoKey, std::shared_ptr<const training::EngineResult>> results_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
};

}  // namespace railyard::cluster
