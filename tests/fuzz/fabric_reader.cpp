// Any bytes as a file of one fabric reader (RAILYARD_READER): refused with errors that have a
// place, or a fabric on which GPUs reach each other and that our JSON gives back.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/describe.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/topology/writer.hpp"

using namespace railyard;
using namespace railyard::topology;

namespace {

const ReaderEntry& reader() {
  for (const ReaderEntry& entry : reader_catalog()) {
    if (entry.name == RAILYARD_READER) return entry;
  }
  RAILYARD_CHECK(false, "no reader {}", RAILYARD_READER);
  return reader_catalog().front();
}

/// Values for the keys that files do not say; some readers refuse some of them.
std::string options_text() {
  const std::map<std::string_view, std::string_view> values = {
      {"gpu", R"("A100-80")"},
      {"nvlink", R"({"bandwidth": "25GB/s"})"},
      {"pcie", R"({"bandwidth": "31GB/s"})"},
      {"cpu_link", R"({"bandwidth": "40GB/s"})"},
      {"nic", R"({"bandwidth": "100Gbps"})"},
      {"switch_link", R"({"bandwidth": "400Gbps"})"}};
  const auto& keys = reader().keys;
  const bool one_gpu = std::find(keys.begin(), keys.end(), "gpus_per_host") != keys.end();
  const bool states_speeds = reader().name.starts_with("ib");
  std::string out;
  for (const std::string_view key : keys) {
    const auto value = values.find(key);
    if (value == values.end()) continue;
    // Hosts of one GPU have no NVLink, and what a file states the description may not.
    if (key == "nvlink" && one_gpu) continue;
    if (value->second.find("bps") != std::string_view::npos && states_speeds) continue;
    out += fmt::format("{}\"{}\": {}", out.empty() ? "{" : ", ", key, value->second);
  }
  return out.empty() ? "{}" : out + "}";
}

/// A short file may count a large fabric (`Nodes 1000000`): that is no fault, but takes long.
bool counts_high(std::string_view text) {
  constexpr std::size_t kDigitsMax = 3;
  std::size_t digits = 0;
  for (const char letter : text) {
    digits = letter >= '0' && letter <= '9' ? digits + 1 : 0;
    if (digits > kDigitsMax) return true;
  }
  return false;
}

class FirstHop final : public HopChooser {
 public:
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t) override { return 0; }
};

void check_paths(const Topology& topology) {
  FirstHop first;
  std::vector<LinkId> path;
  const std::size_t gpus = topology.gpu_count();
  for (std::size_t i = 0; i < gpus && i < 64; ++i) {
    const auto from = static_cast<GpuId>(i);
    const auto to = static_cast<GpuId>((i * 7 + 1) % gpus);
    if (from == to) continue;
    path.clear();
    topology.paths().path(from, to, first, path);
    RAILYARD_CHECK(!path.empty(), "no path");
    RAILYARD_CHECK(topology.link(path.back()).to == topology.gpu_node(to), "a path goes astray");
  }
}

void check_round_trip(const Topology& topology) {
  if (topology.node_count() > 200) return;
  for (const WriterEntry& writer : writer_catalog()) {
    std::string text;
    try {
      text = writer.write(topology);
    } catch (const config::ConfigError&) {
      continue;  // not every format can say every fabric
    }
    if (writer.name != "json") continue;
    config::Errors errors;
    const auto document = config::Document::parse_text(text, "written.json");
    const Topology back = build(document.root(), errors);
    errors.throw_if_any();
    RAILYARD_CHECK(back.links().size() == topology.links().size(), "{} links came back of {}",
                   back.links().size(), topology.links().size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const config::Document options = config::Document::parse_text(options_text(), "options");
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (counts_high(text) && RAILYARD_COUNTS) return 0;
  (void)reader().recognises(text);
  config::Errors errors;
  Topology topology;
  try {
    config::Reader object(options.root(), errors);
    topology = reader().read({"fuzz", text}, object);
  } catch (const config::ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty(), "refused without a word");
    return 0;
  }
  if (!errors.empty()) return 0;
  RAILYARD_CHECK(topology.gpu_count() > 0, "neither a fabric nor an error");
  if (!disconnection(topology).empty()) return 0;
  check_paths(topology);
  (void)validate(topology);
  check_round_trip(topology);
  return 0;
}
