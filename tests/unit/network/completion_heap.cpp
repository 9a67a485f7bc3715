#include "network/completion_heap.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "railyard/core/rng.hpp"

using railyard::Rng;
using railyard::network::CompletionHeap;

// A linear scan over the live entries is the reference. Keys are drawn from few ticks so that the
// start order has to decide.
TEST_CASE(
    "the completion heap yields entries by tick and then by start order, whatever was moved or "
    "removed") {
  Rng rng(7);
  constexpr std::uint32_t kFlows = 40;
  CompletionHeap heap;
  heap.resize(kFlows);
  std::vector<CompletionHeap::Entry> live;
  const auto least = [&live] {
    const CompletionHeap::Entry* best = &live.front();
    for (const CompletionHeap::Entry& entry : live) {
      if (entry.tick < best->tick || (entry.tick == best->tick && entry.order < best->order))
        best = &entry;
    }
    return best->flow;
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto flow = static_cast<std::uint32_t>(rng.below(kFlows));
    std::size_t at = 0;
    while (at < live.size() && live[at].flow != flow) ++at;
    if (at < live.size() && rng.below(3) == 0) {
      heap.remove(flow);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const CompletionHeap::Entry entry{static_cast<std::int64_t>(rng.below(6)), 1000 - flow, flow};
      heap.set(entry);
      if (at < live.size()) {
        live[at] = entry;
      } else {
        live.push_back(entry);
      }
    }
    REQUIRE(heap.empty() == live.empty());
    if (!live.empty()) REQUIRE(heap.top().flow == least());
  }
}
