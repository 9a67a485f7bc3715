// Small fabrics for tests, with numbers that are easy to compute with by hand.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "railyard/config/document.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/training/program.hpp"

namespace railyard::test {

inline topology::Topology build_fabric(const std::string& json) {
  config::Errors errors;
  auto topology = topology::build(config::Document::parse_text(json, "test fabric").root(), errors);
  errors.throw_if_any();
  return topology;
}

/// Hosts of 8 A100s: NVLink 300 GB/s, PCIe 100 GB/s, one 100 Gb/s NIC (12.5 GB/s) a GPU or fewer,
/// switch links 400 Gb/s, no latency anywhere: every duration is a size over a rate.
inline std::string plain_clos(const std::string& hosts_per_minipod, int leaf_oversubscription = 1,
                              int minipod_oversubscription = 1, int nics_per_host = 8) {
  const bool has_core = hosts_per_minipod.find(',') != std::string::npos;
  return fmt::format(
      R"({{"builder": "clos", "gpu": "A100-80", "gpus_per_host": 8,
          "nvlink": {{"bandwidth": "300GB/s", "latency": "0ns"}},
          "pcie": {{"bandwidth": "100GB/s", "latency": "0ns"}},
          "nic": {{"bandwidth": "100Gbps", "latency": "0ns", "per_host": {}}},
          "hosts_per_minipod": {}, "hosts_per_leaf": 8,
          "switch_link": {{"bandwidth": "400Gbps", "latency": "0ns"}},
          "oversubscription": {{"leaf": {}{}}}}})",
      nics_per_host, hosts_per_minipod, leaf_oversubscription,
      has_core ? fmt::format(R"(, "minipod": {})", minipod_oversubscription) : std::string());
}

inline std::shared_ptr<const topology::Routing> make_routing(const topology::Topology& topology,
                                                             const std::string& name) {
  const auto table = topology::routing_catalog();
  const auto choice = config::default_choice(name, config::descriptions(table));
  return config::entry_of(table, name).create(topology, choice.parameters);
}

/// Network settings without fixed costs of messages.
inline training::NetworkSettings free_of_latency(const topology::Topology& topology,
                                                 const std::string& routing) {
  training::NetworkSettings network;
  network.routing = make_routing(topology, routing);
  network.protocol = collective::Protocol{
      .base = Duration{}, .ring = {Duration{}, Duration{}}, .tree = {Duration{}, Duration{}}};
  return network;
}

}  // namespace railyard::test
