#include <array>

#include "railyard/scheduler/placement.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

std::span<const config::CatalogEntry<PlacementFactory>> placement_catalog() {
  static const std::array kTable{arnold_entry(),     best_fit_entry(),    bipartition_entry(),
                                 blocks_entry(),     gpu_packing_entry(), hypernode_entry(),
                                 listed_entry(),     random_fit_entry(),  slurm_block_entry(),
                                 slurm_tree_entry(), tas_entry(),         tight_pack_entry()};
  return kTable;
}

}  // namespace railyard::scheduler
