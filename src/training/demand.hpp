// Fills Program::demand from its edges.
#pragma once

#include "railyard/training/program.hpp"

namespace railyard::training {

void find_demand(Program& program, const topology::Topology& topology);

}  // namespace railyard::training
