// The builders behind the catalog, one file each in builders/ and readers/.
#pragma once

#include "railyard/config/reader.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// Each reads its keys from the object, records errors there and then returns an empty topology.
[[nodiscard]] Topology build_clos(config::Reader& reader);
/// The form of clos with "tiers"; build_clos calls it.
[[nodiscard]] Topology build_clos_tiers(config::Reader& reader);
[[nodiscard]] Topology build_dragonfly(config::Reader& reader);
[[nodiscard]] Topology build_dragonfly_plus(config::Reader& reader);
[[nodiscard]] Topology build_full_mesh(config::Reader& reader);
[[nodiscard]] Topology build_hpn(config::Reader& reader);
[[nodiscard]] Topology build_rail_only(config::Reader& reader);
[[nodiscard]] Topology build_torus(config::Reader& reader);
[[nodiscard]] Topology build_fat_tree(config::Reader& reader);
[[nodiscard]] Topology build_rail_optimized(config::Reader& reader);
[[nodiscard]] Topology build_graph(config::Reader& reader);
[[nodiscard]] Topology build_lingjun_csv(config::Reader& reader);
[[nodiscard]] Topology build_read(config::Reader& reader);

}  // namespace railyard::topology
