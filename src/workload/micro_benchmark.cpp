#include "railyard/workload/micro_benchmark.hpp"

#include "railyard/config/reader.hpp"

#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

constexpr std::int64_t kRepeatsMax = 1000;
constexpr Bytes kSizeMax(std::int64_t{1} << 40U);

void read_collective(config::Reader& reader, MicroBenchmark& spec) {
  std::vector<std::string_view> operations;
  for (std::size_t o = 0; o < collective::kOperations; ++o)
    operations.push_back(collective::name(collective::operation_at(o)));
  const std::size_t operation = reader.required_choice("operation", operations);
  spec.operation = collective::operation_at(operation < operations.size() ? operation : 0);
  spec.algorithm = collective::Choices{}.of(spec.operation);
  if (const auto child = reader.child("algorithm"))
    spec.algorithm = collective::read_choice(*child, reader.errors(), spec.operation);
  spec.world = reader.optional_choice("groups", {"rails", "world"}, 0) == 1;
}

}  // namespace

MicroBenchmark read_micro_benchmark(const config::Node& node, config::Errors& errors) {
  config::Reader reader(node, errors);
  MicroBenchmark spec;
  spec.point_to_point = reader.required_choice("kind", {"collective", "p2p"}) == 1;
  static_cast<void>(reader.optional<std::string>("description", ""));
  spec.size = reader.required<Bytes>("size");
  if (reader.has("size") && spec.size <= Bytes(0)) {
    reader.fail("size", "expected at least one byte");
    spec.size = Bytes(1);
  }
  if (spec.size > kSizeMax) reader.fail("size", "expected at most 1TiB");
  const std::int64_t repeats =
      reader.optional<std::int64_t>("repeats", 1, {.min = 1, .max = kRepeatsMax});
  spec.repeats = repeats < 1 || repeats > kRepeatsMax ? 1 : static_cast<std::uint32_t>(repeats);
  if (!spec.point_to_point) read_collective(reader, spec);
  reader.finish();
  return spec;
}

std::vector<std::string> check_micro_benchmark(const MicroBenchmark& spec, std::uint32_t ranks,
                                               std::uint32_t ranks_per_host) {
  std::vector<std::string> problems;
  if (spec.point_to_point && (ranks < 2 || ranks % 2 != 0)) {
    problems.push_back(fmt::format(
        "p2p pairs the first half of the ranks with the second: {} GPUs have no halves", ranks));
  }
  if (ranks_per_host > 0 && ranks > ranks_per_host && ranks % ranks_per_host != 0) {
    problems.push_back(
        fmt::format("a micro-benchmark of more than a host takes whole hosts of {} "
                    "GPUs, not {} GPUs",
                    ranks_per_host, ranks));
    return problems;
  }
  const std::uint32_t group = spec.world || ranks_per_host == 0 ? ranks : ranks / ranks_per_host;
  if (!spec.point_to_point && group < 2) {
    problems.push_back(fmt::format(
        "a collective needs groups of two ranks or more: {} GPUs on hosts of {} make groups of {}",
        ranks, ranks_per_host, group));
  }
  if (!spec.point_to_point && !spec.world && (ranks_per_host == 0 || ranks % ranks_per_host != 0)) {
    problems.push_back(fmt::format(
        "groups \"rails\" need whole hosts of {} GPUs, not {} GPUs; use groups \"world\"",
        ranks_per_host, ranks));
  }
  return problems;
}

IterationDag build_micro_benchmark(const MicroBenchmark& spec, std::uint32_t ranks,
                                   std::uint32_t ranks_per_host) {
  RAILYARD_CHECK(check_micro_benchmark(spec, ranks, ranks_per_host).empty(), "{}",
                 check_micro_benchmark(spec, ranks, ranks_per_host).front());
  DagBuilder builder;
  IterationDag& dag = builder.dag();
  dag.ranks = ranks;
  dag.collectives.of(spec.operation) = spec.algorithm;
  for (std::uint32_t r = 0; r < ranks; ++r) dag.actors.push_back({Rank{r}});
  if (spec.point_to_point) {
    dag.streams = ranks / 2;
    for (std::uint32_t i = 0; i < spec.repeats; ++i) {
      for (std::uint32_t r = 0; r < ranks / 2; ++r) {
        Task task;
        task.kind = TaskKind::send;
        task.cause = Cause::pipeline;
        task.stream = r;
        task.actor = r;
        task.peer = r + ranks / 2;
        task.size = spec.size;
        builder.add(task, {});
      }
    }
    return std::move(dag);
  }
  const std::uint32_t groups = spec.world ? 1 : ranks_per_host;
  dag.streams = groups;
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::vector<Rank> members;
    for (std::uint32_t r = g; r < ranks; r += groups) members.push_back(Rank{r});
    dag.groups.push_back(std::move(members));
    Task task;
    task.kind = TaskKind::collective;
    task.cause = Cause::data;
    task.operation = spec.operation;
    task.stream = g;
    task.actor = g;
    task.group = g;
    task.size = spec.size;
    // One task each, so that they may run stepped; the stream keeps them apart.
    for (std::uint32_t i = 0; i < spec.repeats; ++i) builder.add(task, {});
  }
  return std::move(dag);
}

}  // namespace railyard::workload
