// Sweeps on a cluster that Slurm runs: the points are dealt out to the tasks of an array job, which
// `sbatch` takes; each task is this program again with `--shard`, has a log of points of its own
// below DIR/shards, and may be killed and requeued at any moment. Nothing but files goes between
// them: DIR and the inputs lie on a file system that all hosts share.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "railyard/sweep/store.hpp"
#include "railyard/sweep/sweep.hpp"

namespace railyard::cli {

/// Every N-th point, from the K-th on: neighbours in the grid, alike in cost, go to different
/// tasks.
struct Shard {
  std::size_t number = 0;
  std::size_t of = 1;
  [[nodiscard]] bool owns(std::size_t point) const { return point % of == number; }
};

/// --executor, --shards, --sbatch, --shard.
void declare_executor(CommandLine& line);
/// Is --executor slurm given? Throws ConfigError on another name, and on options that do not go
/// together.
[[nodiscard]] bool on_slurm(const CommandLine& line);
/// Of --shard K/N. Throws ConfigError.
[[nodiscard]] std::optional<Shard> shard_of(const CommandLine& line);
/// Where a shard's points are, below the folder of the sweep.
[[nodiscard]] std::filesystem::path shard_folder(const std::filesystem::path& out,
                                                 const Shard& shard);

/// The script for sbatch that runs the points that are not there. Throws ConfigError on a --sbatch
/// that cannot be a line of it.
[[nodiscard]] std::string slurm_script(const CommandLine& line, const sweep::Sweep& sweep,
                                       const std::vector<std::size_t>& missing);

/// Gathers what shards have finished into the store, submits the rest, waits for it and gathers
/// again. Points of tasks that failed stay missing. An interrupt ends the wait, not the job. Throws
/// IoError where sbatch refuses the job.
void run_on_slurm(const CommandLine& line, const sweep::Sweep& sweep,
                  const sweep::Identity& identity, sweep::Store& store);

}  // namespace railyard::cli
