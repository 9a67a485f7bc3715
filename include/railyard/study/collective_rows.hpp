// Published measurements of single collectives (nccl-tests) against the simulator.
//
// A file holds {"fabrics": {name: topology}, "tables": [{table, source, gpu, fabric, hosts, ranks,
// operation, algorithm, launch, rows: [{id, bytes, time_us or busbw_gb_per_s}]}]}; a fabric gets as
// many hosts as the table says. `launch` is what the host adds to every collective, `algorithm`
// "auto" or what NCCL was told to take.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "railyard/collective/collective.hpp"
#include "railyard/study/validation.hpp"

namespace railyard::study {

struct CollectiveRow {
  std::string id;
  Bytes size;
  double published_s = 0;
};

/// Rows that share a fabric and are summed up together.
struct CollectiveTable {
  /// nccl_below_16mib or nccl_from_16mib, and vtrain_all_reduce where the file's name begins so.
  std::string name;
  std::string fabric;  ///< JSON of a topology
  std::uint32_t ranks = 0;
  collective::Operation operation = collective::Operation::all_reduce;
  std::string choice;  ///< of the algorithm, as text
  Duration launch{};
  std::vector<CollectiveRow> rows;
};

/// Does the file hold tables of collectives?
[[nodiscard]] bool has_collectives(const config::Document& document);
/// Throws ConfigError naming the place of what is wrong.
[[nodiscard]] std::vector<CollectiveTable> read_collective_rows(const config::Document& document);
/// Times in seconds, one per row.
[[nodiscard]] std::vector<ValidationResult> simulate(const CollectiveTable& table);

}  // namespace railyard::study
