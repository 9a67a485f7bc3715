#include <fmt/format.h>

#include <string>
#include <vector>

#include "network/flow_names.hpp"

namespace railyard::network {
namespace {

/// Lets every flow that can ever start end at once, and counts. Relays pass signals on in some
/// order: which flows start in the end does not depend on it.
class Progress {
 public:
  explicit Progress(const FlowList& list)
      : list_(list),
        waits_(list.flows.size(), 0),
        followers_(list.flows.size()),
        relays_(list.flows.size()),
        relayed_(list.relays.size(), 0) {
    for (const Dependency& one : list.dependencies) {
      ++waits_[one.flow];
      followers_[one.before].push_back(one.flow);
    }
    for (std::uint32_t relay = 0; relay < list.relays.size(); ++relay) {
      for (const std::uint32_t target : list.relays[relay].targets) ++waits_[target];
      for (const auto& input : list.relays[relay].inputs) relays_[input.first].push_back(relay);
    }
  }

  /// How many flows still wait for something when nothing can start any more.
  const std::vector<std::uint32_t>& run() {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t flow = 0; flow < waits_.size(); ++flow) {
      if (waits_[flow] == 0) ready.push_back(flow);
    }
    while (!ready.empty()) {
      const std::uint32_t flow = ready.back();
      ready.pop_back();
      for (const std::uint32_t next : followers_[flow]) {
        if (--waits_[next] == 0) ready.push_back(next);
      }
      for (const std::uint32_t relay : relays_[flow]) {
        if (relayed_[relay] == list_.relays[relay].targets.size()) continue;
        const std::uint32_t next = list_.relays[relay].targets[relayed_[relay]++];
        if (--waits_[next] == 0) ready.push_back(next);
      }
    }
    return waits_;
  }

 private:
  const FlowList& list_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::vector<std::uint32_t>> followers_;
  std::vector<std::vector<std::uint32_t>> relays_;
  std::vector<std::uint32_t> relayed_;
};

}  // namespace

void check_no_cycle(const FlowList& list, config::Errors& errors) {
  Progress progress(list);
  const std::vector<std::uint32_t>& waits = progress.run();
  std::uint32_t first = 0;
  while (first < waits.size() && waits[first] == 0) ++first;
  if (first == waits.size()) return;
  // Every waiting flow waits for a waiting one: going back from one to the next comes round.
  std::vector<std::uint32_t> before(waits.size(), first);
  for (const Dependency& one : list.dependencies) {
    if (waits[one.flow] > 0 && waits[one.before] > 0) before[one.flow] = one.before;
  }
  for (const Relay& relay : list.relays) {
    for (const auto& input : relay.inputs) {
      if (waits[input.first] == 0) continue;
      for (const std::uint32_t target : relay.targets) {
        if (waits[target] > 0) before[target] = input.first;
      }
    }
  }
  std::vector<bool> seen(waits.size(), false);
  std::uint32_t at = first;
  for (; !seen[at]; at = before[at]) seen[at] = true;
  std::string circle = list.flows[at].id;
  std::uint32_t next = before[at];
  for (int shown = 0; next != at && shown < 8; ++shown, next = before[next])
    circle += fmt::format(" for {}", list.flows[next].id);
  errors.add(fmt::format("{}: flow {} waits for itself: {} for {}", list.place(at),
                         list.flows[at].id, circle, next == at ? list.flows[at].id : "…"));
}

}  // namespace railyard::network
