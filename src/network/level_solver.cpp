#include "network/level_solver.hpp"

#include <algorithm>
#include <limits>

#include "railyard/core/check.hpp"

namespace railyard::network {

std::uint32_t LevelSolver::open(std::uint32_t link, Load capacity, std::int64_t now) {
  std::uint32_t at = 0;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(contentions_.size());
    contentions_.emplace_back();
    groups_.emplace_back();
    queue_.resize(contentions_.size());
  } else {
    at = free_.back();
    free_.pop_back();
  }
  Contention& fresh = contentions_[at];
  fresh.free = capacity;
  fresh.unsettled = 0;
  fresh.own = 0;
  fresh.level = 0;
  fresh.bound = 0;
  fresh.link = link;
  Group& group = groups_[at];
  group.capacity = capacity;
  group.weight = 0;
  group.clock = 0;
  group.since = now;
  group.reach.clear();
  group.reach_packed = 0;
  return at;
}

void LevelSolver::close(std::uint32_t at) {
  RAILYARD_DCHECK(contentions_[at].own == 0 && contentions_[at].unsettled == 0 &&
                      contentions_[at].free == groups_[at].capacity && groups_[at].visitors.empty(),
                  "contention {} closes with flows on it", at);
  contentions_[at].link = kNone;
  free_.push_back(at);
}

void LevelSolver::touch(Contention& contention) {
  contention.touched = true;
  touched_.push_back(static_cast<std::uint32_t>(&contention - contentions_.data()));
}

void LevelSolver::mark_changed(std::uint32_t at) {
  if (contentions_[at].changed) return;
  contentions_[at].changed = true;
  changed_.push_back(at);
}

void LevelSolver::regroup(std::uint32_t at) {
  if (contentions_[at].regrouped) return;
  contentions_[at].regrouped = true;
  regrouped_.push_back(at);
}

void LevelSolver::clear_lists() {
  for (const std::uint32_t at : regrouped_) {
    contentions_[at].regrouped = false;
    const Group& group = groups_[at];
    if (group.reach.size() > 2 * group.reach_packed + 32) pack_reach(at);
  }
  for (const std::uint32_t at : touched_) contentions_[at].touched = false;
  regrouped_.clear();
  touched_.clear();
  adopted_.clear();
}

/// Brings the clock to the present, before the level or the members change.
void LevelSolver::advance(std::uint32_t at) {
  Group& group = groups_[at];
  if (group.since == now_) return;
  group.clock += static_cast<Work>(contentions_[at].level) * (now_ - group.since);
  group.since = now_;
}

void LevelSolver::join(std::uint32_t hop_at, std::uint32_t at) {
  Hop& hop = store_.hops[hop_at];
  hop.contention = at;
  std::vector<Visitor>& visitors = groups_[at].visitors;
  hop.visit = static_cast<std::uint32_t>(visitors.size());
  visitors.push_back(Visitor{hop.flow, hop_at});
  groups_[at].weight += hop.weight;
  RAILYARD_CHECK(groups_[at].weight < kWeightMax,
                 "{} flows on link {} weigh more than {} of share 1: more than rates can count",
                 visitors.size(), contentions_[at].link, kWeightMax / kWholeWeight);
  const std::uint32_t owner = store_.owners[hop.flow];
  if (owner == kNone) return;
  Contention& contention = contentions_[at];
  const Level level = contentions_[owner].level;
  use(contention, load_of(level, hop.weight));
  contention.bound = std::max(contention.bound, level);
  add_reach(owner, hop_at);
}

void LevelSolver::part(std::uint32_t hop_at) {
  Hop& hop = store_.hops[hop_at];
  std::vector<Visitor>& visitors = groups_[hop.contention].visitors;
  groups_[hop.contention].weight -= hop.weight;
  visitors[hop.visit] = visitors.back();
  store_.hops[visitors[hop.visit].hop].visit = hop.visit;
  visitors.pop_back();
  hop.contention = kNone;
}

void LevelSolver::loosen(std::uint32_t flow_at) {
  const Flow& flow = store_.flows[flow_at];
  for (std::uint32_t h = flow.first_hop; h <= flow.first_hop + flow.hops; ++h) {
    const Hop& hop = store_.hops[h];
    if (hop.contention == kNone) continue;
    contentions_[hop.contention].unsettled += hop.weight;
    mark_changed(hop.contention);
  }
}

void LevelSolver::detach(std::uint32_t flow_at, std::int64_t now) {
  now_ = now;
  Flow& flow = store_.flows[flow_at];
  const std::uint32_t owner = store_.owners[flow_at];
  const Level level = contentions_[owner].level;
  advance(owner);
  flow.due = std::max<Work>(0, flow.due - groups_[owner].clock);
  for (std::uint32_t h = flow.first_hop; h <= flow.first_hop + flow.hops; ++h) {
    const Hop& hop = store_.hops[h];
    if (hop.contention == kNone) continue;
    Contention& contention = contentions_[hop.contention];
    use(contention, -load_of(level, hop.weight));
    if (hop.contention == owner) {
      contention.own -= hop.weight;
    } else {
      remove_reach(owner, h);
    }
    if (contention.own > 0) mark_changed(hop.contention);
  }
  remove_member(owner, flow_at);
  regroup(owner);
  store_.owners[flow_at] = kNone;
}

bool LevelSolver::solve(std::int64_t now) {
  if (changed_.empty()) return false;
  now_ = now;
  position_ = 0;
  anchor_ = 0;
  for (const std::uint32_t at : changed_) {
    Contention& contention = contentions_[at];
    contention.changed = false;
    if (contention.unsettled == 0 && contention.own == 0) continue;
    make_dirty(at);
    queue(at);
  }
  changed_.clear();
  if (queue_.empty()) return false;
  ++counters_.solves;
  while (!queue_.empty()) {
    const IndexedHeap::Entry next = queue_.top();
    position_ = std::max(position_, next.key);
    queue_.remove(next.item);
    ++counters_.visits;
    visit(next.item);
  }
  for (const std::uint32_t at : dirty_) {
    Contention& contention = contentions_[at];
    RAILYARD_DCHECK(contention.unsettled == 0, "a flow on contention {} got no level", at);
    contention.dirty = false;
    contention.climbs = 0;
  }
  dirty_.clear();
  return true;
}

/// Its members count as unsettled here from now on; for other links nothing has changed.
void LevelSolver::make_dirty(std::uint32_t at) {
  Contention& contention = contentions_[at];
  if (contention.dirty) return;
  contention.dirty = true;
  contention.released = false;
  contention.free += load_of(contention.level, contention.own);
  dirty_.push_back(at);
}

/// Nothing on it waits for a level, and nobody has to give way.
bool LevelSolver::is_idle(const Contention& contention) const {
  return contention.own + contention.unsettled == 0 && contention.free >= 0;
}

Level LevelSolver::key_of(const Contention& contention) const {
  if (contention.own + contention.unsettled == 0) return 0;
  return level_in(contention.free, contention.own + contention.unsettled);
}

/// The key, or the level it ties with: that of the members, or the last one given.
Level LevelSolver::snapped(const Contention& contention, Level key) const {
  if (contention.own > 0 && !contention.released) {
    const Level apart = key > contention.level ? key - contention.level : contention.level - key;
    if (apart <= tie(contention.level)) return contention.level;
  }
  if (key > anchor_ && key - anchor_ <= tie(anchor_)) return anchor_;
  return key;
}

/// Puts a dirty link where its next event is: its key, or the release of its members.
void LevelSolver::queue(std::uint32_t at) {
  const Contention& contention = contentions_[at];
  if (is_idle(contention)) {
    if (queue_.contains(at)) queue_.remove(at);
    return;
  }
  Level key = key_of(contention);
  if (contention.own > 0 && !contention.released) key = std::min(key, contention.level);
  queue_.set(std::max(key, position_), at);
}

/// After a change that may have lowered the key. A key in the queue that is too low is found out on
/// the visit, so only one that is too high needs a division.
void LevelSolver::queue_earlier(std::uint32_t at) {
  if (queue_.contains(at)) {
    const Contention& contention = contentions_[at];
    if (contention.free >= load_of(queue_.key(at), contention.own + contention.unsettled)) return;
  }
  queue(at);
}

void LevelSolver::visit(std::uint32_t at) {
  Contention& contention = contentions_[at];
  if (is_idle(contention)) return;
  above_.clear();
  Level key = snapped(contention, std::max(position_, key_of(contention)));
  if (key < contention.bound) key = snapped(contention, recount(at, key));
  const bool held = contention.own > 0 && !contention.released;
  if (held && key > contention.level) {
    if (!queue_.empty() && queue_.top().key < contention.level) {
      queue_.set(contention.level, at);
      return;
    }
    position_ = std::max(position_, contention.level);
    if (contention.unsettled == 0 && above_.empty() && climb(at, key)) return;
    release(at);
    queue(at);
    return;
  }
  if (!queue_.empty() && queue_.top().key < key) {
    queue_.set(key, at);
    return;
  }
  freeze(at, key);
}

/// The key when flows held elsewhere at a higher level count as unsettled; those are left in
/// above_.
Level LevelSolver::recount(std::uint32_t at, Level key) {
  Contention& contention = contentions_[at];
  Load free = contention.free;
  Weight weight = contention.own + contention.unsettled;
  Level highest = 0;
  for (const Visitor& visitor : groups_[at].visitors) {
    const std::uint32_t owner = store_.owners[visitor.flow];
    if (owner == at || owner == kNone) continue;
    const Contention& holder = contentions_[owner];
    if (holder.released) continue;
    highest = std::max(highest, holder.level);
    if (holder.level <= key + tie(key)) continue;
    const Weight part = store_.hops[visitor.hop].weight;
    above_.push_back(Above{visitor.hop, part, holder.level});
    free += load_of(holder.level, part);
    weight += part;
  }
  contention.bound = highest;
  while (!above_.empty()) {
    const Level found = level_in(free, weight);
    if (found <= key) break;
    key = found;
    std::erase_if(above_, [&](const Above& flow) {
      if (flow.level > key + tie(key)) return false;
      free -= load_of(flow.level, flow.weight);
      weight -= flow.weight;
      return true;
    });
  }
  return key;
}

/// From here on the members are unsettled on the other links they use.
void LevelSolver::release(std::uint32_t at) {
  Contention& own = contentions_[at];
  own.released = true;
  const std::vector<Reach>& all = groups_[at].reach;
  counters_.reached += all.size();
  prefetch(all);
  for (const Reach& reach : all) {
    if (reach.uses == 0) continue;
    Contention& other = contentions_[reach.contention];
    make_dirty(reach.contention);
    use(other, -load_of(own.level, reach.weight));
    other.unsettled += reach.weight;
    queue_earlier(reach.contention);
  }
}

/// Whether a link on which the members rise to `level` would stop some of them below it.
bool LevelSolver::objects(const Contention& other, Level level) const {
  if (other.dirty) return other.free < load_of(level, other.own + other.unsettled);
  if (other.own == 0) return other.free < 0;
  if (other.level < level - tie(level)) return true;
  return other.free < 0 && other.free + load_of(other.level, other.own) < load_of(level, other.own);
}

/// Rises to the key, or to the next event of another link below it, and from there again. After a
/// few of these a release costs less.
bool LevelSolver::climb(std::uint32_t at, Level key) {
  Contention& own = contentions_[at];
  if (queue_.empty() || queue_.top().key >= key) return rise(at, key);
  const Level next = queue_.top().key;
  if (next <= own.level || own.climbs >= kClimbsMost || !rise(at, next)) return false;
  ++own.climbs;
  make_dirty(at);
  queue_.set(next, at);
  return true;
}

bool LevelSolver::rise(std::uint32_t at, Level level) {
  Contention& own = contentions_[at];
  const Level higher = level - own.level;
  const std::vector<Reach>& all = groups_[at].reach;
  counters_.reached += all.size();
  prefetch(all);
  squeezed_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + kAhead < all.size()) __builtin_prefetch(&contentions_[all[i + kAhead].contention], 1);
    if (all[i].uses == 0) continue;
    Contention& other = contentions_[all[i].contention];
    use(other, load_of(higher, all[i].weight));
    other.bound = std::max(other.bound, level);
    if (!objects(other, level)) {
      if (other.dirty || (other.own > 0 && other.free < 0)) {
        squeezed_.push_back(all[i].contention);
      }
      continue;
    }
    for (std::size_t back = 0; back <= i; ++back) {
      contentions_[all[back].contention].free += load_of(higher, all[back].weight);
    }
    return false;
  }
  advance(at);
  own.level = level;
  use(own, load_of(level, own.own));
  own.dirty = false;
  anchor_ = level;
  regroup(at);
  for (const std::uint32_t other : squeezed_) {
    Contention& link = contentions_[other];
    if (!link.dirty) {
      if (link.free >= -load_of(tie(link.level), link.own)) continue;
      make_dirty(other);
    }
    queue_earlier(other);
  }
  return true;
}

bool LevelSolver::is_unsettled(std::uint32_t flow) const {
  const std::uint32_t owner = store_.owners[flow];
  return owner == kNone || contentions_[owner].released;
}

/// All that is unsettled on the link gets the level.
void LevelSolver::freeze(std::uint32_t at, Level level) {
  anchor_ = level;
  Contention& own = contentions_[at];
  advance(at);
  if (own.own > 0) move_members(at, level);
  own.level = level;
  own.released = false;
  if (own.unsettled > 0) {
    for (const Visitor& visitor : groups_[at].visitors) {
      if (store_.owners[visitor.flow] == at || !is_unsettled(visitor.flow)) continue;
      adopt(visitor.hop, at, level, false);
    }
  }
  for (const Above& flow : above_) adopt(flow.hop, at, level, true);
  RAILYARD_DCHECK(own.unsettled == 0, "a flow on contention {} is lost", at);
  use(own, load_of(level, own.own));
  own.bound = std::min(own.bound, level);
  own.dirty = false;
  regroup(at);
}

/// The records at the beginning of a list; the loops ask for the rest as they go.
void LevelSolver::prefetch(const std::vector<Reach>& all) const {
  for (std::size_t i = 0; i < kAhead && i < all.size(); ++i) {
    __builtin_prefetch(&contentions_[all[i].contention], 1);
  }
}

/// Tells the other links which level the members have now.
void LevelSolver::move_members(std::uint32_t at, Level level) {
  const Contention& own = contentions_[at];
  const std::vector<Reach>& all = groups_[at].reach;
  if (own.released) {
    counters_.reached += all.size();
    for (const Reach& reach : all) {
      Contention& other = contentions_[reach.contention];
      other.unsettled -= reach.weight;
      use(other, load_of(level, reach.weight));
      other.bound = std::max(other.bound, level);
    }
    return;
  }
  if (level == own.level) return;
  counters_.reached += all.size();
  const Level higher = level - own.level;
  const std::size_t dirty_before = dirty_.size();
  prefetch(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + kAhead < all.size()) __builtin_prefetch(&contentions_[all[i + kAhead].contention], 1);
    const Reach& reach = all[i];
    if (reach.uses == 0) continue;
    Contention& other = contentions_[reach.contention];
    use(other, load_of(higher, reach.weight));
    other.bound = std::max(other.bound, level);
    if (other.own > 0 && !other.dirty) make_dirty(reach.contention);
  }
  for (std::size_t i = dirty_before; i < dirty_.size(); ++i) queue(dirty_[i]);
}

/// Gives a flow the owner `at`. `was_settled`: it was held elsewhere at a higher level.
void LevelSolver::adopt(std::uint32_t own_hop, std::uint32_t at, Level level, bool was_settled) {
  ++counters_.moved;
  if (lists_adopted_) adopted_.push_back(store_.hops[own_hop].flow);
  const std::uint32_t flow_at = store_.hops[own_hop].flow;
  Flow& flow = store_.flows[flow_at];
  const std::uint32_t old_owner = store_.owners[flow_at];
  Level old_level = 0;
  if (old_owner != kNone) {
    advance(old_owner);
    flow.due = std::max<Work>(0, flow.due - groups_[old_owner].clock);
    old_level = contentions_[old_owner].level;
    make_dirty(old_owner);
  }
  for (std::uint32_t h = flow.first_hop; h <= flow.first_hop + flow.hops; ++h) {
    const Hop& hop = store_.hops[h];
    if (hop.contention == kNone) continue;
    Contention& contention = contentions_[hop.contention];
    if (old_owner != kNone && hop.contention != old_owner) remove_reach(old_owner, h);
    if (hop.contention == at) {
      if (was_settled) {
        use(contention, -load_of(old_level, hop.weight));
      } else {
        contention.unsettled -= hop.weight;
      }
      contention.own += hop.weight;
      continue;
    }
    if (hop.contention == old_owner) {
      contention.own -= hop.weight;
      use(contention, load_of(level, hop.weight));
    } else if (was_settled) {
      if (contention.own > 0) make_dirty(hop.contention);
      use(contention, load_of(level - old_level, hop.weight));
    } else {
      contention.unsettled -= hop.weight;
      use(contention, load_of(level, hop.weight));
    }
    contention.bound = std::max(contention.bound, level);
    add_reach(at, h);
    if (contention.dirty && !queue_.contains(hop.contention)) queue(hop.contention);
  }
  if (old_owner != kNone) {
    remove_member(old_owner, flow_at);
    regroup(old_owner);
  }
  store_.owners[flow_at] = at;
  flow.state = FlowState::held;
  flow.due += groups_[at].clock;
  add_member(at, flow_at);
}

void LevelSolver::add_reach(std::uint32_t owner, std::uint32_t hop_at) {
  Hop& hop = store_.hops[hop_at];
  std::vector<Reach>& all = groups_[owner].reach;
  Group& other = groups_[hop.contention];
  if (other.hint_owner == owner && other.hint_place < all.size() &&
      all[other.hint_place].contention == hop.contention) {
    Reach& reach = all[other.hint_place];
    ++reach.uses;
    reach.weight += hop.weight;
    hop.reach = other.hint_place;
    return;
  }
  hop.reach = static_cast<std::uint32_t>(all.size());
  other.hint_owner = owner;
  other.hint_place = hop.reach;
  all.push_back(Reach{hop.contention, 1, hop.weight});
}

void LevelSolver::remove_reach(std::uint32_t owner, std::uint32_t hop_at) {
  const Hop& hop = store_.hops[hop_at];
  Reach& reach = groups_[owner].reach[hop.reach];
  --reach.uses;
  reach.weight -= hop.weight;
}

/// One entry a link again, no gaps.
void LevelSolver::pack_reach(std::uint32_t owner) {
  std::vector<Reach>& all = groups_[owner].reach;
  all.clear();
  for (const Member& member : groups_[owner].members) {
    const Flow& flow = store_.flows[member.flow];
    for (std::uint32_t h = flow.first_hop; h <= flow.first_hop + flow.hops; ++h) {
      const std::uint32_t contention = store_.hops[h].contention;
      if (contention != kNone && contention != owner) add_reach(owner, h);
    }
  }
  groups_[owner].reach_packed = all.size();
}

std::int64_t LevelSolver::first_end(std::uint32_t at) const {
  const Group& group = groups_[at];
  return end_of(group.members.front().due - group.clock, contentions_[at].level, group.since);
}

bool LevelSolver::ends_by(std::uint32_t at, std::int64_t tick) const {
  const Group& group = groups_[at];
  const Level level = contentions_[at].level;
  return group.members.front().due - group.clock - level / 2 <=
         static_cast<Work>(level) * (tick - group.since);
}

bool LevelSolver::before(const Member& a, const Member& b) const {
  if (a.due != b.due) return a.due < b.due;
  return store_.flows[a.flow].order < store_.flows[b.flow].order;
}

void LevelSolver::add_member(std::uint32_t owner, std::uint32_t flow) {
  std::vector<Member>& members = groups_[owner].members;
  const Member member{store_.flows[flow].due, flow};
  members.push_back(member);
  sift_up(members, static_cast<std::uint32_t>(members.size() - 1), member);
}

void LevelSolver::remove_member(std::uint32_t owner, std::uint32_t flow) {
  std::vector<Member>& members = groups_[owner].members;
  const std::uint32_t place = store_.flows[flow].place;
  const Member last = members.back();
  members.pop_back();
  if (members.empty()) {
    groups_[owner].clock = 0;
    groups_[owner].reach.clear();
    groups_[owner].reach_packed = 0;
  }
  if (last.flow == flow) return;
  if (place > 0 && before(last, members[(place - 1) / 2])) {
    sift_up(members, place, last);
  } else {
    sift_down(members, place, last);
  }
}

void LevelSolver::sift_up(std::vector<Member>& members, std::uint32_t place, const Member& member) {
  while (place > 0) {
    const std::uint32_t parent = (place - 1) / 2;
    if (!before(member, members[parent])) break;
    members[place] = members[parent];
    store_.flows[members[place].flow].place = place;
    place = parent;
  }
  members[place] = member;
  store_.flows[member.flow].place = place;
}

void LevelSolver::sift_down(std::vector<Member>& members, std::uint32_t place,
                            const Member& member) {
  const auto size = static_cast<std::uint32_t>(members.size());
  while (true) {
    std::uint32_t child = 2 * place + 1;
    if (child >= size) break;
    if (child + 1 < size && before(members[child + 1], members[child])) ++child;
    if (!before(members[child], member)) break;
    members[place] = members[child];
    store_.flows[members[place].flow].place = place;
    place = child;
  }
  members[place] = member;
  store_.flows[member.flow].place = place;
}

}  // namespace railyard::network
