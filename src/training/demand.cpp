#include <algorithm>
#include <map>
#include <utility>

#include "railyard/training/program.hpp"

namespace railyard::training {
namespace {

/// The tightest link that every flow of an end point crosses whole: among the links up to the leaf,
/// seen from the source or from the destination. It is the port whose rate bounds them all.
template <typename Iterator>
LinkId port_of(Iterator first, Iterator last, const topology::Topology& topology) {
  LinkId port = first->link;
  for (auto use = first; use != last; ++use) {
    const topology::Link& link = topology.link(use->link);
    if (use->usage < 1.0 || link.tier > topology::Tier::leaf) break;
    if (link.capacity < topology.link(port).capacity) port = use->link;
  }
  return port;
}

/// Sum over the ports on one side of what each can put on a link: its rate × its largest usage.
class PortSum {
 public:
  void add(LinkId link, LinkId port, double bytes_per_s) {
    double& most = most_[{link, port}];
    most = std::max(most, bytes_per_s);
  }
  [[nodiscard]] std::map<LinkId, double> by_link() const {
    std::map<LinkId, double> sums;
    for (const auto& [key, bytes_per_s] : most_) sums[key.first] += bytes_per_s;
    return sums;
  }

 private:
  std::map<std::pair<LinkId, LinkId>, double> most_;
};

}  // namespace

std::vector<LinkDemand> demand(const Program& program, const topology::Topology& topology) {
  PortSum sources;
  PortSum destinations;
  for (const Edge& edge : program.edges) {
    const auto& links = program.routes[edge.route].links;
    const LinkId out = port_of(links.begin(), links.end(), topology);
    const LinkId in = port_of(links.rbegin(), links.rend(), topology);
    const auto rate = [&](LinkId port) {
      return static_cast<double>(topology.link(port).capacity.bytes_per_s());
    };
    for (const topology::LinkUse& use : links) {
      sources.add(use.link, out, rate(out) * use.usage);
      destinations.add(use.link, in, rate(in) * use.usage);
    }
  }
  const auto by_source = sources.by_link();
  const auto by_destination = destinations.by_link();
  std::vector<LinkDemand> result;
  result.reserve(by_source.size());
  for (const auto& [link, bytes_per_s] : by_source) {
    result.push_back(LinkDemand{link, std::min(bytes_per_s, by_destination.at(link))});
  }
  return result;
}

}  // namespace railyard::training
