// What the placement policies share: the order in which hosts of a minipod are taken, and gangs
// smaller than a host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/scheduler/placement_cost.hpp"
#include "railyard/scheduler/view.hpp"

namespace railyard::scheduler {

/// Asks a placement policy for a job, with the job's own random stream; `cost` is null for plans
/// that may as well be made without simulations.
[[nodiscard]] std::optional<Placement> ask(const PlacementPolicy& policy, const JobView& job,
                                           const Inventory& free, const ClusterView& view,
                                           PlacementCost* cost);

/// Hosts a gang takes when it takes whole ones (rounded up).
[[nodiscard]] std::uint32_t hosts_wanted(const GangShape& shape, const Inventory& view);
/// A gang of less than a host shares one.
[[nodiscard]] bool shares_host(const GangShape& shape, const Inventory& view);

/// Wholly free hosts of a minipod leaf by leaf, the leaf with most free hosts first so that few
/// leaves are touched; ties by leaf, hosts of a leaf ascending.
[[nodiscard]] std::vector<HostId> hosts_leaf_by_leaf(const Inventory& view, MinipodId minipod);

enum class FreeOrder : std::uint8_t { fewest_first, most_first };
/// Minipods with at least one wholly free host, by their number of such hosts; ties by id.
[[nodiscard]] std::vector<MinipodId> minipods_by_free_hosts(const Inventory& view, FreeOrder order);

/// Whole hosts for the gang from the minipods in the given order, each emptied before the next is
/// touched: the last one partly. Empty when they do not have enough.
[[nodiscard]] std::optional<std::vector<HostSlot>> take_whole_hosts(
    const GangShape& shape, const Inventory& view, std::span<const MinipodId> minipods);

/// One host for a gang that shares one: the host with fewest free GPUs that fits. Ties by the
/// minipod's number of wholly free hosts in the given order, then by id. Empty when none fits.
[[nodiscard]] std::optional<HostSlot> share_fullest_host(const GangShape& shape,
                                                         const Inventory& view, FreeOrder order);
/// The lowest free GPUs of a host.
[[nodiscard]] HostSlot lowest_gpus(const Inventory& view, HostId host, std::uint32_t gpus);

/// The "rank_order" parameter, with the fallback as JSON text.
[[nodiscard]] config::ParameterSpec rank_order_parameter(std::string_view fallback);
[[nodiscard]] RankOrder rank_order_of(const config::Parameters& parameters);

/// Wholly free hosts of one leaf, ascending.
struct FreeLeaf {
  LeafId leaf{};
  MinipodId minipod{};
  std::vector<HostId> hosts;
};
/// Leaves with a wholly free host, ascending.
[[nodiscard]] std::vector<FreeLeaf> free_leaves(const Inventory& view);

/// What a gang takes of one domain.
struct DomainPart {
  std::size_t domain = 0;  ///< index into the rooms
  std::uint32_t units = 0;
};
/// Domains for `wanted` units, as Slurm fills switches and blocks: the tightest that holds all that
/// is left, else the one with most room, again and again; the first of equals. Empty when the rooms
/// do not hold them.
[[nodiscard]] std::vector<DomainPart> best_fit_domains(std::vector<std::uint32_t> rooms,
                                                       std::uint32_t wanted);
/// The domain with least room among those that hold `wanted`; the first of equals. Empty: none.
[[nodiscard]] std::optional<std::size_t> tightest_domain(std::span<const std::uint32_t> rooms,
                                                         std::uint32_t wanted);
/// Whole hosts in this order.
[[nodiscard]] Placement on_whole_hosts(std::span<const HostId> hosts, const Inventory& view,
                                       RankOrder rank_order);

/// best_fit and gpu_packing differ only in the order of minipods.
[[nodiscard]] std::optional<Placement> place_in_order(const GangShape& shape, const Inventory& view,
                                                      FreeOrder order, RankOrder rank_order);

}  // namespace railyard::scheduler
