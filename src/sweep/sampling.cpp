#include "sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "railyard/config/document.hpp"

namespace railyard::sweep {

std::string Axis::at(double share) const {
  if (!choices.empty()) {
    const auto slot = static_cast<std::size_t>(share * static_cast<double>(choices.size()));
    return choices[std::min(slot, choices.size() - 1)];
  }
  double value = log ? from * std::pow(to / from, share) : from + (to - from) * share;
  // Every whole number of the range gets an equal slice of it.
  if (whole) value = log ? std::round(value) : std::floor(from + (to - from + 1) * share);
  const std::string number =
      whole ? fmt::format("{:.0f}", std::clamp(value, from, to)) : fmt::format("{:.6g}", value);
  return unit.empty() ? number : config::json_string(number + unit);
}

std::vector<Row> sample_random(const std::vector<Axis>& axes, std::size_t count, std::uint64_t seed,
                               const std::function<bool(const Row&)>& accepted) {
  constexpr int kTries = 10'000;
  const RngStreams streams(seed);
  std::vector<Row> out;
  for (std::size_t point = 0; point < count; ++point) {
    Rng rng = streams.stream("sweep point", point);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      Row row;
      for (const Axis& axis : axes) row.push_back(axis.at(rng.uniform()));
      if (!accepted(row)) continue;
      out.push_back(std::move(row));
      break;
    }
  }
  return out;
}

std::vector<Row> sample_latin_hypercube(const std::vector<Axis>& axes, std::size_t count,
                                        std::uint64_t seed,
                                        const std::function<bool(const Row&)>& accepted) {
  const RngStreams streams(seed);
  std::vector<Row> rows(count);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    Rng rng = streams.stream("sweep axis", a);
    std::vector<std::size_t> slices(count);
    std::iota(slices.begin(), slices.end(), std::size_t{0});
    rng.shuffle(std::span(slices));
    for (std::size_t point = 0; point < count; ++point) {
      const double share =
          (static_cast<double>(slices[point]) + rng.uniform()) / static_cast<double>(count);
      rows[point].push_back(axes[a].at(share));
    }
  }
  std::vector<Row> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), accepted);
  return out;
}

}  // namespace railyard::sweep
