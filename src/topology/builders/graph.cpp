// graph: any fabric, node by node and link by link. Keys:
//
//   gpu    name of the GPU kind
//   nodes  [{name, kind, host, minipod, nic}]: kind gpu, nvswitch, pcie_switch, nic, leaf, spine,
//          core. Nodes of the first four kinds stand in a host and name it; a leaf may name its
//          minipod (default "minipod-0"); a GPU may name the NIC that serves it
//   links  [{from, to, bandwidth, efficiency = 1, latency = "0s", count = 1, one_way = false,
//          tier}]: a cable, or with one_way one direction only. tier defaults to what the kinds of
//          its ends say
//
// What is made of them: graph_plan.hpp. Every GPU must reach every other.
#include <fmt/format.h>

#include <optional>

#include "topology/builders.hpp"
#include "topology/graph_plan.hpp"
#include "topology/host_plan.hpp"

namespace railyard::topology {
namespace {

/// The node that a key names.
std::optional<NodeId> read_end(config::Reader& reader, std::string_view key,
                               const GraphPlan& plan) {
  const auto text = reader.required<std::string>(key);
  if (!reader.has(key)) return std::nullopt;
  if (const auto found = plan.find(text)) return found;
  const std::string_view near = config::nearest(text, plan.node_names());
  reader.fail(key, near.empty()
                       ? fmt::format("there is no node \"{}\"", text)
                       : fmt::format("there is no node \"{}\"; did you mean \"{}\"?", text, near));
  return std::nullopt;
}

void read_node(const config::Node& node, config::Errors& errors, GraphPlan& plan) {
  const std::size_t before = errors.count();
  config::Reader reader(node, errors);
  PlannedNode out;
  out.name = reader.required<std::string>("name");
  out.kind = static_cast<NodeKind>(reader.required_choice("kind", kind_names()));
  if (inside_host(out.kind)) {
    out.host = reader.required<std::string>("host");
    if (out.kind == NodeKind::gpu) out.nic = reader.optional<std::string>("nic", "");
  } else if (out.kind == NodeKind::leaf) {
    out.minipod = reader.optional<std::string>("minipod", "minipod-0");
  }
  reader.finish();
  if (plan.find(out.name))
    return reader.fail("name", fmt::format("duplicate node \"{}\"", out.name));
  // A faulty node is kept as one outside hosts, so that its links are not faulty too.
  if (errors.count() != before) out = {out.name, NodeKind::core, {}, {}, {}};
  plan.add_node(std::move(out));
}

struct LinkContext {
  GraphPlan* plan;
  std::optional<NodeId> from;
  std::optional<NodeId> to;
  std::int64_t count = 1;
  bool one_way = false;
  std::optional<Tier> tier;
};

void read_ends(config::Reader& reader, void* opaque) {
  auto& context = *static_cast<LinkContext*>(opaque);
  context.from = read_end(reader, "from", *context.plan);
  context.to = read_end(reader, "to", *context.plan);
  context.count = reader.optional<std::int64_t>("count", 1, config::Range<std::int64_t>{1, 4096});
  context.one_way = reader.optional<bool>("one_way", false);
  if (reader.has("tier"))
    context.tier = static_cast<Tier>(reader.required_choice("tier", tier_names()));
  if (context.from && context.from == context.to) reader.fail("to", "a link from a node to itself");
}

void read_graph_link(const config::Node& node, config::Errors& errors, GraphPlan& plan) {
  const std::size_t before = errors.count();
  LinkContext context{.plan = &plan, .from = {}, .to = {}, .tier = {}};
  const LinkSpec spec = read_link(node, errors, &read_ends, &context);
  if (errors.count() != before || !context.from || !context.to) return;
  const NodeId from = *context.from;
  const NodeId to = *context.to;
  const Tier tier = context.tier.value_or(tier_between(plan.node(from).kind, plan.node(to).kind));
  for (std::int64_t i = 0; i < context.count; ++i) {
    plan.add_link({from, to, spec.capacity(), spec.latency, tier});
    if (!context.one_way) plan.add_link({to, from, spec.capacity(), spec.latency, tier});
  }
}

GraphPlan read_plan(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  GraphPlan plan;
  for (const std::string_view key : {"nodes", "links"}) {
    const auto list = reader.required_child(key);
    if (!list) continue;
    if (!list->is_array()) {
      reader.fail(key, "expected an array");
      continue;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (key == "nodes") read_node(list->at(i), reader.errors(), plan);
      if (key == "links") read_graph_link(list->at(i), reader.errors(), plan);
    }
  }
  if (reader.errors().count() != before) return plan;
  for (const std::string& fault : plan.faults()) reader.fail("nodes", fault);
  return plan;
}

}  // namespace

Topology build_graph(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  const auto gpu_kind = reader.required<std::string>("gpu");
  const GraphPlan plan = read_plan(reader);
  if (reader.errors().count() != before) return {};
  std::string cut;
  Topology topology = plan.build("graph", gpu_kind, cut);
  if (!cut.empty()) reader.fail("links", cut);
  return topology;
}

}  // namespace railyard::topology
