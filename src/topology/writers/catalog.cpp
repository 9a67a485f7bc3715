#include <array>

#include "railyard/topology/writer.hpp"
#include "topology/writers/parts.hpp"

namespace railyard::topology {

std::span<const WriterEntry> writer_catalog() {
  static constexpr std::array<WriterEntry, 7> kTable{{
      {"graphml", "GraphML, directed, one edge a link", &write_graphml},
      {"graphviz", "a drawing for dot: hosts, switches, cables with their speed", &write_graphviz},
      {"host", "of one host: its keys for any builder", &write_host},
      {"htsim", "a .topo of htsim: fat-trees of one NIC a host", &write_htsim},
      {"json", "our own JSON, node by node: the builder graph", &write_graph_json},
      {"simai", "SimAI's topology file: GPUs, NVSwitches, switches", &write_simai},
      {"slurm", "Slurm's topology.conf: leaves, minipods, core; no speeds", &write_slurm},
  }};
  return kTable;
}

}  // namespace railyard::topology
