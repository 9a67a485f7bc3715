#include "railyard/workload/compression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "railyard/workload/transformer.hpp"
#include "support/a100.hpp"

namespace railyard::test {

using namespace workload;

namespace {

/// 8 layers over 2 stages, 2 tensor ranks, 4 replicas; gradients in fp32.
TrainingSpec small(std::uint32_t zero = 0) {
  TrainingSpec spec;
  spec.model = {.name = "small",
                .layers = 8,
                .hidden = 1024,
                .heads = 16,
                .kv_heads = 16,
                .head_dim = 64,
                .ffn = 4096,
                .gated = false,
                .vocabulary = 51200,
                .sequence = 1024,
                .tied_embeddings = false,
                .learned_positions = true};
  spec.parallelism = {.tensor = 2, .pipeline = 2, .data = 4};
  spec.global_batch = 16;
  spec.gradient_bytes = 4;
  spec.zero = zero;
  return spec;
}

std::unique_ptr<Compression> make(const std::string& text) {
  config::Errors errors;
  const auto choice =
      config::decode_choice(config::Document::parse_text(text, "test").root(), errors,
                            "compression", config::descriptions(compression_catalog()));
  REQUIRE(errors.empty());
  return config::entry_of(compression_catalog(), choice.name).create(choice.parameters);
}

IterationDag compressed(const TrainingSpec& spec, const std::string& text) {
  IterationDag dag =
      compress(build_iteration(spec, a100()), *make(text), spec.gradient_bytes, a100());
  dag.validate();
  return dag;
}

/// Reductions of gradients, and gathers that stand for them, in order.
std::vector<Task> reductions(const IterationDag& dag) {
  std::vector<Task> out;
  for (const Task& task : dag.tasks) {
    if (task.kind == TaskKind::collective && task.cause == Cause::data) out.push_back(task);
  }
  return out;
}

double bytes_of(const std::vector<Task>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0, [](double sum, const Task& task) {
    return sum + static_cast<double>(task.size.count());
  });
}

}  // namespace

// 4 bytes become 2, of every bucket.
TEST_CASE("casting fp32 gradients to bf16 halves every bucket and changes nothing else") {
  const IterationDag plain = build_iteration(small(), a100());
  const IterationDag cast = compressed(small(), R"({"name": "cast", "precision": "bf16"})");
  const auto before = reductions(plain);
  const auto after = reductions(cast);
  REQUIRE(after.size() == before.size());
  REQUIRE(!before.empty());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(after[i].size.count() * 2 == before[i].size.count());
    CHECK(after[i].operation == before[i].operation);
    CHECK(after[i].group == before[i].group);
  }
  // One task of coding before each bucket and one behind it.
  CHECK(cast.tasks.size() == plain.tasks.size() + 2 * before.size());
}

// S bytes are read and S/2 written, at bandwidth × efficiency: 1.5 S / (B e) to encode, as much to
// decode.
TEST_CASE("coding takes the bytes it moves over the memory bandwidth") {
  const IterationDag cast = compressed(small(), R"({"name": "cast"})");
  const double rate =
      static_cast<double>(a100().memory_bandwidth.bytes_per_s()) * a100().memory_efficiency;
  const auto buckets = reductions(build_iteration(small(), a100()));
  double ticks = 0;
  std::size_t coded = 0;
  for (const Task& task : cast.tasks) {
    if (task.kind != TaskKind::host || task.cause != Cause::data) continue;
    ticks += static_cast<double>(task.duration.count());
    ++coded;
  }
  CHECK(coded == 2 * buckets.size());
  CHECK(std::abs(ticks - 2 * 1.5 * bytes_of(buckets) / rate * kTicksPerSecond) <=
        0.5 * static_cast<double>(coded));
}

// 0.15 · 4 + 0.85 · 2 = 2.3 bytes in place of 4: 42.5 % less on the network.
TEST_CASE("15 per cent of the gradients in fp32 and the rest in fp16 save 42.5 per cent") {
  const double before = bytes_of(reductions(build_iteration(small(), a100())));
  const auto after = reductions(compressed(small(), R"({"name": "graded"})"));
  CHECK(bytes_of(after) / before == doctest::Approx(0.575).epsilon(1e-6));
}

// 4 replicas in parts of 2: the rest is summed in two parts that share no rank, on streams of their
// own, both behind the part that all replicas sum.
TEST_CASE("what matters less is summed within parts of consecutive replicas") {
  const IterationDag dag = compressed(small(), R"({"name": "graded", "local_ranks": 2})");
  const auto tasks = reductions(dag);
  REQUIRE(tasks.size() % 3 == 0);
  for (std::size_t i = 0; i < tasks.size(); i += 3) {
    const auto& whole = dag.groups[tasks[i].group];
    std::vector<Rank> parts = dag.groups[tasks[i + 1].group];
    CHECK(parts.size() == 2);
    const auto& second = dag.groups[tasks[i + 2].group];
    parts.insert(parts.end(), second.begin(), second.end());
    CHECK(parts == whole);
    CHECK(tasks[i + 1].stream != tasks[i + 2].stream);
  }
}

// A hundredth of the entries of each bucket, each with an index of 4 bytes, from every replica.
TEST_CASE("top_k gathers values and indices from all replicas") {
  const auto before = reductions(build_iteration(small(), a100()));
  const auto after = reductions(compressed(small(), R"({"name": "top_k", "share": 0.01})"));
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double entries = std::ceil(0.01 * static_cast<double>(before[i].size.count() / 4));
    CHECK(after[i].operation == collective::Operation::all_gather);
    CHECK(static_cast<double>(after[i].size.count()) == 4 * entries * 8);
  }
}

// What cannot be done is refused, never done in part: fp32 sharded gradients have no whole to pick
// from, bf16 ones no bits to spare for fp16, and 4 replicas no parts of 3.
TEST_CASE("a compression that does not fit the job is refused with the reason") {
  const auto refusal = [](TrainingSpec spec, const std::string& text) {
    try {
      static_cast<void>(compressed(spec, text));
    } catch (const config::ConfigError& error) {
      return error.lines().front();
    }
    return std::string();
  };
  CHECK(refusal(small(1), R"({"name": "top_k"})").find("shards them") != std::string::npos);
  CHECK(refusal(small(), R"({"name": "graded", "local_ranks": 3})").find("do not divide") !=
        std::string::npos);
  TrainingSpec halves = small();
  halves.gradient_bytes = 2;
  CHECK(refusal(halves, R"({"name": "cast", "precision": "fp16"})").find("saves nothing") !=
        std::string::npos);
  CHECK(refusal(small(1), R"({"name": "cast"})").empty());
}

}  // namespace railyard::test
