// The behaviour digest: a 64-bit hash over what a run computed (docs/adr/0008).
//
// Order matters; every value is hashed as fixed-width little-endian words, so the digest is the
// same on every platform.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "railyard/core/time.hpp"

namespace railyard {

class Digest {
 public:
  void add(std::uint64_t value);
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add(double value);
  void add(std::string_view text);
  void add(Duration duration) { add(duration.count()); }
  void add(TimePoint time) { add(time.time_since_epoch().count()); }

  [[nodiscard]] std::uint64_t value() const { return state_; }
  /// Sixteen lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const;

 private:
  std::uint64_t state_ = 0x5261696c79617264U;  // "Railyard"
};

/// A stable 64-bit hash of text, for named streams and canonical keys. Not std::hash: that differs
/// between libraries.
[[nodiscard]] std::uint64_t hash_text(std::string_view text);

}  // namespace railyard
