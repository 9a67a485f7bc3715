// link_list: a CSV with a cable a row. Columns: from, to, bandwidth ("400Gbps"), and optionally
// latency ("500ns"; default 0). Keys:
//
//   gpu         name of the GPU kind; default "unknown"
//   host_names  ["node*", …]: names of hosts, with * for anything; default: what has one neighbour
//   rows        "cables" (default): both directions; "links": one direction a row, and each must
//               have an equal one back
//
// A host is one GPU that is its own NIC; everything else is a switch: next to a host a leaf, the
// farthest of three or more levels a core. Rows between the same two names are parallel cables.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "railyard/config/csv.hpp"
#include "railyard/config/text_lines.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"

namespace railyard::topology {
namespace {

struct Row {
  std::string from;
  std::string to;
  Bandwidth bandwidth;
  Duration latency{};
  std::string place;
};

std::vector<Row> read_rows(const FabricFile& file, config::Errors& errors) {
  config::Csv csv = config::Csv::parse_text(file.text, file.name);
  const auto from = csv.required("from", errors);
  const auto to = csv.required("to", errors);
  const auto bandwidth = csv.required("bandwidth", errors);
  const auto latency = csv.optional("latency");
  csv.finish({}, errors);
  if (csv.rows() == 0) errors.add(csv.name() + ": has a header but no links");
  std::vector<Row> out;
  if (!from || !to || !bandwidth) return out;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    Row each{std::string(config::trimmed(csv.text(row, from))),
             std::string(config::trimmed(csv.text(row, to))),
             {},
             {},
             csv.place(row)};
    if (each.from.empty()) csv.fail(row, from, errors, "is empty");
    if (each.to.empty()) csv.fail(row, to, errors, "is empty");
    if (each.from == each.to) csv.fail(row, to, errors, "a link from a node to itself");
    each.bandwidth = bandwidth_at(config::trimmed(csv.text(row, bandwidth)), each.place, errors)
                         .value_or(Bandwidth{});
    if (latency && !csv.is_empty(row, latency)) {
      each.latency = latency_at(config::trimmed(csv.text(row, latency)), each.place, errors)
                         .value_or(Duration{});
    }
    out.push_back(std::move(each));
  }
  return out;
}

using Ends = std::pair<std::string, std::string>;

/// In rows of cables, the same cable must not stand there from both sides.
void check_cables(const std::vector<Row>& rows, config::Errors& errors) {
  std::map<Ends, const Row*> first;
  for (const Row& row : rows) {
    const auto back = first.find({row.to, row.from});
    if (back != first.end()) {
      errors.add(
          fmt::format("{}: {} to {} stands the other way round at {}; if rows are links of "
                      "one direction, say \"rows\": \"links\"",
                      row.place, row.from, row.to, back->second->place));
    }
    first.try_emplace({row.from, row.to}, &row);
  }
}

/// In rows of links, each direction must have what the other has.
void check_links(const std::vector<Row>& rows, config::Errors& errors) {
  using Kind = std::pair<Bandwidth, Duration>;
  std::map<Ends, std::vector<Kind>> links;
  for (const Row& row : rows) links[{row.from, row.to}].push_back({row.bandwidth, row.latency});
  for (auto& [ends, kinds] : links) std::sort(kinds.begin(), kinds.end());
  std::set<Ends> told;
  for (const Row& row : rows) {
    const auto back = links.find({row.to, row.from});
    if (back != links.end() && back->second == links.at({row.from, row.to})) continue;
    if (!told.insert({std::min(row.from, row.to), std::max(row.from, row.to)}).second) continue;
    errors.add(back == links.end()
                   ? fmt::format("{}: the link from {} to {} has no link back", row.place, row.from,
                                 row.to)
                   : fmt::format("{}: the links between {} and {} differ in number, bandwidth or "
                                 "latency by direction",
                                 row.place, row.from, row.to));
  }
}

/// Names in order of mention; which of them are hosts.
class Names {
 public:
  Names(const std::vector<Row>& rows, const std::vector<std::string>& patterns)
      : patterns_(patterns) {
    for (const Row& row : rows) {
      for (const auto& [name, other] : {std::pair{row.from, row.to}, std::pair{row.to, row.from}}) {
        auto& neighbours = neighbours_[name];
        if (neighbours.empty()) order_.push_back(name);
        neighbours.insert(other);
      }
    }
  }
  [[nodiscard]] const std::vector<std::string>& in_order() const { return order_; }
  [[nodiscard]] bool is_host(const std::string& name) const {
    if (patterns_.empty()) return neighbours_.at(name).size() == 1;
    return std::any_of(patterns_.begin(), patterns_.end(),
                       [&name](const std::string& each) { return matches(each, name); });
  }

 private:
  const std::vector<std::string>& patterns_;
  std::map<std::string, std::set<std::string>> neighbours_;
  std::vector<std::string> order_;
};

GraphPlan draw(const std::vector<Row>& rows, const std::vector<std::string>& patterns,
               bool rows_are_links, config::Errors& errors) {
  GraphPlan plan;
  const Names names(rows, patterns);
  for (const std::string& name : names.in_order()) {
    if (names.is_host(name)) {
      plan.add_node({name, NodeKind::gpu, name});
    } else {
      plan.add_node({name, NodeKind::leaf, {}});
    }
  }
  for (const Row& row : rows) {
    const NodeId from = *plan.find(row.from);
    const NodeId to = *plan.find(row.to);
    if (inside_host(plan.node(from).kind) && inside_host(plan.node(to).kind)) {
      errors.add(fmt::format("{}: {} and {} are both hosts: between hosts stand switches",
                             row.place, row.from, row.to));
    }
    if (rows_are_links) {
      plan.add_link({from, to, row.bandwidth, row.latency, Tier::leaf});
    } else {
      plan.add_cable(from, to, row.bandwidth, row.latency);
    }
  }
  plan.infer_switches();
  return plan;
}

}  // namespace

bool is_link_list(std::string_view text) {
  const std::string_view head =
      config::trimmed(text.substr(0, std::min(text.find('\n'), text.size())));
  return head.starts_with("from,to,");
}

Topology read_link_list(const FabricFile& file, config::Reader& options) {
  config::Errors& errors = options.errors();
  const auto gpu = options.optional<std::string>("gpu", std::string(kUnknownGpu));
  const auto patterns = options.optional<std::vector<std::string>>("host_names", {});
  const bool links = options.optional_choice("rows", {"cables", "links"}, 0) == 1;
  const std::size_t before = errors.count();
  const std::vector<Row> rows = read_rows(file, errors);
  if (errors.count() != before) return {};
  if (links) {
    check_links(rows, errors);
  } else {
    check_cables(rows, errors);
  }
  const GraphPlan plan = draw(rows, patterns, links, errors);
  if (errors.count() != before) return {};
  return build_plan(plan, "link_list", file.name, gpu, errors);
}

}  // namespace railyard::topology
