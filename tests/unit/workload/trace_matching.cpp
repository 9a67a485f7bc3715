#include <doctest/doctest.h>

#include "support/trace_texts.hpp"

using namespace railyard;
using namespace railyard::workload;
using namespace railyard::test;

namespace {

/// What matching says of a broken trace; empty where it says nothing.
std::string diagnosis(const Trace& trace, AbsentRanks absent = AbsentRanks::refuse) {
  try {
    match(trace, absent).validate();
  } catch (const config::ConfigError& error) {
    REQUIRE(error.lines().size() == 1);
    return error.lines().front();
  }
  return {};
}

bool says(const std::string& text, std::initializer_list<std::string_view> parts) {
  bool all = true;
  for (const std::string_view part : parts) {
    const bool has = text.find(part) != std::string::npos;
    if (!has) MESSAGE("missing \"", std::string(part), "\" in: ", text);
    all = all && has;
  }
  return all;
}

Trace chakra(const std::vector<std::string>& nodes_of_rank) {
  std::vector<std::string> texts;
  for (const std::string& nodes : nodes_of_rank) texts.push_back(chakra_metadata() + nodes);
  return read_texts("chakra", texts);
}
Trace goal(const std::string& text) {
  return read_texts("goal", {text});
}

constexpr std::int64_t kAllReduce = 0;
constexpr std::int64_t kAllGather = 2;

}  // namespace

// Broken trace 1. ASTRA-sim ends with rc 0 and without a word on 1, 2 and 3 (peers.md §6a).
TEST_CASE("ranks that disagree on the type of a collective are told apart") {
  const std::string text =
      diagnosis(chakra({chakra_collective(1, kAllReduce, 64), chakra_collective(1, kAllReduce, 64),
                        chakra_collective(1, 7, 64)}));
  CHECK(says(text, {"disagree on the type", "rank 0's all_reduce of 64 bytes in group \"world\"",
                    "rank 2's reduce_scatter", "t.2.et node 1", "rank 0 waits for rank 2"}));
}

// Broken trace 2.
TEST_CASE("ranks that disagree on the size of a collective are told apart") {
  const std::string text = diagnosis(
      chakra({chakra_collective(1, kAllReduce, 64), chakra_collective(1, kAllReduce, 65)}));
  CHECK(says(text, {"disagree on the size", "64 bytes", "65 bytes", "rank 0 waits for rank 1"}));
}

// Broken trace 3: both operations exist on both ranks, the other way round.
TEST_CASE("ranks that disagree on the order of collectives are told apart") {
  const std::string text = diagnosis(
      chakra({chakra_collective(1, kAllReduce, 64) + chakra_collective(2, kAllGather, 8),
              chakra_collective(1, kAllGather, 8) + chakra_collective(2, kAllReduce, 64)}));
  CHECK(says(text, {"disagree on the order of its 1. operation", "rank 0's all_reduce",
                    "rank 1's all_gather of 16 bytes"}));
}

// Broken trace 4.
TEST_CASE("a rank that leaves a collective out is named") {
  const std::string text =
      diagnosis(chakra({chakra_collective(1, kAllReduce, 64) + chakra_collective(2, kAllReduce, 32),
                        chakra_collective(1, kAllReduce, 64)}));
  CHECK(
      says(text, {"rank 0's all_reduce of 32 bytes", "waits for rank 1", "1 operations of group"}));
}

// Broken trace 5: node 3 of rank 2 calls in a group of ranks 0 and 1.
TEST_CASE("a rank outside the group of its collective is named") {
  const std::string groups = chakra_node(
      {.id = 9,
       .name = "## process_group:init ##",
       .type = 1,
       .attributes = bytes_field(8, bytes_field(1, R"([{"pg_name":"5","ranks":[0,1]}])"))});
  const std::string call = groups + chakra_collective(3, kAllReduce, 64, "5");
  CHECK(says(diagnosis(chakra({call, call, call})),
             {"rank 2's all_reduce", "t.2.et node 3", "not in this group of 2 ranks"}));
}

// Broken trace 6.
TEST_CASE("a send that nobody receives is named") {
  const std::string text =
      diagnosis(goal("num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 7\n}\nrank 1 {\nl1: recv 10b "
                     "from 0 tag 8\n}\n"));
  // The channels are (0, 1, 7) and (0, 1, 8): the receive is found first to be alone.
  CHECK(says(text, {"rank 1's receive of 10 bytes from rank 0, tag 8", "t line 6", "has no send",
                    "rank 1 waits for rank 0"}));
  const std::string lone = diagnosis(goal("num_ranks 2\nrank 0 {\nsend 10b to 1 tag 7\n}\n"));
  CHECK(says(lone, {"rank 0's send of 10 bytes to rank 1, tag 7", "t line 3", "has no receive"}));
}

// Broken trace 7.
TEST_CASE("the two ends of a message must agree on its size") {
  const std::string text =
      diagnosis(goal("num_ranks 2\nrank 0 {\nsend 10b to 1\n}\nrank 1 {\nrecv 12b from 0\n}\n"));
  CHECK(says(text, {"rank 0's send of 10 bytes", "rank 1's receive of 12 bytes", "disagree"}));
}

// Broken trace 8: each rank sends only after it has received. And a rank that waits for itself.
TEST_CASE("a circle of waiting operations is shown from operation to operation") {
  const std::string text =
      diagnosis(goal("num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
                     "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n"));
  CHECK(says(text, {"in a circle", "rank 0's receive of 8 bytes from rank 1", "waits for",
                    "rank 1's send of 8 bytes to rank 0", "waits for the first"}));
  const std::string self = diagnosis(chakra({chakra_node({.id = 4, .data_deps = {4}})}));
  CHECK(says(self, {"rank 0's computation", "node 4", "waits for itself"}));
  // Groups in different orders, held by dependencies: 0 runs a before b, 1 runs b before a.
  const std::string init = chakra_node(
      {.id = 90,
       .name = "process_group:init",
       .type = 1,
       .attributes = bytes_field(
           8, bytes_field(1, R"([{"pg_name":"1","ranks":[0,1]},{"pg_name":"2","ranks":[1,0]}])"))});
  const std::string crossed = diagnosis(
      chakra({init + chakra_collective(1, 0, 64, "1") + chakra_collective(2, 0, 64, "2", {1}),
              init + chakra_collective(2, 0, 64, "2") + chakra_collective(1, 0, 64, "1", {2})}));
  CHECK(says(crossed, {"in a circle", "group \"1\"", "group \"2\""}));
}

TEST_CASE("a rank without a file is refused, or joins what the others do") {
  const std::vector<std::string> one = {chakra_metadata() + chakra_collective(1, kAllReduce, 64)};
  const Trace trace = read_texts("chakra", one, R"({"ranks": 4})");
  CHECK(says(diagnosis(trace), {"rank 1 of 4 has no file", "absent=join"}));
  const IterationDag dag = match(trace, AbsentRanks::join);
  CHECK(dag.ranks == 4);
  CHECK(dag.groups.front().size() == 4);
  CHECK(dag.tasks.size() == 1);
}

// Rank 0 computes 100 ns, sends, then computes 50 ns; rank 1 computes 30 ns beside the receive and
// then 20 ns after both.
TEST_CASE("messages become a send, what waits for its departure and what waits for its arrival") {
  const IterationDag dag = match(
      goal("num_ranks 2\n"
           "rank 0 {\na: calc 100\nb: send 8b to 1\nb requires a\nc: calc 50\nc requires b\n}\n"
           "rank 1 {\na: calc 30\nb: recv 8b from 0\nb requires a\nc: calc 20\nc requires b\n}\n"));
  dag.validate();
  std::size_t computes = 0;
  std::size_t sends = 0;
  std::size_t barriers = 0;
  for (const Task& task : dag.tasks) {
    computes += task.kind == TaskKind::compute ? 1U : 0U;
    sends += task.kind == TaskKind::send ? 1U : 0U;
    barriers += task.kind == TaskKind::barrier ? 1U : 0U;
  }
  CHECK(computes == 4);
  CHECK(sends == 1);
  CHECK(barriers == 2);  // "c requires b" on rank 0, the posted receive on rank 1
}
