// Workloads that are no transformers: recommenders and stencils.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "railyard/workload/recommender.hpp"
#include "railyard/workload/stencil.hpp"
#include "support/a100.hpp"
#include "support/shared_data.hpp"

namespace railyard::test {

using namespace workload;

namespace {

config::Document model_document(const std::string& name) {
  return config::Document::parse_file(source_dir() / "workloads" / "models" / (name + ".json"));
}

RecommenderSpec dlrm() {
  const auto document = model_document("dlrm_criteo");
  config::Errors errors;
  RecommenderSpec spec = read_recommender(document.root(), errors);
  errors.throw_if_any();
  return spec;
}

StencilSpec stencil() {
  const auto document = model_document("stencil_3d");
  config::Errors errors;
  StencilSpec spec = read_stencil(document.root(), errors);
  errors.throw_if_any();
  return spec;
}

bool mentions(const std::vector<std::string>& problems, std::string_view part) {
  for (const std::string& problem : problems) {
    if (problem.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// 26 · 128 columns of fp32 for 65,536 samples over 64 ranks: 26 · 128 / 64 · 65536 · 4 bytes leave
// a rank in each all-to-all. Perceptrons: 13·512 + 512·256 + 256·128 and the pairs (27·26/2 + 128 =
// 479) up to 1024, 1024, 512, 256, 1, each with its biases, 4 bytes each.
TEST_CASE("a recommender exchanges its embeddings twice and reduces its perceptrons once") {
  const IterationDag dag = build_recommender(dlrm(), 64, 65536, a100());
  dag.validate();
  std::map<collective::Operation, std::vector<std::int64_t>> sizes;
  for (const Task& task : dag.tasks) {
    if (task.kind == TaskKind::collective) sizes[task.operation].push_back(task.size.count());
  }
  const std::int64_t columns = 26LL * 128 / 64 * 65536 * 4;
  CHECK(sizes[collective::Operation::all_to_all] == std::vector<std::int64_t>{columns, columns});
  const std::int64_t bottom = 14LL * 512 + 513 * 256 + 257 * 128;
  const std::int64_t top = 480LL * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257;
  CHECK(sizes[collective::Operation::all_reduce] == std::vector<std::int64_t>{top * 4, bottom * 4});
  CHECK(dag.tokens == 65536);
}

// The forward all-to-all waits for the lookups only, so the bottom perceptron hides it.
TEST_CASE("the bottom perceptron runs beside the exchange of embeddings") {
  const IterationDag dag = build_recommender(dlrm(), 64, 65536, a100());
  std::vector<std::uint32_t> exchanges;
  for (std::uint32_t i = 0; i < dag.tasks.size(); ++i) {
    if (dag.tasks[i].operation == collective::Operation::all_to_all) exchanges.push_back(i);
  }
  REQUIRE(exchanges.size() == 2);
  const Task& first = dag.tasks[exchanges[0]];
  REQUIRE(first.dependency_count == 1);
  CHECK(dag.dependencies[first.first_dependency] == 0);
  CHECK(dag.tasks[exchanges[0] + 1].kind == TaskKind::compute);
  CHECK(dag.tasks[exchanges[0] + 1].dependency_count == 0);
}

TEST_CASE("a recommender that does not divide or fit is refused with the number") {
  CHECK(check_recommender(dlrm(), 64, 65536, a100()).empty());
  CHECK(mentions(check_recommender(dlrm(), 48, 48000, a100()), "do not divide over 48 GPUs"));
  CHECK(mentions(check_recommender(dlrm(), 64, 65537, a100()), "65537 samples"));
  RecommenderSpec huge = dlrm();
  huge.rows *= 1000;
  CHECK(mentions(check_recommender(huge, 64, 65536, a100()), "do not fit"));
}

// Every rank of a periodic 4 × 4 × 4 grid sends six faces a step and gets six; a face across x of a
// block of 384³ with 5 values of 8 bytes is 2 · 384² · 40 bytes.
TEST_CASE("every rank of a periodic stencil sends and gets six faces a step") {
  const StencilSpec spec = stencil();
  const IterationDag dag = build_stencil(spec, {4, 4, 4}, a100());
  dag.validate();
  std::map<std::uint32_t, int> sent;
  std::map<std::uint32_t, int> got;
  for (const Task& task : dag.tasks) {
    if (task.kind != TaskKind::send) continue;
    CHECK(task.size.count() == 2LL * 384 * 384 * 40);
    for (const Rank rank : dag.actors[task.actor]) ++sent[static_cast<std::uint32_t>(rank)];
    for (const Rank rank : dag.actors[task.peer]) ++got[static_cast<std::uint32_t>(rank)];
  }
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    CHECK(sent[rank] == 6 * static_cast<int>(spec.steps));
    CHECK(got[rank] == 6 * static_cast<int>(spec.steps));
  }
}

// An open row of four: 0 → 1 → 2 → 3 and back, nothing around.
TEST_CASE("an open stencil has no neighbours beyond its ends") {
  StencilSpec spec = stencil();
  spec.periodic = false;
  spec.steps = 1;
  const IterationDag dag = build_stencil(spec, {4, 1, 1}, a100());
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Task& task : dag.tasks) {
    if (task.kind != TaskKind::send) continue;
    const auto& from = dag.actors[task.actor];
    for (std::size_t i = 0; i < from.size(); ++i) {
      pairs.emplace(static_cast<std::uint32_t>(from[i]),
                    static_cast<std::uint32_t>(dag.actors[task.peer][i]));
    }
  }
  CHECK(pairs == std::set<std::pair<std::uint32_t, std::uint32_t>>{
                     {0, 1}, {1, 2}, {2, 3}, {1, 0}, {2, 1}, {3, 2}});
}

// MPI_Dims_create of 64, 12, 7 and 960 in three dimensions, and of 12 in two.
TEST_CASE("the grid of ranks is the one nearest to a cube") {
  StencilSpec spec = stencil();
  using Grid = std::array<std::uint32_t, 3>;
  CHECK(grid_of(spec, 64) == Grid{4, 4, 4});
  CHECK(grid_of(spec, 12) == Grid{3, 2, 2});
  CHECK(grid_of(spec, 7) == Grid{7, 1, 1});
  CHECK(grid_of(spec, 960) == Grid{12, 10, 8});
  spec.dimensions = 2;
  CHECK(grid_of(spec, 12) == Grid{4, 3, 1});
}

// Bound by memory: every value is read and written once, 2 · 384³ · 40 bytes at bandwidth ×
// efficiency, and one kernel's overhead.
TEST_CASE("a step without arithmetic takes its memory traffic") {
  const IterationDag dag = build_stencil(stencil(), {4, 4, 4}, a100());
  const double bytes = 2.0 * 384 * 384 * 384 * 40;
  const double seconds = bytes / (static_cast<double>(a100().memory_bandwidth.bytes_per_s()) *
                                  a100().memory_efficiency) +
                         in_seconds(a100().kernel_overhead);
  for (const Task& task : dag.tasks) {
    if (task.kind == TaskKind::compute) {
      CHECK(in_seconds(task.duration) == doctest::Approx(seconds).epsilon(1e-9));
    }
  }
  StencilSpec deep = stencil();
  deep.halo = 385;
  CHECK(mentions(check_stencil(deep, {4, 4, 4}, a100()), "deeper than the block"));
}

}  // namespace railyard::test
