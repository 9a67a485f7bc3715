#include "route_classes.hpp"

#include <algorithm>
#include <utility>

#include "colour.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/network/flow_network.hpp"
#include "sibling_streams.hpp"

namespace railyard::training {
namespace {

/// Equal colours side by side, the lower index first.
void sort_by_colour(std::span<std::uint32_t> indices, const std::vector<Colour>& colours) {
  std::sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto order = colours[a] <=> colours[b];
    return order != 0 ? order < 0 : a < b;
  });
}

/// One of several streams of a job that do the same; routes are those of all jobs.
struct Sibling {
  std::size_t job = 0;
  SiblingStream stream;
  std::size_t first_sibling = 0;  ///< of its job
  Colour colour;
};

/// Routes of all jobs behind one another, parted round by round.
class Refinement {
 public:
  Refinement(std::span<const std::shared_ptr<const Program>> jobs,
             std::span<const RouteLinks> links, const topology::Topology& topology)
      : topology_(topology) {
    for (const RouteLinks& job : links) {
      first_.push_back(routes_.size());
      routes_.insert(routes_.end(), job.begin(), job.end());
    }
    colour_.resize(routes_.size());
    sibling_of_.resize(routes_.size(), kNoSibling);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      add_siblings(*jobs[j], j);
      colour_by_flows(*jobs[j], j);
    }
    for (const auto& route : routes_) {
      for (const topology::LinkUse& use : route)
        met_.push_back(static_cast<std::uint32_t>(index(use.link)));
    }
    std::sort(met_.begin(), met_.end());
    met_.erase(std::unique(met_.begin(), met_.end()), met_.end());
    link_colour_.resize(topology.links().size());
    sort_classes();
    while (split()) {
    }
  }

  [[nodiscard]] const std::vector<std::size_t>& first() const { return first_; }
  [[nodiscard]] std::span<const topology::LinkUse> route(std::uint32_t at) const {
    return routes_[at];
  }
  [[nodiscard]] std::size_t routes() const { return routes_.size(); }
  [[nodiscard]] std::size_t classes() const { return begins_.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> members(std::size_t c) const {
    return {order_.data() + begins_[c], begins_[c + 1] - begins_[c]};
  }
  [[nodiscard]] const std::vector<Sibling>& siblings() const { return siblings_; }
  /// kNoSibling: of no sibling.
  [[nodiscard]] std::uint32_t sibling_of(std::uint32_t route) const { return sibling_of_[route]; }

  /// By link: the first of its class.
  [[nodiscard]] std::vector<std::uint32_t> link_leaders() const {
    std::vector<std::uint32_t> leader(topology_.links().size(), 0);
    std::vector<std::uint32_t> sorted = met_;
    sort_by_colour(sorted, link_colour_);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const bool same = i > 0 && link_colour_[sorted[i]] == link_colour_[sorted[i - 1]];
      leader[sorted[i]] = same ? leader[sorted[i - 1]] : sorted[i];
    }
    return leader;
  }

 private:
  void add_siblings(const Program& program, std::size_t job) {
    const std::size_t first = siblings_.size();
    for (SiblingStream& stream : sibling_streams(program)) {
      for (std::size_t t = 0; t < stream.routes.size(); ++t) {
        std::uint32_t& route = stream.routes[t];
        route += static_cast<std::uint32_t>(first_[job]);
        sibling_of_[route] = static_cast<std::uint32_t>(siblings_.size());
        colour_[route].add(mix64(stream.family ^ mix64(job)) + t,
                           static_cast<std::uint64_t>(stream.sizes[t]));
      }
      siblings_.push_back({job, std::move(stream), first, {}});
    }
  }

  /// Flows that start together with one size are told apart by their links alone; a step of a
  /// stepped collective is like no other flow.
  void colour_by_flows(const Program& program, std::size_t job) {
    std::uint64_t start = mix64(job);
    const auto add = [&](const BoundFlow& flow) {
      const std::size_t route = first_[job] + flow.route;
      if (sibling_of_[route] != kNoSibling) return;
      colour_[route].add(start, static_cast<std::uint64_t>(flow.size.count()));
    };
    for (const Activity& activity : program.activities) {
      ++start;
      for (std::uint32_t f = 0; f < activity.flow_count; ++f)
        add(program.flows[activity.first_flow + f]);
    }
    for (const SteppedCollective& form : program.stepped) {
      for (const auto& step : form.steps) {
        ++start;
        add(step.flow);
      }
    }
  }

  void sort_classes() {
    for (std::uint32_t r = 0; r < routes_.size(); ++r) {
      if (!routes_[r].empty()) order_.push_back(r);
    }
    sort_by_colour(order_, colour_);
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      if (i == 0 || colour_[order_[i]] != colour_[order_[i - 1]]) begins_.push_back(i);
    }
    begins_.push_back(static_cast<std::uint32_t>(order_.size()));
  }

  /// Colours links by the classes on them and routes by the colours of their links, siblings by
  /// their routes and by whom they wait for, and parts classes by that. False: nothing was parted.
  bool split() {
    for (const std::uint32_t link : met_) {
      link_colour_[link] = {};
      link_colour_[link].add(
          0, static_cast<std::uint64_t>(topology_.links()[link].capacity.bytes_per_s()));
    }
    for (std::size_t c = 0; c < classes(); ++c) {
      const Colour own{mix64(c + 1), mix64(~c)};
      for (const std::uint32_t member : members(c)) {
        for (const topology::LinkUse& use : routes_[member])
          link_colour_[index(use.link)].add(own, use.usage);
      }
    }
    for (const std::uint32_t route : order_) {
      colour_[route] = {};
      for (const topology::LinkUse& use : routes_[route])
        colour_[route].add(link_colour_[index(use.link)], use.usage);
    }
    colour_siblings();
    std::vector<std::uint32_t> begins;
    for (std::size_t c = 0; c < classes(); ++c) {
      begins.push_back(begins_[c]);
      if (begins_[c + 1] - begins_[c] > 1) part(begins_[c], begins_[c + 1], begins);
    }
    begins.push_back(begins_.back());
    const bool parted = begins.size() > begins_.size();
    begins_ = std::move(begins);
    return parted;
  }

  void colour_siblings() {
    std::vector<Colour> next;
    for (const Sibling& sibling : siblings_) {
      Colour colour;
      for (std::size_t t = 0; t < sibling.stream.routes.size(); ++t)
        colour.add(colour_[sibling.stream.routes[t]], static_cast<double>(t));
      for (const SiblingStream::Wait& wait : sibling.stream.waits) {
        Colour other{wait.what, ~wait.what};
        if (wait.sibling != kNoSibling)
          other.add(siblings_[sibling.first_sibling + wait.sibling].colour, 1.0);
        colour.add(other, -1.0);
      }
      next.push_back(colour);
    }
    for (std::size_t i = 0; i < siblings_.size(); ++i) {
      siblings_[i].colour = next[i];
      for (const std::uint32_t route : siblings_[i].stream.routes) colour_[route] = next[i];
    }
  }

  void part(std::uint32_t begin, std::uint32_t end, std::vector<std::uint32_t>& begins) {
    const std::span<std::uint32_t> members(order_.data() + begin, end - begin);
    const Colour& first = colour_[members.front()];
    if (std::ranges::all_of(members, [&](std::uint32_t m) { return colour_[m] == first; })) return;
    sort_by_colour(members, colour_);
    for (std::uint32_t i = begin + 1; i < end; ++i) {
      if (colour_[order_[i]] != colour_[order_[i - 1]]) begins.push_back(i);
    }
  }

  const topology::Topology& topology_;
  std::vector<std::size_t> first_;
  std::vector<std::span<const topology::LinkUse>> routes_;
  std::vector<std::uint32_t> sibling_of_;
  std::vector<Sibling> siblings_;
  std::vector<std::uint32_t> met_;  ///< links of routes, ascending
  std::vector<Colour> colour_;
  std::vector<Colour> link_colour_;
  std::vector<std::uint32_t> order_;   ///< routes, class by class
  std::vector<std::uint32_t> begins_;  ///< of classes in order_, and its end
};

}  // namespace

RouteClasses::RouteClasses(std::span<const std::shared_ptr<const Program>> jobs,
                           std::span<const RouteLinks> links, const topology::Topology& topology)
    : followers_(jobs.size()) {
  const Refinement refined(jobs, links, topology);
  first_ = refined.first();
  std::vector<std::span<const std::uint32_t>> members(refined.routes());  // by the one that leads
  std::vector<std::uint32_t> led_by(refined.siblings().size(), kNoSibling);
  for (std::size_t c = 0; c < refined.classes(); ++c) {
    const auto all = refined.members(c);
    // Of siblings the one that leads in one class leads in all.
    const std::uint32_t leader =
        *std::min_element(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
          return std::pair(refined.sibling_of(a), a) < std::pair(refined.sibling_of(b), b);
        });
    members[leader] = all;
    for (const std::uint32_t member : all) {
      const std::uint32_t sibling = refined.sibling_of(member);
      if (sibling != kNoSibling) led_by[sibling] = refined.sibling_of(leader);
    }
  }
  for (std::uint32_t i = 0; i < led_by.size(); ++i) {
    if (led_by[i] == i) continue;
    const Sibling& follower = refined.siblings()[i];
    auto& followers = followers_[follower.job];
    followers.resize(jobs[follower.job]->dag->streams);
    followers[refined.siblings()[led_by[i]].stream.stream].push_back(follower.stream.stream);
  }
  const std::vector<std::uint32_t> link_leader = refined.link_leaders();
  std::vector<std::uint32_t> place(topology.links().size(), 0);  // 1 + where it is in uses_
  for (std::uint32_t r = 0; r < members.size(); ++r) {
    first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
    for (const std::uint32_t member : members[r]) {
      for (const topology::LinkUse& use : refined.route(member)) {
        const std::size_t link = index(use.link);
        if (link_leader[link] != link) continue;
        if (place[link] <= first_use_.back()) {
          uses_.push_back({use.link, 0.0});
          place[link] = static_cast<std::uint32_t>(uses_.size());
        }
        uses_[place[link] - 1].usage += network::counted_usage(use.usage);
      }
    }
    RAILYARD_CHECK(members[r].empty() || uses_.size() > first_use_.back(),
                   "a class of routes without a link");
  }
  first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
}

}  // namespace railyard::training
