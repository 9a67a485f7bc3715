// The event queue: a binary heap of small values in a total order.
//
// Order: (time, phase, sequence). The phase orders the work inside one tick; the sequence number (insertion order) makes the
// order total. Cancellation is by handle: a cancelled event stays in the heap and is skipped when it surfaces.
// The payload is a small value; there is no std::function and no allocation per event.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/core/time.hpp"

namespace railyard {

/// Order of work inside one tick. Rates are solved once, after everything that can change them (docs/adr/0002).
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
    RAILYARD_CHECK(time >= now_, "event at tick {} lies before the current tick {}", time.time_since_epoch().count(),
                   now_.time_since_epoch().count());
    const std::uint64_t sequence = next_sequence_++;
    heap_.push_back(Event{EventKey{time, phase, sequence}, payload});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return sequence;
  }

  /// Cancels an event that has not been popped yet; each handle at most once.
  void cancel(std::uint64_t handle) {
    cancelled_.push_back(handle);
    drop_cancelled();
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size() - cancelled_.size(); }
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event event = heap_.back();
    heap_.pop_back();
    now_ = event.key.time;
    drop_cancelled();
    return event;
  }

 private:
  static bool later(const Event& a, const Event& b) { return b.key < a.key; }

  void drop_cancelled() {
    while (!heap_.empty() && !cancelled_.empty()) {
      const auto found = std::find(cancelled_.begin(), cancelled_.end(), heap_.front().key.sequence);
      if (found == cancelled_.end()) return;
      cancelled_.erase(found);
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    }
  }

  std::vector<Event> heap_;
  std::vector<std::uint64_t> cancelled_;
  std::uint64_t next_sequence_ = 0;
  TimePoint now_{};
};

}  // namespace railyard
