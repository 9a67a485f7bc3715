// A placement as the launchers of training jobs read it.
#pragma once

#include <string>

#include "railyard/scenario/scenario.hpp"

namespace railyard::cli {

/// Why a launcher that numbers ranks host by host (torchrun, a hostfile of mpirun) cannot start the
/// job: the ranks of some host do not follow one another, or its GPUs do not follow its ranks.
/// Empty where it can.
[[nodiscard]] std::string refuse_blocks(const scenario::PlacedJob& job);

/// Open MPI's --hostfile: "host slots=8", hosts in the order of their ranks. One block a host.
[[nodiscard]] std::string hostfile(const scenario::PlacedJob& job);
/// Open MPI's --rankfile: "rank 3=host slot=3", for any order.
[[nodiscard]] std::string rankfile(const scenario::PlacedJob& job);
/// torchrun: "node_rank host" a line, below the command that each host starts. One block a host.
[[nodiscard]] std::string torchrun(const scenario::PlacedJob& job);
/// Slurm's SLURM_HOSTFILE for --distribution=arbitrary: the host of each task, a line a rank.
[[nodiscard]] std::string slurm_hostfile(const scenario::PlacedJob& job);
/// The options of srun or sbatch that go with it.
[[nodiscard]] std::string slurm_options(const scenario::PlacedJob& job);
/// rank,host,gpu,tensor,data,pipeline
[[nodiscard]] std::string ranks_csv(const scenario::PlacedJob& job);

}  // namespace railyard::cli
