// An indexed 4-ary min-heap of completions in the total order (tick, start order). Private to the
// network.
//
// Each running flow with a rate has one entry; its place in the heap is kept in `position`, so that
// a changed rate moves the entry instead of leaving a stale one behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard::network {

class CompletionHeap {
 public:
  struct Entry {
    std::int64_t tick;
    std::uint64_t order;
    std::uint32_t flow;
  };

  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const Entry& top() const { return entries_.front(); }

  /// Makes room for flow slots 0 … slots − 1.
  void resize(std::size_t slots) { position_.resize(slots, kAbsent); }

  /// Inserts the flow or moves it to its new key.
  void set(const Entry& entry) {
    std::uint32_t place = position_[entry.flow];
    if (place == kAbsent) {
      place = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back(entry);
      sift_up(place, entry);
    } else if (before(entry, entries_[place])) {
      sift_up(place, entry);
    } else {
      sift_down(place, entry);
    }
  }

  void remove(std::uint32_t flow) {
    const std::uint32_t place = position_[flow];
    position_[flow] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (last.flow == flow) return;
    if (place > 0 && before(last, entries_[(place - 1) / kChildren])) {
      sift_up(place, last);
    } else {
      sift_down(place, last);
    }
  }

 private:
  static constexpr std::uint32_t kChildren = 4;

  static bool before(const Entry& a, const Entry& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.order < b.order;
  }

  void place_at(std::uint32_t place, const Entry& entry) {
    entries_[place] = entry;
    position_[entry.flow] = place;
  }

  void sift_up(std::uint32_t place, const Entry& entry) {
    while (place > 0) {
      const std::uint32_t parent = (place - 1) / kChildren;
      if (!before(entry, entries_[parent])) break;
      place_at(place, entries_[parent]);
      place = parent;
    }
    place_at(place, entry);
  }

  void sift_down(std::uint32_t place, const Entry& entry) {
    const auto size = static_cast<std::uint32_t>(entries_.size());
    while (true) {
      const std::uint32_t first = place * kChildren + 1;
      if (first >= size) break;
      const std::uint32_t end = first + kChildren < size ? first + kChildren : size;
      std::uint32_t least = first;
      for (std::uint32_t child = first + 1; child < end; ++child) {
        if (before(entries_[child], entries_[least])) least = child;
      }
      if (!before(entries_[least], entry)) break;
      place_at(place, entries_[least]);
      place = least;
    }
    place_at(place, entry);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> position_;  ///< per flow slot
};

}  // namespace railyard::network
