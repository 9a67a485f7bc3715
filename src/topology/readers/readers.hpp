// The readers behind the catalog, one file each: what the format is and which keys a description
// may have stands at the top of each.
#pragma once

#include <string_view>

#include "railyard/topology/fabric_reader.hpp"

namespace railyard::topology {

[[nodiscard]] Topology read_ibnetdiscover(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_ibnetdiscover(std::string_view text);
[[nodiscard]] Topology read_iblinkinfo(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_iblinkinfo(std::string_view text);
[[nodiscard]] Topology read_slurm(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_slurm(std::string_view text);

}  // namespace railyard::topology
