#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "support/shared_data.hpp"
#include "support/trace_texts.hpp"

using namespace railyard;
using namespace railyard::workload;
using namespace railyard::test;
using namespace std::chrono_literals;

// formats.md §4a trap 1: every width that AttributeProto has, with the value 1 MiB (sint zigzags it
// to 2 MiB).
TEST_CASE("Chakra integers of every width are read") {
  constexpr std::uint64_t kSize = 1'048'576;
  const std::string sizes[] = {
      varint_field(7, kSize),    varint_field(9, kSize),      varint_field(11, kSize),
      varint_field(13, kSize),   varint_field(15, 2 * kSize), varint_field(17, 2 * kSize),
      fixed_field(19, kSize, 4), fixed_field(21, kSize, 8),   fixed_field(23, kSize, 4),
      fixed_field(25, kSize, 8), bytes_field(29, "1048576")};
  for (const std::string& size : sizes) {
    const std::string node = chakra_node(
        {.type = 7,
         .attributes = attribute("comm_type", varint_field(11, 0)) + attribute("comm_size", size)});
    const Trace trace = read_texts("chakra", {chakra_metadata() + node});
    CHECK(trace.ranks[0].operations[0].size == Bytes(1'048'576));
  }
}

// Trap 2: id 0 is not on the wire; a dependency on it is.
TEST_CASE("a Chakra node without id is node 0") {
  const Trace trace =
      read_texts("chakra", {chakra_metadata() + chakra_node({.id = 0, .name = "a"}) +
                            chakra_node({.id = 1, .name = "b", .data_deps = {0}})});
  REQUIRE(trace.ranks[0].operations.size() == 2);
  CHECK(trace.ranks[0].operations[0].id == 0);
  CHECK(trace.ranks[0].dependencies == std::vector<TraceDependency>{{0, false}});
}

// Trap 3: where a node does not say, new feeders mean the GPU and old ones the CPU. Two
// computations on the GPU share its stream; one on each runs beside the other.
TEST_CASE("both defaults of is_cpu_op are a parameter") {
  const std::string text =
      chakra_metadata() +
      chakra_node(
          {.id = 1, .micros = 5, .attributes = attribute("is_cpu_op", varint_field(27, 0))}) +
      chakra_node({.id = 2, .micros = 5});
  const auto streams = [&](std::string_view terms) {
    return match(read_texts("chakra", {text}, terms)).streams;
  };
  CHECK(streams("{}") == 1);
  CHECK(streams(R"({"is_cpu_op": true})") == 2);
}

// Trap 4: all-gather states a rank's shard, the others the whole buffer. Convention here: the
// gathered result (collective::Request).
TEST_CASE("comm_size means the shard of an all-gather and the buffer of the others") {
  const auto size_of = [](std::int64_t comm_type) {
    const std::string text = chakra_metadata() + chakra_collective(1, comm_type, 1000);
    const Trace trace = read_texts("chakra", {text, text, text, text});
    return trace.ranks[3].operations[0].size.count();
  };
  CHECK(size_of(0) == 1000);
  CHECK(size_of(2) == 4000);
  CHECK(size_of(6) == 1000);
  CHECK(size_of(7) == 1000);
}

// Trap 5: custom collectives put 5 and 6 into comm_type of sends and receives.
TEST_CASE("comm_type of a Chakra message is no collective") {
  const std::string common = attribute("comm_size", 64) + attribute("comm_tag", 3);
  const Trace trace = read_texts(
      "chakra",
      {chakra_metadata() + chakra_node({.type = 5,
                                        .attributes = common + attribute("comm_type", 5) +
                                                      attribute("comm_dst", varint_field(7, 1))}),
       chakra_metadata() + chakra_node({.type = 6,
                                        .attributes = common + attribute("comm_type", 6) +
                                                      attribute("comm_src", varint_field(7, 0))})});
  CHECK(trace.ranks[0].operations[0].kind == TraceKind::send);
  CHECK(trace.ranks[1].operations[0].kind == TraceKind::receive);
  CHECK(trace.ranks[1].operations[0].tag == 3);
  CHECK(match(trace).tasks.size() == 1);
}

// Trap 6: microseconds in .et, nanoseconds in text workloads and GOAL.
TEST_CASE("durations are microseconds in Chakra and nanoseconds in GOAL") {
  const Trace et = read_texts("chakra", {chakra_metadata() + chakra_node({.micros = 7})});
  CHECK(et.ranks[0].operations[0].duration == 7us);
  const Trace goal = read_texts("goal", {"num_ranks 1\nrank 0 {\ncalc 7\n}\n"});
  CHECK(goal.ranks[0].operations[0].duration == 7ns);
}

// Trap 7: 26 KB of MSCCL XML in the metadata make its length a varint of three bytes.
TEST_CASE("long Chakra metadata are passed over") {
  const std::string metadata =
      framed(bytes_field(1, "0.0.4") +
             bytes_field(2, bytes_field(1, "xml") + bytes_field(29, std::string(26'000, 'x'))));
  const Trace trace = read_texts("chakra", {metadata + chakra_node({.micros = 1})});
  CHECK(trace.ranks[0].operations.size() == 1);
  CHECK(std::string_view(recognise_trace({"x", {}, metadata})->description.name) == "chakra");
}

// Trap 8 (mlcommons/chakra #338).
TEST_CASE("a Chakra dependency on a missing node is named, or dropped and counted") {
  const std::string text =
      chakra_metadata() + chakra_node({.id = 5, .name = "gemm", .data_deps = {4}});
  CHECK(contains(refusal("chakra", {text}), "t.0.et: node 5 \"gemm\" waits for node 4"));
  const Trace trace = read_texts("chakra", {text}, R"({"dangling": "ignore"})");
  CHECK(trace.ranks[0].dependencies.empty());
  CHECK(contains(trace.notes.at(0), "1 dependencies on missing nodes"));
}

TEST_CASE("damaged Chakra files are refused with their place") {
  const std::string text = chakra_metadata() + chakra_collective(1, 0, 64);
  CHECK(contains(refusal("chakra", {text.substr(0, text.size() - 3)}), "cut off"));
  CHECK(contains(refusal("chakra", {""}), "is empty"));
  CHECK(contains(refusal("chakra", {chakra_metadata() + framed("\x0a\xff\xff")}), "is damaged"));
  CHECK(contains(
      refusal("chakra", {chakra_metadata() + chakra_node({.id = 3}) + chakra_node({.id = 3})}),
      "two nodes have id 3"));
  CHECK(contains(refusal("chakra", {chakra_metadata() + chakra_collective(1, 3, 64)}),
                 "comm_type 3 (gather) is not simulated"));
  CHECK(contains(refusal("chakra", {chakra_metadata() + chakra_collective(1, 0, 64, "7")}),
                 "group \"7\" is not defined"));
}

// A group is its ranks in the file's order; "0" and no name are the world unless the file defines
// "0".
TEST_CASE("groups of Chakra come from comm_group.json") {
  const auto path = std::filesystem::temp_directory_path() / "railyard_comm_group.json";
  std::ofstream(path) << R"({"7": [2, 0], "8": [1]})";
  const std::string terms = "{\"groups\": " + config::json_string(path.string()) + "}";
  const std::string world = chakra_metadata() + chakra_collective(1, 0, 64, "0");
  const std::string both = world + chakra_collective(2, 0, 64, "7");
  const Trace trace = read_texts("chakra", {both, world, both}, terms);
  std::filesystem::remove(path);
  const IterationDag dag = match(trace);
  REQUIRE(dag.groups.size() == 2);
  CHECK(dag.groups[0].size() == 3);
  CHECK(dag.groups[1] == std::vector<Rank>{Rank{2}, Rank{0}});
}

// num_ops / min(peak, bandwidth · num_ops / tensor_size): 2e9 operations at 1 Tflop/s are 2 ms;
// 4e9 bytes at 1 TB/s are 4 ms.
TEST_CASE("Chakra computations without duration take the roofline's time") {
  const std::string text =
      chakra_metadata() + chakra_node({.attributes = attribute("num_ops", 2'000'000'000) +
                                                     attribute("tensor_size", 4'000'000'000)});
  const auto time = [&](std::string_view terms) {
    return read_texts("chakra", {text}, terms).ranks[0].operations[0].duration;
  };
  CHECK(time(R"({"peak_tflops": 1})") == 2ms);
  CHECK(time(R"({"peak_tflops": 1, "memory_bandwidth": "1000GB/s"})") == 4ms);
  CHECK(read_texts("chakra", {text}).notes.size() == 1);
}

TEST_CASE("GOAL has comments, both kinds of dependencies, cpus and receives from anybody") {
  const Trace trace = read_texts("goal", {"/* two\n ranks */ num_ranks 2\n"
                                          "rank 0 {  \nl1: send 1b to 1 tag 7 cpu 1 nic 0\n"
                                          "l2: calc 5 cpu 1 // on the second\n"
                                          "l2 irequires l1\n}\n"
                                          "rank 1 {\nfirst: recv 1b from -1 tag 7\n}\n"});
  CHECK(trace.ranks[0].operations[1].stream == 1);
  CHECK(trace.ranks[0].dependencies == std::vector<TraceDependency>{{0, true}});
  CHECK(trace.ranks[1].operations[0].peer == kAnyRank);
  CHECK(match(trace).tasks.size() == 3);  // the send with a barrier in front of it, the calc
}

TEST_CASE("bad GOAL lines are refused with their line") {
  const auto of = [](const std::string& body) {
    return refusal("goal", {"num_ranks 2\nrank 0 {\n" + body + "\n}\n"});
  };
  CHECK(contains(of("l1: send 10 to 1"), "t:3: expected \"send <n>b to <rank>\""));
  CHECK(contains(of("l1: send 10b to 2"), "t:3"));
  CHECK(contains(of("l1: calc 5\nl1: calc 6"), "t:4: label \"l1\" is taken"));
  CHECK(contains(of("l1: calc 5\nl1 requires l2"), "label \"l2\" is not defined above"));
  CHECK(contains(of("l1: calc -5"), "nanoseconds"));
  CHECK(contains(of("calc 5 tag 3"), "unknown word \"tag\""));
  CHECK(contains(of("/* open"), "a comment without end"));
  CHECK(contains(refusal("goal", {"rank 0 {\n}\n"}), "num_ranks"));
  CHECK(contains(refusal("goal", {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n"}), "twice"));
  CHECK(contains(refusal("goal", {"num_ranks 1\nrank 0 {\n"}), "is not closed"));
}

TEST_CASE("the shared Chakra samples are read and their ranks fit together") {
  const auto folder = shared_data("formats/chakra");
  if (!folder) return;
  const struct {
    const char* prefix;
    std::size_t ranks;
    std::size_t tasks;
  } samples[] = {{"all_reduce_8npus_1MB", 8, 1},
                 {"all_gather_4npus_1MB", 4, 1},
                 {"all_to_all_8npus_1MB", 8, 1},
                 {"custom_ring_all_reduce_8npus_1MB", 8, 0}};
  for (const auto& sample : samples) {
    const Trace trace = read_trace(*folder / sample.prefix);
    CHECK(trace.format == "chakra");
    CHECK(trace.ranks.size() == sample.ranks);
    const IterationDag dag = match(trace);
    dag.validate();
    if (sample.tasks > 0) CHECK(dag.tasks.size() == sample.tasks);
  }
  CHECK(read_trace(*folder / "all_gather_4npus_1MB.2.et").ranks.size() == 4);
  CHECK(match(read_trace(*folder / "all_gather_4npus_1MB")).tasks[0].size == Bytes(4 << 20));
}
