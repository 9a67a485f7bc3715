#include "railyard/core/time.hpp"

#include <cmath>

#include "railyard/core/check.hpp"

namespace railyard {

Duration to_ticks(double ticks) {
  RAILYARD_CHECK(ticks >= 0.0 && ticks < 9.2e18, "{} ticks do not fit the clock (0 to 1,067 days)",
                 ticks);
  return Duration(std::llround(ticks));
}

}  // namespace railyard
