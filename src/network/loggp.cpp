#include "railyard/network/loggp.hpp"

#include <algorithm>

namespace railyard::network {

Duration LogGpEnds::overhead(Bytes size) const {
  return terms_.overhead +
         from_seconds(static_cast<double>(size.count() - 1) * terms_.overhead_s_per_byte);
}

LogGpEnds::Departure LogGpEnds::depart(std::size_t source, TimePoint now, Bytes size,
                                       Duration long_part) {
  End& end = ends_[source];
  Departure out;
  out.overhead_end = std::max(now, end.processor) + overhead(size);
  end.processor = out.overhead_end;
  out.first = std::max(out.overhead_end, end.out);
  out.last = out.first + long_part;
  end.out = out.last + terms_.gap;
  return out;
}

TimePoint LogGpEnds::take_in(std::size_t destination, TimePoint now, Duration long_part) {
  End& end = ends_[destination];
  const TimePoint last = std::max(now, end.in) + long_part;
  end.in = last + terms_.gap;
  return last;
}

TimePoint LogGpEnds::deliver(std::size_t destination, TimePoint now, Bytes size) {
  End& end = ends_[destination];
  end.processor = std::max(now, end.processor) + overhead(size);
  return end.processor;
}

}  // namespace railyard::network
