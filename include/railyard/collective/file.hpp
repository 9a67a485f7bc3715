// A collective that a user states in a file: our own list of messages as JSON, or MSCCL's XML
// (src/collective/files/ says what stands in either).
//
// What a file says is checked when it is read, by running it on symbols: under every timing of its
// messages every rank must end with what the operation promises, each contribution once. Faults
// name the file and the step: contributions that are missing or added twice, memory that is read
// before it is written or written by two at once, steps that wait for each other, references to
// what is not there. A file serves groups of exactly its number of ranks and vectors of any size;
// of a vector with fewer bytes than chunks the empty messages are left out.
//
// stepped: its messages. coupled: messages as many others down the line form a phase, in which each
// edge carries its bytes; a phase costs an α where the longest chain of arrivals grows by one.
// closed_form: the coupled form on a flat group, whose ranks send and receive at once at `rate`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "railyard/collective/collective.hpp"
#include "railyard/collective/nccl.hpp"

namespace railyard::collective {

struct FileCollective {
  std::string name;  ///< as the file calls itself
  Operation operation = Operation::all_reduce;
  std::uint32_t ranks = 0;
  nccl::WireProtocol protocol = nccl::WireProtocol::simple;
  std::shared_ptr<const Algorithm> algorithm;
};

/// `text` is XML where it begins with "<", else JSON; `name` is the file's, for places. Throws
/// config::ConfigError with all faults.
[[nodiscard]] FileCollective read_collective(std::string_view text, const std::string& name);

/// The entry "file" of the choices, with parameters path, otherwise and text.
[[nodiscard]] const config::EntryDescription& file_description();

/// What the choice "file" names; the file is read where "text" does not stand in for it. Throws as
/// read_collective, and config::IoError.
[[nodiscard]] FileCollective file_collective(const config::Parameters& parameters);

/// What a step of a file costs. Simple: as any algorithm that is asked for by name, `simple`; LL
/// and LL128: NCCL's constants of a ring under them.
[[nodiscard]] StepCosts file_costs(nccl::WireProtocol protocol, const Protocol& simple);

}  // namespace railyard::collective
