// shortest: the first of the equal next hops, always. All connections between two leaves share one
// path: a worst case to compare with, and what a fabric without multipath does.
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class FirstOfAll final : public HopChooser {
 public:
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t) override { return 0; }
};

class Shortest final : public Routing {
 public:
  explicit Shortest(const Topology& topology) : topology_(topology) {}
  void route(const Connection& connection, Route& out) const override {
    FirstOfAll first;
    std::vector<LinkId> path;
    topology_.paths().path(connection.source, connection.destination, first, path);
    set_single_path(topology_, path, out);
  }
  bool hashes() const override { return false; }

 private:
  const Topology& topology_;
};

}  // namespace

std::unique_ptr<Routing> make_shortest(const Topology& topology, const config::Parameters&) {
  return std::make_unique<Shortest>(topology);
}

}  // namespace railyard::topology
