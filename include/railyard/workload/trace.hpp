// Communication traces of other tools in one common form: what every rank does, before anybody has
// looked at whether the ranks fit together. Readers (trace_reader.hpp) make it, `match` turns it
// into an IterationDag.
//
// Semantics of the form. An operation begins when all its dependencies are done (or, for those
// marked `started`, have begun). Beside that:
//   compute     the computations of one stream of a rank run one at a time, in an order that agrees
//               with the dependencies; of those free to go the first of the file goes first
//   send        is done at its rank when the last byte has left; does not wait for the receive to
//               be posted (eager)
//   receive     is done when the message is there and it has been posted (its dependencies are
//               done)
//   collective  the k-th of a group on one rank is the k-th of that group on every other (NCCL);
//               starts when every rank has reached it; collectives of one group run in order
// Messages from one rank to another with one tag are received in the order in which they are sent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/collective/collective.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/workload/block_vector.hpp"
#include "railyard/workload/iteration_dag.hpp"

namespace railyard::workload {

enum class TraceKind : std::uint8_t {
  compute,     ///< `duration`
  send,        ///< `size` to `peer`
  receive,     ///< `size` from `peer`, or from anybody (kAnyRank)
  collective,  ///< `operation` of `size` (convention of collective::Request) in `group`
  barrier      ///< of `group`, free of cost
};

inline constexpr std::uint32_t kAnyRank = UINT32_MAX;

struct TraceOperation {
  TraceKind kind = TraceKind::compute;
  collective::Operation operation = collective::Operation::all_reduce;
  std::uint16_t stream = 0;  ///< compute: of its rank
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t group = 0;  ///< into Trace::groups
  std::uint32_t name_size = 0;
  std::uint32_t dependency_count = 0;
  std::uint64_t name_begin = 0;  ///< into RankTrace::names
  std::uint64_t id = 0;          ///< node or line of the file
  std::uint64_t first_dependency = 0;
  Bytes size;  ///< a message of no bytes costs as one of one byte; a collective of none nothing
  Duration duration{};
};

struct TraceDependency {
  std::uint32_t operation = 0;  ///< of the same rank, by position; may stand behind
  bool started = false;         ///< waits for its begin, not for its end
  friend bool operator==(const TraceDependency&, const TraceDependency&) = default;
};

struct RankTrace {
  std::string file;
  std::string id_word;   ///< what `id` counts: "node", "line"
  bool present = false;  ///< false: no file was given for this rank
  BlockVector<TraceOperation> operations;
  std::vector<TraceDependency> dependencies;
  std::string names;

  TraceOperation& add(TraceOperation operation, std::string_view name);
  /// Sets the dependencies of an operation, once.
  void depend(std::size_t operation, std::span<const TraceDependency> on);
  /// The same with a name that has been stored by `keep`.
  TraceOperation& add_kept(const TraceOperation& operation);
  /// Stores a name in the operation; one that was stored lately is not stored again.
  void keep(TraceOperation& operation, std::string_view name);
  [[nodiscard]] std::string_view name(const TraceOperation& operation) const {
    return std::string_view(names).substr(operation.name_begin, operation.name_size);
  }

 private:
  struct Kept {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
  };
  std::vector<Kept> kept_;  ///< by hash of the name
};

struct TraceGroup {
  std::string name;
  std::vector<Rank> ranks;  ///< in ring order
};

/// Ranks whose trace is not among the files ("a few ranks of many").
enum class AbsentRanks : std::uint8_t {
  refuse,
  join  ///< they take part in whatever the others do with them, without delay of their own
};

struct Trace {
  std::string format;  ///< name of the reader
  std::string name;    ///< of the file or the prefix of the files
  std::vector<RankTrace> ranks;
  std::vector<TraceGroup> groups;
  std::vector<std::string> notes;  ///< what the reader left out or assumed, for people

  [[nodiscard]] std::size_t operations() const;
  /// "rank 3's all_reduce of 1048576 bytes in group "0" ("grads", t.3.et node 5)".
  [[nodiscard]] std::string describe(std::uint32_t rank, std::size_t operation) const;
};

/// Checks that the ranks fit together and joins their operations. Throws one ConfigError that names
/// rank, operation, group and who waits for whom where they do not: a collective of another type or
/// size or in another order, on too few ranks, by a rank outside the group; a send without receive
/// or the reverse, or of another size; operations that wait for each other in a circle.
[[nodiscard]] IterationDag match(const Trace& trace, AbsentRanks absent = AbsentRanks::refuse);

}  // namespace railyard::workload
