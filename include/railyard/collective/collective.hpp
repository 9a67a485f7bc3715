// Collectives as steps of rank-to-rank transfers. They never look at the fabric: they know the
// ranks of a group and which of them share an island (GroupShape); training maps ranks to GPUs and
// executes the transfers as flows.
//
// Two forms of one collective:
//   stepped  every transfer of every step, with its data dependencies; sends of a rank on a channel
//   leave in order coupled  the transfers of a phase as one activity on its edges at the rate of
// its
//   slowest edge, plus its latency terms
// An algorithm does what it is asked or says why not; it is never silently replaced by another.
//
// Vectors are cut into n chunks that differ by at most one byte; chunks of no bytes make no
// transfers. A group of one rank has an empty schedule. α, the per-message cost of the protocol
// (protocol.hpp) and the wires, passes between a transfer's last byte and its arrival; its channel
// is free for the next one meanwhile. Not modelled: reduction arithmetic (it hides behind the
// wire), copies inside one rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::collective {

enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,  ///< from rank 0
  all_to_all,
  reduce,     ///< to rank 0
  send_recv,  ///< rank r sends to r+1, the last one to 0, as nccl-tests' sendrecv
  barrier
};
inline constexpr std::size_t kOperations = 8;
[[nodiscard]] inline constexpr Operation operation_at(std::size_t i) {
  return static_cast<Operation>(i);
}
[[nodiscard]] std::string_view name(Operation operation);
[[nodiscard]] std::optional<Operation> operation_of(std::string_view name);

/// A group of ranks 0 … n−1 and the island (NVLink domain) each sits in. Islands are numbered by
/// first appearance.
struct GroupShape {
  std::vector<std::uint32_t> island_of;
  /// Ranks in the order in which rings visit them; empty: by number.
  std::vector<std::uint32_t> ring{};
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(island_of.size()); }
  [[nodiscard]] std::uint32_t islands() const;
  /// n ranks, each on an island of its own.
  [[nodiscard]] static GroupShape flat(std::uint32_t ranks);
  /// Ranks of each island, ascending.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> members() const;
  /// `ring`, or all ranks by number.
  [[nodiscard]] std::vector<std::uint32_t> ring_order() const;
  /// members(), the islands in the order in which the ring comes to them.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> members_along_ring() const;
  /// The switch of an island that can add up what its ranks send and copy to all of them, as a
  /// place where transfers end and begin: places 0 … n−1 are the ranks, n+i the reducer of island
  /// i.
  [[nodiscard]] std::uint32_t reducer(std::uint32_t island) const { return ranks() + island; }
};

/// `size` bytes from one place (a rank or a reducer) to another. Starts when all its dependencies
/// have arrived and the transfer before it of the same source and channel has left.
struct Transfer {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t channel = 0;
  Bytes size;
  std::uint32_t first_dependency = 0;  ///< into Schedule::dependencies
  std::uint32_t dependency_count = 0;
  bool reduce = false;  ///< the receiver adds what arrives to what it has; else it stores it
  Bytes
      offset;  ///< bytes [offset, offset + size) of the vector (all_to_all: of the source's input)
  std::uint32_t step = 0;  ///< the algorithm's step it belongs to, where phases follow from steps
  /// Transfers between the same two places with other numbers are other connections to the routing.
  std::uint32_t connection = 0;
};

/// Transfers in an order in which dependencies come first.
struct Schedule {
  std::vector<Transfer> transfers;
  std::vector<std::uint32_t> dependencies;  ///< indices of transfers
};

struct CoupledEdge {
  std::uint32_t source = 0;  ///< places, as in Transfer
  std::uint32_t destination = 0;
  Bytes size;  ///< total over the phase
  std::uint32_t connection = 0;
};

/// Edges that carry their bytes at one common pace, so that they take
///   Σ α of the latency steps + (largest edge) / (rate of the largest edge) + filling,
/// the edges of one place sharing its rate. A pipeline fills with transfers of `chunk` bytes,
/// before or behind those of the edge that bounds it. α and rates differ inside an island and
/// between islands, so the steps of either kind are counted apart. Edges are distinct, sorted by
/// source, destination, connection.
struct CoupledPhase {
  std::vector<CoupledEdge> edges;
  std::uint32_t latency_steps = 0;     ///< number of α terms on the critical path
  std::uint32_t crossing_steps = 0;    ///< of them between islands
  Bytes chunk;                         ///< of one transfer of the filling
  std::uint32_t filling = 0;           ///< transfers of it inside islands, or to and from reducers
  std::uint32_t filling_crossing = 0;  ///< and between islands
};

/// The coupled form: phases that follow one another; one where all steps use the network alike or
/// form one pipeline (a ring), several where they do not (inside the islands, then between them).
struct Coupled {
  std::vector<CoupledPhase> phases;
};

/// `size` is the buffer size in the convention of nccl-tests: all_reduce, broadcast and reduce: the
/// whole vector; all_gather: the gathered result; reduce_scatter: the input; all_to_all: what one
/// rank sends to all (own part included); send_recv: what one rank sends; barrier: ignored, its
/// messages have one byte.
struct Request {
  Operation operation = Operation::all_reduce;
  Bytes size;
  /// all_to_all: what each destination gets of every rank's `size`, as weights, one a rank
  /// (all-to-all-v); empty: all the same.
  std::vector<std::uint32_t> shares{};
  /// The way back of such an exchange: rank r sends size · w_r / Σw to each, so that every rank
  /// gets `size` in all, its own part included.
  bool by_source = false;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  /// Empty when it can do this; else the reason, for the user. The other functions are checked to
  /// be called only then.
  [[nodiscard]] virtual std::string refusal(const Request& request,
                                            const GroupShape& shape) const = 0;
  [[nodiscard]] virtual Schedule schedule(const Request& request,
                                          const GroupShape& shape) const = 0;
  [[nodiscard]] virtual Coupled coupled(const Request& request, const GroupShape& shape) const = 0;
  /// Closed form on a flat group: a transfer takes size / rate and arrives α later; ranks send and
  /// receive at once at `rate`.
  [[nodiscard]] virtual Duration closed_form(const Request& request, std::uint32_t ranks,
                                             Duration alpha, Bandwidth rate) const = 0;
};

using AlgorithmFactory = std::unique_ptr<Algorithm> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<AlgorithmFactory>> algorithm_catalog();

}  // namespace railyard::collective
