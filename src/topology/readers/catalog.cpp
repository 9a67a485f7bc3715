#include <vector>

#include "railyard/topology/fabric_reader.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/foreign_file.hpp"
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

const std::vector<ReaderEntry>& entries() {
  static const std::vector<ReaderEntry> table = {
      {"htsim",
       "a fat-tree as htsim's .topo files describe it",
       {".topo"},
       &is_htsim,
       {"gpu"},
       &read_htsim_file},
      {"ibnetdiscover",
       "an InfiniBand fabric as `ibnetdiscover` prints it",
       {".ibnetdiscover"},
       &is_ibnetdiscover,
       discovered_keys(),
       &read_ibnetdiscover},
  };
  return table;
}

}  // namespace

std::span<const ReaderEntry> reader_catalog() {
  return entries();
}

}  // namespace railyard::topology
