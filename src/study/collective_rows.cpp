#include "railyard/study/collective_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "railyard/config/reader.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/training/collective_run.hpp"
#include "study/alone.hpp"

namespace railyard::study {

namespace {

/// The fabric with as many hosts as were measured; islands that span hosts say so themselves.
std::string sized(const config::Node& fabric, std::uint32_t hosts) {
  const auto nvlink = fabric.find("nvlink");
  if (hosts <= 1 || (nvlink && nvlink->find("hosts_per_island"))) return fabric.dump();
  const std::uint32_t minipods = std::max(1U, hosts / 32);
  return config::Document::parse_text(fabric.dump(), "fabric")
      .set("/hosts_per_minipod",
           fmt::format(R"({{"minipods": {}, "hosts": {}}})", minipods, hosts / minipods), "hosts")
      .root()
      .dump();
}

/// Rows by the table they are summed up in.
using RowsByTable = std::map<std::string, std::vector<CollectiveRow>>;

RowsByTable read_rows(const config::Node& rows, const std::string& name,
                      const CollectiveTable& table, config::Errors& errors) {
  RowsByTable by_table;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    config::Reader reader(rows.at(i), errors);
    CollectiveRow row;
    row.id = reader.required<std::string>("id");
    row.size =
        Bytes(reader.required<std::int64_t>("bytes", config::Range<std::int64_t>{1, 1LL << 50}));
    if (reader.has("time_us")) {
      row.published_s =
          reader.required<double>("time_us", config::Range<double>{1e-6, 1e12}) * 1e-6;
    } else {
      const double rate =
          reader.required<double>("busbw_gb_per_s", config::Range<double>{1e-9, 1e9});
      row.published_s = static_cast<double>(row.size.count()) *
                        training::bus_factor(table.operation, table.ranks) / (rate * 1e9);
    }
    reader.finish();
    const std::string all = row.size < kLarge ? "nccl_below_16mib" : "nccl_from_16mib";
    by_table[name.starts_with("vtrain") ? "vtrain_all_reduce" : all].push_back(std::move(row));
  }
  return by_table;
}

void read_table(const config::Node& node, const config::Node& fabrics, config::Errors& errors,
                std::vector<CollectiveTable>& out) {
  config::Reader reader(node, errors);
  CollectiveTable table;
  const auto name = reader.required<std::string>("table");
  for (const char* fact : {"source", "gpu", "network", "measured_algorithm", "note"})
    static_cast<void>(reader.optional<std::string>(fact, ""));
  table.ranks = static_cast<std::uint32_t>(
      reader.required<std::int64_t>("ranks", config::Range<std::int64_t>{2, 1'000'000}));
  const auto hosts = static_cast<std::uint32_t>(
      reader.required<std::int64_t>("hosts", config::Range<std::int64_t>{1, 1'000'000}));
  const auto fabric = reader.required<std::string>("fabric");
  if (const auto found = fabrics.find(fabric)) {
    table.fabric = sized(*found, hosts);
  } else {
    reader.fail("fabric", fmt::format("no fabric is called \"{}\"", fabric));
  }
  const auto operation = collective::operation_of(reader.required<std::string>("operation"));
  if (operation) {
    table.operation = *operation;
  } else {
    reader.fail("operation", "unknown operation");
  }
  const auto algorithm = reader.optional<std::string>("algorithm", "auto");
  table.choice = algorithm == "auto"
                     ? algorithm
                     : fmt::format(R"({{"name":"auto","algorithm":"{}"}})", algorithm);
  table.launch = reader.optional<Duration>("launch", Duration{});
  if (const auto rows = reader.required_child("rows"); rows && errors.empty()) {
    for (auto& [part, own] : read_rows(*rows, name, table, errors)) {
      out.push_back(table);
      out.back().name = part;
      out.back().rows = std::move(own);
    }
  }
  reader.finish();
}

}  // namespace

bool has_collectives(const config::Document& document) {
  return document.root().is_object() && document.root().find("tables").has_value();
}

std::vector<CollectiveTable> read_collective_rows(const config::Document& document) {
  config::Errors errors;
  config::Reader reader(document.root(), errors);
  static_cast<void>(reader.optional<std::string>("description", ""));
  const auto fabrics = reader.required_child("fabrics");
  const auto tables = reader.required_child("tables");
  reader.finish();
  std::vector<CollectiveTable> out;
  for (std::size_t i = 0; fabrics && tables && i < tables->size(); ++i)
    read_table(tables->at(i), *fabrics, errors, out);
  errors.throw_if_any();
  return out;
}

std::vector<ValidationResult> simulate(const CollectiveTable& table) {
  config::Errors errors;
  const auto document = config::Document::parse_text(table.fabric, "fabric");
  const topology::Topology fabric = topology::build(document.root(), errors);
  errors.throw_if_any();
  training::NetworkSettings network = sprayed(fabric);
  network.protocol.launch = table.launch;
  const std::vector<GpuId> group = first_gpus(table.ranks);
  std::vector<ValidationResult> results;
  for (const CollectiveRow& row : table.rows) {
    const auto run =
        training::run_collective(fabric, group, {table.operation, row.size}, table.choice, network);
    results.push_back({row.id, table.name, "time_s", row.published_s, in_seconds(run.time),
                       run.algorithm + " " + run.protocol});
  }
  return results;
}

}  // namespace railyard::study
