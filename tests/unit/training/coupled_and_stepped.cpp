// The two forms of a collective, on fabrics: what a fluid of whole phases takes, and what every
// transfer as a flow of its own takes.
#include <doctest/doctest.h>

#include "railyard/training/collective_run.hpp"
#include "support/fabric.hpp"

namespace railyard::test {

using collective::Operation;

namespace {

/// Ranks of whole hosts: the first ones, so in few leaves, or half of them from each of two
/// minipods.
std::vector<GpuId> group_of(const topology::Topology& fabric, std::uint32_t ranks, bool two) {
  std::vector<GpuId> group;
  const auto half = static_cast<std::uint32_t>(fabric.gpu_count() / 2);
  const std::uint32_t first = two ? (ranks + 1) / 2 : ranks;
  for (std::uint32_t r = 0; r < ranks; ++r)
    group.push_back(static_cast<GpuId>(r < first ? r : half + r - first));
  return group;
}

struct Case {
  std::string_view algorithm;
  Operation operation;
  double tolerance = 0.02;
};

constexpr Case kCases[] = {
    {"ring", Operation::all_reduce},
    {"ring", Operation::all_gather},
    {"ring", Operation::reduce_scatter},
    {R"({"name":"ring","channels":8})", Operation::all_reduce},
    {"hierarchical", Operation::all_reduce},
    {"recursive_halving_doubling", Operation::all_reduce},
    {"pairwise", Operation::all_to_all},
    {R"({"name":"direct","at_once":65536})", Operation::all_to_all},
    {"pat", Operation::all_gather},
    {"binomial_tree", Operation::broadcast},
    {"ring", Operation::broadcast},
    {"double_binary_tree", Operation::all_reduce, 0.06},
    {"nvls", Operation::all_reduce},
    {"nvls_tree", Operation::all_reduce, 0.08},
};

}  // namespace

// {4, 8, 15, 64, 120} ranks × {64 MiB, 1 GiB} × {as few leaves as hold them, two minipods}. In
// trees the order in which chunks meet at inner ranks matters, which the coupled form does not
// know.
TEST_CASE("coupled and stepped agree within 2 percent, trees within 8") {
  const auto fabric = build_fabric(plain_clos("[16, 16]"));
  auto network = free_of_latency(fabric, "spray");
  for (const Case& one : kCases) {
    for (const std::uint32_t ranks : {4U, 8U, 15U, 64U, 120U}) {
      for (const bool two : {false, true}) {
        for (const std::int64_t size : {std::int64_t{64} << 20U, std::int64_t{1} << 30U}) {
          const auto group = group_of(fabric, ranks, two);
          const collective::Request request{one.operation, Bytes(size), {}};
          const std::string choice(one.algorithm);
          double coupled = 0;
          double stepped = 0;
          try {
            network.execution = training::Execution::coupled;
            coupled =
                in_seconds(training::collective_time(fabric, group, request, choice, network));
            network.execution = training::Execution::stepped;
            stepped =
                in_seconds(training::collective_time(fabric, group, request, choice, network));
          } catch (const config::ConfigError&) {
            continue;  // NVLS over islands, hierarchical over unequal ones
          }
          CAPTURE(choice);
          CAPTURE(ranks);
          CAPTURE(two);
          CAPTURE(size);
          CHECK(coupled / stepped == doctest::Approx(1.0).epsilon(one.tolerance).scale(0));
        }
      }
    }
  }
}

}  // namespace railyard::test
