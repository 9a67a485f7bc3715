// The event queue: a binary heap of small values in a total order.
//
// Order: (time, phase, sequence). The phase orders the work inside one tick; the sequence number
// (insertion order) makes the order total. Cancellation is by handle, in constant time: a handle
// names a slot and the slot's generation; the event stays in the heap and is skipped when it
// surfaces. Invariant: the event on top of the heap is never a cancelled one. The payload is a
// small value; there is no std::function, and no allocation per event once the vectors have grown.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/core/time.hpp"

namespace railyard {

/// Order of work inside one tick. Rates are solved once, after everything that can change them
/// (docs/adr/0002).
enum class Phase : std::uint8_t { completion, failure, arrival, decision, rate_update, sample };

struct EventKey {
  TimePoint time;
  Phase phase = Phase::completion;
  std::uint64_t sequence = 0;  ///< insertion order; makes the order total
  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
};

template <typename Payload>
class EventQueue {
 public:
  struct Event {
    EventKey key;
    Payload payload;
  };

  /// Adds an event at or after the time of the last popped one. Returns its handle for `cancel`.
  std::uint64_t push(TimePoint time, Phase phase, const Payload& payload) {
    RAILYARD_CHECK(time >= now_, "event at tick {} lies before the current tick {}",
                   time.time_since_epoch().count(), now_.time_since_epoch().count());
    const std::uint32_t slot = take_slot();
    heap_.push_back(Entry{Event{EventKey{time, phase, next_sequence_++}, payload}, slot});
    std::push_heap(heap_.begin(), heap_.end(), later);
    ++live_;
    return handle_of(slot);
  }

  /// Cancels an event. Checked: it was neither popped nor cancelled before.
  void cancel(std::uint64_t handle) {
    RAILYARD_CHECK(is_pending(handle), "event {} was popped or cancelled before", handle);
    ++generations_[static_cast<std::uint32_t>(handle)];
    --live_;
    drop_cancelled();
  }

  /// Is the event still to come?
  [[nodiscard]] bool is_pending(std::uint64_t handle) const {
    const auto slot = static_cast<std::uint32_t>(handle);
    return slot < generations_.size() && generations_[slot] % 2 == 0 && handle_of(slot) == handle;
  }

  [[nodiscard]] bool empty() const { return live_ == 0; }
  /// Events to come, without the cancelled ones.
  [[nodiscard]] std::size_t size() const { return live_; }
  /// Time of the last popped event.
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] const Event& top() const {
    RAILYARD_CHECK(live_ > 0, "an empty event queue has no first event");
    return heap_.front().event;
  }

  Event pop() {
    RAILYARD_CHECK(live_ > 0, "an empty event queue has no first event");
    const Event event = heap_.front().event;
    // A popped event is no longer pending: the odd generation says so until the slot is given away
    // again.
    ++generations_[heap_.front().slot];
    now_ = event.key.time;
    --live_;
    drop_cancelled();
    return event;
  }

 private:
  struct Entry {
    Event event;
    std::uint32_t slot;
  };

  static bool later(const Entry& a, const Entry& b) { return b.event.key < a.event.key; }

  /// A slot would have to serve 2^32 events between two uses of one handle for the handle to be
  /// mistaken.
  [[nodiscard]] std::uint64_t handle_of(std::uint32_t slot) const {
    return generations_[slot] / 2 << 32U | slot;
  }

  /// Even generation: an event is pending in the slot; odd: none is.
  std::uint32_t take_slot() {
    if (free_slots_.empty()) {
      generations_.push_back(0);
      return static_cast<std::uint32_t>(generations_.size() - 1);
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    ++generations_[slot];
    return slot;
  }

  /// Takes popped and cancelled entries off the top and frees their slots.
  void drop_cancelled() {
    while (!heap_.empty() && generations_[heap_.front().slot] % 2 == 1) {
      free_slots_.push_back(heap_.front().slot);
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    }
  }

  std::vector<Entry> heap_;
  std::vector<std::uint64_t> generations_;  ///< by slot
  std::vector<std::uint32_t> free_slots_;
  std::size_t live_ = 0;
  std::uint64_t next_sequence_ = 0;
  TimePoint now_{};
};

}  // namespace railyard
