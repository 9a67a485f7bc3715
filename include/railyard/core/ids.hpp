// Identifiers are distinct types: a link cannot be taken for a node, a rank for a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railyard {

enum class NodeId : std::uint32_t {};  ///< vertex of the topology graph (GPU, NIC, switch)
enum class LinkId : std::uint32_t {};  ///< directed link of the topology graph
enum class GpuId : std::uint32_t {};  ///< global GPU index: hosts in order, GPUs of a host in order
enum class HostId : std::uint32_t {};     ///< host index
enum class LeafId : std::uint32_t {};     ///< leaf switch group (rack) index
enum class MinipodId : std::uint32_t {};  ///< minipod (pod, scalable unit) index
enum class JobId : std::uint32_t {};      ///< job index in order of arrival
enum class Rank : std::uint32_t {};       ///< rank inside one job

/// The plain index of an identifier.
template <typename Id>
[[nodiscard]] constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

}  // namespace railyard
