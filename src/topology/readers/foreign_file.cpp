#include "topology/readers/foreign_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "railyard/config/reader.hpp"
#include "railyard/config/text_lines.hpp"
#include "topology/host_plan.hpp"

namespace railyard::topology {
namespace {

constexpr Duration kLatencyMax = std::chrono::seconds(1);
constexpr double kBytesPerSecondMax = 1e15;

std::optional<Bandwidth> within(Bandwidth bandwidth, const std::string& place,
                                config::Errors& errors) {
  if (bandwidth >= kBandwidthMin &&
      static_cast<double>(bandwidth.bytes_per_s()) <= kBytesPerSecondMax)
    return bandwidth;
  errors.add(fmt::format("{}: a link of {} bytes/s; from 10Mbps to 1000TB/s are modelled", place,
                         bandwidth.bytes_per_s()));
  return std::nullopt;
}

std::optional<Duration> within(Duration latency, const std::string& place, config::Errors& errors) {
  if (latency >= Duration{} && latency <= kLatencyMax) return latency;
  errors.add(
      fmt::format("{}: a latency of {} s; up to 1s is modelled", place, in_seconds(latency)));
  return std::nullopt;
}

}  // namespace

std::optional<Bandwidth> bandwidth_at(std::string_view text, const std::string& place,
                                      config::Errors& errors) {
  const auto value = config::parse_bandwidth(text);
  if (value) return within(*value, place, errors);
  errors.add(fmt::format("{}: {} is no bandwidth with its unit, as \"400Gbps\"", place,
                         config::quoted(text)));
  return std::nullopt;
}

std::optional<Duration> latency_at(std::string_view text, const std::string& place,
                                   config::Errors& errors) {
  const auto value = config::parse_duration(text);
  if (value) return within(*value, place, errors);
  errors.add(
      fmt::format("{}: {} is no latency with its unit, as \"500ns\"", place, config::quoted(text)));
  return std::nullopt;
}

std::optional<Bandwidth> bandwidth_of(double bytes_per_s, const std::string& place,
                                      config::Errors& errors) {
  if (!(bytes_per_s >= 0 && bytes_per_s <= kBytesPerSecondMax)) {
    errors.add(fmt::format("{}: a link of {} bytes/s; from 10Mbps to 1000TB/s are modelled", place,
                           bytes_per_s));
    return std::nullopt;
  }
  return within(Bandwidth(std::llround(bytes_per_s)), place, errors);
}

std::optional<Duration> latency_of(double nanoseconds, const std::string& place,
                                   config::Errors& errors) {
  constexpr double kNanosecondsMax = 1e9;
  constexpr double kTicksPerNanosecond = static_cast<double>(kTicksPerSecond) * 1e-9;
  if (!(nanoseconds >= 0 && nanoseconds <= kNanosecondsMax)) {
    errors.add(fmt::format("{}: a latency of {} ns; 0 to 1s is modelled", place, nanoseconds));
    return std::nullopt;
  }
  return Duration(std::llround(nanoseconds * kTicksPerNanosecond));
}

Topology build_plan(const GraphPlan& plan, std::string_view reader, const std::string& file,
                    const std::string& gpu_kind, config::Errors& errors) {
  const auto faults = plan.faults();
  for (const std::string& fault : faults) errors.add(fmt::format("{}: {}", file, fault));
  if (!faults.empty()) return {};
  std::string cut;
  Topology out = plan.build(reader, gpu_kind, cut);
  if (!cut.empty()) errors.add(fmt::format("{}: {}", file, cut));
  return out;
}

}  // namespace railyard::topology
