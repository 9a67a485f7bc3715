// Constants of NVIDIA/nccl, src/graph/tuning.cc, tags v2.30.7-1 and v2.23.4-1. NVIDIA fitted them
// to its own measurements; none was fitted here.
#include <algorithm>
#include <array>

#include "collective/nccl_tables.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective::nccl {

namespace {

// Rows: tree, ring, nvls, nvls_tree, pat; columns: ll, ll128, simple.
constexpr Latencies kBase{{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}}};
constexpr Latencies kNvlink{
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
constexpr Latencies kPci{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4.0}}};
constexpr Latencies kNetwork2307{
    {{5.0, 8.5, 14}, {2.7, 4.0, 14}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};
constexpr Latencies kNetwork2234{
    {{5.0, 8.5, 14}, {2.7, 4.0, 14}, {0, 0, 18}, {0, 0, 14}, {0, 0, 14}}};

constexpr std::array<Version, 2> kVersions{{
    {.name = "2.30.7",
     .pat = true,
     .base_us = kBase,
     .nvlink_us = kNvlink,
     .pci_us = kPci,
     .network_us = kNetwork2307},
    {.name = "2.23.4",
     .pat = false,
     .base_us = kBase,
     .nvlink_us = kNvlink,
     .pci_us = kPci,
     .network_us = kNetwork2234},
}};

}  // namespace

std::span<const Version> versions() {
  return kVersions;
}

const Version& version(std::string_view name) {
  const auto* const found = std::ranges::find(kVersions, name, &Version::name);
  RAILYARD_CHECK(found != kVersions.end(), "no constants of NCCL {}", name);
  return *found;
}

const Caps& caps_of(Architecture architecture) {
  static constexpr std::array<Caps, kArchitectures> kCaps{{
      {.ll_gb_per_s = {39, 39, 20.4},
       .ring_ll128_per_channel = {20, 20, 20},
       .tree_ll128_per_channel = {20, 20, 20},
       .tree_per_channel = {26.5, 18.5, 10},
       .nvls_tree_per_channel = {26.5, 18.5, 10},
       .nvls_efficiency = 0,
       .plateau = 1.9,
       .drain = 0},
      {.ll_gb_per_s = {87.7, 22.5, 19.0},
       .ring_ll128_per_channel = {20, 20, 20},
       .tree_ll128_per_channel = {20, 20, 20},
       .tree_per_channel = {24, 23.6, 17.8},
       .nvls_tree_per_channel = {24, 23.6, 17.8},
       .nvls_efficiency = 0,
       .plateau = 1.4,
       .drain = 0.43},
      {.ll_gb_per_s = {141, 45, 35},
       .ring_ll128_per_channel = {36.7, 36.7, 36.7},
       .tree_ll128_per_channel = {36.7, 36.7, 29},
       .tree_per_channel = {38.7, 41.4, 36},
       .nvls_tree_per_channel = {0, 57.7, 45.5},
       .nvls_efficiency = 0.85,
       .plateau = 1.4,
       .drain = 0.12},
      {.ll_gb_per_s = {282, 90, 70},
       .ring_ll128_per_channel = {40, 40, 40},
       .tree_ll128_per_channel = {55.6, 31.67, 20},
       .tree_per_channel = {70, 42.8, 24},
       .nvls_tree_per_channel = {0, 96, 80},
       .nvls_efficiency = 0.74,
       .plateau = 1.4,
       .drain = 0.12},
  }};
  return kCaps[static_cast<std::size_t>(architecture)];
}

double tree_correction(WireProtocol protocol, std::size_t doublings) {
  constexpr std::size_t kSizes = 24;
  static constexpr std::array<std::array<double, kSizes>, kProtocols> kFactors{{
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
       .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
  }};
  // NCCL asks for the first 23 of them.
  if (doublings >= kSizes - 1) return 1;
  return kFactors[static_cast<std::size_t>(protocol)][doublings];
}

std::uint32_t channels_of(Architecture architecture) {
  static constexpr std::array<std::uint32_t, kArchitectures> kChannels{12, 24, 16, 16};
  return kChannels[static_cast<std::size_t>(architecture)];
}

std::optional<Architecture> architecture_of(std::string_view gpu_kind) {
  struct Kind {
    std::string_view prefix;
    Architecture architecture;
  };
  // By compute capability: 7.0, 8.x, 9.0, 10.x.
  static constexpr Kind kKinds[] = {
      {"V100", Architecture::volta},      {"A100", Architecture::ampere},
      {"L20", Architecture::ampere},      {"L40", Architecture::ampere},
      {"A40", Architecture::ampere},      {"H", Architecture::hopper},
      {"GH200", Architecture::hopper},    {"B", Architecture::blackwell},
      {"GB200", Architecture::blackwell}, {"GB300", Architecture::blackwell}};
  for (const Kind& kind : kKinds) {
    if (gpu_kind.substr(0, kind.prefix.size()) == kind.prefix) return kind.architecture;
  }
  return std::nullopt;
}

std::string_view name(Algorithm algorithm) {
  static constexpr std::array<std::string_view, kAlgorithms> kNames{"double_binary_tree", "ring",
                                                                    "nvls", "nvls_tree", "pat"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view name(WireProtocol protocol) {
  static constexpr std::array<std::string_view, kProtocols> kNames{"ll", "ll128", "simple"};
  return kNames[static_cast<std::size_t>(protocol)];
}

}  // namespace railyard::collective::nccl
