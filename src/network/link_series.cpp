#include "railyard/network/link_series.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::network {

LinkSeries::LinkSeries(std::size_t links, std::size_t bins)
    : slot_(links, 0), count_(bins), width_(kTicksPerSecond / 1'000'000) {
  RAILYARD_CHECK(bins >= 2 && bins % 2 == 0, "{} bins", bins);
}

/// Lets the bins cover `time`. What is known is already in bins, so pairs of them are added up.
void LinkSeries::reach(std::int64_t time) {
  while (time / width_ >= static_cast<std::int64_t>(count_)) {
    for (Load& load : loads_) {
      for (std::size_t at = 0; at < count_ / 2; ++at) {
        const Bin& first = load.bins[2 * at];
        const Bin& second = load.bins[2 * at + 1];
        load.bins[at] = {first.bytes + second.bytes, first.flow_ticks + second.flow_ticks};
      }
      std::fill(load.bins.begin() + static_cast<std::ptrdiff_t>(count_ / 2), load.bins.end(),
                Bin{});
    }
    width_ *= 2;
  }
}

/// Spreads what was carried since the last change over the bins.
void LinkSeries::add(Load& load, std::int64_t until) const {
  if (load.flows > 0) {
    for (std::int64_t from = load.since; from < until;) {
      const std::int64_t bin = from / width_;
      const std::int64_t to = std::min(until, (bin + 1) * width_);
      const auto ticks = static_cast<double>(to - from);
      load.bins[static_cast<std::size_t>(bin)].bytes += ticks * load.bytes_per_tick;
      load.bins[static_cast<std::size_t>(bin)].flow_ticks += ticks * load.flows;
      from = to;
    }
  }
  load.since = until;
}

void LinkSeries::set(TimePoint now, LinkId link, double bytes_per_s, std::uint32_t flows) {
  const std::int64_t at = now.time_since_epoch().count();
  reach(at);
  std::uint32_t& slot = slot_[index(link)];
  if (slot == 0) {
    if (flows == 0) return;
    loads_.emplace_back().bins.resize(count_);
    slot = static_cast<std::uint32_t>(loads_.size());
  }
  Load& load = loads_[slot - 1];
  add(load, at);
  load.bytes_per_tick = bytes_per_s / static_cast<double>(kTicksPerSecond);
  load.flows = flows;
}

void LinkSeries::close(TimePoint end) {
  end_ = end.time_since_epoch().count();
  reach(end_);
  for (Load& load : loads_) {
    add(load, end_);
    load.flows = 0;
  }
}

std::span<const LinkSeries::Bin> LinkSeries::bins(LinkId link) const {
  const std::uint32_t slot = slot_[index(link)];
  return slot == 0 ? std::span<const Bin>() : loads_[slot - 1].bins;
}

}  // namespace railyard::network
