// Numbers of Chakra's execution traces that reader and writer share (mlcommons/chakra,
// et_def.proto): NodeType and CollectiveCommType.
#pragma once

#include <cstdint>

namespace railyard::workload::chakra {

inline constexpr std::uint32_t kMetadata = 1;
inline constexpr std::uint32_t kCompute = 4;
inline constexpr std::uint32_t kSend = 5;
inline constexpr std::uint32_t kReceive = 6;
inline constexpr std::uint32_t kCollective = 7;

inline constexpr std::int64_t kAllReduce = 0;
inline constexpr std::int64_t kReduce = 1;
/// Its size is a rank's shard, where collective::Request has the gathered result (ASTRA-sim's
/// algorithms, see docs/validation-astra-sim.md).
inline constexpr std::int64_t kAllGather = 2;
inline constexpr std::int64_t kBroadcast = 5;
inline constexpr std::int64_t kAllToAll = 6;
inline constexpr std::int64_t kReduceScatter = 7;
inline constexpr std::int64_t kReduceScatterBlock = 8;
inline constexpr std::int64_t kBarrier = 9;

}  // namespace railyard::workload::chakra
