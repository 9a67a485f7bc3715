// SimGrid on a recorded workload of ../shared/data/peers/simgrid: the peer of
// `bench_solver FOLDER`.
//
// simgrid_peer FOLDER Full|Lazy|TI yes|no      network/optim, network/maxmin-selective-update
//
// Textbook max-min: network model CM02 without cross-traffic, factors 1, no TCP window; links with
// the recorded bandwidths and no latency, the recorded routes. A flow that waits for no other is an
// actor that sleeps and sends; the others are started by the end of the last one they wait for.
// Prints processor seconds of the run alone, peak memory, and the largest relative difference to
// the recorded ends.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>

#include "support/simgrid_workload.hpp"

namespace {

namespace sg = simgrid::s4u;

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::vector<std::string> settings(int argc, char** argv) {
  const std::string optimization = argc > 2 ? argv[2] : "Full";
  const std::string selective = argc > 3 ? argv[3] : "no";
  return {"simgrid_peer",
          "--cfg=network/model:CM02",
          "--cfg=network/crosstraffic:0",
          "--cfg=network/latency-factor:1",
          "--cfg=network/bandwidth-factor:1",
          "--cfg=network/weight-S:0",
          "--cfg=network/TCP-gamma:1e18",
          "--cfg=surf/precision:1e-13",
          "--cfg=maxmin/precision:1e-9",
          "--cfg=network/optim:" + optimization,
          "--cfg=network/maxmin-selective-update:" + selective,
          "--log=root.thres:error"};
}

using Workload = railyard::test::SimgridWorkload;

/// Links, hosts and routes of the recording.
class Fabric {
 public:
  explicit Fabric(const Workload& workload) : zone_(sg::create_full_zone("fabric")) {
    std::vector<sg::Link*> links;
    for (const railyard::Bandwidth capacity : workload.routes.capacities) {
      const auto bandwidth = static_cast<double>(capacity.bytes_per_s());
      links.push_back(zone_->create_link("link" + std::to_string(links.size()), bandwidth)
                          ->set_latency(0)
                          ->seal());
    }
    for (const std::string& name : workload.list.endpoints)
      hosts_.push_back(zone_->create_host("host" + name, 1e9)->seal());
    std::set<std::pair<std::uint32_t, std::uint32_t>> known;
    for (std::size_t f = 0; f < workload.list.flows.size(); ++f) {
      const auto& flow = workload.list.flows[f];
      if (!known.emplace(flow.source, flow.destination).second) continue;
      std::vector<sg::LinkInRoute> path;
      for (const auto& use : workload.routes.route(workload.routes.route_of_flow[f]))
        path.emplace_back(links[index(use.link)]);
      zone_->add_route(host(flow.source)->get_netpoint(), host(flow.destination)->get_netpoint(),
                       nullptr, nullptr, path, false);
    }
    zone_->seal();
  }
  [[nodiscard]] sg::Host* host(std::uint32_t endpoint) const { return hosts_[endpoint]; }

 private:
  sg::NetZone* zone_;
  std::vector<sg::Host*> hosts_;
};

/// Runs the flows; ends in seconds.
class Flows {
 public:
  Flows(const Workload& workload, const Fabric& fabric)
      : workload_(workload),
        fabric_(fabric),
        ends_(workload.list.flows.size()),
        started_(workload.list.flows.size()),
        waits_(workload.list.flows.size()),
        dependants_(workload.list.flows.size()) {
    for (const auto& dependency : workload.list.dependencies) {
      ++waits_[dependency.flow];
      dependants_[dependency.before].push_back(dependency.flow);
    }
    sg::Comm::on_completion_cb([this](const sg::Activity& activity) {
      const auto found = running_.find(&activity);
      if (found == running_.end()) return;
      const std::size_t flow = found->second;
      running_.erase(found);
      ended(flow);
    });
    for (std::size_t f = 0; f < waits_.size(); ++f) {
      if (waits_[f] == 0) sleep_and_send(f);
    }
  }
  [[nodiscard]] const std::vector<double>& ends() const { return ends_; }

 private:
  void sleep_and_send(std::size_t f) {
    sg::Actor::create("flow", fabric_.host(workload_.list.flows[f].source), [this, f] {
      const auto& flow = workload_.list.flows[f];
      const double start = railyard::in_seconds(flow.start);
      if (start > 0) sg::this_actor::sleep_until(start);
      sg::Comm::sendto(fabric_.host(flow.source), fabric_.host(flow.destination),
                       static_cast<std::uint64_t>(flow.size.count()));
      simgrid::kernel::actor::simcall_answered([this, f] { ended(f); });
    });
  }
  void ended(std::size_t f) {
    ends_[f] = sg::Engine::get_clock();
    for (const std::uint32_t next : dependants_[f]) {
      if (--waits_[next] == 0) begin(next);
    }
  }
  /// Made in the kernel's context and only when it starts: SimGrid searches the list of activities
  /// of whoever made one when it ends, and reports the end of one that nobody waits for only there.
  void begin(std::size_t f) {
    const auto& flow = workload_.list.flows[f];
    auto comm = sg::Comm::sendto_init(fabric_.host(flow.source), fabric_.host(flow.destination));
    comm->set_payload_size(static_cast<std::uint64_t>(flow.size.count()));
    running_[comm.get()] = f;
    comm->start();
    started_[f] = comm;
  }

  const Workload& workload_;
  const Fabric& fabric_;
  std::vector<double> ends_;
  std::vector<sg::CommPtr> started_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::vector<std::uint32_t>> dependants_;
  std::unordered_map<const sg::Activity*, std::size_t> running_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto workload = railyard::test::read_simgrid_workload(argv[1]);
  std::vector<std::string> words = settings(argc, argv);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  sg::Engine engine(&count, pointers.data());
  const Fabric fabric(workload);
  const Flows flows(workload, fabric);
  const double before = processor_seconds();
  engine.run();
  const double seconds = processor_seconds() - before;
  double worst = 0;
  for (std::size_t f = 0; f < flows.ends().size(); ++f) {
    const double expected = workload.expected_end_s[f];
    worst = std::max(worst, std::abs(flows.ends()[f] - expected) / expected);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("simgrid %zu flows | %.4f processor s, peak %.1f MiB, worst difference %.2g\n",
              flows.ends().size(), seconds, static_cast<double>(usage.ru_maxrss) / 1024, worst);
  return 0;
}
