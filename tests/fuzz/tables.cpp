// Any bytes as forwarding tables over a small fabric: refused with words, or routes that arrive.
#include <algorithm>

#include "railyard/core/check.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "support/infiniband_texts.hpp"
#include "topology/routing/routings.hpp"

using namespace railyard;

namespace {

topology::Topology small() {
  const auto fabric = test::infiniband_fat_tree({.pods = 1, .leaves = 2, .hosts = 2, .spines = 2});
  const topology::FabricFile file{"small.ibnetdiscover", test::ibnetdiscover_text(fabric)};
  const auto description = config::Document::parse_text("{}", "small.json");
  config::Errors errors;
  config::Reader options(description.root(), errors);
  topology::Topology out;
  for (const topology::ReaderEntry& entry : topology::reader_catalog()) {
    if (entry.name == "ibnetdiscover") out = entry.read(file, options);
  }
  errors.throw_if_any();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const topology::Topology fabric = small();
  try {
    const auto routing = topology::make_tables_of_text(
        fabric, "fuzz.lfts", std::string_view(reinterpret_cast<const char*>(data), size));
    topology::Route route;
    for (std::uint32_t a = 0; a < 4; ++a) {
      for (std::uint32_t b = 0; b < 4; ++b) {
        if (a == b) continue;
        routing->route({GpuId{a}, GpuId{b}, 0}, route);
        RAILYARD_CHECK(fabric.link(route.links.back().link).to == fabric.gpu_node(GpuId{b}),
                       "a route to GPU {} ends elsewhere", b);
      }
    }
  } catch (const config::ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty(), "refused without a word");
  }
  return 0;
}
