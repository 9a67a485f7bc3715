#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/infiniband_texts.hpp"
#include "unit/topology/read_support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

/// Hosts gpu-0001 and gpu-0002 on leaf 1, gpu-0003 and gpu-0004 on leaf 2; two spines.
const Topology& fabric() {
  static const Topology topology =
      ReadText(railyard::test::ibnetdiscover_text(railyard::test::infiniband_fat_tree(
                   {.pods = 1, .leaves = 2, .hosts = 2, .spines = 2})),
               "a.ibnetdiscover")
          .build();
  return topology;
}

std::string table(const std::string& name, const std::vector<std::pair<int, int>>& entries) {
  std::string out = fmt::format(
      "Unicast lids [0x0-0x8] of switch Lid 9 guid 0x00000000000000aa ({}):\n  Lid  Out   "
      "Destination\n       Port     Info \n",
      name);
  for (const auto& [lid, port] : entries) {
    out += fmt::format(
        "{:#06x} {:03} : (Channel Adapter portguid 0x00000000000000bb: "
        "'gpu-{:04}')\n",
        lid, port, lid - 10);
  }
  return out + fmt::format("{} valid lids dumped \n", entries.size());
}

/// LIDs 11 to 14 are gpu-0001 to gpu-0004. Everything that crosses goes over spine 2: port 4 of a
/// leaf, whose ports 1 and 2 are its hosts. Port l of a spine is leaf l.
const std::string kTables = table("pod1-leaf1", {{11, 1}, {12, 2}, {13, 4}, {14, 4}}) +
                            table("pod1-leaf2", {{11, 4}, {12, 4}, {13, 1}, {14, 2}}) +
                            table("pod1-spine1", {{11, 1}, {12, 1}, {13, 2}, {14, 2}}) +
                            table("pod1-spine2", {{11, 1}, {12, 1}, {13, 2}, {14, 2}});

std::unique_ptr<Routing> routed(const Topology& topology, const std::string& text) {
  const ReadText file(text, "tables.txt");
  return make_routing(topology,
                      fmt::format(R"({{"name": "static", "tables": "{}"}})", file.path().string()));
}

std::string refusal_of(const std::string& from, const std::string& to) {
  try {
    (void)routed(fabric(), replaced(kTables, from, to));
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return true;
  std::printf("refused with: %s\n", text.c_str());
  return false;
}

}  // namespace

TEST_CASE("forwarding tables: every pair goes where its tables send it") {
  const Topology& topology = fabric();
  const auto routing = routed(topology, kTables);
  Route route;
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = 0; b < 4; ++b) {
      if (a == b) continue;
      routing->route({GpuId{a}, GpuId{b}, 0}, route);
      CHECK(topology.link(route.links.front().link).from == topology.gpu_node(GpuId{a}));
      CHECK(topology.link(route.links.back().link).to == topology.gpu_node(GpuId{b}));
      CHECK(route.links.size() == (a / 2 == b / 2 ? 4 : 6));
      if (a / 2 != b / 2)
        CHECK(topology.node_name(topology.link(route.links[2].link).to) == "pod1-spine2");
    }
  }
}

TEST_CASE("forwarding tables: holes, loops and strangers are named") {
  // Line 7 is LID 14 in the table of leaf 1.
  CHECK(says(refusal_of("0x000e 004", "0x000e 255"),
             "from pod1-leaf1 there is no way to gpu-0004/nic0: pod1-leaf1 has no entry for LID "
             "0xe"));
  CHECK(says(refusal_of("0x000e 004", "0x000e 009"),
             "line 7 sends LID 0xe to port 9 of pod1-leaf1, which has no cable"));
  CHECK(
      says(refusal_of("(pod1-leaf1)", "(pod1-leaf7)"), "the fabric has no switch \"pod1-leaf7\""));
  CHECK(says(refusal_of("(pod1-leaf2)", "(pod1-leaf1)"), "has two tables: first at"));
  CHECK(says(refusal_of("0x000c 002", "0x000b 002"), "LID 0xb stands twice in this table"));
  CHECK(says(refusal_of("'gpu-0003'", "'gpu-0009'"), "LID 0xd is \"gpu-0003\" here"));
  CHECK(says(refusal_of("0x000b 001", "0x000b 002"), "no switch sends any LID to gpu-0001/nic0"));
  const std::string loop =
      replaced(kTables, table("pod1-spine2", {{11, 1}, {12, 1}, {13, 2}, {14, 2}}),
               table("pod1-spine2", {{11, 1}, {12, 1}, {13, 1}, {14, 2}}));
  std::string message;
  try {
    (void)routed(fabric(), loop);
  } catch (const config::ConfigError& error) {
    message = error.what();
  }
  CHECK(says(message, "from pod1-leaf1 there is no way to gpu-0003/nic0: a loop over pod1-leaf1"));
}

// The samples: two_level routed by OpenSM's ftree, three_level (a dead core link) by its default.
TEST_CASE("forwarding tables of a real subnet manager route every pair of its fabric") {
  for (const std::string name : {"two_level", "three_level"}) {
    CAPTURE(name);
    const auto file = railyard::test::shared_data("formats/infiniband/" + name + ".ibnetdiscover");
    const auto tables = railyard::test::shared_data("formats/infiniband/" + name + ".lfts");
    if (!file || !tables) return;
    const Topology topology = build_path(*file, "");
    const auto routing = make_routing(
        topology, fmt::format(R"({{"name": "static", "tables": "{}"}})", tables->string()));
    Route route;
    std::vector<LinkId> shortest;
    std::uint64_t wrong = 0;
    for (std::uint32_t a = 0; a < topology.gpu_count(); ++a) {
      for (std::uint32_t b = 0; b < topology.gpu_count(); ++b) {
        if (a == b) continue;
        routing->route({GpuId{a}, GpuId{b}, 0}, route);
        Rng rng = RngStreams(1).stream("hops");
        AnyHop any(rng);
        shortest.clear();
        topology.paths().path(GpuId{a}, GpuId{b}, any, shortest);
        const bool good =
            topology.link(route.links.back().link).to == topology.gpu_node(GpuId{b}) &&
            route.links.size() == shortest.size();
        wrong += good ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}
