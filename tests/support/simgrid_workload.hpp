// Workloads of ../shared/data/peers/simgrid: lists of flows over given links and routes, and the
// times that SimGrid found for them.
#pragma once

#include <filesystem>
#include <vector>

#include "railyard/config/csv.hpp"
#include "railyard/network/flow_list.hpp"

namespace railyard::test {

struct SimgridWorkload {
  network::FlowList list;
  network::FlowRoutes routes;
  std::vector<double> expected_end_s;  ///< by flow
};

inline SimgridWorkload read_simgrid_workload(const std::filesystem::path& folder) {
  SimgridWorkload workload;
  workload.list = network::read_flow_csv(folder / "flows.csv.gz");
  workload.routes = network::routes_over_links(
      workload.list, network::read_link_table(folder / "links.csv.gz"), folder / "routes.csv.gz");
  config::Errors errors;
  config::Csv ends = config::Csv::parse_file(folder / "finish.csv.gz");
  const auto id = ends.required("id", errors);
  const auto finish = ends.required("finish_s", errors);
  workload.expected_end_s.resize(workload.list.flows.size());
  for (std::size_t row = 0; row < ends.rows(); ++row) {
    // Flows are numbered from 0 in the order of their file.
    workload.expected_end_s.at(static_cast<std::size_t>(ends.integer(row, id, errors))) =
        ends.real(row, finish, errors);
  }
  errors.throw_if_any();
  return workload;
}

/// Runs all flows as a fluid without packets or latency.
inline network::FlowListResult run_workload(const SimgridWorkload& workload) {
  return network::run_flow_list(workload.list, workload.routes, network::NetworkModel{},
                                network::Transport{});
}

}  // namespace railyard::test
