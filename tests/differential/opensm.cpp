// Our readers and our D-mod-k against the InfiniBand tools themselves: ibsim simulates a fabric
// that the test makes up, OpenSM routes it, ibnetdiscover, iblinkinfo and dump_fts print it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "support/infiniband_texts.hpp"
#include "unit/topology/read_support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

namespace fs = std::filesystem;
using railyard::test::FatTree;
using railyard::test::IbFabric;

bool tools_present() {
  const bool present = std::system(
                           "command -v ibsim ibsim-run opensm ibnetdiscover iblinkinfo "
                           "dump_fts >/dev/null 2>&1") == 0;
  if (!present)
    std::printf("skipped without ibsim-utils, opensm and infiniband-diags: their output\n");
  return present;
}

/// What the tools say of a fabric.
struct Printed {
  fs::path folder;
  fs::path ibnetdiscover;
  fs::path iblinkinfo;
  fs::path tables;
  bool routed_by_engine = false;  ///< and not by OpenSM's fallback

  Printed() = default;
  Printed(Printed&& other) noexcept
      : folder(std::exchange(other.folder, {})),
        ibnetdiscover(other.ibnetdiscover),
        iblinkinfo(other.iblinkinfo),
        tables(other.tables),
        routed_by_engine(other.routed_by_engine) {}
  ~Printed() {
    if (!folder.empty()) fs::remove_all(folder);
  }
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs ibsim in a folder of its own, OpenSM once over it, and the tools. Empty when they cannot
/// run here (they need sockets), with the skip printed.
std::optional<Printed> printed(const IbFabric& fabric, const std::string& engine) {
  if (!tools_present()) return std::nullopt;
  const std::string server = fmt::format("railyard-{}-{}", ::getpid(), engine);
  Printed out;
  out.folder = fs::temp_directory_path() / server;
  fs::create_directories(out.folder);
  std::ofstream(out.folder / "fabric.net") << railyard::test::ibsim_net_text(fabric);
  const std::string host =
      std::find_if(fabric.nodes.begin(), fabric.nodes.end(), [](const auto& node) {
        return !node.is_switch;
      })->name;
  std::ofstream(out.folder / "run.sh") << fmt::format(
      R"(cd "{}"
export IBSIM_SOCKNAME={} SIM_HOST={} OSM_TMP_DIR=. OSM_CACHE_DIR=.
ibsim -s -n fabric.net </dev/null >ibsim.log 2>&1 &
simulator=$!
for i in $(seq 50); do sleep 0.1; grep -q "simulator ready" ibsim.log && break; done
timeout 120 ibsim-run opensm -R {} -o -f opensm.log >opensm.out 2>&1
timeout 120 ibsim-run ibnetdiscover >a.ibnetdiscover 2>ibnetdiscover.err
timeout 120 ibsim-run iblinkinfo >a.iblinkinfo 2>iblinkinfo.err
timeout 240 ibsim-run dump_fts >a.lfts 2>dump_fts.err
kill $simulator
)",
      out.folder.string(), server, host, engine);
  static_cast<void>(std::system(
      fmt::format("bash '{}' >/dev/null 2>&1", (out.folder / "run.sh").string()).c_str()));
  out.ibnetdiscover = out.folder / "a.ibnetdiscover";
  out.iblinkinfo = out.folder / "a.iblinkinfo";
  out.tables = out.folder / "a.lfts";
  const std::string log = text_of(out.folder / "opensm.log");
  out.routed_by_engine = log.find(fmt::format("osm_ucast_mgr_process: {} tables configured",
                                              engine)) != std::string::npos;
  if (log.find("SUBNET UP") == std::string::npos) {
    std::printf("skipped where ibsim cannot run: its output\n");
    return std::nullopt;
  }
  return out;
}

std::unique_ptr<Routing> table_routing(const Topology& topology, const fs::path& tables) {
  return make_routing(topology,
                      fmt::format(R"({{"name": "static", "tables": "{}"}})", tables.string()));
}

struct Load {
  std::uint64_t most = 0;  ///< flows on one link between switches, over all shifts
  double mean_most = 0;    ///< mean over the shifts of each one's most loaded link
  double mean = 0;         ///< over such links and shifts
};

/// All shift permutations: for every s, each GPU i sends to i + s.
Load shift_load(const Topology& topology, const Routing& routing) {
  const auto gpus = static_cast<std::uint32_t>(topology.gpu_count());
  Load out;
  std::uint64_t total = 0;
  std::uint64_t links = 0;
  for (const Link& link : topology.links())
    links += link.tier == Tier::minipod || link.tier == Tier::core ? 1 : 0;
  Route route;
  for (std::uint32_t shift = 1; shift < gpus; ++shift) {
    std::vector<std::uint64_t> load(topology.links().size(), 0);
    for (std::uint32_t i = 0; i < gpus; ++i) {
      routing.route({GpuId{i}, GpuId{(i + shift) % gpus}, 0}, route);
      for (const LinkUse& use : route.links) {
        const Tier tier = topology.link(use.link).tier;
        if (tier == Tier::minipod || tier == Tier::core) ++load[index(use.link)];
      }
    }
    const std::uint64_t most = *std::max_element(load.begin(), load.end());
    out.most = std::max(out.most, most);
    out.mean_most += static_cast<double>(most) / (gpus - 1);
    for (const std::uint64_t each : load) total += each;
  }
  out.mean = static_cast<double>(total) / static_cast<double>(links) / (gpus - 1);
  return out;
}

void print(const std::string& what, const Load& load) {
  std::printf("%-34s most %llu, mean of each shift's most %.3f, mean %.3f flows a link\n",
              what.c_str(), static_cast<unsigned long long>(load.most), load.mean_most, load.mean);
}

}  // namespace

// 5 pods × 8 leaves × 8 hosts = 320; every leaf has 8 uplinks and every spine 8, so the fabric is
// not oversubscribed. (With 4 pods the highest LID would be 384, and dump_fts does not print a
// highest LID that is a multiple of 64.) In order of topology, D-mod-k gives every link at most one
// flow of any shift (Zahavi 2012), and so does OpenSM's ftree, which is built for it: most = 1 for
// both is the least that any routing can have.
TEST_CASE("OpenSM's ftree and our D-mod-k load a 320-host fat-tree alike under all shifts") {
  const FatTree tree{.pods = 5, .leaves = 8, .hosts = 8, .spines = 8, .uplinks = 8};
  const IbFabric fabric = railyard::test::infiniband_fat_tree(tree);
  const auto real = printed(fabric, "ftree");
  if (!real) return;
  CHECK(real->routed_by_engine);
  const Topology topology = build_path(real->ibnetdiscover, "");
  REQUIRE(topology.gpu_count() == 320);
  CHECK(count_kind(topology, NodeKind::core) == 64);
  CHECK(topology.minipod_count() == 5);
  check_every_pair(topology);
  const Load ours = shift_load(topology, *make_routing(topology, R"("static")"));
  const Load theirs = shift_load(topology, *table_routing(topology, real->tables));
  print("D-mod-k, 320 hosts, 3 levels", ours);
  print("OpenSM ftree, 320 hosts, 3 levels", theirs);
  CHECK(ours.mean == doctest::Approx(theirs.mean).epsilon(1e-12));
  CHECK(ours.most == 1);
  CHECK(ours.most <= theirs.most);
  CHECK(ours.mean_most <= theirs.mean_most + 1e-12);
}

// The same, with one core link dead: our own writer's texts, both tools' output and our reading of
// both agree on every cable. updn's tables reach every pair over paths as short as ours.
TEST_CASE("true output of a fresh 320-host fabric with a dead port reads as it was made") {
  const FatTree tree{.pods = 5, .leaves = 8, .hosts = 8, .spines = 8, .uplinks = 8};
  IbFabric fabric = railyard::test::infiniband_fat_tree(tree);
  const auto cable = std::find_if(fabric.cables.begin(), fabric.cables.end(), [&](const auto& it) {
    return fabric.nodes[it.a].name == "core010";
  });
  REQUIRE(cable != fabric.cables.end());
  cable->dead = true;
  const auto real = printed(fabric, "updn");
  if (!real) return;
  CHECK(text_of(real->iblinkinfo).find("Down/") != std::string::npos);
  const Topology discovered = build_path(real->ibnetdiscover, "");
  const Topology linkinfo = build_path(real->iblinkinfo, "");
  const Topology own =
      ReadText(railyard::test::ibnetdiscover_text(fabric), "own.ibnetdiscover").build();
  for (const Topology* other : {&linkinfo, &own}) {
    REQUIRE(other->node_count() == discovered.node_count());
    REQUIRE(other->links().size() == discovered.links().size());
    std::uint64_t differ = 0;
    for (std::uint32_t i = 0; i < discovered.node_count(); ++i)
      differ += other->node_name(NodeId{i}) == discovered.node_name(NodeId{i}) ? 0 : 1;
    for (std::uint32_t i = 0; i < discovered.links().size(); ++i) {
      const Link& x = discovered.link(LinkId{i});
      const Link& y = other->link(LinkId{i});
      const bool same = x.from == y.from && x.to == y.to && x.capacity == y.capacity &&
                        x.port == y.port && x.tier == y.tier;
      differ += same ? 0 : 1;
    }
    CHECK(differ == 0);
  }
  // 3 × 320 cables less one, both directions, and GPU to NIC.
  CHECK(discovered.links().size() == 2 * (3 * 320 - 1) + 2 * 320);
  check_every_pair(discovered);
  const auto routing = table_routing(discovered, real->tables);
  Rng rng = RngStreams(1).stream("hops");
  AnyHop any(rng);
  Route route;
  std::vector<LinkId> shortest;
  std::uint64_t longer = 0;
  for (std::uint32_t a = 0; a < 320; ++a) {
    for (std::uint32_t b = 0; b < 320; ++b) {
      if (a == b) continue;
      routing->route({GpuId{a}, GpuId{b}, 0}, route);
      shortest.clear();
      discovered.paths().path(GpuId{a}, GpuId{b}, any, shortest);
      longer += route.links.size() == shortest.size() ? 0 : 1;
    }
  }
  CHECK(longer == 0);
}

// two_level: 8 hosts and 4 uplinks a leaf, so a shift that crosses leaves puts two flows on every
// uplink it uses: 2 is the least.
TEST_CASE("OpenSM's ftree tables of the two-level sample load links as our D-mod-k does") {
  const auto file = railyard::test::shared_data("formats/infiniband/two_level.ibnetdiscover");
  const auto tables = railyard::test::shared_data("formats/infiniband/two_level.lfts");
  if (!file || !tables) return;
  const Topology topology = build_path(*file, "");
  const Load ours = shift_load(topology, *make_routing(topology, R"("static")"));
  const Load theirs = shift_load(topology, *table_routing(topology, *tables));
  print("D-mod-k, two_level", ours);
  print("OpenSM ftree, two_level", theirs);
  CHECK(ours.mean == doctest::Approx(theirs.mean).epsilon(1e-12));
  CHECK(ours.most == 2);
  CHECK(ours.most <= theirs.most);
  CHECK(ours.mean_most <= theirs.mean_most + 1e-12);
}
