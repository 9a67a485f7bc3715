// astra_sim: ASTRA-sim's network file for its analytical backend (YAML). Key:
//
//   gpu  name of the GPU kind; default "unknown"
//
// `topology` (Ring, FullyConnected, Switch), `npus_count`, `bandwidth` (GB/s, where GB is 2³⁰
// bytes) and `latency` (ns of a link), an entry a dimension; NPU numbers count dimension 0 fastest.
// A ring has a link of that bandwidth each way, a full connection one to every other NPU, a switch
// one to each NPU.
//
// One dimension of Switch or FullyConnected is one host, its links NVLink. Everything else forwards
// traffic at NPUs, which GPUs here do not: every NPU is then a host of one GPU with a router of its
// own, joined by a link that never binds (as fast as all links of the router) and costs nothing.
// NPUs that share all but dimension 0 are a minipod.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"
#include "topology/readers/yaml.hpp"

namespace railyard::topology {
namespace {

constexpr std::int64_t kNpusMax = 65'536;
constexpr std::size_t kNetworkDimensionsMax = 8;
constexpr double kBytesPerGigabyte = 1'073'741'824.0;

enum class Block : std::uint8_t { ring, fully_connected, switched };

struct Dimension {
  Block shape = Block::ring;
  std::size_t npus = 0;
  Bandwidth bandwidth;
  Duration latency{};
};

class AstraReader {
 public:
  AstraReader(const FabricFile& file, config::Errors& errors) : file_(file), errors_(errors) {}

  /// Empty where an error was recorded.
  std::vector<Dimension> read() {
    const auto documents = parse_yaml(file_, errors_);
    if (documents.size() != 1) {
      if (errors_.empty())
        fail(YAML::Node(), fmt::format("expected one document, found {}", documents.size()));
      return {};
    }
    const std::size_t before = errors_.count();
    check_keys(documents[0]);
    std::vector<Dimension> out;
    for (const YAML::Node& entry : list(documents[0], "topology")) {
      out.emplace_back();
      read_shape(entry, out.back());
    }
    for (const char* key : {"npus_count", "bandwidth", "latency"}) {
      const auto entries = list(documents[0], key);
      if (entries.size() != out.size()) {
        fail(child_of(documents[0], key), fmt::format("{} dimensions of \"topology\", {} of \"{}\"",
                                                      out.size(), entries.size(), key));
        return {};
      }
      for (std::size_t i = 0; i < entries.size(); ++i) read_number(entries[i], key, out[i]);
    }
    check_size(documents[0], out);
    return errors_.count() == before ? out : std::vector<Dimension>{};
  }

 private:
  void fail(const YAML::Node& node, const std::string& message) {
    errors_.add(fmt::format("{}: {}", place_of(file_, node), message));
  }

  void check_keys(const YAML::Node& root) {
    if (!root.IsMap()) return fail(root, "expected keys with lists");
    for (const auto& entry : root) {
      const std::string key = text_of(entry.first);
      const std::vector<std::string_view> known{"topology", "npus_count", "bandwidth", "latency"};
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      fail(entry.first, fmt::format("unknown key {}; there are {}", config::quoted(key),
                                    fmt::join(known, ", ")));
    }
  }

  std::vector<YAML::Node> list(const YAML::Node& root, const char* key) {
    const YAML::Node node = child_of(root, key);
    std::vector<YAML::Node> out;
    if (!node.IsDefined() || !node.IsSequence() || node.size() == 0 ||
        node.size() > kNetworkDimensionsMax) {
      fail(node,
           fmt::format("\"{}\" must be a list of 1 to {} dimensions", key, kNetworkDimensionsMax));
      return out;
    }
    for (const auto& entry : node) out.push_back(entry);
    return out;
  }

  void read_shape(const YAML::Node& node, Dimension& out) {
    constexpr std::array<std::string_view, 3> kNames{"Ring", "FullyConnected", "Switch"};
    const std::string text = text_of(node);
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (text != kNames[i]) continue;
      out.shape = static_cast<Block>(i);
      return;
    }
    fail(node, fmt::format("{} is none of {}", config::quoted(text), fmt::join(kNames, ", ")));
  }

  void read_number(const YAML::Node& node, std::string_view key, Dimension& out) {
    const auto value = config::parse_real(text_of(node));
    if (!value) return fail(node, fmt::format("{} is no number", config::quoted(text_of(node))));
    const std::string place = place_of(file_, node);
    if (key == "bandwidth") {
      out.bandwidth =
          bandwidth_of(*value * kBytesPerGigabyte, place, errors_).value_or(Bandwidth{});
    } else if (key == "latency") {
      out.latency = latency_of(*value, place, errors_).value_or(Duration{});
    } else if (!(*value >= 2 && *value <= static_cast<double>(kNpusMax)) ||
               *value != static_cast<double>(static_cast<std::int64_t>(*value))) {
      fail(node, fmt::format("expected 2 to {} NPUs, not {}", kNpusMax, text_of(node)));
    } else {
      out.npus = static_cast<std::size_t>(*value);
    }
  }

  void check_size(const YAML::Node& root, const std::vector<Dimension>& dimensions) {
    std::size_t npus = 1;
    for (const Dimension& each : dimensions) {
      npus *= std::max<std::size_t>(each.npus, 1);
      const bool dense =
          each.shape == Block::fully_connected && each.npus * npus > std::size_t{4'000'000};
      if (npus <= static_cast<std::size_t>(kNpusMax) && !dense) continue;
      return fail(child_of(root, "npus_count"),
                  fmt::format("more than {} NPUs, or 4 million links", kNpusMax));
    }
  }

  const FabricFile& file_;
  config::Errors& errors_;
};

/// Cables one dimension over all its lines of NPUs.
class Drawer {
 public:
  Drawer(GraphPlan& plan, std::vector<NodeId> ends) : plan_(plan), ends_(std::move(ends)) {}

  void draw(std::size_t number, const Dimension& dimension, std::size_t stride,
            NodeKind switch_kind) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const std::size_t digit = i / stride % dimension.npus;
      if (digit == 0) draw_line(number, dimension, i, stride, switch_kind);
    }
  }

 private:
  void draw_line(std::size_t number, const Dimension& dimension, std::size_t first,
                 std::size_t stride, NodeKind switch_kind) {
    const auto end = [&](std::size_t k) { return ends_[first + k * stride]; };
    const auto cable = [&](NodeId a, NodeId b) {
      plan_.add_cable(a, b, dimension.bandwidth, dimension.latency);
    };
    const std::size_t n = dimension.npus;
    switch (dimension.shape) {
      case Block::ring:
        for (std::size_t k = 0; k + 1 < n; ++k) cable(end(k), end(k + 1));
        if (n > 2) cable(end(n - 1), end(0));
        break;
      case Block::fully_connected:
        for (std::size_t a = 0; a < n; ++a) {
          for (std::size_t b = a + 1; b < n; ++b) cable(end(a), end(b));
        }
        break;
      case Block::switched: {
        const auto node =
            plan_.add_node({fmt::format("dimension-{}/switch-{}", number, lines_++), switch_kind,
                            switch_kind == NodeKind::nvswitch ? "host-0" : ""});
        for (std::size_t k = 0; k < n; ++k) cable(end(k), *node);
        break;
      }
    }
  }

  GraphPlan& plan_;
  std::vector<NodeId> ends_;
  std::size_t lines_ = 0;
};

GraphPlan one_host(const Dimension& dimension) {
  GraphPlan plan;
  std::vector<NodeId> npus;
  for (std::size_t i = 0; i < dimension.npus; ++i)
    npus.push_back(*plan.add_node({fmt::format("npu-{}", i), NodeKind::gpu, "host-0"}));
  Drawer(plan, npus).draw(0, dimension, 1, NodeKind::nvswitch);
  return plan;
}

GraphPlan routers(const std::vector<Dimension>& dimensions) {
  GraphPlan plan;
  std::size_t npus = 1;
  std::int64_t all_links = 0;
  for (const Dimension& dimension : dimensions) {
    npus *= dimension.npus;
    const std::int64_t links = dimension.shape == Block::switched ? 1
                               : dimension.shape == Block::ring
                                   ? 2
                                   : static_cast<std::int64_t>(dimension.npus) - 1;
    all_links += links * dimension.bandwidth.bytes_per_s();
  }
  std::vector<NodeId> ends;
  for (std::size_t i = 0; i < npus; ++i) {
    const std::string name = fmt::format("npu-{}", i);
    const auto gpu = plan.add_node({name, NodeKind::gpu, name});
    const auto router = plan.add_node(
        {name + "/router", NodeKind::leaf, {}, fmt::format("minipod-{}", i / dimensions[0].npus)});
    plan.add_cable(*gpu, *router, Bandwidth(all_links), Duration{});
    ends.push_back(*router);
  }
  std::size_t stride = 1;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::size_t before = plan.links().size();
    Drawer(plan, ends).draw(i, dimensions[i], stride, i == 0 ? NodeKind::spine : NodeKind::core);
    plan.set_tier(before, i == 0 ? Tier::minipod : Tier::core);
    stride *= dimensions[i].npus;
  }
  return plan;
}

}  // namespace

bool is_astra_sim(std::string_view text) {
  return text.starts_with("npus_count:") || text.find("\nnpus_count:") != std::string_view::npos;
}

Topology read_astra_sim(const FabricFile& file, config::Reader& options) {
  const auto gpu = options.optional<std::string>("gpu", std::string(kUnknownGpu));
  std::vector<Dimension> dimensions;
  try {
    dimensions = AstraReader(file, options.errors()).read();
  } catch (const YAML::Exception& error) {
    options.errors().add(fmt::format("{}: {}", file.name, error.msg));
  }
  if (dimensions.empty()) return {};
  const bool alone = dimensions.size() == 1 && dimensions[0].shape != Block::ring;
  return build_plan(alone ? one_host(dimensions[0]) : routers(dimensions), "astra_sim", file.name,
                    gpu, options.errors());
}

}  // namespace railyard::topology
