// graphml: GraphML (graphml.graphdrawing.org), read by Boost.Graph. Keys:
//
//   gpu  name of the GPU kind; default: the graph's attribute "gpu", else "unknown"
//
// Attributes of nodes: kind (gpu, nvswitch, pcie_switch, nic, leaf, spine, core), host of the first
// four, and optionally name (default "n<number>"), minipod of a leaf, nic of a GPU: as in the
// builder `graph`. Attributes of edges: bandwidth_bytes_per_s, or bandwidth with its unit
// ("400Gbps"); latency_ps, or latency with its unit, or none; tier. An edge of a directed graph is
// one link, of an undirected one a cable. Other attributes are left alone.
//
// A directed graph whose links have no equal link back is kept as it is: `validate` names them.
#include <fmt/format.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <sstream>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"

namespace railyard::topology {
namespace {

struct VertexText {
  std::string name, kind, host, minipod, nic;
};
struct EdgeText {
  std::string bandwidth, bytes_per_s, latency, picoseconds, tier, line;
};
struct GraphText {
  std::string gpu;
};
template <typename Directed>
using Drawn =
    boost::adjacency_list<boost::vecS, boost::vecS, Directed, VertexText, EdgeText, GraphText>;

constexpr std::size_t kXmlDepthMax = 64;

/// Where elements of a name begin, and how deep elements stand in each other.
struct Outline {
  struct Edge {
    std::uint32_t line = 0;
    std::size_t content = 0;  ///< position after its opening tag; 0 where it has no content
  };
  std::vector<std::uint32_t> nodes;
  std::vector<Edge> edges;
  std::size_t head = 0;  ///< position after the opening tag of the whole
  std::size_t depth = 0;
};

Outline outline_of(std::string_view text) {
  Outline out;
  std::uint32_t line = 1;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') ++line;
    if (text[at] != '<') continue;
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with("!--")) {
      const std::size_t end = std::min(text.find("-->", at), text.size() - 1);
      for (; at < end; ++at) line += text[at] == '\n' ? 1 : 0;
      continue;
    }
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n/>"));
    const std::size_t end = rest.find('>');
    const bool closed = end != std::string_view::npos && end > 0 && rest[end - 1] == '/';
    const std::size_t content = end == std::string_view::npos || closed ? 0 : at + 1 + end + 1;
    if (word == "node") out.nodes.push_back(line);
    if (word == "edge") out.edges.push_back({line, content});
    if (word == "graphml" && out.head == 0) out.head = content;
    if (rest.starts_with('/')) {
      depth -= depth > 0 ? 1 : 0;
    } else if (!rest.starts_with('?') && !rest.starts_with('!')) {
      out.depth = std::max(out.depth, ++depth);
      if (closed) --depth;
    }
  }
  return out;
}

constexpr std::string_view kLineKey = "railyard-line";

/// Every edge with one attribute more, its line: Boost gives edges back in an order of its own.
std::string with_lines(const std::string& text, const Outline& outline) {
  if (outline.head == 0) return text;
  std::string out = text.substr(0, outline.head);
  out += fmt::format(R"(<key id="{0}" for="edge" attr.name="{0}" attr.type="string"/>)", kLineKey);
  std::size_t at = outline.head;
  for (const Outline::Edge& edge : outline.edges) {
    if (edge.content <= at) continue;
    out.append(text, at, edge.content - at);
    out += fmt::format(R"(<data key="{}">{}</data>)", kLineKey, edge.line);
    at = edge.content;
  }
  return out.append(text, at);
}

/// Boost converts values to the declared types and then knows no line any more: all are read as
/// text, and converted here.
std::string with_text_attributes(std::string text) {
  constexpr std::string_view kKey = "attr.type=";
  for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
    const std::size_t open = at + kKey.size();
    if (open >= text.size() || (text[open] != '"' && text[open] != '\'')) continue;
    const std::size_t close = text.find(text[open], open + 1);
    if (close == std::string::npos) break;
    text.replace(open + 1, close - open - 1, "string");
  }
  return text;
}

template <typename Graph>
void parse(const std::string& text, Graph& graph) {
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("name", boost::get(&VertexText::name, graph));
  properties.property("kind", boost::get(&VertexText::kind, graph));
  properties.property("host", boost::get(&VertexText::host, graph));
  properties.property("minipod", boost::get(&VertexText::minipod, graph));
  properties.property("nic", boost::get(&VertexText::nic, graph));
  properties.property("bandwidth", boost::get(&EdgeText::bandwidth, graph));
  properties.property("bandwidth_bytes_per_s", boost::get(&EdgeText::bytes_per_s, graph));
  properties.property("latency", boost::get(&EdgeText::latency, graph));
  properties.property("latency_ps", boost::get(&EdgeText::picoseconds, graph));
  properties.property("tier", boost::get(&EdgeText::tier, graph));
  properties.property(std::string(kLineKey), boost::get(&EdgeText::line, graph));
  boost::ref_property_map<Graph*, std::string> gpu(graph[boost::graph_bundle].gpu);
  properties.property("gpu", gpu);
  std::istringstream stream(text);
  boost::read_graphml(stream, graph, properties);
}

class GraphmlReader {
 public:
  GraphmlReader(const FabricFile& file, config::Errors& errors)
      : file_(file), errors_(errors), outline_(outline_of(file.text)) {}

  /// False where an error was recorded.
  bool read() {
    const std::size_t before = errors_.count();
    if (outline_.depth > kXmlDepthMax) {
      errors_.add(fmt::format("{}: elements stand {} deep in each other, more than {}", file_.name,
                              outline_.depth, kXmlDepthMax));
      return false;
    }
    const std::string text = with_text_attributes(with_lines(file_.text, outline_));
    try {
      try {
        Drawn<boost::directedS> graph;
        parse(text, graph);
        take(graph);
      } catch (const boost::undirected_graph_error&) {
        Drawn<boost::undirectedS> graph;
        parse(text, graph);
        take(graph);
      }
    } catch (const boost::parse_error& error) {
      errors_.add(fmt::format("{}: is no GraphML: {}", file_.name, config::quoted(error.error)));
    } catch (const std::exception& error) {
      errors_.add(fmt::format("{}: is no GraphML: {}", file_.name, config::quoted(error.what())));
    }
    return errors_.count() == before;
  }

  [[nodiscard]] const GraphPlan& plan() const { return plan_; }
  [[nodiscard]] const std::string& gpu() const { return gpu_; }

 private:
  template <typename Graph>
  void take(const Graph& graph) {
    gpu_ = graph[boost::graph_bundle].gpu;
    for (std::size_t i = 0; i < boost::num_vertices(graph); ++i) take_node(i, graph[i]);
    if (!errors_.empty()) return;
    const bool directed = boost::is_directed(graph);
    for (std::size_t from = 0; from < boost::num_vertices(graph); ++from) {
      const auto range = boost::out_edges(from, graph);
      for (auto it = range.first; it != range.second; ++it) {
        const std::size_t to = boost::target(*it, graph);
        // An undirected edge is listed at both ends.
        if (directed || from <= to) take_edge(from, to, graph[*it], directed);
      }
    }
  }

  void take_node(std::size_t number, const VertexText& text) {
    const std::string place =
        number < outline_.nodes.size() ? file_.place(outline_.nodes[number]) : file_.name;
    PlannedNode node{text.name.empty() ? fmt::format("n{}", number) : text.name, NodeKind::core,
                     text.host, text.minipod, text.nic};
    const auto& kinds = kind_names();
    const auto kind = std::find(kinds.begin(), kinds.end(), text.kind);
    if (kind == kinds.end()) {
      errors_.add(fmt::format("{}: node {} needs a kind: {}", place, config::quoted(node.name),
                              fmt::join(kinds, ", ")));
    } else {
      node.kind = static_cast<NodeKind>(kind - kinds.begin());
      if (inside_host(node.kind) == node.host.empty()) {
        errors_.add(fmt::format("{}: a {} {} a host", place, text.kind,
                                node.host.empty() ? "names" : "stands in no"));
      }
    }
    if (!plan_.add_node(node))
      errors_.add(fmt::format("{}: duplicate node {}", place, config::quoted(node.name)));
  }

  std::optional<Bandwidth> bandwidth(const EdgeText& text, const std::string& place) {
    if (text.bytes_per_s.empty()) return bandwidth_at(text.bandwidth, place, errors_);
    const auto value = config::parse_integer(text.bytes_per_s);
    if (value) return bandwidth_of(static_cast<double>(*value), place, errors_);
    errors_.add(fmt::format("{}: {} is no whole number of bytes per second", place,
                            config::quoted(text.bytes_per_s)));
    return std::nullopt;
  }

  std::optional<Duration> latency(const EdgeText& text, const std::string& place) {
    if (!text.latency.empty()) return latency_at(text.latency, place, errors_);
    if (text.picoseconds.empty()) return Duration{};
    const auto value = config::parse_integer(text.picoseconds);
    if (value) return latency_at(fmt::format("{}ps", *value), place, errors_);
    errors_.add(fmt::format("{}: {} is no whole number of picoseconds", place,
                            config::quoted(text.picoseconds)));
    return std::nullopt;
  }

  void take_edge(std::size_t from, std::size_t to, const EdgeText& text, bool directed) {
    const auto a = static_cast<NodeId>(from);
    const auto b = static_cast<NodeId>(to);
    const std::string place =
        fmt::format("{}{}: {} to {}", file_.name, text.line.empty() ? "" : ":" + text.line,
                    plan_.node(a).name, plan_.node(b).name);
    if (a == b) return errors_.add(place + ": a link from a node to itself");
    const auto capacity = bandwidth(text, place);
    const auto delay = latency(text, place);
    Tier tier = tier_between(plan_.node(a).kind, plan_.node(b).kind);
    if (!text.tier.empty()) {
      const auto& tiers = tier_names();
      const auto at = std::find(tiers.begin(), tiers.end(), text.tier);
      if (at == tiers.end()) {
        return errors_.add(fmt::format("{}: {} is no tier: {}", place, config::quoted(text.tier),
                                       fmt::join(tiers, ", ")));
      }
      tier = static_cast<Tier>(at - tiers.begin());
    }
    if (!capacity || !delay) return;
    plan_.add_link({a, b, *capacity, *delay, tier});
    if (!directed) plan_.add_link({b, a, *capacity, *delay, tier});
  }

  const FabricFile& file_;
  config::Errors& errors_;
  Outline outline_;
  GraphPlan plan_;
  std::string gpu_;
};

}  // namespace

bool is_graphml(std::string_view text) {
  return text.substr(0, 4096).find("<graphml") != std::string_view::npos;
}

Topology read_graphml(const FabricFile& file, config::Reader& options) {
  const auto gpu = options.maybe<std::string>("gpu");
  GraphmlReader reader(file, options.errors());
  if (!reader.read()) return {};
  const std::string kind =
      gpu.value_or(reader.gpu().empty() ? std::string(kUnknownGpu) : reader.gpu());
  return build_plan(reader.plan(), "graphml", file.name, kind, options.errors());
}

}  // namespace railyard::topology
