// How much of the network is modelled: the fidelity knob.
//
//   fluid             max-min fair shares of every link (the default)
//   packet_corrected  the fluid with the transport's correction: see Transport
//   analytic          no contention: every flow as if alone
//   loggp             LogGP: contention at the end points only (Alexandrov, Ionescu, Schauser,
//                     Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA'95)
//
// LogGP here. A message of k bytes that is ready at t takes the processor of its source for
// o + (k-1)O from max(t, processor free) on. It then enters the network at i = max(that end, port
// free), leaves it at i + (k-1)G, and the port is free again g later. Its first byte comes to the
// destination at i + L; that port takes it in from max(i + L, port free) on, for (k-1)G, and is
// free g later. Behind its last byte it takes the destination's processor for o + (k-1)O, as soon
// as that is free. Messages are taken in by order of arrival. Alone: o + (k-1)G + L + o (O = 0).
// Where L or G are not given, they are the path's latency and the rate of its slowest link. O is
// LogGPSim's; its S (rendezvous above S bytes) is not modelled, nor that a processor in overhead
// computes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "railyard/config/catalog.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::network {

enum class Fidelity : std::uint8_t { fluid, packet_corrected, analytic, loggp };

struct LogGp {
  std::optional<Duration> latency;  ///< L; empty: the path's
  Duration overhead{};              ///< o
  Duration gap{};                   ///< g
  std::optional<Bandwidth> rate;    ///< 1/G; empty: the path's
  double overhead_s_per_byte = 0;   ///< O
};

struct NetworkModel {
  Fidelity fidelity = Fidelity::fluid;
  LogGp loggp;
  std::uint64_t seed = 0;  ///< packet_corrected: of the unfairness drawn

  /// Do flows get shares of links? Else priorities, faults and loads of links have no meaning.
  [[nodiscard]] bool shares_links() const {
    return fidelity == Fidelity::fluid || fidelity == Fidelity::packet_corrected;
  }
};

using NetworkModelFactory = NetworkModel (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<NetworkModelFactory>> network_model_catalog();

}  // namespace railyard::network
