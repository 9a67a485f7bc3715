// Typed quantities: bytes, bandwidth and floating-point work. The type carries the unit, the
// variable's name does not.
//
// Only meaningful operators exist (`Bytes / Bandwidth` is a Duration) and nothing converts
// implicitly.
#pragma once

#include <compare>
#include <cstdint>

#include "railyard/core/time.hpp"

namespace railyard {

/// A number of bytes, an exact integer.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t factor) {
    return Bytes(a.count_ * factor);
  }
  friend constexpr Bytes operator*(std::int64_t factor, Bytes a) { return a * factor; }
  /// Integer division, rounded up: n parts of this size hold the whole.
  [[nodiscard]] constexpr Bytes divided_up(std::int64_t parts) const {
    return Bytes((count_ + parts - 1) / parts);
  }
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

/// A data rate in whole bytes per second (400 Gb/s is 50,000,000,000).
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  constexpr explicit Bandwidth(std::int64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}
  [[nodiscard]] constexpr std::int64_t bytes_per_s() const { return bytes_per_s_; }
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
  friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) {
    return Bandwidth(a.bytes_per_s_ + b.bytes_per_s_);
  }
  friend constexpr Bandwidth operator*(Bandwidth a, std::int64_t factor) {
    return Bandwidth(a.bytes_per_s_ * factor);
  }

 private:
  std::int64_t bytes_per_s_ = 0;
};

/// Floating-point operations (a count) and floating-point rate (operations per second). Real
/// numbers: they end in ticks.
class Flops {
 public:
  constexpr Flops() = default;
  constexpr explicit Flops(double count) : count_(count) {}
  [[nodiscard]] constexpr double count() const { return count_; }
  friend constexpr auto operator<=>(Flops, Flops) = default;
  friend constexpr Flops operator+(Flops a, Flops b) { return Flops(a.count_ + b.count_); }
  friend constexpr Flops operator*(Flops a, double factor) { return Flops(a.count_ * factor); }

 private:
  double count_ = 0;
};

class FlopRate {
 public:
  constexpr FlopRate() = default;
  constexpr explicit FlopRate(double per_s) : per_s_(per_s) {}
  [[nodiscard]] constexpr double per_s() const { return per_s_; }
  friend constexpr auto operator<=>(FlopRate, FlopRate) = default;

 private:
  double per_s_ = 0;
};

/// Transfer time at a constant rate, to the nearest tick. Checked: the rate is positive and the
/// result fits the clock.
[[nodiscard]] Duration operator/(Bytes size, Bandwidth rate);

}  // namespace railyard
