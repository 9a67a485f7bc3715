// What is free: GPU-granular inventory of a cluster, the live state behind the read-only ClusterView of policies.
//
// Invariants: a GPU is free or taken, never both; a gang of one host's worth of GPUs or more takes whole hosts; smaller ones
// share a host. Background occupation (hosts busy with something that is not simulated) is taken like any job.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::scheduler {

/// GPUs of one host: local indices first … first + gpus − 1 are not assumed contiguous, so they are a bit mask.
struct HostSlot {
  HostId host{};
  std::uint64_t gpu_mask = 0;  ///< bit g: local GPU g
  friend bool operator==(const HostSlot&, const HostSlot&) = default;
};

class Inventory {
 public:
  explicit Inventory(const topology::Topology& topology);

  [[nodiscard]] const topology::Topology& topology() const { return *topology_; }
  [[nodiscard]] std::uint64_t free_mask(HostId host) const { return free_[index(host)]; }
  [[nodiscard]] bool wholly_free(HostId host) const;
  /// Wholly free hosts of a minipod, ascending.
  [[nodiscard]] std::vector<HostId> free_hosts(MinipodId minipod) const;
  [[nodiscard]] std::uint32_t free_host_count(MinipodId minipod) const { return free_hosts_[index(minipod)]; }
  [[nodiscard]] std::uint32_t free_host_count() const;
  [[nodiscard]] std::uint64_t free_gpus() const { return free_gpus_; }

  void take(const HostSlot& slot);     ///< checked: all its GPUs are free
  void release(const HostSlot& slot);  ///< checked: all its GPUs are taken

 private:
  const topology::Topology* topology_;
  std::vector<std::uint64_t> free_;
  std::vector<std::uint32_t> free_hosts_;  ///< per minipod
  std::uint64_t free_gpus_ = 0;
};

}  // namespace railyard::scheduler
