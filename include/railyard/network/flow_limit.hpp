// What held a flow back, and for how long: its bottleneck in the sense of max-min fairness
// (Bertsekas & Gallager, Data Networks, section 6.5.2: a full link on which no flow is faster).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"

namespace railyard::network {

enum class LimitCause : std::uint8_t {
  alone,     ///< the slowest link of its route, which nobody else filled
  shared,    ///< a link whose flows together wanted more than it has
  priority,  ///< a link of which flows of higher priority leave only a part, or nothing
  cap,       ///< the flow's own cap: no link
  down,      ///< a link without capacity: the flow stands still
};
[[nodiscard]] std::string_view name(LimitCause cause);

/// No link: the flow's own cap.
inline constexpr LinkId kNoLink = static_cast<LinkId>(UINT32_MAX);

/// A link that limited a flow for some time. Of one flow these times add up to the time from its
/// start on the links to its end.
struct FlowLimit {
  std::uint64_t flow = 0;  ///< its tag
  LinkId link = kNoLink;
  LimitCause cause = LimitCause::alone;
  Duration time{};
};

/// Totals by (flow, link, cause), in memory that grows with these and not with time.
class FlowLimits {
 public:
  void add(const FlowLimit& limit);
  /// In order of flow, link and cause; what lasted no time is left out.
  [[nodiscard]] const std::vector<FlowLimit>& totals();

 private:
  void pack();

  std::vector<FlowLimit> limits_;
  std::size_t packed_ = 0;  ///< entries when last packed
};

}  // namespace railyard::network
