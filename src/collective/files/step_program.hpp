// What a file says that the ranks of a collective do, whatever its format: actions on cells.
//
// A rank's memory is a row of cells, each as large as one chunk of the vector. An action sends
// cells, receives into cells, works on cells of its own rank, or only waits. Actions of one chain
// (a thread block, the messages of one channel) follow one another in the order of their indices;
// beyond that an action waits for those named in `after`, and a receive for its send. A send is
// complete when its data has left, a receive when it has landed.
//
// `execute` runs a program on symbols and refuses one that does not perform its operation under
// every timing of its messages; `transfers_of` turns it into transfers. Both want the order that
// `order_of` finds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "railyard/collective/nccl.hpp"

namespace railyard::collective {

inline constexpr std::uint32_t kNoAction = UINT32_MAX;
inline constexpr std::uint32_t kEveryRank = UINT32_MAX;
inline constexpr std::uint32_t kWholeFile = UINT32_MAX;

/// `count` cells of a rank's memory from `first` on.
struct Cells {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
};

enum class ActionKind : std::uint8_t { send, receive, local, wait };

struct Action {
  ActionKind kind = ActionKind::wait;
  bool reduce = false;  ///< receive, local: adds to the cells; else overwrites them
  /// A send of what the action before it in its chain received: whoever waits for it waits for that
  /// one, because both happen at once.
  bool fused = false;
  std::uint32_t rank = 0;
  std::uint32_t chain = 0;
  std::uint32_t partner = kNoAction;  ///< of a send its receive, of a receive its send
  Cells from{};                       ///< send, local
  Cells to{};                         ///< receive, local
  std::uint32_t channel = 0;          ///< send: as in Transfer
  std::uint32_t connection = 0;
  std::vector<std::uint32_t> after{};
  std::uint32_t place = 0;  ///< the step of the file that it belongs to
};

/// Cells of one rank that hold chunks `first_chunk` … of one origin, or the sum over every rank.
struct Stretch {
  Cells cells;
  std::uint32_t first_chunk = 0;
  std::uint32_t origin = 0;  ///< a rank, or kEveryRank
};

struct StepProgram {
  std::string name;
  Operation operation = Operation::all_reduce;
  nccl::WireProtocol protocol = nccl::WireProtocol::simple;
  std::uint32_t ranks = 0;
  std::uint32_t chunks = 0;  ///< that the vector of Request::size is cut into
  Bytes size_min;            ///< what it is meant for
  Bytes size_max{INT64_MAX};
  std::uint32_t chains = 0;
  std::vector<Action> actions;
  std::vector<std::vector<Stretch>> start;   ///< [rank]
  std::vector<std::vector<Stretch>> wanted;  ///< [rank]
};

/// How a reader names the steps of its file.
struct Places {
  std::function<void(std::uint32_t place, const std::string& message)> fail;
  std::function<std::string(std::uint32_t place)> title;
};

/// What each action waits for, its chain and its send included.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> predecessors_of(const StepProgram& program);

/// An order in which every action comes behind what it waits for, the smallest index first of those
/// free to go. Empty, with the fault named, where actions wait for each other in a circle.
[[nodiscard]] std::vector<std::uint32_t> order_of(
    const StepProgram& program, const std::vector<std::vector<std::uint32_t>>& predecessors,
    const Places& places);

/// The chunks that each send carries, by action. Names as a fault: what is sent before it is there,
/// added twice or to another chunk, read or written by two at once, and what is missing in the end.
/// Two additions to one cell may come in any order. Empty where there was a fault.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> execute(
    const StepProgram& program, const std::vector<std::vector<std::uint32_t>>& predecessors,
    const std::vector<std::uint32_t>& order, const Places& places);

/// A message of the file: as Transfer, but with chunks in place of bytes.
struct FileTransfer {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t channel = 0;
  std::uint32_t connection = 0;
  bool reduce = false;
  std::vector<std::uint32_t> chunks;
  std::vector<std::uint32_t> after;  ///< indices of earlier ones, ascending
};

/// The messages in `order`. What waits for a send of another channel waits until that has arrived.
[[nodiscard]] std::vector<FileTransfer> transfers_of(
    const StepProgram& program, const std::vector<std::vector<std::uint32_t>>& predecessors,
    const std::vector<std::uint32_t>& order, std::vector<std::vector<std::uint32_t>> chunks);

/// The readers of the two formats. Faults are collected in `errors`; the result then does not
/// count.
struct CheckedProgram {
  StepProgram program;
  std::vector<FileTransfer> transfers;
};
[[nodiscard]] CheckedProgram read_step_list(std::string_view text, const std::string& name);
[[nodiscard]] CheckedProgram read_msccl(std::string_view text, const std::string& name);

/// Fills `start` and `wanted` for memory in which chunk c of the vector lies in cell c, and for
/// all_to_all chunk c of origin o in cell o·chunks + c. Checked: chunks divide by ranks where they
/// belong to ranks.
void lay_out_by_chunk(StepProgram& program);

/// Do the chunks belong to ranks, those of rank r being r·chunks/ranks …?
[[nodiscard]] inline bool chunks_of_ranks(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all;
}

/// Order, execution and transfers of a program; a fault is named and leaves the transfers empty.
[[nodiscard]] std::vector<FileTransfer> checked_transfers(const StepProgram& program,
                                                          const Places& places);

}  // namespace railyard::collective
