#include "railyard/scheduler/inventory.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

/// GPUs of every host. A gang counts in whole hosts, so mixed hosts have no meaning here.
std::uint32_t uniform_gpus_per_host(const topology::Topology& topology) {
  RAILYARD_CHECK(!topology.hosts().empty(), "a cluster needs hosts");
  const std::uint32_t gpus = topology.hosts().front().gpus;
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    const std::uint32_t other = topology.hosts()[h].gpus;
    if (other != gpus) {
      throw config::ConfigError(fmt::format(
          "host {} has {} GPUs and host {} has {}: a scheduled cluster needs hosts of one size",
          topology.host_name(HostId{0}), gpus, topology.host_name(static_cast<HostId>(h)), other));
    }
  }
  if (gpus == 0 || gpus > 64) {
    throw config::ConfigError(
        fmt::format("hosts have {} GPUs: a scheduled cluster needs 1 to 64 a host", gpus));
  }
  return gpus;
}

}  // namespace

std::uint64_t gpu_count(std::span<const HostSlot> slots) {
  std::uint64_t gpus = 0;
  for (const HostSlot& slot : slots)
    gpus += static_cast<std::uint64_t>(std::popcount(slot.gpu_mask));
  return gpus;
}

Inventory::Inventory(const topology::Topology& topology)
    : topology_(&topology),
      gpus_per_host_(uniform_gpus_per_host(topology)),
      whole_(whole_host_mask(gpus_per_host_)),
      free_(topology.hosts().size(), whole_),
      free_hosts_(topology.minipod_count(), 0),
      free_hosts_total_(static_cast<std::uint32_t>(topology.hosts().size())),
      free_gpus_(topology.hosts().size() * std::uint64_t{gpus_per_host_}) {
  auto hosts = std::make_shared<std::vector<std::vector<HostId>>>(topology.minipod_count());
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    const MinipodId minipod = topology.hosts()[h].minipod;
    (*hosts)[index(minipod)].push_back(static_cast<HostId>(h));
    ++free_hosts_[index(minipod)];
  }
  hosts_of_minipod_ = std::move(hosts);
}

std::uint32_t Inventory::free_gpus(HostId host) const {
  return static_cast<std::uint32_t>(std::popcount(free_[index(host)]));
}

std::vector<HostId> Inventory::free_hosts(MinipodId minipod) const {
  std::vector<HostId> hosts;
  hosts.reserve(free_host_count(minipod));
  for (const HostId host : (*hosts_of_minipod_)[index(minipod)]) {
    if (wholly_free(host)) hosts.push_back(host);
  }
  return hosts;
}

void Inventory::check_slot(const HostSlot& slot) const {
  RAILYARD_CHECK(index(slot.host) < free_.size(), "host {} of {}", index(slot.host), free_.size());
  RAILYARD_CHECK(slot.gpu_mask != 0 && (slot.gpu_mask & ~whole_) == 0,
                 "mask {:#x} is empty or names GPUs that host {} does not have", slot.gpu_mask,
                 index(slot.host));
}

void Inventory::take(const HostSlot& slot) {
  check_slot(slot);
  std::uint64_t& free = free_[index(slot.host)];
  RAILYARD_CHECK((slot.gpu_mask & ~free) == 0, "host {}: GPUs {:#x} wanted, {:#x} free",
                 index(slot.host), slot.gpu_mask, free);
  if (free == whole_) {
    --free_hosts_[index(topology_->host(slot.host).minipod)];
    --free_hosts_total_;
  }
  free &= ~slot.gpu_mask;
  free_gpus_ -= static_cast<std::uint64_t>(std::popcount(slot.gpu_mask));
}

void Inventory::release(const HostSlot& slot) {
  check_slot(slot);
  std::uint64_t& free = free_[index(slot.host)];
  RAILYARD_CHECK((slot.gpu_mask & free) == 0, "host {}: GPUs {:#x} given back, {:#x} were free",
                 index(slot.host), slot.gpu_mask, free);
  free |= slot.gpu_mask;
  if (free == whole_) {
    ++free_hosts_[index(topology_->host(slot.host).minipod)];
    ++free_hosts_total_;
  }
  free_gpus_ += static_cast<std::uint64_t>(std::popcount(slot.gpu_mask));
}

}  // namespace railyard::scheduler
