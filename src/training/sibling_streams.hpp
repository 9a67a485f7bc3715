// Streams of a job that do the same at the same time, but for the links they use.
//
// The ranks of a tensor group each reduce their part of the gradients: as many streams of equal
// collectives that wait for the same tasks. As long as their flows move alike they keep in step.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/training/program.hpp"

namespace railyard::training {

/// Of a stream without siblings: the task that is waited for is known by itself.
inline constexpr std::uint32_t kNoSibling = ~std::uint32_t{0};

/// A stream of which every task is one flow on routes that no other stream uses.
struct SiblingStream {
  struct Wait {
    std::uint64_t what = 0;     ///< which of its tasks waits for which of the other stream's
    std::uint32_t sibling = 0;  ///< the other stream, into sibling_streams(); or kNoSibling
  };
  std::uint32_t stream = 0;
  std::uint64_t family = 0;           ///< equal: the same tasks, waiting for the same
  std::vector<std::uint32_t> routes;  ///< task by task
  std::vector<std::int64_t> sizes;    ///< of the flows, task by task
  std::vector<Wait> waits;            ///< for other streams of siblings
};

/// Those streams of a job that have siblings.
[[nodiscard]] std::vector<SiblingStream> sibling_streams(const Program& program);

}  // namespace railyard::training
