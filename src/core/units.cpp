#include "railyard/core/units.hpp"

#include "railyard/core/check.hpp"

namespace railyard {

Duration operator/(Bytes size, Bandwidth rate) {
  RAILYARD_CHECK(rate.bytes_per_s() > 0, "a transfer of {} bytes at {} B/s never ends",
                 size.count(), rate.bytes_per_s());
  return to_ticks(static_cast<double>(size.count()) * static_cast<double>(kTicksPerSecond) /
                  static_cast<double>(rate.bytes_per_s()));
}

}  // namespace railyard
