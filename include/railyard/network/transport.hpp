// Transports: what carrying bytes in packets adds to the fluid.
//
// A message of S bytes goes as n = ceil(S / payload) packets, each with a header, the last one
// short or padded to full length. That makes W bytes on the wire, which the fluid moves. When the
// last of them has left the source at t1,
//
//   received = t1 + L + sum over hops of p/C - p/C_min
//   sent     = received + L + sum over hops of a/C        (the acknowledgement's way back)
//
// with path latency L, packet length p (store and forward at each hop but the slowest, which the
// fluid has), acknowledgement length a and hop capacities C. On an idle path this is exact:
// recorded single flows of htsim are met to the last digit printed. A transport without
// acknowledgements has sent = t1.
// With an initial window w a flow starts slowly (RFC 5681, section 3.1, in round trips): w bytes in
// the first, twice as many in each next one, until the window covers the path or the message ends.
// Of round k it spends R - w 2^k / C_min waiting, with base round trip R. All of that waiting is
// put before the first byte: exact for a message alone, and nothing is on the links meanwhile.
// Not modelled: loss, retransmission, other windows smaller than the path.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "railyard/config/catalog.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::network {

/// When a flow counts as finished.
enum class Finish : std::uint8_t {
  received,      ///< the last byte is at the receiver
  acknowledged,  ///< the sender has the last acknowledgement
};

struct Transport {
  Bytes payload;                ///< of a packet; 0: a fluid without packets
  Bytes header;                 ///< of a packet, beside the payload
  bool padded = false;          ///< the last packet has full length
  Bytes acknowledgement;        ///< length of its packet
  Duration message_overhead{};  ///< before the first byte leaves
  Bytes initial_window;         ///< on the wire; 0: the path is filled at once
  Finish finish = Finish::received;
  /// Share of the capacity of links over which traffic is sprayed that a full load can use; 1: all.
  /// Of the correction (network model packet_corrected) only.
  double spray_efficiency = 1.0;
  /// On single paths, congestion control shares a link unevenly: the share of each source is drawn
  /// from 1 ± this. Of the correction only.
  double unfairness = 0.0;
  /// On single paths: share of its bytes that a flow loses to settling, pauses and retransmissions
  /// when it meets another flow inside the fabric at its start. Of the correction only.
  double collision_loss = 0.0;

  [[nodiscard]] bool has_packets() const { return payload.count() > 0; }
  /// Bytes on the wire of a message.
  [[nodiscard]] Bytes wire_bytes(Bytes message) const;
  /// Time that a message waits for acknowledgements while its window opens, on a path with that
  /// slowest rate and base round trip.
  [[nodiscard]] Duration start_up(Bytes message, double bytes_per_s, Duration round_trip) const;
  /// Length of the longest packet of a message.
  [[nodiscard]] Bytes longest_packet(Bytes message) const;
};

using TransportFactory = Transport (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<TransportFactory>> transport_catalog();

}  // namespace railyard::network
