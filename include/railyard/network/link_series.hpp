// What links carry over time, in bounded memory: a fixed number of bins of equal length, whose
// length doubles whenever time runs past the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"

namespace railyard::network {

class LinkSeries {
 public:
  struct Bin {
    double bytes = 0;
    double flow_ticks = 0;  ///< integral of the number of flows on the link
    friend bool operator==(const Bin&, const Bin&) = default;
  };

  /// `bins`: even, at least 2. The first length of a bin is a microsecond.
  LinkSeries(std::size_t links, std::size_t bins);

  /// From `now` on, no earlier than any time before, the link carries this.
  void set(TimePoint now, LinkId link, double bytes_per_s, std::uint32_t flows);
  /// Nothing is carried from `end` on. The last call.
  void close(TimePoint end);

  [[nodiscard]] Duration width() const { return Duration(width_); }
  [[nodiscard]] TimePoint end() const { return TimePoint(Duration(end_)); }
  /// Empty: the link never carried anything. Bins behind the end are zero.
  [[nodiscard]] std::span<const Bin> bins(LinkId link) const;

 private:
  struct Load {
    std::vector<Bin> bins;
    std::int64_t since = 0;
    double bytes_per_tick = 0;
    double flows = 0;
  };
  void add(Load& load, std::int64_t until) const;
  void reach(std::int64_t time);

  std::vector<std::uint32_t> slot_;  ///< by link: 1 + index into loads_; 0: it carried nothing
  std::vector<Load> loads_;
  std::size_t count_;
  std::int64_t width_;
  std::int64_t end_ = 0;
};

}  // namespace railyard::network
