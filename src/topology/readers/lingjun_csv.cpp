// lingjun_csv: the published host list of Alibaba's Lingjun cluster (alibaba-lingjun-dataset-2023):
// a CSV with the columns host_id, core_group, pod, tor. Keys, beside those of the host
// (host_plan.hpp):
//
//   file            path of the CSV
//   hosts_per_leaf  of a full leaf; default: the largest
//   switch_link, core_link, oversubscription, partial_leaf, spines_per_minipod, cores, radix
//                   as in clos: the list says nothing about links
//
// A pod is a minipod, a ToR a leaf. Largest pods come first, equal ones by name; leaves and hosts
// by name, numbers in numeric order. The order of the file does not matter.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "railyard/config/csv.hpp"
#include "topology/builders.hpp"
#include "topology/tiered.hpp"

namespace railyard::topology {
namespace {

/// "S2" before "S10": names of one cluster differ in their last number.
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

using Hosts = std::vector<std::string>;
using Leaves = std::map<std::string, Hosts, ShorterFirst>;
using Pods = std::map<std::string, Leaves, ShorterFirst>;

/// Remembers where a ToR was first said to stand.
class PodOfTor {
 public:
  void check(const config::Csv& csv, std::size_t row, config::CsvColumn column,
             config::Errors& errors, std::string_view name, std::string_view place) {
    const auto [it, added] =
        first_.try_emplace(std::string(name), std::string(place), csv.place(row));
    if (added || it->second.first == place) return;
    csv.fail(row, column, errors,
             fmt::format("ToR {} is in pod {} here, and in {} at {}", name, place, it->second.first,
                         it->second.second));
  }

 private:
  std::map<std::string, std::pair<std::string, std::string>> first_;
};

Pods read_pods(const std::filesystem::path& path, config::Errors& errors) {
  config::Csv csv = config::Csv::parse_file(path);
  const auto host = csv.required("host_id", errors);
  const auto group = csv.required("core_group", errors);
  const auto pod = csv.required("pod", errors);
  const auto tor = csv.required("tor", errors);
  csv.finish({}, errors);
  if (csv.rows() == 0) errors.add(csv.name() + ": has a header but no hosts");
  Pods pods;
  std::map<std::string, std::string> seen;
  PodOfTor tors;
  std::pair<std::string, std::string> first_group;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    bool whole = static_cast<bool>(host) && static_cast<bool>(pod) && static_cast<bool>(tor);
    for (const auto column : {host, group, pod, tor}) {
      if (!column || !csv.is_empty(row, column)) continue;
      csv.fail(row, column, errors, "is empty");
      whole = false;
    }
    if (!whole) continue;
    const std::string name(csv.text(row, host));
    const auto [it, added] = seen.try_emplace(name, csv.place(row));
    if (!added)
      csv.fail(row, host, errors, fmt::format("duplicate host {}: first at {}", name, it->second));
    tors.check(csv, row, pod, errors, csv.text(row, tor), csv.text(row, pod));
    if (first_group.second.empty())
      first_group = {std::string(csv.text(row, group)), csv.place(row)};
    if (csv.text(row, group) != first_group.first) {
      csv.fail(
          row, group, errors,
          fmt::format("core group {} beside {} at {}: hosts without a common core are two fabrics",
                      csv.text(row, group), first_group.first, first_group.second));
    }
    pods[std::string(csv.text(row, pod))][std::string(csv.text(row, tor))].push_back(name);
  }
  return pods;
}

MinipodPlan plan_pod(const std::string& name, Leaves leaves, std::uint32_t nics,
                     Hosts& host_names) {
  MinipodPlan minipod;
  minipod.name = name;
  for (auto& [leaf_name, hosts] : leaves) {
    const auto leaf = static_cast<std::uint32_t>(minipod.leaf_names.size());
    minipod.leaf_names.push_back(leaf_name);
    std::sort(hosts.begin(), hosts.end(), ShorterFirst{});
    for (const std::string& host : hosts) host_names.push_back("host-" + host);
    minipod.group_of_host.insert(minipod.group_of_host.end(), hosts.size(), leaf);
    minipod.leaf_of_nic.insert(minipod.leaf_of_nic.end(), hosts.size() * nics, leaf);
  }
  minipod.group_names = minipod.leaf_names;
  return minipod;
}

std::uint32_t hosts_of_full_leaf(config::Reader& reader, const Pods& pods) {
  std::size_t largest = 1;
  std::string where;
  for (const auto& [pod, leaves] : pods) {
    for (const auto& [leaf, hosts] : leaves) {
      if (hosts.size() <= largest) continue;
      largest = hosts.size();
      where = leaf;
    }
  }
  if (!reader.has("hosts_per_leaf")) return static_cast<std::uint32_t>(largest);
  const auto given =
      reader.required<std::int64_t>("hosts_per_leaf", config::Range<std::int64_t>{1, 100'000});
  if (given >= 1 && static_cast<std::size_t>(given) < largest) {
    reader.fail("hosts_per_leaf", fmt::format("{} has {} hosts", where, largest));
  }
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(given, 1, 100'000));
}

}  // namespace

Topology build_lingjun_csv(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  TieredPlan plan;
  plan.hosts.kinds = {read_host_plan(reader)};
  Pods pods;
  if (const auto file = reader.required_child("file")) {
    std::filesystem::path path;
    if (config::decode(*file, reader.errors(), path)) {
      if (std::filesystem::exists(path)) {
        pods = read_pods(path, reader.errors());
      } else {
        reader.errors().add(*file, fmt::format("there is no file {}", path.string()));
      }
    }
  }
  const std::uint32_t hosts_per_leaf = hosts_of_full_leaf(reader, pods);
  const SwitchKeys keys = read_switch_keys(reader, {.has_core = pods.size() != 1});
  if (reader.errors().count() != before) return {};

  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [name, leaves] : pods) {
    std::size_t hosts = 0;
    for (const auto& [leaf, names] : leaves) hosts += names.size();
    order.emplace_back(hosts, name);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [hosts, name] : order) {
    plan.minipods.push_back(plan_pod(name, pods[name], plan.hosts.most_nics(), plan.host_names));
  }
  if (!size_switches(reader, keys, full_leaf(plan.hosts, hosts_per_leaf, false), plan)) return {};
  return assemble("lingjun_csv", plan);
}

}  // namespace railyard::topology
