// Flows, their hops and the routes they follow: the memory that rates and time share. Private to
// the network.
//
// A route is what many flows have in common, and is stored once. A hop is one link of one running
// flow: a member of the link's list, and, where the link takes part in rates, of a contention
// record (levels.hpp). Slots and blocks are reused, so that a steady state allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/fixed_point.hpp"

namespace railyard::network {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// One link of a route.
struct RouteHop {
  std::uint32_t link = 0;
  double usage = 0;
  Weight weight = 0;  ///< of share 1
  std::uint64_t load =
      0;  ///< share of the link's capacity that a flow alone takes, kFullLoad = all
};

struct StoredRoute {
  std::uint32_t first = 0;    ///< in route_hops
  std::uint32_t hops = 0;     ///< 0: a free slot
  std::uint32_t block = 0;    ///< hops allocated
  bool lasting = false;       ///< registered by the caller; else it goes with its flow
  Level solo = 0;             ///< rate alone, least capacity / usage; 0: a link of it is down
  double bytes = 0;           ///< carried since the last reset, for link statistics
  std::uint64_t derived = 0;  ///< from which capacities, counted by their changes
};

enum class FlowState : std::uint8_t {
  free,
  fresh,    ///< started, without a rate yet
  solo,     ///< none of its links takes part in rates: runs at its solo rate
  loose,    ///< takes part, held by no link yet (only while a tick is settled)
  held,     ///< runs at the level of its owner
  stalled,  ///< a link of it is down
};

struct Flow {
  Work due = 0;            ///< held: its owner's clock when it ends; else: what remained at `since`
  std::int64_t since = 0;  ///< solo: tick at which `due` remained
  Level solo = 0;          ///< level alone
  Level limit = kLevelMax;          ///< given by the caller
  std::uint32_t place = 0;          ///< among the owner's members
  std::uint32_t first_hop = kNone;  ///< hops of the route, then one for a limit of its own
  std::uint32_t hops = 0;           ///< of the route
  std::uint32_t route = kNone;
  FlowState state = FlowState::free;
  double share = 1;
  std::uint64_t order = 0;
  std::uint64_t tag = 0;
  std::int64_t started = 0;
  std::int64_t size = 0;
};

struct Hop {
  std::uint32_t link = kNone;  ///< kNone: the flow's own limit
  std::uint32_t flow = kNone;
  std::uint32_t next = kNone;  ///< in the list of the link
  std::uint32_t previous = kNone;
  Weight weight = 0;
  std::uint32_t contention = kNone;  ///< record of the link, kNone while it takes no part
  std::uint32_t visit = 0;           ///< place among the visitors of the record
  std::uint32_t reach = 0;           ///< place in the owner's reach; unused for the owner's own hop
};

struct Link {
  std::int64_t capacity_bytes_per_s = 0;
  Int128 load = 0;                  ///< exact sum of its flows' loads
  std::uint32_t first_hop = kNone;  ///< of the flows on it
  std::uint32_t flows = 0;
  std::uint32_t contention = kNone;  ///< record while it takes part in rates
  bool binding = false;
  bool waking = false;          ///< listed to begin to take part
  bool denied = false;          ///< classes above leave nothing of it
  std::uint64_t read_last = 0;  ///< the route that was read last with it
  std::uint32_t read_as = 0;    ///< and its hop there
};

/// Blocks of a growing array, reused by their exact size.
template <typename Element>
class BlockPool {
 public:
  [[nodiscard]] std::uint32_t allocate(std::uint32_t count) {
    if (count < free_.size() && !free_[count].empty()) {
      const std::uint32_t first = free_[count].back();
      free_[count].pop_back();
      return first;
    }
    const auto first = static_cast<std::uint32_t>(elements_.size());
    elements_.resize(elements_.size() + count);
    return first;
  }
  void release(std::uint32_t first, std::uint32_t count) {
    if (count >= free_.size()) free_.resize(count + std::size_t{1});
    free_[count].push_back(first);
  }
  [[nodiscard]] Element& operator[](std::uint32_t at) { return elements_[at]; }
  [[nodiscard]] const Element& operator[](std::uint32_t at) const { return elements_[at]; }

 private:
  std::vector<Element> elements_;
  std::vector<std::vector<std::uint32_t>> free_;  ///< by size
};

struct FlowStore {
  std::vector<Link> links;
  std::vector<Flow> flows;
  std::vector<std::uint32_t> owners;  ///< by flow: the contention record that holds it, or kNone
  std::vector<std::uint32_t> free_flows;
  BlockPool<Hop> hops;
  std::vector<StoredRoute> routes;
  std::vector<std::uint32_t> free_routes;
  BlockPool<RouteHop> route_hops;
};

}  // namespace railyard::network
