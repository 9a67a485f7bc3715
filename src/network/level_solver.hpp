// Weighted max-min rates, kept while flows come and go. Private to the network; the definition of
// max-min and its certificate stand in railyard/network/max_min.hpp, the reasons for this way of
// keeping it in docs/adr/0013.
//
// Picture. Let all flows grow together from nothing. A link is full at some level; that is then the
// level of all flows on it that no other link has stopped before. So each flow is held by one link,
// its owner, and the flows of an owner, its members, have one level and one clock: what a flow of
// share 1 has sent since the group began. A flow keeps the clock at which it ends, so a change of
// the level costs nothing per member.
//
// A solve replays this growth upwards, but only for links on which something is different from
// before (dirty ones), in the order of their events in one queue:
//
//   visit    A dirty link of the lowest key, key = free / weight not settled, where flows held
//            elsewhere count as settled at their old level. Treating the rest as growing without
//            limit makes the key a lower bound. On the visit, flows held elsewhere at a higher
//            level are counted as not settled either.
//   freeze   What is not settled on it gets the key as its level. Members only move with the link;
//            others change their owner.
//   release  Where the key is higher than the old level, the members are not settled any more for
//            the other links they use, from the old level on.
//   rise     The short cut of release and freeze: up at once to the key, or to the next event of
//            another link, where no other link would be overfull after.
//
// When the queue is at level x everything below x is final, because a key is never too high. At the
// end no link is over its capacity, and every flow's owner is full and has no flow of a higher
// level: that is the certificate, so these are the max-min rates (Ramalingam & Reps, "An
// incremental algorithm for a generalization of the shortest-path problem", J. Algorithms 1996, is
// the same idea for shortest paths).
#pragma once

#include <cstdint>
#include <vector>

#include "network/fixed_point.hpp"
#include "network/flow_store.hpp"
#include "network/indexed_heap.hpp"

namespace railyard::network {

/// A member of an owner's group, in a heap by the clock at which it ends.
struct Member {
  Work due;
  std::uint32_t flow;
};

/// A flow on a link that takes part.
struct Visitor {
  std::uint32_t flow;
  std::uint32_t hop;
};

/// What the members take of another link. A link may stand in more than one entry.
struct Reach {
  std::uint32_t contention;
  std::uint32_t uses;  ///< hops counted in `weight`; 0: a gap
  Weight weight;
};

/// A link that takes part in rates, or a flow's own limit: what a solve reads all the time.
struct alignas(64) Contention {
  Load free = 0;         ///< not taken by settled flows; its own members count only while not dirty
  Weight unsettled = 0;  ///< flows of others without a level, in a solve
  Weight own = 0;        ///< members
  Level level = 0;       ///< of the members
  Level bound = 0;       ///< no flow held elsewhere stands higher
  std::uint32_t link = kNone;  ///< kNone: a flow's own limit
  bool dirty = false;          ///< in the solve
  bool released = false;       ///< its members are unsettled on other links
  bool changed = false;        ///< lost a flow since the last solve
  bool touched = false;        ///< listed in `touched`
  bool regrouped = false;      ///< listed in `regrouped`
  std::uint8_t climbs = 0;     ///< rises towards its key in this solve
};

/// The rest of the record.
struct Group {
  Load capacity = 0;
  Weight weight = 0;  ///< of all visitors
  Work clock = 0;     ///< at `since`
  std::int64_t since = 0;
  std::vector<Member> members;       ///< a binary heap by (due, flow's order)
  std::vector<Visitor> visitors;     ///< members and others
  std::vector<Reach> reach;          ///< of the members, beyond this link
  std::size_t reach_packed = 0;      ///< entries when last packed
  std::uint32_t hint_owner = kNone;  ///< the group that was last found to reach this link,
  std::uint32_t hint_place = 0;      ///< and the place of the entry
};

class LevelSolver {
 public:
  /// `track`: remember which contentions were touched.
  LevelSolver(FlowStore& store, bool track) : store_(store), track_(track) {}

  /// A record for a link or a flow's own limit, without flows.
  std::uint32_t open(std::uint32_t link, Load capacity, std::int64_t now);
  /// Nobody uses it any more.
  void close(std::uint32_t contention);
  /// A hop begins, or ceases, to count on `contention`; of a flow that is held elsewhere with its
  /// level.
  void join(std::uint32_t hop, std::uint32_t contention);
  void part(std::uint32_t hop);
  /// A flow without a level, on at least one contention. Its `due` is the work that remains.
  void loosen(std::uint32_t flow);
  /// Takes a held flow out; `due` is then the work that remained at `now`.
  void detach(std::uint32_t flow, std::int64_t now);
  /// Something changed since the last solve.
  [[nodiscard]] bool pending() const { return !changed_.empty(); }
  /// Finds all levels. True when there was something to do.
  bool solve(std::int64_t now);

  [[nodiscard]] const Contention& operator[](std::uint32_t at) const { return contentions_[at]; }
  [[nodiscard]] const Group& group(std::uint32_t at) const { return groups_[at]; }
  /// Contentions whose level or first member changed since clear_lists(); may be closed by now.
  [[nodiscard]] const std::vector<std::uint32_t>& regrouped() const { return regrouped_; }
  [[nodiscard]] const std::vector<std::uint32_t>& touched() const { return touched_; }
  /// Flows that another contention holds than before, where the owner asks for them; some perhaps
  /// twice.
  [[nodiscard]] const std::vector<std::uint32_t>& adopted() const { return adopted_; }
  void list_adopted() { lists_adopted_ = true; }
  void clear_lists();
  /// The tick in which the first member ends; its group is not empty.
  [[nodiscard]] std::int64_t first_end(std::uint32_t contention) const;
  /// Whether the first member ends in `tick` or before.
  [[nodiscard]] bool ends_by(std::uint32_t contention, std::int64_t tick) const;

  struct Counters {
    std::uint64_t solves = 0;
    std::uint64_t moved = 0;    ///< flows that changed their owner
    std::uint64_t visits = 0;   ///< of links in the queue
    std::uint64_t reached = 0;  ///< uses of links by members, summed over changes of a group
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Above {
    std::uint32_t hop;
    Weight weight;
    Level level;
  };

  void use(Contention& contention, Load load) {
    contention.free -= load;
    if (track_ && !contention.touched) touch(contention);
  }
  void touch(Contention& contention);
  void mark_changed(std::uint32_t at);
  void regroup(std::uint32_t at);
  void advance(std::uint32_t at);
  [[nodiscard]] bool is_idle(const Contention& contention) const;
  [[nodiscard]] Level key_of(const Contention& contention) const;
  void make_dirty(std::uint32_t at);
  void queue(std::uint32_t at);
  void queue_earlier(std::uint32_t at);
  void visit(std::uint32_t at);
  [[nodiscard]] Level snapped(const Contention& contention, Level key) const;
  Level recount(std::uint32_t at, Level key);
  void release(std::uint32_t at);
  bool climb(std::uint32_t at, Level key);
  bool rise(std::uint32_t at, Level level);
  [[nodiscard]] bool objects(const Contention& other, Level level) const;
  void freeze(std::uint32_t at, Level level);
  void prefetch(const std::vector<Reach>& all) const;
  void move_members(std::uint32_t at, Level level);
  void adopt(std::uint32_t hop, std::uint32_t at, Level level, bool was_settled);
  [[nodiscard]] bool is_unsettled(std::uint32_t flow) const;
  void add_reach(std::uint32_t owner, std::uint32_t hop);
  void remove_reach(std::uint32_t owner, std::uint32_t hop);
  void pack_reach(std::uint32_t owner);
  void add_member(std::uint32_t owner, std::uint32_t flow);
  void remove_member(std::uint32_t owner, std::uint32_t flow);
  [[nodiscard]] bool before(const Member& a, const Member& b) const;
  void sift_up(std::vector<Member>& members, std::uint32_t place, const Member& member);
  void sift_down(std::vector<Member>& members, std::uint32_t place, const Member& member);

  static constexpr std::uint8_t kClimbsMost = 4;
  static constexpr std::size_t kAhead = 6;  ///< records fetched before they are read

  FlowStore& store_;
  bool track_;
  std::vector<Contention> contentions_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint32_t> regrouped_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> adopted_;
  bool lists_adopted_ = false;
  // Of one solve.
  IndexedHeap queue_;
  std::vector<std::uint32_t> dirty_;
  std::vector<Above> above_;
  std::vector<std::uint32_t> squeezed_;
  std::int64_t now_ = 0;
  Level position_ = 0;  ///< of the queue: all below is final
  Level anchor_ = 0;    ///< the last level given; what ties with it gets the same
  Counters counters_;
};

}  // namespace railyard::network
