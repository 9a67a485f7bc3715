#include <algorithm>
#include <cmath>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "collective/nccl_tables.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective::nccl {

namespace {

constexpr std::int64_t kKiB = 1024;
/// The most of a vector that a channel passes on at once (NCCL's buffer of 4 MiB has eight slots; a
/// ring's chunk takes four of them; trees and NVLSTree cut theirs for latency: src/enqueue.cc).
constexpr std::int64_t kRingChunk = 2048 * kKiB;
constexpr std::int64_t kNvlsChunk = 128 * kKiB;
constexpr std::int64_t kNvlsTreeChunk = 64 * kKiB;
constexpr std::array<std::int64_t, kProtocols> kTreeChunk{16 * kKiB, 64 * kKiB, 256 * kKiB};
constexpr std::uint32_t kSlices = 2;  ///< CHUNKSTEPS / SLICESTEPS
constexpr std::int64_t kChunksMax = 4096;
constexpr std::int64_t kChannelsMax = 64;
constexpr std::int64_t kPathChunks = 64;  ///< of a pipelined broadcast or reduce

// Bytes on the wire per byte of data. LL: 4 bytes of flag with 4 of data; LL128: the tuner's 0.92.
constexpr std::array<double, kProtocols> kWire{2.0, 1 / 0.92, 1.0};

std::int64_t pieces(Bytes size, std::int64_t piece) {
  return std::clamp((size.count() + piece - 1) / piece, std::int64_t{1}, kChunksMax);
}

/// As many channels as the fuller nodes have ranks, so that every NIC is used.
std::int64_t channels_over_nics(const Fabric& fabric) {
  if (fabric.nodes == 1) return 1;
  const auto most = (fabric.ranks + fabric.nodes - 1) / fabric.nodes;
  return std::clamp<std::int64_t>(most, 1, kChannelsMax);
}

Duration microseconds(double us) {
  return from_seconds(us * 1e-6);
}

struct Tables {
  const Fabric& fabric;
  const Version& version;
  Algorithm algorithm;
  WireProtocol protocol;

  [[nodiscard]] double of(const Latencies& table) const {
    return table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
  }
  [[nodiscard]] StepCosts costs() const {
    return step_costs(algorithm, protocol, version, fabric.nvlink);
  }
};

void plan_ring(const Tables& tables, Operation operation, Bytes size, Plan& plan) {
  const Fabric& fabric = tables.fabric;
  plan.parameters.set("channels", channels_over_nics(fabric), true);
  plan.parameters.set("broadcast_chunks", kPathChunks, true);
  const bool path = operation == Operation::broadcast || operation == Operation::reduce;
  if (tables.protocol != WireProtocol::simple || path) return;
  const std::int64_t loop = std::int64_t{fabric.ranks} * fabric.channels * kRingChunk;
  plan.costs.rounds = kSlices * static_cast<std::uint32_t>(
                                    std::max<std::int64_t>(1, (size.count() + loop - 1) / loop));
  const double rate = fabric.channels * fabric.channel_intra_gb_per_s * 1e9;
  plan.costs.once += from_seconds(caps_of(fabric.architecture).drain *
                                  static_cast<double>(size.count()) / fabric.ranks / rate);
}

void plan_tree(const Tables& tables, Bytes size, Plan& plan) {
  const std::int64_t nics = channels_over_nics(tables.fabric);
  const std::int64_t chunk = kTreeChunk[static_cast<std::size_t>(tables.protocol)] *
                             std::max<std::int64_t>(1, tables.fabric.channels / nics);
  plan.parameters.set("channels", nics, true);
  plan.parameters.set("chunks", pieces(size.divided_up(nics), chunk), true);
}

void plan_nvls(const Tables& tables, Bytes size, Plan& plan) {
  const Fabric& fabric = tables.fabric;
  const bool tree = tables.algorithm == Algorithm::nvls_tree;
  const std::int64_t per_rank = size.divided_up(channels_over_nics(fabric)).count();
  const std::int64_t chunks =
      tree ? pieces(Bytes(per_rank), fabric.channels * kNvlsTreeChunk)
           : pieces(size.divided_up(fabric.ranks), fabric.channels * kNvlsChunk);
  plan.parameters.set("chunks", chunks, true);
  // hwLat is that of the whole way: up, down, up, down.
  plan.costs.step.nvlink /= 4;
  const double efficiency = caps_of(fabric.architecture).nvls_efficiency;
  plan.costs.reducer_wire = 1 / efficiency;
  if (tree) return;
  // The ranks copy a round of chunks into the buffers that the switch can reduce, before it does,
  // and out of them behind it: what one round moves, once.
  const double round = std::min(static_cast<double>(size.count()),
                                static_cast<double>(fabric.ranks) * fabric.channels * kNvlsChunk);
  const double rate = efficiency * fabric.channels * fabric.channel_intra_gb_per_s * 1e9;
  plan.costs.once += from_seconds(round * (1 + 1.0 / fabric.ranks) / rate);
}

/// Sends and receives: to all at once, each message in two slices. Inside a node the messages of a
/// rank are handed over one after the other.
Plan plan_exchange(Operation operation, const Fabric& fabric, const Version& version) {
  Plan plan;
  const Tables tables{fabric, version, Algorithm::ring, WireProtocol::simple};
  plan.algorithm = "direct";
  plan.protocol = WireProtocol::simple;
  plan.costs = tables.costs();
  plan.costs.rounds = kSlices;
  plan.parameters.set("channels", std::int64_t{1}, true);
  plan.parameters.set("at_once", std::int64_t{65536}, true);
  if (operation == Operation::all_to_all) {
    const auto local = static_cast<std::int64_t>(fabric.ranks_per_node());
    plan.costs.once += plan.costs.step.nvlink * (kSlices * std::max<std::int64_t>(0, local - 2));
  }
  return plan;
}

Plan plan_barrier(const Fabric& fabric, const Version& version) {
  Plan plan;
  plan.algorithm = "dissemination";
  plan.protocol = WireProtocol::ll;
  plan.costs = Tables{fabric, version, Algorithm::ring, WireProtocol::ll}.costs();
  return plan;
}

std::optional<Algorithm> algorithm_named(std::string_view wanted) {
  for (std::size_t a = 0; a < kAlgorithms; ++a) {
    if (name(static_cast<Algorithm>(a)) == wanted) return static_cast<Algorithm>(a);
  }
  return std::nullopt;
}

}  // namespace

StepCosts step_costs(Algorithm algorithm, WireProtocol protocol, const Version& version,
                     bool nvlink) {
  const auto of = [&](const Latencies& table) {
    return microseconds(
        table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)]);
  };
  const double wire = kWire[static_cast<std::size_t>(protocol)];
  return {.once = of(version.base_us),
          .step = {.nvlink = of(nvlink ? version.nvlink_us : version.pci_us),
                   .network = of(version.network_us)},
          .with_wires = true,
          .rounds = 1,
          .nvlink_wire = wire,
          .network_wire = wire,
          .reducer_wire = wire};
}

Plan plan(Operation operation, Bytes size, const Fabric& fabric, const Version& version,
          const Choice& choice) {
  if (operation == Operation::barrier) return plan_barrier(fabric, version);
  if (!tuned(operation)) return plan_exchange(operation, fabric, version);
  const Tables tables{fabric, version, choice.algorithm, choice.protocol};
  Plan plan;
  plan.algorithm = std::string(name(choice.algorithm));
  plan.protocol = choice.protocol;
  plan.costs = tables.costs();
  switch (choice.algorithm) {
    case Algorithm::ring:
      plan_ring(tables, operation, size, plan);
      break;
    case Algorithm::tree:
      plan_tree(tables, size, plan);
      break;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      plan_nvls(tables, size, plan);
      break;
    case Algorithm::pat:
      // The tuner's latency of PAT, with its share of a hop and its cost per rank.
      plan.costs.step.network = microseconds(tables.of(version.network_us) / 3.5);
      plan.costs.once += microseconds(fabric.ranks * 2.8);
      break;
  }
  return plan;
}

const config::EntryDescription& auto_description() {
  using config::ParameterSpec;
  using config::ParameterType;
  static const config::EntryDescription kDescription{
      .name = "auto",
      .summary =
          "What NCCL would take: algorithm and protocol by its cost model, with NCCL's costs "
          "of a step",
      .parameters = {ParameterSpec{.name = "algorithm",
                                   .type = ParameterType::choice,
                                   .fallback = "\"any\"",
                                   .help = "Only this algorithm, as NCCL_ALGO",
                                   .choices = {"any", "double_binary_tree", "ring", "nvls",
                                               "nvls_tree", "pat"}},
                     ParameterSpec{.name = "protocol",
                                   .type = ParameterType::choice,
                                   .fallback = "\"any\"",
                                   .help = "Only this protocol, as NCCL_PROTO",
                                   .choices = {"any", "ll", "ll128", "simple"}},
                     ParameterSpec{.name = "version",
                                   .type = ParameterType::choice,
                                   .fallback = "\"2.30.7\"",
                                   .help = "Whose constants",
                                   .choices = {"2.30.7", "2.23.4"}}}};
  return kDescription;
}

Restriction restriction_of(const config::Parameters& parameters) {
  Restriction out;
  out.algorithm = algorithm_named(parameters.get<std::string>("algorithm"));
  for (std::size_t p = 0; p < kProtocols; ++p) {
    const auto protocol = static_cast<WireProtocol>(p);
    if (name(protocol) == parameters.get<std::string>("protocol")) out.protocol = protocol;
  }
  return out;
}

std::string refuse_restriction(const config::Parameters& parameters, Operation operation) {
  const Restriction restriction = restriction_of(parameters);
  if (!tuned(operation)) {
    if (!restriction.algorithm && !restriction.protocol) return {};
    return fmt::format(
        "NCCL runs {} as sends and receives: leave out \"algorithm\" and "
        "\"protocol\"",
        collective::name(operation));
  }
  if (!restriction.algorithm) return {};
  for (const AlgorithmOperations& known : algorithm_operations()) {
    if (known.algorithm == name(*restriction.algorithm))
      return refuse_operation(known.algorithm, known.operations, operation);
  }
  return {};
}

}  // namespace railyard::collective::nccl
