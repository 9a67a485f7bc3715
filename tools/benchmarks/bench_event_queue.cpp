// The event queue under a hold pattern: pop the next event, push one in the near future, cancel one
// in eight.
#include <cstdint>
#include <vector>

#include "railyard/core/digest.hpp"
#include "railyard/core/event_queue.hpp"
#include "railyard/core/rng.hpp"
#include "support.hpp"

namespace {

using railyard::Digest;
using railyard::Duration;
using railyard::EventQueue;
using railyard::Phase;
using railyard::Rng;
using railyard::TimePoint;
using railyard::benchmark::Measurement;

Measurement hold(const char* name, std::uint64_t pending, std::uint64_t events) {
  Rng rng(pending);
  EventQueue<std::uint32_t> queue;
  Digest digest;
  std::uint64_t cancelled = 0;
  const auto push = [&](TimePoint now, std::uint32_t payload) {
    const auto phase = static_cast<Phase>(rng.below(6));
    return queue.push(now + Duration(static_cast<std::int64_t>(1 + rng.below(100'000))), phase,
                      payload);
  };
  for (std::uint64_t i = 0; i < pending; ++i) push(TimePoint{}, static_cast<std::uint32_t>(i));
  for (std::uint64_t popped = 0; popped < events; ++popped) {
    const auto event = queue.pop();
    digest.add(event.key.time);
    digest.add(std::uint64_t{event.payload});
    push(event.key.time, event.payload);
    if (popped % 8 == 0) {
      queue.cancel(push(event.key.time, 0));
      ++cancelled;
    }
  }
  return {
      name, "events", events, {{"cancelled", cancelled}, {"pending", queue.size()}}, digest.hex()};
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = railyard::benchmark::parse_options(argc, argv);
  railyard::benchmark::measure(options, [] { return hold("event_queue small", 100, 20'000); });
  if (options.smoke) return 0;
  railyard::benchmark::measure(options, [] { return hold("event_queue medium", 10'000, 500'000); });
  railyard::benchmark::measure(options,
                               [] { return hold("event_queue large", 200'000, 1'000'000); });
}
