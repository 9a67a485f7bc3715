// Listed: the hosts of a file, in its order. What another scheduler decided, or what `railyard
// place` wrote, read back.
#include <algorithm>
#include <map>
#include <set>

#include "railyard/config/text_lines.hpp"
#include "railyard/topology/hostlist.hpp"
#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Listed final : public PlacementPolicy {
 public:
  Listed(std::vector<std::string> hosts, RankOrder rank_order)
      : hosts_(std::move(hosts)), rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    const topology::Topology& topology = view.topology();
    const std::size_t wanted = hosts_wanted(shape, view);
    if (hosts_.size() < wanted) return std::nullopt;
    const std::map<std::string, HostId> known = topology::hosts_by_name(topology);
    Placement placement;
    placement.rank_order = rank_order_;
    for (std::size_t h = 0; h < wanted; ++h) {
      const auto found = known.find(hosts_[h]);
      if (found == known.end()) {
        throw config::ConfigError(
            fmt::format("placement \"listed\": the fabric has no host \"{}\"; its first is \"{}\"",
                        hosts_[h], topology.host_name(HostId{})));
      }
      if (!view.wholly_free(found->second)) return std::nullopt;
      const std::uint32_t gpus = std::min(shape.gpus, topology.host(found->second).gpus);
      placement.slots.push_back(lowest_gpus(view, found->second, gpus));
    }
    return placement;
  }

 private:
  std::vector<std::string> hosts_;
  RankOrder rank_order_;
};

/// Host names, or Slurm's expressions of them, a line each; what stands behind a name ("slots=8")
/// is another program's. Lines of a comment or nothing are skipped.
std::vector<std::string> read_hosts(const std::filesystem::path& path) {
  constexpr std::size_t kHostsMax = 1'000'000;
  const auto lines = config::TextLines::parse_file(path);
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto words = config::words_of(lines[i]);
    if (words.empty() || words.front().starts_with('#')) continue;
    const std::size_t before = hosts.size();
    if (const std::string fault = topology::expand_hostlist(words.front(), kHostsMax, hosts);
        !fault.empty()) {
      throw config::ConfigError(fmt::format("{}: {}", lines.place(i), fault));
    }
    for (std::size_t h = before; h < hosts.size(); ++h) {
      if (!seen.insert(hosts[h]).second) {
        throw config::ConfigError(
            fmt::format("{}: host \"{}\" stands there twice", lines.place(i), hosts[h]));
      }
    }
  }
  if (hosts.empty()) throw config::ConfigError(fmt::format("{}: lists no host", lines.name()));
  return hosts;
}

std::unique_ptr<PlacementPolicy> create_listed(const config::Parameters& parameters) {
  return std::make_unique<Listed>(read_hosts(parameters.get<std::string>("hosts")),
                                  rank_order_of(parameters));
}

}  // namespace

PlacementEntry listed_entry() {
  return {{.name = "listed",
           .summary = "the hosts of a file in its order: what another scheduler decided, or what "
                      "`railyard place` wrote (with rank order dp_fastest)",
           .parameters = {{.name = "hosts",
                           .type = config::ParameterType::path,
                           .help = "host names, or Slurm's expressions of them, a line each"},
                          rank_order_parameter("\"dp_fastest\"")}},
          &create_listed};
}

}  // namespace railyard::scheduler
