// The rows of the placement catalog, one a file.
#pragma once

#include "railyard/scheduler/placement.hpp"

namespace railyard::scheduler {

using PlacementEntry = config::CatalogEntry<PlacementFactory>;
[[nodiscard]] PlacementEntry arnold_entry();
[[nodiscard]] PlacementEntry best_fit_entry();
[[nodiscard]] PlacementEntry bipartition_entry();
[[nodiscard]] PlacementEntry blocks_entry();
[[nodiscard]] PlacementEntry gpu_packing_entry();
[[nodiscard]] PlacementEntry hypernode_entry();
[[nodiscard]] PlacementEntry listed_entry();
[[nodiscard]] PlacementEntry random_fit_entry();
[[nodiscard]] PlacementEntry slurm_block_entry();
[[nodiscard]] PlacementEntry slurm_tree_entry();
[[nodiscard]] PlacementEntry tas_entry();
[[nodiscard]] PlacementEntry tight_pack_entry();

}  // namespace railyard::scheduler
