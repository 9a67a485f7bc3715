// Collectives of a job on its GPUs: which algorithm runs, in which form, over which links.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "railyard/collective/nccl.hpp"
#include "railyard/training/program.hpp"
#include "route_binder.hpp"

namespace railyard::training {

/// A choice made for one request of one group.
struct ResolvedCollective {
  std::shared_ptr<const collective::Algorithm> algorithm;
  std::string name;      ///< of the catalog
  std::string protocol;  ///< "ll", "ll128", "simple"
  collective::StepCosts costs;
};

/// The islands of NVLink that a group's GPUs sit on, by first appearance.
[[nodiscard]] collective::GroupShape shape_of(std::span<const GpuId> group,
                                              const topology::Topology& topology);

/// Runs the choice's text for a request. Throws config::ConfigError when the algorithm refuses the
/// group, or "auto" is asked for where NCCL does not run.
[[nodiscard]] ResolvedCollective resolve(const std::string& choice,
                                         const collective::Request& request,
                                         std::span<const GpuId> group,
                                         const collective::GroupShape& shape,
                                         const topology::Topology& topology,
                                         const collective::Protocol& protocol);

class CollectiveBinder {
 public:
  CollectiveBinder(Program& program, const topology::Topology& topology,
                   const NetworkSettings& network, RouteBinder& routes)
      : program_(program), topology_(topology), network_(network), routes_(routes) {}

  /// Binds the coupled form. 1 + index into Program::activities; 0: nothing to send.
  std::uint32_t bind(const workload::Task& task);
  /// Puts the stepped form in place of the coupled one where every transfer is to be simulated.
  /// Timed activities keep their one flow and take as long as their steps do by themselves.
  void bind_steps();

 private:
  /// group, operation, cause, size, repeat, shares, by source
  using Key = std::tuple<std::uint32_t, int, int, std::int64_t, std::uint32_t, std::uint32_t, bool>;
  struct Group {
    std::vector<GpuId> gpus;
    collective::GroupShape shape;
  };

  /// A bound collective whose transfers are wanted.
  struct Wanted {
    std::uint32_t activity = 0;
    std::uint32_t group = 0;
    std::uint32_t repeat = 1;
    collective::Request request;
    ResolvedCollective what;
  };

  [[nodiscard]] bool loggp() const { return network_.model.fidelity == network::Fidelity::loggp; }
  const Group& group_of(std::uint32_t id);
  [[nodiscard]] std::uint32_t edge_between(const Group& group, std::uint32_t source,
                                           std::uint32_t destination, std::uint32_t connection,
                                           const std::string& algorithm);
  [[nodiscard]] Duration step_latency(const Edge& edge, const collective::StepCosts& costs) const;
  struct BoundPhase {
    BoundFlow flow;
    Duration latency{};
    Duration alone{};
  };
  BoundPhase bind_phase(const collective::CoupledPhase& phase, const Group& group,
                        const ResolvedCollective& what, std::uint32_t repeat, Activity& activity);
  Activity coupled_activity(const collective::Coupled& form, const Group& group,
                            const ResolvedCollective& what, std::uint32_t repeat);
  SteppedCollective bind_chain(const std::vector<BoundPhase>& phases) const;
  SteppedCollective bind_schedule(const collective::Schedule& schedule, const Group& group,
                                  const ResolvedCollective& what);
  void keep(Activity& activity, SteppedCollective form);

  Program& program_;
  const topology::Topology& topology_;
  const NetworkSettings& network_;
  RouteBinder& routes_;
  std::map<Key, std::uint32_t> activities_;
  std::map<std::uint32_t, Group> groups_;
  std::vector<Wanted> wanted_;
};

}  // namespace railyard::training
