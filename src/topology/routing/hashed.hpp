// Hashes of a connection, and the paths they choose: what ecmp, valiant, ugal and the tie-breaks of
// adaptive share.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/topology/routing.hpp"

namespace railyard::topology {

/// What enters the hash.
struct HashFields {
  std::uint64_t salt = 0;
  /// Label and queue pair count (RoCE: the UDP source port or the destination queue pair); without
  /// it all connections between two NICs hash alike.
  bool enhanced = true;
};

[[nodiscard]] std::uint64_t hash_of(const Topology& topology, const Connection& connection,
                                    std::uint32_t queue_pair, const HashFields& fields);

/// Chooses by the hash of a connection; `polarized`: alike at all switches, else each switch hashes
/// with a seed of its own.
class HashHop final : public HopChooser {
 public:
  explicit HashHop(std::uint64_t connection, bool polarized = false)
      : connection_(connection), polarized_(polarized) {}
  std::uint32_t choose(NodeId at, std::uint32_t hop, std::uint32_t count) override;

 private:
  std::uint64_t connection_;
  bool polarized_;
};

/// Puts the paths of a connection's queue pairs together into one route.
class EvenSplit {
 public:
  EvenSplit(const Topology& topology, std::uint32_t paths) : topology_(topology), paths_(paths) {}
  void add(const std::vector<LinkId>& path);
  /// Fills `out`, links in order of where they first stand on a path.
  void finish(Route& out);

 private:
  struct Placed {
    LinkId link;
    std::uint32_t hop;
    friend auto operator<=>(const Placed&, const Placed&) = default;
  };

  const Topology& topology_;
  std::uint32_t paths_;
  std::vector<Placed> placed_;
  Duration latency_{};
  Tier tier_ = Tier::nvlink;
};

}  // namespace railyard::topology
