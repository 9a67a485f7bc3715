#include <algorithm>
#include <bit>

#include "collective/nccl_tables.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective::nccl {

namespace {

/// Everything a prediction depends on.
struct Question {
  Operation operation;
  const Fabric& fabric;
  const Version& version;
  Algorithm algorithm;
  WireProtocol protocol;

  [[nodiscard]] double latency(const Latencies& table) const {
    return table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
  }
  [[nodiscard]] double intra_us() const {
    return latency(fabric.nvlink ? version.nvlink_us : version.pci_us);
  }
  [[nodiscard]] std::size_t by_nodes() const { return std::min(fabric.nodes, 3U) - 1; }
  [[nodiscard]] bool reduces_or_gathers() const {
    return operation == Operation::all_gather || operation == Operation::reduce_scatter;
  }
};

double floor_log2(std::uint64_t value) {
  return value == 0 ? 0 : static_cast<double>(std::bit_width(value) - 1);
}

bool considered(const Question& ask) {
  const bool all_reduce = ask.operation == Operation::all_reduce;
  const bool simple = ask.protocol == WireProtocol::simple;
  switch (ask.algorithm) {
    case Algorithm::ring:
      // LL128 relies on NVLink writes of 128 bytes.
      return ask.protocol != WireProtocol::ll128 || ask.fabric.nvlink;
    case Algorithm::tree:
      return all_reduce && (ask.protocol != WireProtocol::ll128 || ask.fabric.nvlink);
    case Algorithm::nvls:
      return simple && ask.fabric.nvls && ask.fabric.nodes == 1 &&
             (all_reduce || ask.reduces_or_gathers());
    case Algorithm::nvls_tree:
      return simple && ask.fabric.nvls && ask.fabric.nodes > 1 && all_reduce;
    case Algorithm::pat:
      return simple && ask.version.pat && ask.reduces_or_gathers() &&
             ask.fabric.ranks == ask.fabric.nodes;
  }
  return false;
}

double steps_of(const Question& ask) {
  const double n = ask.fabric.ranks;
  if (ask.operation == Operation::all_reduce) return 2 * (n - 1);
  return ask.reduces_or_gathers() ? n - 1 : n;
}

double ring_latency_us(const Question& ask) {
  const Fabric& fabric = ask.fabric;
  const bool one = fabric.nodes == 1;
  if (ask.operation != Operation::all_reduce && !ask.reduces_or_gathers()) {
    // Broadcast and reduce with the same channels in both directions, as on NVSwitch hosts.
    return one ? ask.intra_us() : ask.latency(ask.version.network_us);
  }
  double inter_steps = 0;
  double intra = ask.intra_us();
  if (!one) {
    inter_steps = (ask.operation == Operation::all_reduce ? 2.0 : 1.0) * (fabric.nodes - 1);
    constexpr double kNetOverhead = 1.0;  // of an Intel host
    intra = std::max(intra, kNetOverhead * (ask.protocol == WireProtocol::simple ? 3 : 1));
  }
  return (steps_of(ask) - inter_steps) * intra + inter_steps * ask.latency(ask.version.network_us);
}

double latency_us(const Question& ask) {
  const Fabric& fabric = ask.fabric;
  const double base = ask.latency(ask.version.base_us);
  const double inter = ask.latency(ask.version.network_us);
  switch (ask.algorithm) {
    case Algorithm::ring:
      return base + ring_latency_us(ask);
    case Algorithm::tree:
      return base + 2 * ((fabric.ranks_per_node() - 1) * ask.intra_us() +
                         floor_log2(fabric.nodes) * inter);
    case Algorithm::nvls:
      return ask.intra_us() + (fabric.nodes > 1 ? inter : 0);
    case Algorithm::nvls_tree:
      return base + ask.intra_us() + 2 * floor_log2(fabric.nodes) * inter;
    case Algorithm::pat:
      return base + floor_log2(fabric.nodes) * inter / 3.5 + fabric.ranks * 2.8;
  }
  return 0;
}

double nvls_bus_gb_per_s(const Question& ask, const Caps& caps) {
  const Fabric& fabric = ask.fabric;
  const double channels = fabric.channels;
  double per_channel =
      fabric.channel_intra_gb_per_s * caps.nvls_efficiency * (channels - 1) / channels;
  if (ask.operation == Operation::all_reduce) {
    per_channel *= 2;
  } else {
    per_channel *= (fabric.ranks_per_node() - 1) / fabric.ranks_per_node();
  }
  if (ask.algorithm == Algorithm::nvls_tree) {
    const double inter = fabric.channel_inter_gb_per_s * (fabric.nodes == 2 ? 2 : 1);
    per_channel = std::min({per_channel, inter, caps.nvls_tree_per_channel[ask.by_nodes()]});
  }
  return channels * per_channel;
}

/// Bus bandwidth of rings and trees, in GB/s.
double bus_gb_per_s(const Question& ask, const Caps& caps) {
  const Fabric& fabric = ask.fabric;
  const std::size_t nodes = ask.by_nodes();
  const double channels = fabric.channels;
  const double bus = channels * (fabric.nodes <= 2 ? fabric.channel_intra_gb_per_s
                                                   : fabric.channel_inter_gb_per_s);
  // Over several nodes LL is bounded by the host's CPU: the rows of Intel.
  const double ll_cap =
      (fabric.nodes == 1 ? caps : caps_of(Architecture::volta)).ll_gb_per_s[nodes];
  if (ask.algorithm == Algorithm::ring) {
    if (ask.protocol == WireProtocol::ll) return std::min(ll_cap, bus * 0.5);
    if (ask.protocol == WireProtocol::simple) return bus;
    return std::min(bus * (fabric.ranks_per_node() < 2 ? 0.7 : 0.92),
                    channels * caps.ring_ll128_per_channel[nodes]);
  }
  const double tree = std::min(bus * 0.92, channels * caps.tree_per_channel[nodes]);
  if (ask.protocol == WireProtocol::ll) return std::min(tree / 3.8, ll_cap);
  if (ask.protocol == WireProtocol::simple) return tree;
  return std::min(tree * (fabric.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                  channels * caps.tree_ll128_per_channel[nodes]);
}

/// Bytes of the operation's size per second, in GB/s.
double algorithm_gb_per_s(const Question& ask) {
  const Caps& caps = caps_of(ask.fabric.architecture);
  const double by_steps = ask.fabric.ranks / steps_of(ask);
  switch (ask.algorithm) {
    case Algorithm::ring:
      return bus_gb_per_s(ask, caps) * by_steps;
    case Algorithm::tree:
      return bus_gb_per_s(ask, caps) * 0.5;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return nvls_bus_gb_per_s(ask, caps) * by_steps;
    case Algorithm::pat:
      return ask.fabric.channels * ask.fabric.channel_inter_gb_per_s * 0.75 * 0.5;
  }
  return 0;
}

}  // namespace

bool tuned(Operation operation) {
  return operation != Operation::all_to_all && operation != Operation::send_recv &&
         operation != Operation::barrier;
}

std::optional<double> predict_us(Operation operation, Bytes size, const Fabric& fabric,
                                 const Version& version, Algorithm algorithm,
                                 WireProtocol protocol) {
  RAILYARD_CHECK(tuned(operation) && fabric.ranks > 1, "NCCL does not tune this");
  const Question ask{operation, fabric, version, algorithm, protocol};
  if (!considered(ask)) return std::nullopt;
  double bandwidth = algorithm_gb_per_s(ask);
  if (bandwidth <= 0) return std::nullopt;
  const auto bytes = static_cast<double>(size.count());
  if (algorithm == Algorithm::tree) {
    bandwidth *= tree_correction(
        protocol,
        static_cast<std::size_t>(floor_log2(static_cast<std::uint64_t>(size.count()) >> 6U)));
  }
  double latency = latency_us(ask);
  const bool plateau = algorithm == Algorithm::ring && protocol == WireProtocol::simple &&
                       fabric.nodes > 1 && operation == Operation::all_reduce &&
                       bytes / (static_cast<double>(fabric.channels) * fabric.ranks) >= 64;
  if (plateau) latency *= caps_of(fabric.architecture).plateau;
  return latency + bytes / (1000 * bandwidth);
}

std::optional<Choice> choose(Operation operation, Bytes size, const Fabric& fabric,
                             const Version& version, const Restriction& allowed) {
  std::optional<Choice> best;
  for (std::size_t a = 0; a < kAlgorithms; ++a) {
    for (std::size_t p = 0; p < kProtocols; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<WireProtocol>(p);
      if (allowed.algorithm.value_or(algorithm) != algorithm) continue;
      if (allowed.protocol.value_or(protocol) != protocol) continue;
      const auto time = predict_us(operation, size, fabric, version, algorithm, protocol);
      if (time && (!best || *time < best->predicted_us)) best = {algorithm, protocol, *time};
    }
  }
  return best;
}

}  // namespace railyard::collective::nccl
