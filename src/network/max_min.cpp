#include "railyard/network/max_min.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "railyard/core/check.hpp"

namespace railyard::network {
namespace {

__extension__ using Int128 = __int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What filling knows about one link. `used` holds the levels that are done; the level being frozen
/// is kept apart as pending_level × pending, because its weight is still growing.
template <typename Weight>
struct LinkFill {
  double used = 0;
  double pending_level = 0;
  Weight pending{};
  Weight unfrozen{};
  std::uint32_t first_flow = 0;  ///< into flow_of_link
  std::uint32_t flows = 0;
};

struct Key {
  double level;
  std::uint32_t id;  ///< a link, or links + flow for a flow's own cap
};

struct LaterKey {
  bool operator()(const Key& a, const Key& b) const { return a.level > b.level; }
};

enum class FillState : std::uint8_t { growing, frozen };

}  // namespace

struct MaxMinWorkspace::Arrays {
  std::vector<LinkFill<double>> double_links;
  std::vector<LinkFill<Int128>> integer_links;
  std::vector<double> double_weights;
  std::vector<Int128> integer_weights;
  std::vector<std::uint32_t> flow_of_link;
  std::vector<FillState> flow_state;
  std::vector<Key> heap;
  std::vector<std::uint32_t> batch;
};

MaxMinWorkspace::MaxMinWorkspace() : arrays_(std::make_unique<Arrays>()) {}
MaxMinWorkspace::~MaxMinWorkspace() = default;
MaxMinWorkspace::MaxMinWorkspace(MaxMinWorkspace&&) noexcept = default;
MaxMinWorkspace& MaxMinWorkspace::operator=(MaxMinWorkspace&&) noexcept = default;

namespace {

/// Progressive filling over exact weights. `unit` is the value of one weight unit, a power of two.
template <typename Weight>
class Filling {
 public:
  Filling(const MaxMinProblem& problem, MaxMinWorkspace::Arrays& arrays,
          std::vector<LinkFill<Weight>>& links, const std::vector<Weight>& weights, double unit,
          const MaxMinRates& rates)
      : problem_(problem),
        arrays_(arrays),
        links_(links),
        weights_(weights),
        unit_(unit),
        rates_(rates),
        link_count_(static_cast<std::uint32_t>(problem.capacity_bytes_per_s.size())),
        flow_count_(static_cast<std::uint32_t>(problem.share.size())) {}

  void run() {
    transpose();
    fill_heap();
    remaining_flows_ = flow_count_;
    while (remaining_flows_ > 0) {
      collect_batch();
      freeze_batch();
    }
  }

 private:
  void transpose() {
    links_.assign(link_count_, LinkFill<Weight>{});
    for (std::size_t use = 0; use < problem_.link.size(); ++use) {
      LinkFill<Weight>& link = links_[problem_.link[use]];
      link.unfrozen += weights_[use];
      ++link.flows;
    }
    std::uint32_t first = 0;
    for (LinkFill<Weight>& link : links_) {
      link.first_flow = first;
      first += link.flows;
      link.flows = 0;
    }
    arrays_.flow_of_link.resize(problem_.link.size());
    for (std::uint32_t flow = 0; flow < flow_count_; ++flow) {
      for (std::uint32_t use = problem_.first_use[flow]; use < problem_.first_use[flow + 1];
           ++use) {
        LinkFill<Weight>& link = links_[problem_.link[use]];
        arrays_.flow_of_link[link.first_flow + link.flows++] = flow;
      }
    }
  }

  void fill_heap() {
    arrays_.heap.clear();
    arrays_.heap.reserve(link_count_ + flow_count_);
    arrays_.batch.reserve(link_count_ + flow_count_);
    for (std::uint32_t link = 0; link < link_count_; ++link) {
      rates_.link_level[link] = kInfinity;
      if (links_[link].flows > 0) arrays_.heap.push_back(Key{link_level(link), link});
    }
    arrays_.flow_state.assign(flow_count_, FillState::growing);
    for (std::uint32_t flow = 0; flow < flow_count_; ++flow) {
      const double cap = problem_.cap_bytes_per_s[flow];
      if (cap < kInfinity)
        arrays_.heap.push_back(Key{cap / problem_.share[flow], link_count_ + flow});
    }
    std::make_heap(arrays_.heap.begin(), arrays_.heap.end(), LaterKey{});
  }

  /// The level at which the link fills up if nothing else freezes, never below the current level.
  double link_level(std::uint32_t id) {
    LinkFill<Weight>& link = links_[id];
    link.used += link.pending_level * (static_cast<double>(link.pending) * unit_);
    link.pending = Weight{};
    const double residual = problem_.capacity_bytes_per_s[id] - link.used;
    return std::max(level_, residual / (static_cast<double>(link.unfrozen) * unit_));
  }

  Key pop() {
    std::pop_heap(arrays_.heap.begin(), arrays_.heap.end(), LaterKey{});
    const Key key = arrays_.heap.back();
    arrays_.heap.pop_back();
    return key;
  }

  void push(const Key& key) {
    arrays_.heap.push_back(key);
    std::push_heap(arrays_.heap.begin(), arrays_.heap.end(), LaterKey{});
  }

  /// True when the key still stands for something that grows.
  bool is_live(const Key& key) const {
    if (key.id >= link_count_)
      return arrays_.flow_state[key.id - link_count_] == FillState::growing;
    return links_[key.id].unfrozen > Weight{};
  }

  /// Finds the lowest level and all links and caps that stand exactly at it. Freezes nothing: every
  /// level is evaluated against the state before the batch.
  void collect_batch() {
    arrays_.batch.clear();
    double lowest = kInfinity;
    while (!arrays_.heap.empty() && arrays_.heap.front().level <= lowest) {
      Key key = pop();
      if (!is_live(key)) continue;
      key.level = key.id < link_count_ ? link_level(key.id) : std::max(level_, key.level);
      if (key.level > lowest || (!arrays_.heap.empty() && key.level > arrays_.heap.front().level)) {
        push(key);
        continue;
      }
      if (key.level < lowest) {
        for (const std::uint32_t id : arrays_.batch) push(Key{lowest, id});
        arrays_.batch.clear();
        lowest = key.level;
      }
      arrays_.batch.push_back(key.id);
    }
    RAILYARD_CHECK(!arrays_.batch.empty(), "max-min: {} flows grow without a link or a cap",
                   remaining_flows_);
    level_ = lowest;
  }

  void freeze_batch() {
    // Caps first: a flow that is at its cap and on a full link at once is bound by its cap.
    for (const std::uint32_t id : arrays_.batch) {
      if (id < link_count_) continue;
      const std::uint32_t flow = id - link_count_;
      rates_.binding_link[flow] = kOwnCap;
      rates_.rate_bytes_per_s[flow] = problem_.cap_bytes_per_s[flow];
      freeze(flow);
    }
    for (const std::uint32_t id : arrays_.batch) {
      if (id < link_count_) freeze_link(id);
    }
  }

  void freeze_link(std::uint32_t id) {
    const LinkFill<Weight>& link = links_[id];
    for (std::uint32_t entry = 0; entry < link.flows; ++entry) {
      const std::uint32_t flow = arrays_.flow_of_link[link.first_flow + entry];
      if (arrays_.flow_state[flow] == FillState::growing) {
        rates_.binding_link[flow] = id;
        rates_.rate_bytes_per_s[flow] =
            std::min(level_ * problem_.share[flow], problem_.cap_bytes_per_s[flow]);
        freeze(flow);
        rates_.link_level[id] = level_;
      } else if (rates_.level[flow] == level_ && rates_.binding_link[flow] != kOwnCap) {
        rates_.binding_link[flow] = std::min(rates_.binding_link[flow], id);
        rates_.link_level[id] = level_;
      }
    }
  }

  void freeze(std::uint32_t flow) {
    arrays_.flow_state[flow] = FillState::frozen;
    rates_.level[flow] = level_;
    --remaining_flows_;
    for (std::uint32_t use = problem_.first_use[flow]; use < problem_.first_use[flow + 1]; ++use) {
      LinkFill<Weight>& link = links_[problem_.link[use]];
      if (link.pending_level != level_) {
        link.used += link.pending_level * (static_cast<double>(link.pending) * unit_);
        link.pending = Weight{};
        link.pending_level = level_;
      }
      link.pending += weights_[use];
      link.unfrozen -= weights_[use];
    }
  }

  const MaxMinProblem& problem_;
  MaxMinWorkspace::Arrays& arrays_;
  std::vector<LinkFill<Weight>>& links_;
  const std::vector<Weight>& weights_;
  double unit_;
  const MaxMinRates& rates_;
  std::uint32_t link_count_;
  std::uint32_t flow_count_;
  std::uint32_t remaining_flows_ = 0;
  double level_ = 0;
};

/// Weights usage × share. True when sums of them are exact in doubles in any order: multiples of
/// 2^-20 that add up to at most 2^32 need 52 bits.
bool weigh(const MaxMinProblem& problem, std::vector<double>& weights) {
  weights.resize(problem.link.size());
  bool exact = true;
  double sum = 0;
  for (std::size_t flow = 0; flow < problem.share.size(); ++flow) {
    for (std::uint32_t use = problem.first_use[flow]; use < problem.first_use[flow + 1]; ++use) {
      const double weight = problem.usage[use] * problem.share[flow];
      RAILYARD_DCHECK(weight > 0 && weight < kInfinity, "max-min: flow {} has the weight {}", flow,
                      weight);
      weights[use] = weight;
      sum += weight;
      const double scaled = weight * 0x1p20;
      exact = exact && scaled < 0x1p52 &&
              scaled == static_cast<double>(static_cast<std::int64_t>(scaled));
    }
  }
  return exact && sum <= 0x1p32;
}

/// The same weights as integers in units of a power of two, which is returned. All sums fit 126
/// bits.
double to_integers(const std::vector<double>& weights, std::vector<Int128>& integers) {
  int lowest = std::numeric_limits<int>::max();
  int highest = std::numeric_limits<int>::min();
  for (const double weight : weights) {
    lowest = std::min(lowest, std::ilogb(weight));
    highest = std::max(highest, std::ilogb(weight));
  }
  const int count_bits = static_cast<int>(std::bit_width(weights.size()));
  const int shift = std::min(52 - lowest, 125 - count_bits - highest);
  integers.resize(weights.size());
  for (std::size_t use = 0; use < weights.size(); ++use) {
    integers[use] = std::max(Int128{1}, static_cast<Int128>(std::ldexp(weights[use], shift)));
  }
  return std::ldexp(1.0, -shift);
}

void check_sizes(const MaxMinProblem& problem, const MaxMinRates& rates) {
  const std::size_t flows = problem.share.size();
  RAILYARD_CHECK(
      problem.first_use.size() == flows + 1 && problem.cap_bytes_per_s.size() == flows &&
          problem.first_use[flows] == problem.link.size() &&
          problem.usage.size() == problem.link.size(),
      "max-min: {} flows, {} offsets, {} caps, {} links of uses, {} usages do not fit together",
      flows, problem.first_use.size(), problem.cap_bytes_per_s.size(), problem.link.size(),
      problem.usage.size());
  RAILYARD_CHECK(rates.rate_bytes_per_s.size() == flows && rates.binding_link.size() == flows &&
                     rates.level.size() == flows &&
                     rates.link_level.size() == problem.capacity_bytes_per_s.size(),
                 "max-min: room for {} rates of {} flows", rates.rate_bytes_per_s.size(), flows);
}

}  // namespace

void solve_max_min(const MaxMinProblem& problem, MaxMinWorkspace& workspace,
                   const MaxMinRates& rates) {
  check_sizes(problem, rates);
  MaxMinWorkspace::Arrays& arrays = workspace.arrays();
  if (weigh(problem, arrays.double_weights)) {
    Filling<double>(problem, arrays, arrays.double_links, arrays.double_weights, 1.0, rates).run();
    return;
  }
  const double unit = to_integers(arrays.double_weights, arrays.integer_weights);
  Filling<Int128>(problem, arrays, arrays.integer_links, arrays.integer_weights, unit, rates).run();
}

}  // namespace railyard::network
