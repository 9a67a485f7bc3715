#include "railyard/network/transport.hpp"

#include <algorithm>

namespace railyard::network {
namespace {

using config::ParameterSpec;
using config::ParameterType;

/// What a family of transports has in common, as JSON text.
struct Defaults {
  std::string_view payload;
  std::string_view header;
  std::string_view acknowledgement;
  std::string_view spray_efficiency;
  std::string_view unfairness;
  std::string_view collision_loss;
};

std::vector<ParameterSpec> parameters_of(const Defaults& defaults) {
  return {ParameterSpec{.name = "payload",
                        .type = ParameterType::bytes,
                        .fallback = defaults.payload,
                        .help = "of a full packet"},
          ParameterSpec{.name = "header",
                        .type = ParameterType::bytes,
                        .fallback = defaults.header,
                        .help = "of every packet, beside the payload"},
          ParameterSpec{.name = "acknowledgement",
                        .type = ParameterType::bytes,
                        .fallback = defaults.acknowledgement,
                        .help = "length of its packet; a flow ends when the last one is back"},
          ParameterSpec{.name = "message_overhead",
                        .type = ParameterType::duration,
                        .fallback = "\"0s\"",
                        .help = "before the first byte leaves"},
          ParameterSpec{.name = "initial_window",
                        .type = ParameterType::bytes,
                        .fallback = "\"0B\"",
                        .help = "bytes of the first round trip, doubled in each next one until "
                                "the path is full; 0B: full at once"},
          ParameterSpec{.name = "spray_efficiency",
                        .type = ParameterType::real,
                        .fallback = defaults.spray_efficiency,
                        .help = "packet_corrected: share of sprayed links that a full load can use",
                        .min = 0.01,
                        .max = 1},
          ParameterSpec{.name = "unfairness",
                        .type = ParameterType::real,
                        .fallback = defaults.unfairness,
                        .help = "packet_corrected: shares of sources on a single path are 1 ± this",
                        .min = 0,
                        .max = 0.99},
          ParameterSpec{.name = "collision_loss",
                        .type = ParameterType::real,
                        .fallback = defaults.collision_loss,
                        .help = "packet_corrected: share of its bytes that a flow loses where "
                                "paths collide",
                        .min = 0,
                        .max = 1}};
}

Transport make_ideal(const config::Parameters& parameters) {
  Transport transport;
  transport.message_overhead = parameters.get<Duration>("message_overhead");
  return transport;
}

Transport make_packets(const config::Parameters& parameters) {
  Transport transport;
  transport.payload = std::max(Bytes(1), parameters.get<Bytes>("payload"));
  transport.header = parameters.get<Bytes>("header");
  transport.acknowledgement = parameters.get<Bytes>("acknowledgement");
  transport.message_overhead = parameters.get<Duration>("message_overhead");
  transport.initial_window = parameters.get<Bytes>("initial_window");
  transport.finish = Finish::acknowledged;
  transport.spray_efficiency = parameters.get<double>("spray_efficiency");
  transport.unfairness = parameters.get<double>("unfairness");
  transport.collision_loss = parameters.get<double>("collision_loss");
  return transport;
}

/// UEC of uet-htsim: 4,150 bytes on the wire carry 4,086; the last packet is short.
Transport make_short_last(const config::Parameters& parameters) {
  return make_packets(parameters);
}

/// csg-htsim: the last packet is as long as the others.
Transport make_padded(const config::Parameters& parameters) {
  Transport transport = make_packets(parameters);
  transport.padded = true;
  return transport;
}

}  // namespace

Bytes Transport::wire_bytes(Bytes message) const {
  if (!has_packets()) return message;
  const std::int64_t packets = message.divided_up(payload.count()).count();
  return (padded ? payload * packets : message) + header * packets;
}

Duration Transport::start_up(Bytes message, double bytes_per_s, Duration round_trip) const {
  if (initial_window.count() == 0) return Duration{};
  const double path = bytes_per_s * in_seconds(round_trip);
  auto left = static_cast<double>(wire_bytes(message).count());
  auto window = static_cast<double>(initial_window.count());
  double waiting = 0;
  for (; window < path && window < left; window *= 2) {
    waiting += path - window;
    left -= window;
  }
  return from_seconds(waiting / bytes_per_s);
}

Bytes Transport::longest_packet(Bytes message) const {
  return (padded ? payload : std::min(payload, message)) + header;
}

// The last three numbers of each are the correction: what `tools/packets --fit TRANSPORT` finds on
// the recorded ft128_100 cases of htsim, and only on those. nscc_oblivious, rccc, ndp and eqds have
// no recorded runs on single paths, roce none that spray.
std::span<const config::CatalogEntry<TransportFactory>> transport_catalog() {
  constexpr std::string_view kUecPayload = "\"4086B\"";
  constexpr std::string_view kCsgPayload = "\"4000B\"";
  constexpr std::string_view kHeader = "\"64B\"";
  constexpr std::string_view kAck = "\"64B\"";
  static const std::vector<config::CatalogEntry<TransportFactory>> table = {
      {{"ideal",
        "a fluid: no packets, no acknowledgements; ends at the receiver",
        {ParameterSpec{.name = "message_overhead",
                       .type = ParameterType::duration,
                       .fallback = "\"0s\"",
                       .help = "before the first byte leaves"}}},
       &make_ideal},
      {{"nscc", "Ultra Ethernet, sender congestion control, mixed spraying",
        parameters_of({kUecPayload, kHeader, kAck, "0.86", "0.3", "0"})},
       &make_short_last},
      {{"nscc_oblivious", "Ultra Ethernet, sender congestion control, oblivious spraying",
        parameters_of({kUecPayload, kHeader, kAck, "0.84", "0", "0"})},
       &make_short_last},
      {{"rccc", "Ultra Ethernet, receiver credits",
        parameters_of({kUecPayload, kHeader, kAck, "0.92", "0", "0"})},
       &make_short_last},
      {{"ndp", "NDP: receiver pulls, trimmed packets",
        parameters_of({kCsgPayload, kHeader, kAck, "0.86", "0", "0"})},
       &make_padded},
      {{"eqds", "EQDS: receiver credits at the edge",
        parameters_of({kCsgPayload, kHeader, kAck, "0.92", "0", "0"})},
       &make_padded},
      {{"roce", "RoCE v2: line rate and priority flow control",
        parameters_of({kCsgPayload, kHeader, kAck, "1", "0.9", "0.03"})},
       &make_padded},
  };
  return table;
}

}  // namespace railyard::network
