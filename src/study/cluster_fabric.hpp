// The fabric of a cluster of which only its hosts are known.
#pragma once

#include "railyard/config/document.hpp"
#include "railyard/study/validation.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::study {

/// A CLOS without oversubscription that just holds the cluster's hosts: leaves of 8 hosts, one
/// minipod. NVLink, PCIe and latencies are those of the GPU's usual host (cluster_fabric.cpp).
[[nodiscard]] topology::Topology fabric_of(const Cluster& cluster, config::Errors& errors);

}  // namespace railyard::study
