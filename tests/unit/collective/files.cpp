// Collectives that are data: what the files say is performed, and what is wrong with others is
// said.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "railyard/collective/choices.hpp"
#include "railyard/collective/file.hpp"
#include "support/collective_executor.hpp"
#include "support/collective_texts.hpp"
#include "unit/collective/algorithms.hpp"

namespace railyard::test {

using collective::GroupShape;
using collective::Operation;
using collective::Request;

namespace {

/// Every rank's vector sums all ranks once, in every byte, whatever the messages take.
void check_all_reduce(const collective::Algorithm& algorithm, std::uint32_t n, std::int64_t size) {
  const auto schedule =
      algorithm.schedule({Operation::all_reduce, Bytes(size), {}}, GroupShape::flat(n));
  const auto edges = boundaries(schedule, size, n);
  Contributions start(n, std::vector(edges.size() - 1, std::vector<std::uint32_t>(n, 0)));
  for (std::uint32_t r = 0; r < n; ++r) {
    for (auto& element : start[r]) element[r] = 1;
  }
  std::uint32_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const auto& rank : run_symbolically(schedule, edges, start, seed).contributions) {
      for (const auto& element : rank) wrong += element == std::vector<std::uint32_t>(n, 1) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

void check_same(const collective::Schedule& a, const collective::Schedule& b) {
  REQUIRE(a.transfers.size() == b.transfers.size());
  std::uint32_t different = 0;
  for (std::size_t i = 0; i < a.transfers.size(); ++i) {
    const auto& x = a.transfers[i];
    const auto& y = b.transfers[i];
    if (x.source != y.source || x.destination != y.destination || x.size != y.size ||
        x.offset != y.offset || x.reduce != y.reduce)
      ++different;
  }
  CHECK(different == 0);
}

std::string fault_of(const std::string& text) {
  try {
    static_cast<void>(collective::read_collective(text, "file"));
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return {};
}

/// Two ranks that sum two chunks; `steps` in place of the last ones.
std::string two_ranks(const std::string& steps, const std::string& head = R"("all_reduce")") {
  return R"({"name": "x", "operation": )" + head + R"(, "ranks": 2, "chunks": 2, "steps": [
    {"source": 0, "destination": 1, "chunk": 1, "reduce": true},
    {"source": 1, "destination": 0, "chunk": 0, "reduce": true})" +
         steps + "]}";
}
const std::string kRest = R"(,
    {"source": 0, "destination": 1, "chunk": 0, "after": [1]},
    {"source": 1, "destination": 0, "chunk": 1, "after": [0]})";

}  // namespace

TEST_CASE("a ring written as data has the messages of the built-in one") {
  for (const std::uint32_t n : {2U, 3U, 5U, 8U}) {
    const auto file = collective::read_collective(ring_text(n), "ring.json");
    for (const std::int64_t size : {1000, 7919}) {
      const Request request{Operation::all_reduce, Bytes(size), {}};
      check_same(file.algorithm->schedule(request, GroupShape::flat(n)),
                 make_algorithm("ring")->schedule(request, GroupShape::flat(n)));
    }
    for (const std::int64_t size : {1, 2, 7, 1000}) check_all_reduce(*file.algorithm, n, size);
  }
}

TEST_CASE("halving and doubling written as data has the messages of the built-in one") {
  for (const std::uint32_t n : {2U, 4U, 8U, 16U}) {
    const auto file = collective::read_collective(halving_doubling_text(n), "halving.json");
    const Request request{Operation::all_reduce, Bytes(7919), {}};
    check_same(
        file.algorithm->schedule(request, GroupShape::flat(n)),
        make_algorithm("recursive_halving_doubling")->schedule(request, GroupShape::flat(n)));
    for (const std::int64_t size : {1, 3, 1000}) check_all_reduce(*file.algorithm, n, size);
  }
}

// MSCCL's rrs adds behind the receiving and sends the sum on; message for message it is the ring.
TEST_CASE("a ring of MSCCL has the messages of the built-in one, in place and out of place") {
  for (const bool in_place : {true, false}) {
    for (const std::uint32_t n : {2U, 3U, 8U}) {
      const auto file = collective::read_collective(msccl_ring_text(n, in_place), "ring.xml");
      CHECK(file.name == "ring");
      CHECK(file.ranks == n);
      const Request request{Operation::all_reduce, Bytes(1000), {}};
      const auto schedule = file.algorithm->schedule(request, GroupShape::flat(n));
      const auto built_in = make_algorithm("ring")->schedule(request, GroupShape::flat(n));
      CHECK(schedule.transfers.size() == built_in.transfers.size());
      check_all_reduce(*file.algorithm, n, 1000);
    }
  }
}

// Two GPUs: each sends its whole input into the other's scratch, copies its own to the output and
// adds what came, in a thread block that waits for both. Without the wait it
// may add before anything has come.
TEST_CASE("thread blocks of MSCCL wait for each other, copy and add in place of sending") {
  const auto text = [](std::string_view waits) {
    std::string out =
        R"(<algo name="pairs" proto="LL" ngpus="2" coll="allreduce" inplace="0" maxBytes="4096">)";
    for (int gpu = 0; gpu < 2; ++gpu) {
      const auto step = [](int s, std::string_view type, std::string_view from, std::string_view to,
                           std::string_view more) {
        return fmt::format(
            "\n<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"0\" dstbuf=\"{}\" "
            "dstoff=\"0\" cnt=\"2\" {}/>",
            s, type, from, to, more);
      };
      out += fmt::format(
          "\n<gpu id=\"{0}\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"2\">\n"
          "<tb id=\"0\" send=\"{1}\" recv=\"{1}\" chan=\"0\">",
          gpu, 1 - gpu);
      out += step(0, "s", "i", "s", "") + step(1, "r", "i", "s", "hasdep=\"1\"");
      out += "</tb>\n<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">";
      out += step(0, "cpy", "i", "o", "") + step(1, "nop", "i", "o", waits);
      out += step(2, "re", "s", "o", "") + "</tb></gpu>";
    }
    return out + "</algo>";
  };
  const auto file = collective::read_collective(text(R"(depid="0" deps="1")"), "pairs.xml");
  CHECK(file.protocol == collective::nccl::WireProtocol::ll);
  const GroupShape shape = GroupShape::flat(2);
  const auto schedule = file.algorithm->schedule({Operation::all_reduce, Bytes(101), {}}, shape);
  REQUIRE(schedule.transfers.size() == 2);
  CHECK(schedule.transfers[0].size == Bytes(101));
  CHECK(schedule.dependencies.empty());
  CHECK(file.algorithm->refusal({Operation::all_reduce, Bytes(5000), {}}, shape) ==
        "pairs.xml is for 0 to 4096 bytes, not for 5000");
  CHECK(fault_of(text(R"(depid="-1")")) ==
        "file:9: step: reads memory of rank 0 in which there is nothing yet");
}

// Closed forms of the coupled form: a ring costs 2(n−1)(α + S/(nB)), whoever wrote it. Of n − 1
// messages that leave a rank one behind the other without waiting only the last one's α shows:
// α + (n−1)S/(nB).
TEST_CASE("phases of a file cost an alpha where arrivals follow one another") {
  const Duration alpha = std::chrono::microseconds(3);
  const Bandwidth rate(25'000'000'000);
  const std::uint32_t n = 8;
  const Request request{Operation::all_reduce, Bytes(8'000'000), {}};
  const auto ring = collective::read_collective(ring_text(n), "ring.json");
  CHECK(ring.algorithm->closed_form(request, n, alpha, rate) ==
        make_algorithm("ring")->closed_form(request, n, alpha, rate));
  std::vector<StepText> steps;
  for (std::uint32_t d = 1; d < n; ++d) {
    for (std::uint32_t r = 0; r < n; ++r)
      steps.push_back({r, (r + d) % n, (r + d) % n, 1, true, {}});
  }
  const auto direct =
      collective::read_collective(step_list_text("reduce_scatter", n, n, steps), "direct.json");
  const Request scatter{Operation::reduce_scatter, Bytes(8'000'000), {}};
  CHECK(direct.algorithm->closed_form(scatter, n, alpha, rate) ==
        make_algorithm("direct")->closed_form(scatter, n, alpha, rate));
}

// Rank 1 hands on what rank 0 has for rank 2, and what it has itself.
TEST_CASE("an all-to-all may pass on what came from others") {
  const std::string text = R"({"name": "x", "operation": "all_to_all", "ranks": 3, "chunks": 3,
    "steps": [{"source": 0, "destination": 1, "chunk": 1, "count": 2},
              {"source": 1, "destination": 2, "chunk": 2, "origin": 0, "after": [0]},
              {"source": 1, "destination": 2, "chunk": 2},
              {"source": 1, "destination": 0, "chunk": 0},
              {"source": 2, "destination": 0, "chunk": 0},
              {"source": 2, "destination": 1, "chunk": 1}]})";
  const auto file = collective::read_collective(text, "relay.json");
  const Request request{Operation::all_to_all, Bytes(12), {1, 2, 3}};
  const auto schedule = file.algorithm->schedule(request, GroupShape::flat(3));
  CHECK(schedule.transfers[0].size == Bytes(10));
  CHECK(schedule.transfers[1].size == Bytes(6));
  CHECK(file.algorithm->refusal({Operation::all_to_all, Bytes(12), {1, 2}}, GroupShape::flat(3)) ==
        "file: 2 shares for 3 ranks; give one a rank");
}

TEST_CASE("a file serves its own operation and its own number of ranks") {
  const auto file = collective::read_collective(ring_text(4), "ring.json");
  CHECK(
      file.algorithm->refusal({Operation::all_reduce, Bytes(8), {}}, GroupShape::flat(4)).empty());
  CHECK(file.algorithm->refusal({Operation::all_gather, Bytes(8), {}}, GroupShape::flat(4)) ==
        "ring.json performs all_reduce, not all_gather");
  CHECK(
      file.algorithm->refusal({Operation::all_reduce, Bytes(8), {}}, GroupShape::flat(8)) ==
      "ring.json is for 4 ranks, but the group has 8; \"otherwise\" names an algorithm for groups "
      "of other sizes");
}

TEST_CASE("what is wrong with a step list is said with its place") {
  const std::pair<std::string, std::string> kFaults[] = {
      {two_ranks(kRest), ""},
      {two_ranks(R"(, {"source": 0, "destination": 2, "chunk": 0})"),
       "file:3:95 /steps/2/destination: must be from 0 to 1, found 2"},
      {two_ranks(R"(, {"source": 0, "destination": 0, "chunk": 0})"),
       "file:3:95 /steps/2/destination: a rank does not send to itself"},
      {two_ranks(R"(, {"source": 0, "destination": 1, "chunk": 1, "count": 2})"),
       "file:3:119 /steps/2/count: must be from 1 to 1, found 2"},
      {two_ranks(R"(, {"source": 0, "destination": 1, "chunk": 0, "after": [7]})"),
       "file:3:119 /steps/2/after: there is no step 7; they count from 0 to 2"},
      {two_ranks(R"(, {"source": 0, "destination": 1, "chunk": 0, "after": [1]})"),
       "file:1:76 /steps: rank 0 must end with chunk 1 summed over all ranks, but has the sum "
       "without rank 1 there"},
      {two_ranks(kRest + R"(, {"source": 0, "destination": 1, "chunk": 1, "reduce": true,
         "after": [0]})"),
       "file:5:64 /steps/4: reads memory of rank 0 that step 3 writes, and nothing says which "
       "comes "
       "first"},
      {two_ranks(R"(, {"source": 0, "destination": 1, "chunk": 1, "reduce": true, "after": [0]})"),
       "file:3:66 /steps/2: adds the contribution of rank 0 to chunk 1 on rank 1 a second time"},
      {two_ranks(R"(, {"source": 0, "destination": 1, "chunk": 0},
                      {"source": 1, "destination": 0, "chunk": 1, "after": [0]})"),
       "file:3:66 /steps/2: reads memory of rank 0 that step 1 writes, and nothing says which "
       "comes "
       "first"},
      {two_ranks(R"(, {"source": 0, "destination": 1, "chunk": 0, "after": [3]},
                      {"source": 1, "destination": 0, "chunk": 1, "after": [2]})"),
       "file:3:66 /steps/2: deadlock: it waits for step 3, which waits for it"},
      {two_ranks("", R"("all_gather")"),
       "file:2:5 /steps/0: reads memory of rank 0 in which there is nothing yet"},
      {two_ranks("", R"("barrier")"),
       "file:1:28 /operation: unknown value \"barrier\"; it is one of \"all_reduce\", "
       "\"all_gather\", "
       "\"reduce_scatter\", \"broadcast\", \"reduce\", \"all_to_all\""},
      {R"({"name": "x", "operation": "all_gather", "ranks": 2, "chunks": 3, "steps": []})",
       "file:1:64 /chunks: all_gather cuts the vector into equal parts for 2 ranks, which 3 chunks "
       "do not make"},
      {R"({"name": "x", "operation": "all_reduce", "ranks": 3, "chunks": 1, "steps":
          [{"source": 0, "destination": 1, "chunk": 0}]})",
       "file:2:11 /steps: rank 2 takes no part"},
  };
  for (const auto& [text, fault] : kFaults) CHECK(fault_of(text) == fault);
}

// Two stores into one place, which nothing orders: the broadcast reaches rank 2 twice.
TEST_CASE("two writes at once are refused") {
  CHECK(fault_of(R"({"name": "x", "operation": "broadcast", "ranks": 3, "chunks": 1, "steps": [
    {"source": 0, "destination": 1, "chunk": 0},
    {"source": 0, "destination": 2, "chunk": 0},
    {"source": 1, "destination": 2, "chunk": 0, "after": [0]}]})") ==
        "file:4:5 /steps/2: writes memory of rank 2 that step 1 writes, and nothing says which "
        "comes first");
}

TEST_CASE("what is wrong with a file of MSCCL is said with its line") {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = msccl_ring_text(2, true);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::pair<std::string, std::string> kFaults[] = {
      {msccl_ring_text(2, true), ""},
      {"<algo", "file:1: is no XML: Error parsing start element tag"},
      {"<x/>", "file:1: has no element \"algo\""},
      {changed("allreduce", "custom"),
       "file:1: algo: coll \"custom\" is not one of allreduce, allgather, reducescatter, "
       "broadcast, "
       "reduce, alltoall"},
      {changed("Simple", "Fast"), "file:1: algo: proto \"Fast\" is not one of Simple, LL, LL128"},
      {changed("ngpus=\"2\"", "ngpus=\"3\""), "file:1: algo: ngpus is 3, but there are 2 gpus"},
      {changed("nchunksperloop=\"2\"", "nchunksperloop=\"4\""),
       "file:1: algo: nchunksperloop must be the 2 chunks of the buffers"},
      {changed("<gpu id=\"1\"", "<gpu id=\"0\""), "file:9: gpu: gpu 0 stands here twice"},
      {changed("send=\"1\"", "send=\"0\""),
       "file:3: tb: a thread block's peer must be another gpu"},
      {changed("send=\"1\"", "send=\"-1\""),
       "file:4: step: sends, but its tb has no peer to send to"},
      {changed("type=\"rrcs\"", "type=\"rrx\""),
       "file:5: step: type \"rrx\" is not one of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop"},
      {changed("<step s=\"1\"", "<step s=\"2\""), "file:5: step: s must count on: 1"},
      {changed("srcoff=\"1\"", "srcoff=\"2\""),
       "file:5: step: \"i\" 2 to 2 lies outside the buffers: i has 2 chunks, o 2, s 0"},
      {changed("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"9\""),
       "file:4: step: waits for step 9 of tb 0, which is not there"},
      {changed("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"1\""),
       "file:4: step: waits for step 1 of tb 0, whose hasdep is 0: it would wait forever"},
      {changed("depid=\"-1\" deps=\"-1\" hasdep=\"0\"", "depid=\"0\" deps=\"0\" hasdep=\"1\""),
       "file:4: step: deadlock: it waits for it"},
      {changed("type=\"r\" ", "type=\"nop\" "),
       "file:11: step: gpu 1 sends 2 times to gpu 0 on channel 0, which receives 1 times"},
      {changed("type=\"rrcs\"", "type=\"rcs\""),
       "file:1: algo: rank 0 must end with chunk 1 summed over all ranks, but has the sum without "
       "rank 0 there"},
      {changed("cnt=\"1\"", "cnt=\"2\""),
       "file:4: step: sends 2 chunks, but step 1 of tb 0 of gpu 1 receives 1"},
  };
  for (const auto& [text, fault] : kFaults) CHECK(fault_of(text) == fault);
}

TEST_CASE("a choice of a file holds what the file says, and who serves groups of other sizes") {
  const std::string inner = config::json_string(ring_text(4));
  const auto document = config::Document::parse_text(
      R"({"name": "file", "path": "ring.json", "otherwise": "hierarchical", "text": )" + inner +
          "}",
      "choice", "folder");
  config::Errors errors;
  const std::string text = collective::read_choice(document.root(), errors, Operation::all_reduce);
  CHECK(errors.empty());
  CHECK(collective::choice_for(text, 4) == text);
  CHECK(collective::choice_for(text, 8) == "hierarchical");
  const auto choice = collective::decode_choice_text(text);
  CHECK(choice.parameters.get<std::string>("path") == "folder/ring.json");
  CHECK(collective::algorithm_of(choice)->refusal({Operation::all_reduce, Bytes(1), {}},
                                                  GroupShape::flat(4)) == "");
}

TEST_CASE("a choice of a file that cannot be made is refused") {
  const auto fault = [](const std::string& members, Operation operation) {
    const auto document =
        config::Document::parse_text(R"({"name": "file", )" + members + "}", "choice");
    config::Errors errors;
    CHECK(collective::read_choice(document.root(), errors, operation) ==
          collective::Choices{}.of(operation));
    try {
      errors.throw_if_any();
    } catch (const config::ConfigError& error) {
      return error.lines().front();
    }
    return std::string();
  };
  const std::string ring = R"("path": "r.json", "text": )" + config::json_string(ring_text(2));
  CHECK(fault(ring, Operation::broadcast) ==
        "choice:1:1: r.json performs all_reduce, not broadcast");
  CHECK(fault(ring + R"(, "otherwise": "direct")", Operation::all_reduce)
            .starts_with("choice:1:1: direct does all_to_all"));
  CHECK(fault(ring + R"(, "otherwise": "file")", Operation::all_reduce) ==
        "choice:1:1: otherwise: \"file\" is no algorithm; give one that does all_reduce by name");
  CHECK(fault(R"("path": "no such file")", Operation::all_reduce).starts_with("no such file"));
  CHECK(fault(R"("otherwise": "ring")", Operation::all_reduce).find("path") != std::string::npos);
}

}  // namespace railyard::test
