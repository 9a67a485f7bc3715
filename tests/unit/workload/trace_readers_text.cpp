#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "support/shared_data.hpp"
#include "support/trace_texts.hpp"

using namespace railyard;
using namespace railyard::workload;
using namespace railyard::test;
using namespace std::chrono_literals;

namespace {

std::size_t count(const Trace& trace, TraceKind kind) {
  std::size_t sum = 0;
  for (const RankTrace& rank : trace.ranks) {
    for (const TraceOperation& one : rank.operations) sum += one.kind == kind ? 1U : 0U;
  }
  return sum;
}

constexpr const char* kHeader =
    "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 "
    "checkpoints: 0 checkpoint_initiates: 0\n";

}  // namespace

// formats.md §4b: values by key; old headers have neither ep nor all_gpus, some lack vpp or the
// colon behind pp_comm.
TEST_CASE("both generations of text workload headers are read by key") {
  const std::string row = "1\nl -1 5 ALLREDUCE 64 6 NONE 0 7 NONE 0 1\n";
  CHECK(read_texts("simai_workload", {kHeader + row}).ranks.size() == 8);
  const Trace old = read_texts(
      "simai_workload",
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4 checkpoints: 0 checkpoint_initiates: 0\n" +
       row});
  CHECK(old.ranks.size() == 4);
  CHECK(contains(old.notes.at(0), "does not say all_gpus"));
  const Trace given = read_texts(
      "simai_workload",
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4 checkpoints: 0 checkpoint_initiates: 0\n" +
       row},
      R"({"ranks": 16})");
  CHECK(given.ranks.size() == 16);
  CHECK(
      read_texts("simai_workload",
                 {"HYBRID_TRANSFORMER all_gpus: 4 pp_comm 64 model_parallel_NPU_group: 2\n" + row})
          .ranks.size() == 4);
}

// Nanoseconds, and buffers whole: an all-gather states its result.
TEST_CASE("text workloads count nanoseconds and whole buffers") {
  const Trace trace =
      read_texts("simai_workload",
                 {std::string(kHeader) + "1\nl -1 500 ALLGATHER 4096 6 NONE 0 7 NONE 0 1\n"});
  CHECK(trace.ranks[0].operations[0].duration == 500ns);
  CHECK(trace.ranks[0].operations[1].size == Bytes(4096));
}

// 8 ranks, TP 2, EP 2: rank 5 = tensor 1 + 2 · data 2; its experts' group holds data 2 and 3.
TEST_CASE("suffixes of communication types choose the group of a text workload") {
  const Trace trace = read_texts(
      "simai_workload", {std::string(kHeader) +
                         "1\nl -1 5 ALLTOALL_EP 64 6 ALLREDUCE 8 7 REDUCESCATTER_DP_EP 8 1\n"});
  std::vector<std::vector<std::uint32_t>> groups;
  for (const TraceOperation& one : trace.ranks[5].operations) {
    if (one.kind != TraceKind::collective) continue;
    groups.emplace_back();
    for (const Rank rank : trace.groups[one.group].ranks)
      groups.back().push_back(static_cast<std::uint32_t>(rank));
  }
  CHECK(groups == std::vector<std::vector<std::uint32_t>>{{5, 7}, {4, 5}, {1, 5}});
  match(trace).validate();
}

// Two layers: forward 10 + 20; back: input gradients 3 and 5, weight gradients 4 and 6, updates 1.
// On a free network the last update ends behind all of the chain: 30 + 5 + 6 + 3 + 4 + 1.
TEST_CASE("a text workload runs forward and back in ASTRA-sim's order") {
  const Trace trace =
      read_texts("simai_workload",
                 {std::string(kHeader) + "2\na -1 10 NONE 0 3 NONE 0 4 ALLREDUCE 8 1\n"
                                         "b -1 20 ALLREDUCE 8 5 ALLREDUCE 8 6 ALLREDUCE 8 1\n"});
  std::vector<std::string> names;
  const RankTrace& rank = trace.ranks[0];
  for (const TraceOperation& one : rank.operations) names.emplace_back(rank.name(one));
  CHECK(names == std::vector<std::string>{"a forward", "b forward", "b forward communication",
                                          "b input gradient", "b input gradient communication",
                                          "b weight gradient", "b weight gradient communication",
                                          "b update", "a input gradient", "a weight gradient",
                                          "a weight gradient communication", "a update"});
}

TEST_CASE("a customized text workload has a policy a layer") {
  const Trace trace =
      read_texts("simai_workload", {"HYBRID_CUSTOMIZED model_parallel_NPU_group: 2 all_gpus: 4\n"
                                    "2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1 DATA\n"
                                    "b -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1 HYBRID_DATA_MODEL\n"});
  std::vector<std::size_t> sizes;
  for (const TraceOperation& one : trace.ranks[0].operations) {
    if (one.kind == TraceKind::collective) sizes.push_back(trace.groups[one.group].ranks.size());
  }
  CHECK(sizes == std::vector<std::size_t>{2, 4});  // from the last layer back
}

TEST_CASE("bad text workloads are refused with their line") {
  const auto of = [](const std::string& rows) {
    return refusal("simai_workload", {kHeader + rows});
  };
  CHECK(contains(of("2\nl -1 5 NONE 0 6 NONE 0 7 NONE 0 1\n"), "2 layers announced, 1 given"));
  CHECK(contains(of("1\nl -1 5 NONE 0 6 NONE 0 7 NONE 0\n"), "t:3: expected 12 columns"));
  CHECK(contains(of("1\nl -1 5 SHOUT 0 6 NONE 0 7 NONE 0 1\n"), "communication \"SHOUT\""));
  CHECK(contains(of("1\nl -1 -5 NONE 0 6 NONE 0 7 NONE 0 1\n"), "nanoseconds"));
  CHECK(contains(refusal("simai_workload", {"HYBRID_DLRM ep: 1\n0\n"}), "is not simulated"));
  CHECK(contains(refusal("simai_workload", {"DATA model_parallel_NPU_group: 3 all_gpus: 8\n0\n"}),
                 "no multiple of tensor 3"));
  CHECK(contains(refusal("simai_workload", {std::string("DATA pp: 2 all_gpus: 8\n0\n")},
                         R"({"expand": "all"})"),
                 "which layers are whose stage's"));
}

TEST_CASE("the shared text workloads are read") {
  const auto folder = shared_data("formats/simai");
  if (!folder) return;
  const Trace micro = read_trace(*folder / "microAllReduce.txt");
  CHECK(micro.format == "simai_workload");
  CHECK(micro.ranks.size() == 8);
  CHECK(count(micro, TraceKind::collective) == 16);
  match(micro).validate();
  const Trace large = read_trace(*folder / "workload_analytical.txt");
  CHECK(large.ranks.size() == 9216);
  CHECK(large.ranks[0].operations.size() > 3 * 1789);
  match(large, AbsentRanks::join).validate();
}

TEST_CASE("Chakra's JSON is read in each of its layouts") {
  const Trace graph = read_texts("chakra_json", {R"({"workload_graph": [
         {"Id": 0, "Name": "a", "NodeType": 4, "is_cpu_op": 0, "runtime": 5, "data_deps": []},
         {"Id": 1, "Name": "b", "NodeType": 7, "is_cpu_op": false, "comm_type": 0,
          "comm_size": 64, "data_deps": [0], "ctrl_deps": []}]})"});
  CHECK(graph.ranks[0].operations[0].duration == 5us);
  CHECK(graph.ranks[0].operations[1].size == Bytes(64));
  CHECK(graph.ranks[0].dependencies == std::vector<TraceDependency>{{0, false}});
  // protobuf-JSON writes 64-bit integers as strings.
  const Trace proto = read_texts(
      "chakra_json",
      {R"({"node": [{"id": "7", "name": "c", "type": "COMM_COLL_NODE", "durationMicros": "3",
          "attr": [{"name": "comm_type", "int64Val": "2"}, {"name": "comm_size",
          "uint64Val": "10"}]}]})"});
  CHECK(proto.ranks[0].operations[0].operation == collective::Operation::all_gather);
  CHECK(contains(refusal("chakra_json", {"{\"nodes\": [{\"id\": -1}]}"}), "t.0.et:1: expected"));
  CHECK(contains(refusal("chakra_json", {"{}"}), "no list of nodes"));
  CHECK(contains(refusal("chakra_json", {"{\"nodes\": [{\"id\": 1"}), "the file ends"));
}

// The archive holds an attribute file of macOS beside the trace; ten all-gathers of a float over
// two ranks, of which one is given.
TEST_CASE("the shared PyTorch execution trace is read out of its archive") {
  const auto folder = shared_data("formats/chakra");
  if (!folder) return;
  const Trace trace = read_trace(*folder / "1.0.2-chakra.0.0.4.tgz");
  CHECK(trace.format == "chakra_json");
  CHECK(trace.ranks.size() == 2);
  CHECK(count(trace, TraceKind::collective) == 10);
  CHECK(trace.ranks[0].operations.at(0).size == Bytes(8));
  CHECK(match(trace, AbsentRanks::join).tasks.size() == 10);
}

namespace {

std::string kineto_of(int rank) {
  return R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": )" +
         std::to_string(rank) + R"(, "world_size": 4, "pg_config": [
    {"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1, 2, 3]}]},
  "traceEvents": [
   {"ph": "M", "name": "process_name", "ts": 0},
   {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 100, "dur": 50, "args": {"stream": 7}},
   {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "ts": 155, "dur": 30,
    "args": {"stream": 20, "Collective name": "_allgather_base", "In msg nelems": 1000,
             "Out msg nelems": 4000, "dtype": "BFloat16", "Group size": 4,
             "Process Group Name": "0", "Process Group Ranks": "[0, 1, ..., 3]"}},
   {"ph": "X", "cat": "kernel", "name": "gelu", "ts": 150, "dur": 20, "args": {"stream": 7}},
   {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 190, "dur": 10, "args": {"stream": 7}},
   {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 90, "dur": 5}]})";
}

}  // namespace

// Stream 7: gemm 100–150, gelu 150–170, gemm 190–200; stream 20: the all-gather from 155, 5 us
// behind the gemm, to 185. The last gemm waits for gelu and all-gather, and 5 us for the host.
TEST_CASE("a profile of PyTorch becomes kernels, collectives and what each waits for") {
  const Trace trace =
      read_texts("kineto", {kineto_of(0), kineto_of(1), kineto_of(2), kineto_of(3)});
  const RankTrace& rank = trace.ranks[2];
  REQUIRE(rank.operations.size() == 6);
  const auto name = [&](std::size_t i) { return std::string(rank.name(rank.operations[i])); };
  CHECK(name(0) == "gemm");
  CHECK(name(1) == "gelu");
  CHECK(name(2) == "launch");
  CHECK(rank.operations[2].duration == 5us);
  CHECK(rank.operations[3].size == Bytes(4 * 2000));
  CHECK(trace.groups[rank.operations[3].group].ranks.size() == 4);
  CHECK(rank.operations[4].duration == 5us);
  CHECK(rank.operations[4].dependency_count == 2);
  match(trace).validate();
  CHECK(read_texts("kineto", {kineto_of(0)}, R"({"gaps": "drop"})").ranks[0].operations.size() ==
        4);
  CHECK(contains(refusal("kineto", {R"({"traceEvents": [{"ph": "X", "cat": "kernel",
      "name": "ncclKernel_AllReduce", "ts": 1, "dur": 2, "args": {"stream": 1}}]})"}),
                 "must say what it does"));
}
