// Readers of files that draw a fabric node by node or count it: the functions behind the catalog.
// Each: railyard/topology/fabric_reader.hpp.
#pragma once

#include "railyard/topology/fabric_reader.hpp"

namespace railyard::topology {

[[nodiscard]] bool is_astra_sim(std::string_view text);
[[nodiscard]] Topology read_astra_sim(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_graphml(std::string_view text);
[[nodiscard]] Topology read_graphml(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_link_list(std::string_view text);
[[nodiscard]] Topology read_link_list(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_nccl_xml(std::string_view text);
[[nodiscard]] Topology read_nccl_xml(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_nvidia_smi(std::string_view text);
[[nodiscard]] Topology read_nvidia_smi(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_simai(std::string_view text);
[[nodiscard]] Topology read_simai(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_hypernode(std::string_view text);
[[nodiscard]] Topology read_hypernode(const FabricFile& file, config::Reader& options);
[[nodiscard]] bool is_kueue(std::string_view text);
[[nodiscard]] Topology read_kueue(const FabricFile& file, config::Reader& options);

}  // namespace railyard::topology
