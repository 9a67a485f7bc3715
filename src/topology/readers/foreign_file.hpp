// What the readers of other programs' files have in common.
#pragma once

#include <string_view>

namespace railyard::topology {

/// The GPU kind of a fabric whose file does not say it. No key of the GPU catalog: a scenario with
/// jobs refuses it, network studies need none.
inline constexpr std::string_view kUnknownGpu = "unknown";

}  // namespace railyard::topology
