// hypernode and kueue: what schedulers of Kubernetes know of a fabric: which node is below which
// switch. Neither says how many cables there are nor how fast they are; the description does, with
// the keys of all files of real clusters (discovered_fabric.hpp), "per_host" in nic (NICs of a
// node) and "count" in switch_link and core_link (cables for each parent and child).
//
// hypernode  documents of kind HyperNode (Volcano, topology.volcano.sh): metadata.name, spec.tier
//            and spec.members of type Node or HyperNode, selected by exactMatch.name. Selectors
//            that need a running cluster (regexMatch, labelMatch) are refused. A tier is one
//            number: a member is of a lower one.
// kueue      one document of kind Topology (Kueue, kueue.x-k8s.io) with spec.levels[].nodeLabel,
//            highest first, and the nodes of the cluster with their labels (`kubectl get nodes -o
//            yaml`: a List, or documents of kind Node). Where kubernetes.io/hostname is the last
//            level it is the node itself. A node without one of the labels is not part of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/graph_readers.hpp"
#include "topology/readers/yaml.hpp"

namespace railyard::topology {
namespace {

constexpr DiscoveredScope kHierarchyOnly{.states_bandwidth = false, .states_nics = false};
constexpr std::size_t kDocumentsMax = 1'000'000;

std::uint32_t line_of(const YAML::Node& node) {
  const YAML::Mark mark = node.IsDefined() ? node.Mark() : YAML::Mark::null_mark();
  return mark.is_null() ? 1 : static_cast<std::uint32_t>(mark.line + 1);
}

/// Adds a node's NICs below a switch.
void add_host(DiscoveredFabric& fabric, const DiscoveredOptions& options, const std::string& name,
              std::uint32_t leaf, std::uint32_t line) {
  for (std::uint32_t i = 0; i < options.nics_per_host; ++i) {
    const std::uint32_t nic =
        fabric.add_nic(name, options.nics_per_host == 1 ? "" : fmt::format("nic{}", i), line);
    fabric.add_cable({{nic, 0}, {leaf, 0}, std::nullopt, line});
  }
}

struct Member {
  bool is_node = false;
  std::string name;
  YAML::Node place;
};

struct HyperNode {
  std::string name;
  std::int64_t tier = 0;
  std::vector<Member> members;
  YAML::Node place;
};

class HyperNodeReader {
 public:
  HyperNodeReader(const FabricFile& file, const DiscoveredOptions& options, config::Errors& errors)
      : file_(file), options_(options), errors_(errors), fabric_(file) {}

  bool read() {
    const std::size_t before = errors_.count();
    for (const YAML::Node& document : parse_yaml(file_, errors_)) {
      if (document.IsNull()) continue;
      if (text_of(child_of(document, "kind")) == "List") {
        for (const auto& item : child_of(document, "items")) read_hypernode(item);
      } else {
        read_hypernode(document);
      }
    }
    if (errors_.count() == before) draw();
    return errors_.count() == before;
  }
  [[nodiscard]] const DiscoveredFabric& fabric() const { return fabric_; }

 private:
  void fail(const YAML::Node& node, const std::string& message) {
    errors_.add(fmt::format("{}: {}", place_of(file_, node), message));
  }

  void read_hypernode(const YAML::Node& document) {
    const std::string kind = text_of(child_of(document, "kind"));
    if (kind != "HyperNode")
      return fail(document, fmt::format("expected kind HyperNode, found {}", config::quoted(kind)));
    HyperNode out;
    out.place = document;
    out.name = text_of(child_of(child_of(document, "metadata"), "name"));
    if (out.name.empty()) return fail(document, "a HyperNode without metadata.name");
    const YAML::Node spec = child_of(document, "spec");
    const auto tier = config::parse_integer(text_of(child_of(spec, "tier")));
    if (!tier || *tier < 1)
      return fail(document, fmt::format("{} has no spec.tier from 1", out.name));
    out.tier = *tier;
    const YAML::Node members = child_of(spec, "members");
    if (!members.IsDefined() || !members.IsSequence() || members.size() == 0)
      return fail(document, fmt::format("{} has no spec.members", out.name));
    for (const auto& member : members) read_member(member, out);
    hypernodes_.push_back(std::move(out));
  }

  void read_member(const YAML::Node& node, HyperNode& out) {
    const std::string type = text_of(child_of(node, "type"));
    if (type != "Node" && type != "HyperNode")
      return fail(
          node, fmt::format("a member is of type Node or HyperNode, not {}", config::quoted(type)));
    const std::string name =
        text_of(child_of(child_of(child_of(node, "selector"), "exactMatch"), "name"));
    if (name.empty()) {
      return fail(node, fmt::format("a member of {} without selector.exactMatch.name: other "
                                    "selectors need a running cluster",
                                    out.name));
    }
    out.members.push_back({type == "Node", name, node});
  }

  void draw() {
    std::map<std::string, std::size_t> number;
    std::vector<std::uint32_t> device;
    for (std::size_t i = 0; i < hypernodes_.size(); ++i) {
      const HyperNode& each = hypernodes_[i];
      if (!number.try_emplace(each.name, i).second)
        return fail(each.place, fmt::format("duplicate HyperNode {}", each.name));
      device.push_back(fabric_.add_switch(each.name, line_of(each.place)));
    }
    std::map<std::string, std::string> parent;
    for (std::size_t i = 0; i < hypernodes_.size(); ++i) {
      for (const Member& member : hypernodes_[i].members) {
        const auto [known, added] = parent.try_emplace(
            (member.is_node ? "node " : "HyperNode ") + member.name, hypernodes_[i].name);
        if (!added) {
          fail(member.place, fmt::format("{} is a member of {} and of {}", known->first,
                                         known->second, hypernodes_[i].name));
          continue;
        }
        if (member.is_node) {
          add_host(fabric_, options_, member.name, device[i], line_of(member.place));
          continue;
        }
        const auto child = number.find(member.name);
        if (child == number.end()) {
          fail(member.place, fmt::format("there is no HyperNode {}", config::quoted(member.name)));
        } else if (hypernodes_[child->second].tier >= hypernodes_[i].tier) {
          fail(member.place, fmt::format("{} of tier {} is a member of {} of tier {}", member.name,
                                         hypernodes_[child->second].tier, hypernodes_[i].name,
                                         hypernodes_[i].tier));
        } else {
          fabric_.add_cable(
              {{device[child->second], 0}, {device[i], 0}, std::nullopt, line_of(member.place)});
        }
      }
    }
  }

  const FabricFile& file_;
  const DiscoveredOptions& options_;
  config::Errors& errors_;
  DiscoveredFabric fabric_;
  std::vector<HyperNode> hypernodes_;
};

class KueueReader {
 public:
  KueueReader(const FabricFile& file, const DiscoveredOptions& options, config::Errors& errors)
      : file_(file), options_(options), errors_(errors), fabric_(file) {}

  bool read() {
    const std::size_t before = errors_.count();
    for (const YAML::Node& document : parse_yaml(file_, errors_)) {
      if (!document.IsNull()) read_document(document, false);
    }
    if (errors_.count() == before && levels_.empty())
      errors_.add(fmt::format("{}: there is no Topology with spec.levels", file_.name));
    if (errors_.count() == before) draw();
    return errors_.count() == before;
  }
  [[nodiscard]] const DiscoveredFabric& fabric() const { return fabric_; }

 private:
  void fail(const YAML::Node& node, const std::string& message) {
    errors_.add(fmt::format("{}: {}", place_of(file_, node), message));
  }

  void read_document(const YAML::Node& document, bool in_list) {
    const std::string kind = text_of(child_of(document, "kind"));
    if (!in_list && (kind == "List" || kind == "NodeList")) {
      for (const auto& item : child_of(document, "items")) read_document(item, true);
    } else if (kind == "Topology") {
      if (!levels_.empty()) return fail(document, "a second Topology: keep one in the file");
      for (const auto& level : child_of(child_of(document, "spec"), "levels")) {
        const std::string label = text_of(child_of(level, "nodeLabel"));
        if (label.empty()) return fail(level, "a level without nodeLabel");
        if (std::find(levels_.begin(), levels_.end(), label) != levels_.end())
          return fail(level, fmt::format("level {} stands here twice", label));
        levels_.push_back(label);
      }
    } else if (kind == "Node") {
      if (nodes_.size() < kDocumentsMax) nodes_.push_back(document);
    } else {
      fail(document,
           fmt::format("expected kind Topology, Node or List, found {}", config::quoted(kind)));
    }
  }

  /// Labels of a level are unique below the same parent only: a switch is its path of labels.
  std::uint32_t switch_at(const std::vector<std::string>& path, std::uint32_t line) {
    const std::string name = fmt::format("{}", fmt::join(path, "/"));
    const auto [it, added] = switches_.try_emplace(name, 0U);
    if (!added) return it->second;
    it->second = fabric_.add_switch(name, line);
    const std::uint32_t device = it->second;
    if (path.size() > 1) {
      const std::uint32_t above = switch_at({path.begin(), path.end() - 1}, line);
      fabric_.add_cable({{device, 0}, {above, 0}, std::nullopt, line});
    }
    return device;
  }

  void draw() {
    constexpr std::string_view kHostname = "kubernetes.io/hostname";
    const std::size_t switches = levels_.size() - (levels_.back() == kHostname ? 1 : 0);
    if (switches == 0) {
      errors_.add(fmt::format("{}: the Topology has no level above the node", file_.name));
      return;
    }
    std::map<std::string, std::uint32_t> seen;
    std::map<std::string, bool> tops;
    for (const YAML::Node& node : nodes_) {
      const YAML::Node metadata = child_of(node, "metadata");
      const std::string name = text_of(child_of(metadata, "name"));
      if (name.empty()) return fail(node, "a Node without metadata.name");
      const auto [known, added] = seen.try_emplace(name, line_of(node));
      if (!added) {
        return fail(
            node, fmt::format("duplicate node {}: first at {}", name, file_.place(known->second)));
      }
      const YAML::Node labels = child_of(metadata, "labels");
      std::vector<std::string> path;
      for (std::size_t i = 0; i < switches; ++i) {
        const std::string value = text_of(child_of(labels, levels_[i].c_str()));
        if (value.empty()) break;
        path.push_back(value);
      }
      if (path.size() != switches) continue;
      tops[path.front()] = true;
      add_host(fabric_, options_, name, switch_at(path, line_of(node)), line_of(node));
    }
    if (tops.empty()) {
      errors_.add(
          fmt::format("{}: no node has all labels of the Topology: {}", file_.name,
                      fmt::join(levels_.begin(),
                                levels_.begin() + static_cast<std::ptrdiff_t>(switches), ", ")));
      return;
    }
    // Kueue's levels end below whatever joins the highest: one switch above them all.
    if (tops.size() == 1) return;
    const std::uint32_t root = fabric_.add_switch("topology", 1);
    for (const auto& [name, unused] : tops)
      fabric_.add_cable({{switches_.at(name), 0}, {root, 0}, std::nullopt, 1});
  }

  const FabricFile& file_;
  const DiscoveredOptions& options_;
  config::Errors& errors_;
  DiscoveredFabric fabric_;
  std::vector<std::string> levels_;
  std::vector<YAML::Node> nodes_;
  std::map<std::string, std::uint32_t> switches_;
};

template <typename Reader>
Topology read_hierarchy(std::string_view name, const FabricFile& file, config::Reader& reader) {
  config::Errors& errors = reader.errors();
  const std::size_t before = errors.count();
  const DiscoveredOptions options = read_discovered_options(reader, kHierarchyOnly);
  if (errors.count() != before) return {};
  Reader hierarchy(file, options, errors);
  try {
    if (!hierarchy.read()) return {};
  } catch (const YAML::Exception& error) {
    errors.add(fmt::format("{}: {}", file.name, error.msg));
    return {};
  }
  return assemble_discovered(name, hierarchy.fabric(), options, errors);
}

}  // namespace

bool is_hypernode(std::string_view text) {
  return text.find("kind: HyperNode") != std::string_view::npos &&
         text.find("topology.volcano.sh/") != std::string_view::npos;
}

Topology read_hypernode(const FabricFile& file, config::Reader& options) {
  return read_hierarchy<HyperNodeReader>("hypernode", file, options);
}

bool is_kueue(std::string_view text) {
  return text.find("kueue.x-k8s.io/") != std::string_view::npos &&
         text.find("kind: Topology") != std::string_view::npos;
}

Topology read_kueue(const FabricFile& file, config::Reader& options) {
  return read_hierarchy<KueueReader>("kueue", file, options);
}

}  // namespace railyard::topology
