#include "railyard/workload/stencil.hpp"

#include <algorithm>
#include <optional>

#include "compute.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

using Grid = std::array<std::uint32_t, 3>;
constexpr std::uint32_t kDimensions = 3;

double cells_of(const StencilSpec& spec) {
  return static_cast<double>(spec.cells[0]) * spec.cells[1] * spec.cells[2];
}

double value_bytes(const StencilSpec& spec) {
  return static_cast<double>(spec.variables) * spec.value_bytes;
}

/// Bytes of the face across a dimension.
Bytes face(const StencilSpec& spec, std::uint32_t dimension) {
  double cells = spec.halo;
  for (std::uint32_t d = 0; d < kDimensions; ++d) {
    if (d != dimension) cells *= spec.cells[d];
  }
  return Bytes(static_cast<std::int64_t>(cells * value_bytes(spec)));
}

Grid place_of(std::uint32_t rank, const Grid& grid) {
  return {rank % grid[0], rank / grid[0] % grid[1], rank / grid[0] / grid[1]};
}

/// The neighbour one step up or down a dimension; none at an open end.
std::optional<std::uint32_t> neighbour(const StencilSpec& spec, std::uint32_t rank,
                                       const Grid& grid, std::uint32_t dimension, bool up) {
  Grid place = place_of(rank, grid);
  const std::uint32_t last = grid[dimension] - 1;
  std::uint32_t& at = place[dimension];
  if (up && at == last && !spec.periodic) return std::nullopt;
  if (!up && at == 0 && !spec.periodic) return std::nullopt;
  at = up ? (at == last ? 0 : at + 1) : (at == 0 ? last : at - 1);
  return place[0] + grid[0] * (place[1] + grid[1] * place[2]);
}

class StencilBuilder {
 public:
  StencilBuilder(const StencilSpec& spec, const Grid& grid, const GpuSpec& gpu)
      : spec_(spec), grid_(grid) {
    IterationDag& dag = builder_.dag();
    dag.ranks = grid[0] * grid[1] * grid[2];
    dag.streams = 1;
    dag.actors.emplace_back();
    for (std::uint32_t r = 0; r < dag.ranks; ++r) dag.actors.front().push_back(Rank{r});
    const double memory = Roofline(gpu).memory(2 * cells_of(spec) * value_bytes(spec), 1);
    const double work = spec.flops > 0 ? cells_of(spec) * spec.flops / gpu.peak_fp32.per_s() : 0.0;
    step_ = to_ticks(std::max(memory, work) * kTicksPerSecond);
    for (std::uint32_t d = 0; d < kDimensions; ++d) {
      if (grid[d] == 1) continue;
      for (const bool up : {true, false}) add_direction(d, up);
    }
  }

  IterationDag build() {
    std::vector<std::uint32_t> before;
    for (std::uint32_t s = 0; s < spec_.steps; ++s) {
      std::vector<std::uint32_t> sends;
      for (std::size_t i = 0; i < directions_.size(); ++i) {
        Task task;
        task.kind = TaskKind::send;
        task.cause = Cause::pipeline;
        task.stream = static_cast<std::uint32_t>(1 + i);
        task.actor = directions_[i].from;
        task.peer = directions_[i].to;
        task.size = directions_[i].size;
        sends.push_back(builder_.add(task, before));
      }
      Task task;
      task.duration = step_;
      before = {builder_.add(task, sends)};
    }
    builder_.dag().model_flops = spec_.flops * cells_of(spec_) * builder_.dag().ranks * spec_.steps;
    return std::move(builder_.dag());
  }

 private:
  struct Direction {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Bytes size;
  };

  /// Two actors: who has a neighbour there, and the neighbours in the same order.
  void add_direction(std::uint32_t dimension, bool up) {
    IterationDag& dag = builder_.dag();
    std::vector<Rank> from;
    std::vector<Rank> to;
    for (std::uint32_t r = 0; r < dag.ranks; ++r) {
      const auto other = neighbour(spec_, r, grid_, dimension, up);
      if (!other) continue;
      from.push_back(Rank{r});
      to.push_back(Rank{*other});
    }
    const auto first = static_cast<std::uint32_t>(dag.actors.size());
    dag.actors.push_back(std::move(from));
    dag.actors.push_back(std::move(to));
    directions_.push_back({first, first + 1, face(spec_, dimension)});
    ++dag.streams;
  }

  const StencilSpec& spec_;
  Grid grid_;
  Duration step_{};
  std::vector<Direction> directions_;
  DagBuilder builder_;
};

}  // namespace

StencilSpec read_stencil(const config::Node& node, config::Errors& errors) {
  config::Reader reader(node, errors);
  StencilSpec spec;
  static_cast<void>(reader.required_choice("kind", {"stencil"}));
  for (const char* fact : {"description", "source"})
    static_cast<void>(reader.optional<std::string>(fact, ""));
  spec.name = reader.required<std::string>("name");
  const auto cells = reader.required<std::vector<std::int64_t>>("cells");
  if (reader.has("cells") && (cells.empty() || cells.size() > kDimensions)) {
    reader.fail("cells", "expected the cells of a rank's block in one to three dimensions");
  }
  spec.dimensions =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(cells.size(), 1, kDimensions));
  for (std::size_t d = 0; d < std::min<std::size_t>(cells.size(), kDimensions); ++d) {
    if (cells[d] < 1 || cells[d] > 1'000'000) {
      reader.fail("cells", "a block has 1 to 1000000 cells in a dimension");
      break;
    }
    spec.cells[d] = static_cast<std::uint32_t>(cells[d]);
  }
  const auto count = [&](std::string_view key, std::uint32_t fallback, std::int64_t most) {
    return static_cast<std::uint32_t>(
        reader.optional<std::int64_t>(key, fallback, {.min = 1, .max = most}));
  };
  spec.variables = count("variables", 1, 10'000);
  spec.value_bytes = count("value_bytes", 8, 64);
  spec.halo = count("halo", 1, 1'000);
  spec.steps = count("steps", 1, 100'000);
  spec.flops = reader.optional<double>("flops", 0, {.min = 0, .max = 1e9});
  spec.periodic = reader.optional<bool>("periodic", true);
  reader.finish();
  return spec;
}

std::vector<std::string> check_stencil(const StencilSpec& spec, const Grid& grid,
                                       const GpuSpec& gpu) {
  std::vector<std::string> problems;
  for (std::uint32_t d = 0; d < kDimensions; ++d) {
    if (grid[d] > 1 && d >= spec.dimensions) {
      problems.push_back(fmt::format("the blocks have {} dimensions, the grid of ranks has more",
                                     spec.dimensions));
    }
    if (grid[d] > 1 && spec.halo > spec.cells[d]) {
      problems.push_back(
          fmt::format("a halo of {} cells is deeper than the block, {} in dimension "
                      "{}",
                      spec.halo, spec.cells[d], d));
    }
  }
  if (spec.flops > 0 && !(gpu.peak_fp32 > FlopRate())) {
    problems.push_back(
        fmt::format("the fp32 rate of {} is not known; leave \"flops\" out", gpu.name));
  }
  const double bytes = cells_of(spec) * value_bytes(spec);
  if (bytes > static_cast<double>(gpu.memory.count())) {
    problems.push_back(fmt::format("{:.0f} bytes of cells a GPU do not fit in its {} bytes", bytes,
                                   gpu.memory.count()));
  }
  return problems;
}

Grid grid_of(const StencilSpec& spec, std::uint32_t ranks) {
  Grid best{ranks, 1, 1};
  for (std::uint32_t x = 1; x <= ranks; ++x) {
    for (std::uint32_t y = 1; y <= x && x * std::uint64_t{y} <= ranks; ++y) {
      if (ranks % x != 0 || ranks / x % y != 0) continue;
      const Grid grid{x, y, ranks / x / y};
      if (grid[2] > y || (spec.dimensions < 3 && grid[2] > 1) || (spec.dimensions < 2 && y > 1))
        continue;
      if (grid[0] + grid[1] + grid[2] < best[0] + best[1] + best[2]) best = grid;
    }
  }
  return best;
}

IterationDag build_stencil(const StencilSpec& spec, const Grid& grid, const GpuSpec& gpu) {
  RAILYARD_CHECK(check_stencil(spec, grid, gpu).empty(), "{}",
                 check_stencil(spec, grid, gpu).front());
  return StencilBuilder(spec, grid, gpu).build();
}

}  // namespace railyard::workload
