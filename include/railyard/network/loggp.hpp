// The end points of LogGP (network_model.hpp): when a message leaves its source, is taken in and
// delivered. Callers say when things happen, in order of time:
//
//   d = ends.depart(source, now, size, gap_s_per_byte);   // ready at `now`
//   last = ends.take_in(destination, d.first + L, …);     // called at that time
//   received = ends.deliver(destination, last, size);     // called at that time
#pragma once

#include <vector>

#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/network/network_model.hpp"

namespace railyard::network {

class LogGpEnds {
 public:
  LogGpEnds(const LogGp& terms, std::size_t end_points) : terms_(terms), ends_(end_points) {}

  struct Departure {
    TimePoint overhead_end;  ///< the processor of the source is free again
    TimePoint first;         ///< the first byte enters the network
    TimePoint last;          ///< the last byte has entered
  };
  /// `long_part` is (k-1)G.
  Departure depart(std::size_t source, TimePoint now, Bytes size, Duration long_part);
  /// The last byte of a message whose first arrives at `now`.
  TimePoint take_in(std::size_t destination, TimePoint now, Duration long_part);
  /// The processor of the destination has it.
  TimePoint deliver(std::size_t destination, TimePoint now, Bytes size);

  /// o + (k-1)O
  [[nodiscard]] Duration overhead(Bytes size) const;

 private:
  struct End {
    TimePoint processor{};
    TimePoint out{};
    TimePoint in{};
  };
  LogGp terms_;
  std::vector<End> ends_;
};

}  // namespace railyard::network
