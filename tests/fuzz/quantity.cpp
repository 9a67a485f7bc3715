// Any text as a quantity: none, or a value that its type allows.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto duration = railyard::config::parse_duration(text)) {
    RAILYARD_CHECK(duration->count() >= 0 && *duration <= railyard::kHorizonMax, "{} ticks",
                   duration->count());
  }
  if (const auto bytes = railyard::config::parse_bytes(text)) {
    RAILYARD_CHECK(bytes->count() >= 0, "{} bytes", bytes->count());
  }
  if (const auto bandwidth = railyard::config::parse_bandwidth(text)) {
    RAILYARD_CHECK(bandwidth->bytes_per_s() > 0, "{} bytes/s", bandwidth->bytes_per_s());
  }
  if (const auto rate = railyard::config::parse_flop_rate(text)) {
    RAILYARD_CHECK(rate->per_s() > 0, "{} FLOP/s", rate->per_s());
  }
  return 0;
}
