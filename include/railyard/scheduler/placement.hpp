// Placement policies: which hosts a gang gets and in which order its ranks lie on them. Pure
// decisions on a view.
//
// The gang as a matrix of hosts (Arnold, arXiv 2509.15940, Eq. 1): row = one PP group, column = one
// DP group,
//   rows = DP / (GPUs per host / TP), columns = PP.
// A policy returns hosts in rank order; the rank order says how the framework lays the matrix on
// them:
//   pp_fastest  consecutive hosts are the stages of one row
//   dp_fastest  consecutive hosts are one column
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/core/time.hpp"
#include "railyard/scheduler/inventory.hpp"

namespace railyard::scheduler {

/// What the user declared of a job that a placement may use.
struct GangShape {
  std::uint32_t gpus = 0;
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t data = 1;
};

enum class RankOrder : std::uint8_t { pp_fastest, dp_fastest };

class PlacementCost;  // placement_cost.hpp

struct Placement {
  std::vector<HostSlot> slots;  ///< in rank order
  RankOrder rank_order = RankOrder::pp_fastest;
  /// The policy would rather wait for a better place: until the job has been offered one for so
  /// long. Who composes a scheduler of its own may take it at once.
  Duration patience{};
  /// What the policy has to say of its decision (a search that ended before its proof), for the
  /// warnings of the result; mostly nothing.
  std::string note{};
};

/// GPU of every rank (rank = tensor + TP · (data + DP · stage)). Blocks of TP consecutive GPUs of
/// the slots, in order, are the cells; `pp_fastest` walks a row's stages host by host (with k =
/// GPUs-per-host/TP data ranks side by side in a host), `dp_fastest` walks the data ranks of a
/// stage. Where TP does not divide a host, DP is no multiple of k or hosts are shared, k = 1. GPUs
/// of the slots beyond the gang's own stay idle.
[[nodiscard]] std::vector<GpuId> gpu_of_rank(const Placement& placement, const GangShape& shape,
                                             const topology::Topology& topology);

/// Minipods touched by the worst group, counted from 1, and what the objectives make of it.
struct Spread {
  std::uint32_t dp_max = 0;
  std::uint32_t pp_max = 0;
  std::uint32_t minipods = 0;  ///< touched by the whole job
  std::uint32_t leaves = 0;    ///< leaves touched by the whole job
  /// Eq. 2: α · dp_max + (1 − α) · pp_max.
  [[nodiscard]] double weighted(double alpha) const;
  /// Eq. 4 with the PP group as unit: α · minipods + (1 − α) · pp_max; with the DP group: (1 − α) ·
  /// minipods + α · dp_max.
  [[nodiscard]] double simplified(double alpha, bool unit_dp) const;
};
[[nodiscard]] Spread spread_of(const Placement& placement, const GangShape& shape,
                               const topology::Topology& topology);

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  /// Called by the cluster at a scheduling point, once per queued job. Starts nothing, changes
  /// nothing. Empty: the gang cannot be placed now. Unless the policy asks for more (blocks), that
  /// is so exactly when the free hosts, or the GPUs of one host for less than a host, do not
  /// suffice. `rng` is the policy's own stream for this job.
  [[nodiscard]] virtual std::optional<Placement> place(const GangShape& shape,
                                                       const Inventory& view, Rng rng) const = 0;
  /// The same for a policy that weighs candidates by simulated cost; `job` is what to ask for. The
  /// cluster calls it where a job may start; plans for later are made with `place`. By default
  /// nothing is asked.
  [[nodiscard]] virtual std::optional<Placement> place_by_cost(const GangShape& shape,
                                                               const Inventory& view, Rng rng,
                                                               JobId /*job*/,
                                                               PlacementCost& /*cost*/) const {
    return place(shape, view, rng);
  }
  /// Does the policy measure spread with the DP group as unit (for diffusion_simplified)?
  [[nodiscard]] virtual bool unit_dp() const { return false; }
};

/// A factory throws ConfigError, a sentence without a place, where values contradict each other
/// (alpha and beta).
using PlacementFactory = std::unique_ptr<PlacementPolicy> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<PlacementFactory>> placement_catalog();

}  // namespace railyard::scheduler
