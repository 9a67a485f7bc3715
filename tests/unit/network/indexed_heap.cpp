#include "network/indexed_heap.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "railyard/core/rng.hpp"

using railyard::Rng;
using railyard::network::IndexedHeap;

// A linear scan over the live entries is the reference. Keys are few, so that the item has to
// decide.
TEST_CASE(
    "the indexed heap yields entries by key and then by item, whatever was moved or removed") {
  Rng rng(7);
  constexpr std::uint32_t kItems = 40;
  IndexedHeap heap;
  heap.resize(kItems);
  std::vector<IndexedHeap::Entry> live;
  const auto least = [&live] {
    const IndexedHeap::Entry* best = &live.front();
    for (const IndexedHeap::Entry& entry : live) {
      if (entry.key < best->key || (entry.key == best->key && entry.item < best->item))
        best = &entry;
    }
    return best->item;
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto item = static_cast<std::uint32_t>(rng.below(kItems));
    std::size_t at = 0;
    while (at < live.size() && live[at].item != item) ++at;
    if (at < live.size() && rng.below(3) == 0) {
      heap.remove(item);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const IndexedHeap::Entry entry{static_cast<std::int64_t>(rng.below(6)), item};
      heap.set(entry.key, entry.item);
      if (at < live.size()) {
        live[at] = entry;
      } else {
        live.push_back(entry);
      }
    }
    REQUIRE(heap.empty() == live.empty());
    if (!live.empty()) REQUIRE(heap.top().item == least());
  }
}
