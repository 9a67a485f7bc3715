// Stencil codes as workloads, {"kind": "stencil", …}: the halo exchange of simulations on a regular
// mesh, the other application that clusters of GPUs run.
//
// Ranks form a grid of one to three dimensions, each with a block of cells. In every step a rank
// sends the faces of its block to its neighbours and computes its cells when all faces have come:
// bulk-synchronous, the slowest face holds up all. A step is bound by memory (every variable read
// and written once) or by arithmetic. Not modelled: overlap of inner cells, adaptive meshes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

struct StencilSpec {
  std::string name;
  std::uint32_t dimensions = 1;
  std::array<std::uint32_t, 3> cells{1, 1, 1};  ///< of a rank's block
  std::uint32_t variables = 1;                  ///< a cell
  std::uint32_t value_bytes = 8;
  std::uint32_t halo = 1;   ///< cells deep
  double flops = 0;         ///< a cell and step, fp32; 0: bound by memory
  std::uint32_t steps = 1;  ///< an iteration
  bool periodic = true;     ///< the last rank of a dimension is a neighbour of the first
};

[[nodiscard]] StencilSpec read_stencil(const config::Node& node, config::Errors& errors);
/// Contradictions, one sentence each; empty when good. `grid`: ranks in each dimension, x fastest.
[[nodiscard]] std::vector<std::string> check_stencil(const StencilSpec& spec,
                                                     const std::array<std::uint32_t, 3>& grid,
                                                     const GpuSpec& gpu);
/// The grid nearest to a cube, larger factors first, as MPI_Dims_create makes it.
[[nodiscard]] std::array<std::uint32_t, 3> grid_of(const StencilSpec& spec, std::uint32_t ranks);
[[nodiscard]] IterationDag build_stencil(const StencilSpec& spec,
                                         const std::array<std::uint32_t, 3>& grid,
                                         const GpuSpec& gpu);

}  // namespace railyard::workload
