#include "railyard/network/flow_limit.hpp"

#include <algorithm>
#include <tuple>

namespace railyard::network {

std::string_view name(LimitCause cause) {
  switch (cause) {
    case LimitCause::alone:
      return "alone";
    case LimitCause::shared:
      return "shared";
    case LimitCause::priority:
      return "priority";
    case LimitCause::cap:
      return "cap";
    case LimitCause::down:
      return "down";
  }
  return "";
}

void FlowLimits::add(const FlowLimit& limit) {
  limits_.push_back(limit);
  if (limits_.size() > 2 * packed_ + 1024) pack();
}

const std::vector<FlowLimit>& FlowLimits::totals() {
  pack();
  return limits_;
}

void FlowLimits::pack() {
  const auto key = [](const FlowLimit& one) {
    return std::tuple(one.flow, index(one.link), one.cause);
  };
  std::sort(limits_.begin(), limits_.end(),
            [&](const FlowLimit& a, const FlowLimit& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (const FlowLimit& one : limits_) {
    if (kept > 0 && key(limits_[kept - 1]) == key(one)) {
      limits_[kept - 1].time += one.time;
    } else {
      limits_[kept++] = one;
    }
  }
  limits_.resize(kept);
  std::erase_if(limits_, [](const FlowLimit& one) { return one.time == Duration{}; });
  packed_ = limits_.size();
}

}  // namespace railyard::network
