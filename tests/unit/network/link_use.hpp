// Links by number, for routes that a test writes down.
#pragma once

#include <cstdint>

#include "railyard/topology/routing.hpp"

namespace railyard::test {

[[nodiscard]] inline topology::LinkUse on(std::uint32_t link, double usage = 1.0) {
  return {static_cast<LinkId>(link), usage};
}

}  // namespace railyard::test
