// An indexed 4-ary min-heap: one entry an item, in the total order (key, item). Private to the
// network.
//
// The place of every item is kept, so that a changed key moves its entry instead of leaving a stale
// one behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard::network {

class IndexedHeap {
 public:
  struct Entry {
    std::int64_t key;
    std::uint32_t item;
  };

  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const Entry& top() const { return entries_.front(); }
  [[nodiscard]] bool contains(std::uint32_t item) const { return places_[item] != kAbsent; }

  /// Of an item that is contained.
  [[nodiscard]] std::int64_t key(std::uint32_t item) const { return entries_[places_[item]].key; }

  /// Makes room for items 0 … items − 1.
  void resize(std::size_t items) {
    if (items > places_.size()) places_.resize(items, kAbsent);
  }

  /// Inserts the item or moves it to its new key.
  void set(std::int64_t key, std::uint32_t item) {
    const Entry entry{key, item};
    std::uint32_t place = places_[item];
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

  void remove(std::uint32_t item) {
    const std::uint32_t place = places_[item];
    places_[item] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (last.item == item) return;
    if (place > 0 && before(last, entries_[(place - 1) / kChildren])) {
      sift_up(place, last);
    } else {
      sift_down(place, last);
    }
  }

 private:
  static constexpr std::uint32_t kChildren = 4;

  static bool before(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.item < b.item;
  }

  void place_at(std::uint32_t place, const Entry& entry) {
    entries_[place] = entry;
    places_[entry.item] = place;
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
  std::vector<std::uint32_t> places_;  ///< by item
};

}  // namespace railyard::network
