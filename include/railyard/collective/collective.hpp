// Collectives as steps of rank-to-rank transfers. They never look at the fabric: they know the
// ranks of a group and which of them share an island (GroupShape); training maps ranks to GPUs and
// executes the transfers as flows.
//
// Two forms of one collective:
//   stepped  every transfer of every step, with its data dependencies; sends of a rank on a channel
//   leave in order coupled  all transfers as one activity on its edges at the rate of its slowest
//   edge, plus its latency terms
// An algorithm does what it is asked or says why not; it is never silently replaced by another.
//
// Vectors are cut into n chunks that differ by at most one byte; chunks of no bytes make no
// transfers. A group of one rank has an empty schedule. In all forms a transfer costs its channel
// alpha + size / rate: alpha is the per-message cost of the protocol (protocol.hpp), paid by every
// transfer, not only by the first of a pipeline. Not modelled: reduction arithmetic (it hides
// behind the wire), copies inside one rank.
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
  broadcast,
  all_to_all
};
[[nodiscard]] std::string_view name(Operation operation);
[[nodiscard]] std::optional<Operation> operation_of(std::string_view name);

/// A group of ranks 0 … n−1 and the island (NVLink domain) each sits in. Islands are numbered by
/// first appearance.
struct GroupShape {
  std::vector<std::uint32_t> island_of;
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(island_of.size()); }
  [[nodiscard]] std::uint32_t islands() const;
  /// n ranks, each on an island of its own.
  [[nodiscard]] static GroupShape flat(std::uint32_t ranks);
};

/// `size` bytes from one rank to another. Starts when all its dependencies have arrived and the
/// transfer before it of the same source and channel has left.
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
};

/// Transfers in an order in which dependencies come first.
struct Schedule {
  std::vector<Transfer> transfers;
  std::vector<std::uint32_t> dependencies;  ///< indices of transfers
};

struct CoupledEdge {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  Bytes size;  ///< total over the collective
};

/// The coupled form: every edge carries its bytes at one common pace, so the time is
///   latency_steps × α + (largest edge) × (1 + fill) / (rate of the largest edge),
/// the edges of one rank sharing its rate. Edges are distinct pairs, sorted by source, then
/// destination.
struct Coupled {
  std::vector<CoupledEdge> edges;
  std::uint32_t latency_steps = 0;  ///< number of α terms on the critical path
  double fill = 0;                  ///< pipeline filling, as a share of the largest edge's bytes
};

/// `size` is the buffer size in the convention of nccl-tests: all_reduce and broadcast: the whole
/// vector; all_gather: the gathered result; reduce_scatter: the input; all_to_all: what one rank
/// sends to all (own part included).
struct Request {
  Operation operation = Operation::all_reduce;
  Bytes size;
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
  /// Closed form on a flat group: each transfer costs α + size / rate, ranks send and receive at
  /// once at `rate`.
  [[nodiscard]] virtual Duration closed_form(const Request& request, std::uint32_t ranks,
                                             Duration alpha, Bandwidth rate) const = 0;
};

using AlgorithmFactory = std::unique_ptr<Algorithm> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<AlgorithmFactory>> algorithm_catalog();

}  // namespace railyard::collective
