// What the readers of other programs' files have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "railyard/config/document.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/topology/graph.hpp"
#include "topology/graph_plan.hpp"

namespace railyard::topology {

/// The GPU kind of a fabric whose file does not say it. No key of the GPU catalog: a scenario with
/// jobs refuses it, network studies need none.
inline constexpr std::string_view kUnknownGpu = "unknown";

/// A bandwidth or a latency as a file writes it ("400Gbps", "0.5us"), within what links may have
/// (host_plan.hpp). Else an error "place: what …" is recorded and nothing returned.
[[nodiscard]] std::optional<Bandwidth> bandwidth_at(std::string_view text, const std::string& place,
                                                    config::Errors& errors);
[[nodiscard]] std::optional<Duration> latency_at(std::string_view text, const std::string& place,
                                                 config::Errors& errors);
/// The same for numbers with the unit in the format: bytes/s, and ns.
[[nodiscard]] std::optional<Bandwidth> bandwidth_of(double bytes_per_s, const std::string& place,
                                                    config::Errors& errors);
[[nodiscard]] std::optional<Duration> latency_of(double nanoseconds, const std::string& place,
                                                 config::Errors& errors);

/// The plan's fabric, or with errors recorded an empty one: hosts without GPU, GPUs without a path.
[[nodiscard]] Topology build_plan(const GraphPlan& plan, std::string_view reader,
                                  const std::string& file, const std::string& gpu_kind,
                                  config::Errors& errors);

}  // namespace railyard::topology
