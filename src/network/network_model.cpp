#include "railyard/network/network_model.hpp"

#include <vector>

namespace railyard::network {
namespace {

using config::ParameterSpec;
using config::ParameterType;

NetworkModel make_fluid(const config::Parameters&) {
  return {Fidelity::fluid, {}, 0};
}
NetworkModel make_packet_corrected(const config::Parameters& parameters) {
  const auto seed = static_cast<std::uint64_t>(parameters.get<std::int64_t>("seed"));
  return {Fidelity::packet_corrected, {}, seed};
}
NetworkModel make_analytic(const config::Parameters&) {
  return {Fidelity::analytic, {}, 0};
}
NetworkModel make_loggp(const config::Parameters& parameters) {
  NetworkModel model{Fidelity::loggp, {}, 0};
  if (parameters.has_value("L")) model.loggp.latency = parameters.get<Duration>("L");
  model.loggp.overhead = parameters.get<Duration>("o");
  model.loggp.gap = parameters.get<Duration>("g");
  if (parameters.has_value("G")) model.loggp.rate = parameters.get<Bandwidth>("G");
  if (parameters.has_value("O")) {
    const auto rate = static_cast<double>(parameters.get<Bandwidth>("O").bytes_per_s());
    model.loggp.overhead_s_per_byte = 1.0 / rate;
  }
  return model;
}

}  // namespace

std::span<const config::CatalogEntry<NetworkModelFactory>> network_model_catalog() {
  static const std::vector<config::CatalogEntry<NetworkModelFactory>> table = {
      {{"fluid", "max-min fair shares of every link", {}}, &make_fluid},
      {{"packet_corrected",
        "the fluid with the correction of the transport",
        {ParameterSpec{.name = "seed",
                       .type = ParameterType::integer,
                       .fallback = "0",
                       .help = "another value draws other shares of unfair flows",
                       .min = 0}}},
       &make_packet_corrected},
      {{"analytic", "no contention: every flow as if alone", {}}, &make_analytic},
      {{"loggp",
        "LogGP: contention at the end points only",
        {ParameterSpec{.name = "L",
                       .type = ParameterType::duration,
                       .fallback = "null",
                       .help = "latency; without it the path's"},
         ParameterSpec{.name = "o",
                       .type = ParameterType::duration,
                       .fallback = "\"0s\"",
                       .help = "overhead at the sender and again at the receiver"},
         ParameterSpec{.name = "g",
                       .type = ParameterType::duration,
                       .fallback = "\"0s\"",
                       .help = "gap between two messages of an end point"},
         ParameterSpec{.name = "G",
                       .type = ParameterType::bandwidth,
                       .fallback = "null",
                       .help = "rate of long messages, 1/G; without it the path's slowest link"},
         ParameterSpec{.name = "O",
                       .type = ParameterType::bandwidth,
                       .fallback = "null",
                       .help = "rate at which a processor handles bytes, 1/O; without it O is 0"}}},
       &make_loggp},
  };
  return table;
}

}  // namespace railyard::network
