// Slurm's topology/block: hosts are grouped into base blocks (an NVLink rack, a leaf), blocks into
// aggregated blocks of 2, 4, 8, … neighbours. A gang gets hosts of one aggregated block of the
// lowest level that is large enough for it, of those with enough free hosts the tightest, and
// waits if there is none; in it base blocks by best fit (topology guide; eval_nodes_block.c).
//
// `--segment=k` cuts the gang into segments of k hosts, each inside one base block, with no demand
// on how the segments lie to each other. The last segment may be shorter here; Slurm wants whole
// ones.
#include <algorithm>
#include <bit>

#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class SlurmBlock final : public PlacementPolicy {
 public:
  SlurmBlock(bool of_minipods, std::uint32_t segment, RankOrder rank_order)
      : of_minipods_(of_minipods), segment_(segment), rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view)) {
      return place_in_order(shape, view, FreeOrder::fewest_first, rank_order_);
    }
    const std::uint32_t wanted = hosts_wanted(shape, view);
    const Blocks blocks = blocks_of(view);
    const std::vector<HostId> hosts =
        segment_ > 0 ? in_segments(blocks, wanted) : in_one_block(blocks, wanted);
    if (hosts.empty()) return std::nullopt;
    return on_whole_hosts(hosts, view, rank_order_);
  }

 private:
  struct Blocks {
    std::vector<std::vector<HostId>> free;  ///< by base block, ascending
    std::vector<std::uint32_t> hosts;       ///< by base block, free or not
  };

  [[nodiscard]] Blocks blocks_of(const Inventory& view) const {
    const topology::Topology& topology = view.topology();
    Blocks blocks;
    blocks.free.resize(of_minipods_ ? topology.minipod_count() : topology.leaf_count());
    blocks.hosts.resize(blocks.free.size(), 0);
    for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
      const auto host = static_cast<HostId>(h);
      const topology::Host& where = topology.host(host);
      const std::size_t block = of_minipods_ ? index(where.minipod) : index(where.leaf);
      ++blocks.hosts[block];
      if (view.wholly_free(host)) blocks.free[block].push_back(host);
    }
    return blocks;
  }

  /// Takes units of `size` hosts from base blocks [first, last); the last unit may be shorter.
  static std::vector<HostId> take(const Blocks& blocks, std::size_t first, std::size_t last,
                                  std::uint32_t wanted, std::uint32_t size) {
    std::vector<std::uint32_t> rooms;
    for (std::size_t b = first; b < last; ++b) {
      rooms.push_back(static_cast<std::uint32_t>(blocks.free[b].size()) / size);
    }
    const std::uint32_t units = wanted / size;
    const std::uint32_t rest = wanted % size;
    std::vector<HostId> hosts;
    std::vector<std::size_t> taken(last - first, 0);
    for (const DomainPart& part : best_fit_domains(rooms, units)) {
      const auto from = blocks.free[first + part.domain].begin();
      taken[part.domain] = std::size_t{part.units} * size;
      hosts.insert(hosts.end(), from, from + static_cast<std::ptrdiff_t>(taken[part.domain]));
    }
    if (hosts.size() < std::size_t{units} * size) return {};
    if (rest == 0) return hosts;
    for (std::size_t b = 0; b < rooms.size(); ++b) {
      rooms[b] = static_cast<std::uint32_t>(blocks.free[first + b].size() - taken[b]);
    }
    const auto block = tightest_domain(rooms, rest);
    if (!block) return {};
    const auto from =
        blocks.free[first + *block].begin() + static_cast<std::ptrdiff_t>(taken[*block]);
    hosts.insert(hosts.end(), from, from + rest);
    return hosts;
  }

  [[nodiscard]] std::vector<HostId> in_segments(const Blocks& blocks, std::uint32_t wanted) const {
    return take(blocks, 0, blocks.free.size(), wanted, segment_);
  }

  static std::vector<HostId> in_one_block(const Blocks& blocks, std::uint32_t wanted) {
    const std::size_t count = blocks.free.size();
    for (std::size_t size = 1; size < 2 * std::bit_ceil(count); size *= 2) {
      bool large_enough = false;
      std::vector<std::uint32_t> rooms;
      for (std::size_t first = 0; first < count; first += size) {
        std::uint32_t hosts = 0;
        rooms.push_back(0);
        for (std::size_t b = first; b < std::min(count, first + size); ++b) {
          hosts += blocks.hosts[b];
          rooms.back() += static_cast<std::uint32_t>(blocks.free[b].size());
        }
        large_enough = large_enough || hosts >= wanted;
      }
      if (!large_enough) continue;
      const auto block = tightest_domain(rooms, wanted);
      if (!block) return {};
      const std::size_t first = *block * size;
      return take(blocks, first, std::min(count, first + size), wanted, 1);
    }
    return {};
  }

  bool of_minipods_;
  std::uint32_t segment_;
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_slurm_block(const config::Parameters& parameters) {
  return std::make_unique<SlurmBlock>(
      parameters.get<std::string>("block") == "minipod",
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("segment")),
      rank_order_of(parameters));
}

}  // namespace

PlacementEntry slurm_block_entry() {
  return {{.name = "slurm_block",
           .summary = "Slurm's topology/block: hosts of one aggregated block of the lowest level "
                      "that is large enough, or segments that each lie in one base block",
           .parameters = {{.name = "block",
                           .type = config::ParameterType::choice,
                           .fallback = "\"leaf\"",
                           .help = "what a base block is",
                           .choices = {"leaf", "minipod"}},
                          {.name = "segment",
                           .type = config::ParameterType::integer,
                           .fallback = "0",
                           .help = "hosts of a segment (--segment); 0: the gang is not cut",
                           .min = 0,
                           .max = 1'000'000},
                          rank_order_parameter("\"pp_fastest\"")}},
          &create_slurm_block};
}

}  // namespace railyard::scheduler
