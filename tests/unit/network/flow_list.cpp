// Lists of flows: dependencies, transports and network models against closed forms.
#include "railyard/network/flow_list.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/fabric.hpp"

using namespace railyard;
using namespace railyard::network;
namespace fs = std::filesystem;

namespace {

/// A file that lasts as long as the test.
class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text)
      : path_(fs::temp_directory_path() / ("railyard_flow_list_" + name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TextFile() { fs::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Two hosts, one link each way of 10 GB/s and 1 us; and a third one that shares the way to the
/// second.
constexpr const char* kLinks =
    "id,bw_Bps,lat_s,name\n0,10e9,1e-6,ab\n1,10e9,1e-6,ba\n2,10e9,1e-6,cx\n3,10e9,1e-6,xb\n";
constexpr const char* kRoutes = "src,dst,links\na,b,0\nb,a,1\nc,b,2 3\na,x,0 3\n";

FlowList list_of(const std::string& rows) {
  const TextFile file("flows.csv", rows);
  return read_flow_csv(file.path());
}

FlowListResult ran(const FlowList& list, const NetworkModel& model, const Transport& transport) {
  const TextFile links("links.csv", kLinks);
  const TextFile routes("routes.csv", kRoutes);
  return run_flow_list(list, routes_over_links(list, read_link_table(links.path()), routes.path()),
                       model, transport);
}

Transport transport_of(std::string_view name) {
  const auto table = transport_catalog();
  return config::entry_of(table, name)
      .create(config::default_choice(name, config::descriptions(table)).parameters);
}

NetworkModel model_of(Fidelity fidelity) {
  return {fidelity, {}, 0};
}

double us(TimePoint time) {
  return in_seconds(time) * 1e6;
}

std::string refusal(const std::string& rows) {
  try {
    (void)list_of(rows);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

// 1 MB at 10 GB/s takes 100 us, and 1 us to arrive. The second flow waits for the receiver's last
// byte: 101 us, and ends at 202 us. The third waits for its start of 150 us.
TEST_CASE("a flow starts when its time has come and the receiver has what it waits for") {
  const auto result = ran(list_of("id,src,dst,bytes,start_us,deps\n"
                                  "1,a,b,1000000,0,\n2,b,a,1000000,0,1\n3,a,b,1000000,150,1\n"),
                          model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(result.times[0].finish) == doctest::Approx(101));
  CHECK(us(result.times[1].start) == doctest::Approx(101));
  CHECK(us(result.times[1].finish) == doctest::Approx(202));
  CHECK(us(result.times[2].start) == doctest::Approx(150));
  CHECK(us(result.times[2].finish) == doctest::Approx(251));
}

// Without acknowledgements the sender is done with the last byte, at 100 us; with them (64 bytes
// take 6.4 ns a hop) it waits for the way back. nscc: 1 MB = 245 packets of 64 header bytes:
// 1,015,680 B take 101.568 us; then 1 us there, 1 us and 6.4 ns back: 103.5744 us.
TEST_CASE("complete at its sender means the last byte or the last acknowledgement") {
  const std::string rows = "id,src,dst,bytes,start_us,dep\n1,a,b,1000000,0,\n2,b,a,1000000,0,1\n";
  const auto ideal = ran(list_of(rows), model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(ideal.times[1].start) == doctest::Approx(100));
  const auto nscc = ran(list_of(rows), model_of(Fidelity::fluid), transport_of("nscc"));
  CHECK(us(nscc.times[0].finish) == doctest::Approx(103.5744));
  CHECK(us(nscc.times[1].start) == doctest::Approx(103.5744));
  CHECK(us(nscc.times[0].finish - nscc.times[0].alone) == doctest::Approx(0));
}

// Two flows of 1 MB into one link of 10 GB/s: 200 us together. The ideal fluid gives both 5 GB/s
// until the end; alone each takes 100 us, and 2 us of latency.
TEST_CASE("an incast shares its link, and analytic does not see it") {
  const auto list = list_of("id,src,dst,bytes,start\n1,a,x,1000000,0\n2,c,b,1000000,0\n");
  const auto fluid = ran(list, model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(fluid.times[0].finish) == doctest::Approx(202));
  CHECK(us(fluid.times[1].finish) == doctest::Approx(202));
  const auto alone = ran(list, model_of(Fidelity::analytic), transport_of("ideal"));
  CHECK(us(alone.times[1].finish) == doctest::Approx(102));
}

// LogGP with L = 2 us, o = 0.5 us, g = 3 us, 1/G = 10 GB/s and messages of 100,001 B, (k-1)G = 10
// us. First: in the network at 0.5, out at 10.5; its first byte arrives at 2.5, its last at 12.5,
// received at 13. The second of the same source follows g later: 13.5 to 23.5, received at 26.
TEST_CASE("LogGP spaces messages of one source by the gap") {
  NetworkModel model{
      Fidelity::loggp,
      {from_seconds(2e-6), from_seconds(0.5e-6), from_seconds(3e-6), Bandwidth(10'000'000'000)},
      0};
  const auto result = ran(list_of("id,src,dst,bytes,start\n1,a,b,100001,0\n2,a,b,100001,0\n"),
                          model, transport_of("ideal"));
  CHECK(us(result.times[0].finish) == doctest::Approx(13));
  CHECK(us(result.times[1].finish) == doctest::Approx(26));
}

// Both first bytes arrive at 2.5 us. The receiver takes one message until 12.5, is free g = 3 us
// later, and takes the other until 25.5; with o: 13 and 26 us.
TEST_CASE("LogGP takes messages in one after the other") {
  NetworkModel model{
      Fidelity::loggp,
      {from_seconds(2e-6), from_seconds(0.5e-6), from_seconds(3e-6), Bandwidth(10'000'000'000)},
      0};
  const auto result = ran(list_of("id,src,dst,bytes,start\n1,a,b,100001,0\n2,c,b,100001,0\n"),
                          model, transport_of("ideal"));
  CHECK(us(result.times[0].finish) == doctest::Approx(13));
  CHECK(us(result.times[1].finish) == doctest::Approx(26));
}

// 4,086 B are one packet of 4,150 B, 4,087 are two, of 4,151 B and 64 more. NDP pads: one byte
// beyond 4,000 costs 4,064 more.
TEST_CASE("the last packet is short or padded") {
  CHECK(transport_of("nscc").wire_bytes(Bytes(4086)) == Bytes(4150));
  CHECK(transport_of("nscc").wire_bytes(Bytes(4087)) == Bytes(4215));
  CHECK(transport_of("ndp").wire_bytes(Bytes(4000)) == Bytes(4064));
  CHECK(transport_of("ndp").wire_bytes(Bytes(4001)) == Bytes(8128));
  CHECK(transport_of("ideal").wire_bytes(Bytes(4001)) == Bytes(4001));
}

// Base round trips of ../shared/data/peers/README.md: 500 ns a link, 2, 4 and 6 links; at 100 and
// 400 Gb/s 2.34/2.09, 5.0/4.25 and 7.69/6.42 us. Here: completion time minus the bytes' own time.
TEST_CASE("base round trips follow from latency, packets and acknowledgements") {
  const double expected[][3] = {{12.5e9, 2, 2.34}, {12.5e9, 4, 5.0}, {12.5e9, 6, 7.69},
                                {50e9, 2, 2.09},   {50e9, 4, 4.25},  {50e9, 6, 6.42}};
  for (const auto& [rate, hops, base_us] : expected) {
    FlowList list;
    list.endpoints = {"0", "1"};
    list.flows.push_back({"1", 0, 1, Bytes(1'000'000), {}, 1});
    FlowRoutes routes;
    for (int hop = 0; hop < static_cast<int>(hops); ++hop) {
      routes.capacities.emplace_back(static_cast<std::int64_t>(rate));
      routes.uses.push_back({static_cast<LinkId>(hop), 1.0});
    }
    routes.first_use.push_back(static_cast<std::uint32_t>(hops));
    routes.latencies.push_back(from_seconds(hops * 500e-9));
    routes.route_of_flow = {0};
    const Transport nscc = transport_of("nscc");
    const auto result = run_flow_list(list, routes, model_of(Fidelity::fluid), nscc);
    const double bytes = static_cast<double>(nscc.wire_bytes(Bytes(1'000'000)).count());
    CHECK(us(result.times[0].finish) - bytes / rate * 1e6 ==
          doctest::Approx(base_us).epsilon(0.0035));
  }
}

TEST_CASE("a list that contradicts itself is refused with its line") {
  const std::string header = "id,src,dst,bytes,start,deps\n";
  CHECK(refusal(header + "1,a,a,5,0,\n").find(":2 column \"dst\": is the source") !=
        std::string::npos);
  CHECK(refusal(header + "1,a,b,0,0,\n").find(":2 column \"bytes\": must be at least 1") !=
        std::string::npos);
  CHECK(refusal(header + "1,a,b,5,0,7\n").find(":2 column \"deps\": no flow has the id \"7\"") !=
        std::string::npos);
  CHECK(refusal(header + "1,a,b,5,-1,\n").find(":2 column \"start\": must be from 0") !=
        std::string::npos);
  CHECK(refusal(header + "1,a,b,5,0,\n1,a,b,5,0,\n").find("\"1\" is taken by") !=
        std::string::npos);
  CHECK(refusal(header + "1,a,b,5,0,3\n2,a,b,5,0,1\n3,b,a,5,0,2\n")
            .find("waits for itself: 1 for 3 for 2 for 1") != std::string::npos);
  CHECK(refusal("id,src,dst,bytes,start,start_us\n1,a,b,5,0,0\n").find("both say when") !=
        std::string::npos);
  CHECK(refusal("id,src,dst,bytes\n1,a,b,5\n").find("missing column \"start\"") !=
        std::string::npos);
}

TEST_CASE("a route that is not there is refused with the flow's line") {
  const auto refusal_of_route = [](const std::string& rows) {
    try {
      (void)ran(list_of(rows), model_of(Fidelity::fluid), transport_of("ideal"));
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal_of_route("id,src,dst,bytes,start\n1,b,c,5,0\n")
            .find("flows.csv:2: flow 1: no route from \"b\" to \"c\"") != std::string::npos);
  CHECK(refusal_of_route("id,src,dst,bytes,start,links\n1,b,c,5,0,ab 9\n")
            .find("flows.csv:2: flow 1: there is no link \"9\"") != std::string::npos);
  CHECK(refusal_of_route("id,src,dst,bytes,start,links\n1,b,c,5,0,ab 0\n")
            .find("link \"0\" occurs twice") != std::string::npos);
  CHECK(refusal_of_route("id,src,dst,bytes,start,links\n1,b,c,5,0,ba cx\n") == "accepted");
}

// Flow 1 takes 100 us and is acknowledged when its last byte has left (ideal). The oneshot starts 2
// and 3 then; the barrier fires when both are received: they share the link (200 us + 1 us).
TEST_CASE("triggers of a connection matrix start their flows") {
  const TextFile file("triggers.cm",
                      "Nodes 3\nConnections 4\nTriggers 2\n"
                      "0->1 id 1 start 0 size 1000000 send_done_trigger 1\n"
                      "0->1 id 2 trigger 1 size 1000000 recv_done_trigger 2\n"
                      "0->1 id 3 trigger 1 size 1000000 recv_done_trigger 2\n"
                      "1->0 id 4 trigger 2 size 1000000\n"
                      "trigger id 1 oneshot\ntrigger id 2 barrier count 2\n");
  const FlowList list = read_connection_matrix(file.path(), std::nullopt);
  const TextFile links("links.csv", kLinks);
  const TextFile routes("routes.csv", "src,dst,links\n0,1,0\n1,0,1\n");
  const auto result =
      run_flow_list(list, routes_over_links(list, read_link_table(links.path()), routes.path()),
                    model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(result.times[1].start) == doctest::Approx(100));
  CHECK(us(result.times[2].finish) == doctest::Approx(301));
  CHECK(us(result.times[3].start) == doctest::Approx(301));
}

// Flows 1 and 2 end at 101 and 202 us (2 starts with 1's end at the receiver, over the other link).
// The multishot starts 3 with the first signal and 4 with the second.
TEST_CASE("a multishot trigger starts one flow for each signal") {
  const TextFile file("multishot.cm",
                      "Nodes 3\nConnections 4\nTriggers 2\n"
                      "0->1 id 1 start 0 size 1000000 recv_done_trigger 1\n"
                      "1->0 id 2 trigger 1 size 1000000 recv_done_trigger 1\n"
                      "0->1 id 3 trigger 1 size 1000000 \n"
                      "trigger id 1 multishot\n");
  CHECK_THROWS_WITH_AS((void)read_connection_matrix(file.path(), std::nullopt),
                       doctest::Contains("\"Connections 4\", but there are 3"),
                       config::ConfigError);
  const TextFile good("multishot.cm",
                      "Nodes 3\nConnections 3\nTriggers 1\n"
                      "0->1 id 1 start 0 size 1000000 recv_done_trigger 1\n"
                      "1->0 id 2 trigger 1 size 1000000 recv_done_trigger 1\n"
                      "0->1 id 3 trigger 1 size 1000000\n"
                      "trigger id 1 multishot\n");
  const FlowList list = read_connection_matrix(good.path(), std::nullopt);
  const TextFile links("links.csv", kLinks);
  const TextFile routes("routes.csv", "src,dst,links\n0,1,0\n1,0,1\n");
  const auto result =
      run_flow_list(list, routes_over_links(list, read_link_table(links.path()), routes.path()),
                    model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(result.times[1].start) == doctest::Approx(101));
  CHECK(us(result.times[2].start) == doctest::Approx(202));
}

// htsim's text loader takes the number for picoseconds, its writer means microseconds.
TEST_CASE("a start in a connection matrix wants a unit") {
  const TextFile file("start.cm", "Nodes 2\nConnections 1\n0->1 start 5 size 10\n");
  CHECK_THROWS_WITH_AS((void)read_connection_matrix(file.path(), std::nullopt),
                       doctest::Contains(":3: start 5: in which unit?"), config::ConfigError);
  const FlowList list = read_connection_matrix(file.path(), 1e5);  // ticks in a microsecond
  CHECK(us(list.flows[0].start) == doctest::Approx(5));
}

TEST_CASE("a connection matrix that contradicts itself is refused with its line") {
  const auto refusal_of_matrix = [](const std::string& text) {
    const TextFile file("bad.cm", text);
    try {
      (void)read_connection_matrix(file.path(), std::nullopt);
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto names = [&](const std::string& text, const std::string& what) {
    const std::string found = refusal_of_matrix(text);
    INFO(found);
    CHECK(found.find(what) != std::string::npos);
  };
  names("Nodes 2\n0->2 start 0 size 5\n", ":2: end point 2 of 2 nodes");
  names("Nodes 2\n0->0 start 0 size 5\n", ":2: a flow goes somewhere else");
  names("Nodes 2\n0->1 start 0\n", ":2: a flow needs a size");
  names("Nodes 2\n0->1 size 5\n", ":2: a flow has either a start or a trigger");
  names("Nodes 2\n0->1 trigger 4 size 5\n", ":2: trigger 4 is not defined");
  names("Nodes 2\n0->1 trigger 4 size 5\ntrigger id 4 oneshot\n",
        ":3: trigger 4 fires at its 1. signal, but 0 flows signal it");
  names("Nodes 2\n0->1 start 0 size 5 prio 2\n", ":2: unknown word \"prio\"");
  names("Nodes 2\nfailure switch_type TOR switch_id 1 link_id 1\n", ":2: failures stand");
}

namespace {

FlowListResult ran_with_faults(const std::string& rows, const std::string& faults,
                               std::optional<Duration> timeout) {
  const FlowList list = list_of(rows);
  const TextFile links("links.csv", kLinks);
  const TextFile routes("routes.csv", kRoutes);
  const TextFile table("faults.csv", faults);
  const LinkTable by_id = read_link_table(links.path());
  return run_flow_list(list, routes_over_links(list, by_id, routes.path()),
                       model_of(Fidelity::fluid), transport_of("ideal"),
                       {read_fault_table(table.path(), by_id), timeout});
}

}  // namespace

// 1 MB at 10 GB/s: 0.4 MB in 40 us, then nothing for 100 us, then 0.3 MB at half the capacity in 60
// us, then 0.3 MB in 30 us: 230 us, and 1 us of latency.
TEST_CASE("a flow stands still while its link is down and goes slower while it is degraded") {
  const auto result = ran_with_faults("id,src,dst,bytes,start\n1,a,b,1000000,0\n",
                                      "time,event,link,value\n40e-6,fail,ab,\n"
                                      "140e-6,degrade,0,0.5\n200e-6,recover,ab,\n",
                                      std::nullopt);
  CHECK(us(result.times[0].finish) == doctest::Approx(231));
}

// The link is down from 40 us on. Given up at 90 us, the flow never ends, and neither does the one
// that waits for it; the third uses another link.
TEST_CASE("a flow that stands still too long is given up") {
  const auto result = ran_with_faults(
      "id,src,dst,bytes,start,deps\n1,a,b,1000000,0,\n2,b,a,1000000,0,1\n3,b,a,1000000,0,\n",
      "time,event,link\n40e-6,fail,ab\n100e-6,recover,ab\n", from_seconds(50e-6));
  CHECK(result.times[0].finish == kNever);
  CHECK(result.times[1].start == kNever);
  CHECK(us(result.times[2].finish) == doctest::Approx(101));
  const auto patient = ran_with_faults(
      "id,src,dst,bytes,start,deps\n1,a,b,1000000,0,\n2,b,a,1000000,0,1\n3,b,a,1000000,0,\n",
      "time,event,link\n40e-6,fail,ab\n100e-6,recover,ab\n", from_seconds(70e-6));
  CHECK(us(patient.times[0].finish) == doctest::Approx(161));
}

TEST_CASE("a table of faults that makes no sense is refused with its line") {
  const auto refusal_of_faults = [](const std::string& text) {
    try {
      (void)ran_with_faults("id,src,dst,bytes,start\n1,a,b,5,0\n", text, std::nullopt);
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto names = [&](const std::string& text, const std::string& what) {
    const std::string found = refusal_of_faults(text);
    INFO(found);
    CHECK(found.find(what) != std::string::npos);
  };
  names("time,event,link\n1,fail,q\n", ":2 column \"link\": there is no link \"q\"");
  names("time,event,link\n1,break,ab\n", ":2 column \"event\": \"break\" is none of");
  names("time,event,link,value\n1,degrade,ab,\n", ":2 column \"value\": expected a finite");
  names("time,event,link,value\n1,fail,ab,0.5\n", ":2 column \"value\": only degrade has");
  names("time,event,node\n1,fail,ab\n", ":2 column \"node\": there is no node \"ab\"");
  names("time,event,link\n-1,fail,ab\n", ":2 column \"time\": must be from 0");
}

// Two flows of 30 kB on 10 GB/s, shares 2 and 1: the first runs at 6.67 GB/s and ends at 4.5 us
// with 15 kB of the second sent; the rest at 10 GB/s takes 1.5 us. With a cap of 2.5 GB/s on the
// first, the second has 7.5 GB/s and ends at 4 us, the first at 12 us. 1 us to the receiver.
TEST_CASE("shares and caps of a list reach the network") {
  const auto shared =
      ran(list_of("id,src,dst,bytes,start,share\n1,a,b,30000,0,2\n2,a,b,30000,0,1\n"),
          model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(shared.times[0].finish) == doctest::Approx(5.5));
  CHECK(us(shared.times[1].finish) == doctest::Approx(7.0));
  const auto capped =
      ran(list_of("id,src,dst,bytes,start,cap_Bps\n1,a,b,30000,0,2.5e9\n2,a,b,30000,0,\n"),
          model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(capped.times[0].finish) == doctest::Approx(13.0));
  CHECK(in_seconds(capped.times[0].alone) == doctest::Approx(13e-6));
  CHECK(us(capped.times[1].finish) == doctest::Approx(5.0));
  CHECK_THROWS(list_of("id,src,dst,bytes,start,share\n1,a,b,30000,0,0\n"));
}

// 30 kB on 10 GB/s: the one of priority 5 takes 3 us, the other then has all of the link until
// 6 us. 1 us to the receiver.
TEST_CASE("priorities of a list reach the network") {
  const auto result = ran(list_of("id,src,dst,bytes,start,priority\n1,a,b,30000,0,0\n"
                                  "2,a,b,30000,0,5\n"),
                          model_of(Fidelity::fluid), transport_of("ideal"));
  CHECK(us(result.times[1].finish) == doctest::Approx(4.0));
  CHECK(us(result.times[0].finish) == doctest::Approx(7.0));
  CHECK(refusal("id,src,dst,bytes,start,priority\n1,a,b,30000,0,8\n").find("column \"priority\"") !=
        std::string::npos);
}

// Three hosts under each of two leaves, two spines, 10 GB/s everywhere. Three flows of 100 kB from
// leaf to leaf over two uplinks: the last shares one at 5 GB/s, the other flow ends at 10 us. With
// a re-path interval of 12 us the two have 40 kB left at 12 us; the first that is asked moves, and
// both end at 16 us; else at 20 us.
TEST_CASE("flows move to a lighter path at the multiples of the re-path interval") {
  const auto fabric = test::build_fabric(R"({
    "builder": "clos", "gpu": "A100-80", "gpus_per_host": 1,
    "pcie": {"bandwidth": "100GB/s", "latency": "0ns"},
    "nic": {"bandwidth": "80Gbps", "latency": "0ns", "per_host": 1},
    "hosts_per_minipod": [6], "hosts_per_leaf": 3, "spines_per_minipod": 2,
    "switch_link": {"bandwidth": "80Gbps", "latency": "0ns"},
    "oversubscription": {"leaf": 1.5}})");
  const FlowList list =
      list_of("id,src,dst,bytes,start\n1,0,3,100000,0\n2,1,4,100000,0\n3,2,5,100000,0\n");
  const auto last_us = [&](std::optional<Duration> interval, std::uint64_t moves) {
    auto choice =
        config::default_choice("adaptive", config::descriptions(topology::routing_catalog()));
    if (interval) choice.parameters.set("repath_interval", *interval, true);
    const auto routing =
        config::entry_of(topology::routing_catalog(), "adaptive").create(fabric, choice.parameters);
    const auto result = run_flow_list(list, routes_over_fabric(list, fabric, routing.get()),
                                      model_of(Fidelity::fluid), transport_of("ideal"));
    CHECK(result.repaths == moves);
    TimePoint last{};
    for (const FlowTimes& times : result.times) last = std::max(last, times.finish);
    return us(last);
  };
  CHECK(last_us({}, 0) == doctest::Approx(20.0));
  CHECK(last_us(from_seconds(12e-6), 1) == doctest::Approx(16.0));
  CHECK(last_us(from_seconds(30e-6), 0) == doctest::Approx(20.0));
}

// 10 GB/s, packets of 1,000 B without headers, 1 us each way. A packet has nothing but the one hop
// to cross, so the base round trip is 2 us + 64 B / 10 GB/s = 2.0064 us, and the path holds
// 20,064 B. From 4,000 B on: rounds of 4, 8 and 16 kB wait for 16,064 + 12,064 + 4,064 = 32,192 B
// worth of time, 3.2192 us. Of 10 kB the first round alone waits: 1.6064 us. Of 4 kB none does.
TEST_CASE("a window that opens slowly costs the waiting of its round trips") {
  auto choice = config::default_choice("roce", config::descriptions(transport_catalog()));
  choice.parameters.set("payload", Bytes(1000), true);
  choice.parameters.set("header", Bytes(0), true);
  const auto seconds = [&](std::int64_t window, const std::string& bytes) {
    choice.parameters.set("initial_window", Bytes(window), true);
    const auto transport = config::entry_of(transport_catalog(), "roce").create(choice.parameters);
    const auto result = ran(list_of("id,src,dst,bytes,start\n1,a,b," + bytes + ",0\n"),
                            model_of(Fidelity::fluid), transport);
    CHECK(in_seconds(result.times[0].alone) ==
          doctest::Approx(in_seconds(result.times[0].finish.time_since_epoch())));
    return us(result.times[0].finish);
  };
  CHECK(seconds(4000, "100000") - seconds(0, "100000") == doctest::Approx(3.2192));
  CHECK(seconds(4000, "10000") - seconds(0, "10000") == doctest::Approx(1.6064));
  CHECK(seconds(4000, "4000") == doctest::Approx(seconds(0, "4000")));
}

// Two bins of 1 us that double to 4 us. 10 GB/s: flow 1 (30 kB) alone until 2 us, then beside
// flow 2 (20 kB) at 5 GB/s until 4 us; 10 kB of flow 2 are left until 5 us, at the receiver at
// 6 us. The link is full for 5 us, with 2 + 4 + 1 flow-microseconds.
TEST_CASE("bins of a link double when time runs past them, and lose nothing") {
  const FlowList list = list_of("id,src,dst,bytes,start_us\n1,a,b,30000,0\n2,a,b,20000,2\n");
  const TextFile links("links.csv", kLinks);
  const TextFile routes("routes.csv", kRoutes);
  const auto over = routes_over_links(list, read_link_table(links.path()), routes.path());
  for (const std::size_t bins : {std::size_t{2}, std::size_t{8}}) {
    LinkSeries series(over.capacities.size(), bins);
    const auto result = run_flow_list(list, over, model_of(Fidelity::fluid), transport_of("ideal"),
                                      {}, {.series = &series});
    CHECK(us(result.times[1].finish) == doctest::Approx(6.0));
    CHECK(in_seconds(series.width()) * 1e6 == doctest::Approx(bins == 2 ? 4.0 : 1.0));
    double bytes = 0;
    double flow_us = 0;
    for (const LinkSeries::Bin& bin : series.bins(static_cast<LinkId>(0))) {
      bytes += bin.bytes;
      flow_us += bin.flow_ticks / static_cast<double>(kTicksPerSecond) * 1e6;
    }
    CHECK(bytes == doctest::Approx(50000));
    CHECK(flow_us == doctest::Approx(7.0));
    CHECK(series.bins(static_cast<LinkId>(1)).empty());
    if (bins != 2) continue;
    CHECK(series.bins(static_cast<LinkId>(0))[0].bytes == doctest::Approx(40000));
    CHECK(series.bins(static_cast<LinkId>(0))[1].bytes == doctest::Approx(10000));
  }
}

namespace {

/// "flow link cause microseconds", one after the other.
std::vector<std::string> limits_of(const std::string& rows, const FaultPlan& faults = {}) {
  const FlowList list = list_of(rows);
  const TextFile links("links.csv", kLinks);
  const TextFile routes("routes.csv", kRoutes);
  const LinkTable table = read_link_table(links.path());
  FlowLimits limits;
  static_cast<void>(run_flow_list(list, routes_over_links(list, table, routes.path()),
                                  model_of(Fidelity::fluid), transport_of("ideal"), faults,
                                  {.limits = &limits}));
  std::vector<std::string> out;
  for (const FlowLimit& limit : limits.totals()) {
    const std::string link = limit.link == kNoLink ? "-" : table.names[index(limit.link)];
    out.push_back(fmt::format("{} {} {} {:g}", list.flows[limit.flow].id, link, name(limit.cause),
                              in_seconds(limit.time) * 1e6));
  }
  return out;
}

}  // namespace

// The flows of the test above: 10 kB of the second are left when the first ends at 4 us.
TEST_CASE("two flows on a link limit each other while both run") {
  CHECK(limits_of("id,src,dst,bytes,start_us\n1,a,b,30000,0\n2,a,b,20000,2\n") ==
        std::vector<std::string>{"1 ab alone 2", "1 ab shared 2", "2 ab alone 1", "2 ab shared 2"});
}

// 2 GB/s for 10 kB: 5 us at the flow's own cap. At 6 GB/s each, two flows want more than the link
// has for 2 us (10 kB each); a flow with the cap 6 GB/s then has its cap for its other 6 kB.
TEST_CASE("a flow at its cap is limited by no link") {
  CHECK(limits_of("id,src,dst,bytes,start_us,cap_Bps\n1,a,b,10000,0,2e9\n") ==
        std::vector<std::string>{"1 - cap 5"});
  CHECK(limits_of("id,src,dst,bytes,start_us,cap_Bps\n1,a,b,10000,0,\n2,a,b,16000,0,6e9\n") ==
        std::vector<std::string>{"1 ab shared 2", "2 ab shared 2", "2 - cap 1"});
}

// The higher flow has the link for 1 us; then the lower one has it alone for 2 us.
TEST_CASE("a flow of low priority waits for the link that the higher one fills") {
  CHECK(limits_of("id,src,dst,bytes,start_us,priority\n1,a,b,20000,0,0\n2,a,b,10000,0,3\n") ==
        std::vector<std::string>{"1 ab alone 2", "1 ab priority 1", "2 ab alone 1"});
}

// Down from 1 us to 4 us, then 10 GB/s again: 2 us of transfer for 20 kB.
TEST_CASE("a flow on a failed link is limited by it") {
  const LinkId ab{};
  CHECK(limits_of("id,src,dst,bytes,start_us\n1,a,b,20000,0\n",
                  {{{TimePoint(from_seconds(1e-6)), {ab}, 0.0},
                    {TimePoint(from_seconds(4e-6)), {ab}, 1.0}},
                   std::nullopt}) == std::vector<std::string>{"1 ab alone 2", "1 ab down 3"});
}
