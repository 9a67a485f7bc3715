#include "railyard/cluster/traffic.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "railyard/network/flow_network.hpp"

namespace railyard::cluster {
namespace {

/// The higher the value the higher the priority; equal values are equal. With more values than
/// levels each level gets as many values, to one.
std::vector<std::uint8_t> ranked(std::span<const double> values, std::uint32_t levels) {
  std::vector<double> distinct(values.begin(), values.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const std::size_t count = std::max<std::size_t>(distinct.size(), levels);
  std::vector<std::uint8_t> out;
  for (const double value : values) {
    const auto rank = static_cast<std::size_t>(
        std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin());
    out.push_back(static_cast<std::uint8_t>(rank * levels / count));
  }
  return out;
}

class Declared final : public TrafficPolicy {
 public:
  std::vector<std::uint8_t> priorities(std::span<const TrafficFacts> jobs,
                                       std::uint32_t levels) const override {
    std::vector<double> values;
    for (const TrafficFacts& job : jobs) values.push_back(job.declared);
    return ranked(values, levels);
  }
};

/// GPU intensity of Crux (Cao et al., SIGCOMM 2024, section 3): the work W of an iteration over the
/// time t that its traffic needs on the link it loads most. A run's GPUs are of one kind, so GPU
/// time stands for W. Crux corrects intensities by how jobs overlap and compresses them by a cut of
/// the contention graph; here they are ranked.
class Intensity final : public TrafficPolicy {
 public:
  explicit Intensity(std::uint32_t levels) : levels_(levels) {}

  std::vector<std::uint8_t> priorities(std::span<const TrafficFacts> jobs,
                                       std::uint32_t levels) const override {
    std::vector<double> values;
    for (const TrafficFacts& job : jobs) {
      values.push_back(job.link_ticks > 0 ? job.gpu_ticks / job.link_ticks
                                          : std::numeric_limits<double>::infinity());
    }
    return ranked(values, std::min(levels, levels_));
  }

 private:
  std::uint32_t levels_;
};

std::unique_ptr<TrafficPolicy> create_fair_sharing(const config::Parameters& /*parameters*/) {
  return nullptr;
}
std::unique_ptr<TrafficPolicy> create_declared(const config::Parameters& /*parameters*/) {
  return std::make_unique<Declared>();
}
std::unique_ptr<TrafficPolicy> create_intensity(const config::Parameters& parameters) {
  return std::make_unique<Intensity>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("levels")));
}

}  // namespace

std::span<const config::CatalogEntry<TrafficFactory>> traffic_catalog() {
  static const std::array<config::CatalogEntry<TrafficFactory>, 3> kTable{{
      {{.name = "none", .summary = "jobs share links fairly", .parameters = {}},
       &create_fair_sharing},
      {{.name = "declared",
        .summary = "jobs of a higher \"priority\" go first on links they share",
        .parameters = {}},
       &create_declared},
      {{.name = "intensity",
        .summary = "jobs with more GPU work for each second of traffic go first (Crux, SIGCOMM'24)",
        .parameters = {{.name = "levels",
                        .type = config::ParameterType::integer,
                        .fallback = "8",
                        .help = "priority classes that the switches tell apart",
                        .min = 2,
                        .max = network::kPriorities}}},
       &create_intensity},
  }};
  return kTable;
}

}  // namespace railyard::cluster
