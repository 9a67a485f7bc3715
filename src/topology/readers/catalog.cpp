#include <algorithm>
#include <utility>
#include <vector>

#include "railyard/topology/fabric_reader.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"
#include "topology/readers/htsim.hpp"
#include "topology/readers/readers.hpp"

namespace railyard::topology {
namespace {

std::vector<std::string_view> discovered_keys(std::initializer_list<std::string_view> more = {}) {
  std::vector<std::string_view> out(std::begin(kDiscoveredKeys), std::end(kDiscoveredKeys));
  out.insert(out.end(), more);
  return out;
}

bool is_htsim(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  return head.find("Podsize") != std::string_view::npos ||
         head.find("podsize") != std::string_view::npos;
}

Topology read_htsim_file(const FabricFile& file, config::Reader& options) {
  const auto gpu = options.optional<std::string>("gpu", std::string(kUnknownGpu));
  return read_htsim(config::TextLines::parse_text(file.text, file.name), gpu, options.errors());
}

/// What the tools and schedulers of real clusters print.
std::vector<ReaderEntry> cluster_readers() {
  return {
      {"hypernode",
       "HyperNodes of Volcano: nodes by switch, with links of your choice",
       {},
       &is_hypernode,
       discovered_keys(),
       &read_hypernode},
      {"iblinkinfo",
       "an InfiniBand fabric as `iblinkinfo` prints it, with ports that are down",
       {".iblinkinfo"},
       &is_iblinkinfo,
       discovered_keys(),
       &read_iblinkinfo},
      {"ibnetdiscover",
       "an InfiniBand fabric as `ibnetdiscover` prints it",
       {".ibnetdiscover"},
       &is_ibnetdiscover,
       discovered_keys(),
       &read_ibnetdiscover},
      {"kueue",
       "a Topology of Kueue and the labels of nodes, with links of your choice",
       {},
       &is_kueue,
       discovered_keys(),
       &read_kueue},
      {"nccl_xml",
       "the inside of one host as NCCL writes it (NCCL_TOPO_DUMP_FILE)",
       {},
       &is_nccl_xml,
       {"gpu", "host"},
       &read_nccl_xml},
      {"nvidia_smi",
       "the inside of one host as `nvidia-smi topo -m` prints it, with speeds of your choice",
       {},
       &is_nvidia_smi,
       {"gpu", "host", "nvlink", "nvswitch", "pcie", "cpu_link", "nic"},
       &read_nvidia_smi},
      {"slurm",
       "the switch tree or the blocks of Slurm's topology.conf, with links of your choice",
       {"topology.conf"},
       &is_slurm,
       discovered_keys({"link_speed_unit"}),
       &read_slurm},
  };
}

/// Files of other simulators, and of cables in general.
std::vector<ReaderEntry> file_readers() {
  return {
      {"astra_sim",
       "ASTRA-sim's analytical network file: rings, full connections, switches",
       {},
       &is_astra_sim,
       {"gpu"},
       &read_astra_sim},
      {"graphml",
       "GraphML with kinds of nodes and speeds of edges",
       {".graphml"},
       &is_graphml,
       {"gpu"},
       &read_graphml},
      {"htsim",
       "a fat-tree as htsim's .topo files describe it",
       {".topo"},
       &is_htsim,
       {"gpu"},
       &read_htsim_file},
      {"link_list",
       "a CSV of cables: from, to, bandwidth, latency",
       {},
       &is_link_list,
       {"gpu", "host_names", "rows"},
       &read_link_list},
      {"simai",
       "SimAI's topology file: GPUs, NVSwitches, switches and cables by number",
       {},
       &is_simai,
       {"gpu"},
       &read_simai},
  };
}

const std::vector<ReaderEntry>& sorted_readers() {
  static const std::vector<ReaderEntry> table = [] {
    std::vector<ReaderEntry> all = cluster_readers();
    std::vector<ReaderEntry> others = file_readers();
    for (ReaderEntry& entry : others) all.push_back(std::move(entry));
    std::sort(all.begin(), all.end(),
              [](const ReaderEntry& a, const ReaderEntry& b) { return a.name < b.name; });
    return all;
  }();
  return table;
}

}  // namespace

std::span<const ReaderEntry> reader_catalog() {
  return sorted_readers();
}

}  // namespace railyard::topology
