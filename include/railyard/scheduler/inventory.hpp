// What is free: GPU-granular inventory of a cluster, the live state behind the read-only
// ClusterView of policies.
//
// Invariants: a GPU is free or taken, never both; a gang of one host's worth of GPUs or more takes
// whole hosts; smaller ones share a host. Background occupation (hosts busy with something that is
// not simulated) is taken like any job. Counts are kept as GPUs are taken and released, so asking
// costs nothing. Hosts all have the same number of GPUs, at most 64; another cluster is refused
// with a ConfigError.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::scheduler {

/// GPUs of one host: a bit mask, because the free ones need not be neighbours.
struct HostSlot {
  HostId host{};
  std::uint64_t gpu_mask = 0;  ///< bit g: local GPU g
  friend bool operator==(const HostSlot&, const HostSlot&) = default;
};

/// GPUs of the slots together.
[[nodiscard]] std::uint64_t gpu_count(std::span<const HostSlot> slots);

/// Mask of all GPUs of a host with `gpus` of them.
[[nodiscard]] constexpr std::uint64_t whole_host_mask(std::uint32_t gpus) {
  return gpus >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << gpus) - 1;
}

class Inventory {
 public:
  explicit Inventory(const topology::Topology& topology);

  [[nodiscard]] const topology::Topology& topology() const { return *topology_; }
  [[nodiscard]] std::uint32_t gpus_per_host() const { return gpus_per_host_; }
  [[nodiscard]] std::uint64_t free_mask(HostId host) const { return free_[index(host)]; }
  [[nodiscard]] std::uint32_t free_gpus(HostId host) const;
  [[nodiscard]] bool wholly_free(HostId host) const { return free_[index(host)] == whole_; }
  /// Wholly free hosts of a minipod, ascending.
  [[nodiscard]] std::vector<HostId> free_hosts(MinipodId minipod) const;
  [[nodiscard]] std::uint32_t free_host_count(MinipodId minipod) const {
    return free_hosts_[index(minipod)];
  }
  [[nodiscard]] std::uint32_t free_host_count() const { return free_hosts_total_; }
  [[nodiscard]] std::uint64_t free_gpus() const { return free_gpus_; }

  void take(const HostSlot& slot);     ///< checked: all its GPUs are free
  void release(const HostSlot& slot);  ///< checked: all its GPUs are taken

 private:
  void check_slot(const HostSlot& slot) const;

  const topology::Topology* topology_;
  std::uint32_t gpus_per_host_ = 0;
  std::uint64_t whole_ = 0;          ///< mask of a wholly free host
  std::vector<std::uint64_t> free_;  ///< per host
  /// Ascending; shared between copies, which schedulers make to try things out.
  std::shared_ptr<const std::vector<std::vector<HostId>>> hosts_of_minipod_;
  std::vector<std::uint32_t> free_hosts_;  ///< wholly free ones per minipod
  std::uint32_t free_hosts_total_ = 0;
  std::uint64_t free_gpus_ = 0;
};

}  // namespace railyard::scheduler
