// Compression of gradients: what training systems do to gradients before they cross the network, as
// a transform of an iteration's DAG.
//
// A member of the family says into which pieces a gradient collective falls and how many bytes
// coding moves through the memory of each GPU. `compress` puts the pieces in the place of every
// reduction of gradients (cause `data`), with the coding in front of and behind them on the same
// stream. What compression does to the loss is not modelled: a result says so.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/workload/iteration_dag.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

/// A reduction of gradients as the job asks for it.
struct GradientReduction {
  collective::Operation operation = collective::Operation::all_reduce;  ///< or reduce_scatter
  Bytes size;                                                           ///< the whole vector
  std::int64_t element_bytes = 2;                                       ///< of a gradient
  std::uint32_t ranks = 1;
  [[nodiscard]] std::int64_t elements() const { return size.count() / element_bytes; }
};

/// A collective that stands in its place. Pieces run one after the other.
struct CompressedPiece {
  collective::Operation operation = collective::Operation::all_reduce;
  Bytes size;               ///< in the convention of the operation (collective.hpp)
  std::uint32_t local = 0;  ///< only within so many consecutive ranks; 0: the whole group
};

struct CompressedReduction {
  std::vector<CompressedPiece> pieces;
  Bytes encoding;  ///< read and written in the memory of every GPU before the first piece
  Bytes decoding;  ///< and behind the last one
};

class Compression {
 public:
  virtual ~Compression() = default;
  /// Empty when it can compress this; else the reason, for the user.
  [[nodiscard]] virtual std::string refusal(const GradientReduction& reduction) const = 0;
  [[nodiscard]] virtual CompressedReduction compressed(
      const GradientReduction& reduction) const = 0;
};

/// nullptr from the factory of "none".
using CompressionFactory = std::unique_ptr<Compression> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<CompressionFactory>> compression_catalog();

/// The DAG with its reductions of gradients compressed. `gradient_bytes`: of an element, on the
/// wire. Coding moves its bytes at the GPU's memory bandwidth times its memory efficiency. Throws
/// config::ConfigError, a sentence without a place, when the compression refuses, or when no group
/// divides into the consecutive parts it asks for.
[[nodiscard]] IterationDag compress(const IterationDag& dag, const Compression& compression,
                                    std::int64_t gradient_bytes, const GpuSpec& gpu);

}  // namespace railyard::workload
