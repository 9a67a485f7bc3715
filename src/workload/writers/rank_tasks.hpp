// A DAG seen from its ranks: which tasks a rank takes part in, and what they wait for there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "railyard/workload/iteration_dag.hpp"
#include "railyard/workload/trace_writer.hpp"

namespace railyard::workload {

void write_chakra(const Recording& recording, const OpenTraceFile& open);
void write_goal(const Recording& recording, const OpenTraceFile& open);

/// Barriers dissolved into what they join, stream order into dependencies.
class RankTasks {
 public:
  /// Throws ConfigError where a task waits for one that none of its ranks takes part in: no message
  /// of the trace would carry that.
  explicit RankTasks(const IterationDag& dag);

  struct Wait {
    std::uint32_t task = 0;
    bool left = false;  ///< of a send: only until its bytes have left (stream order)
    friend auto operator<=>(const Wait&, const Wait&) = default;
  };
  [[nodiscard]] std::span<const Wait> waits(std::uint32_t task) const {
    return {waits_.data() + first_[task], first_[task + 1] - first_[task]};
  }
  /// Tasks of a rank but barriers, in an order in which dependencies come first.
  [[nodiscard]] std::span<const std::uint32_t> tasks_of(std::uint32_t rank) const {
    return {tasks_.data() + first_task_[rank], first_task_[rank + 1] - first_task_[rank]};
  }
  [[nodiscard]] bool is_sender(std::uint32_t task, std::uint32_t rank) const;
  /// The rank at the other end of a send.
  [[nodiscard]] std::uint32_t partner(std::uint32_t task, std::uint32_t rank) const;

 private:
  void order();
  void find_waits();
  void find_tasks();
  template <typename Visit>
  void for_each_rank(std::uint32_t task, const Visit& visit) const;
  [[nodiscard]] bool share_a_rank(std::uint32_t a, std::uint32_t b) const;

  const IterationDag& dag_;
  std::vector<std::uint32_t> order_;     ///< all tasks, dependencies first
  std::vector<std::uint32_t> previous_;  ///< on the stream, or none
  std::vector<std::uint64_t> first_;
  std::vector<Wait> waits_;
  std::vector<std::uint64_t> first_task_;
  std::vector<std::uint32_t> tasks_;
};

}  // namespace railyard::workload
