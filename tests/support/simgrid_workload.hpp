// Workloads of ../shared/data/peers/simgrid: flows with routes and dependencies, and the times that
// SimGrid found for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/network/dominated_links.hpp"
#include "railyard/network/flow_network.hpp"

namespace railyard::test {

/// Rows of a gzipped CSV file without its heading, split at commas.
inline std::vector<std::vector<std::string>> read_gzipped_csv(const std::filesystem::path& path) {
  const std::string command = "gzip -dc '" + path.string() + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), got);
  }
  if (pclose(pipe) != 0) throw std::runtime_error(command + " failed");
  std::vector<std::vector<std::string>> rows;
  std::size_t line_start = text.find('\n') + 1;
  while (line_start < text.size()) {
    std::size_t line_end = text.find('\n', line_start);
    if (line_end == std::string::npos) line_end = text.size();
    std::vector<std::string>& row = rows.emplace_back(1);
    for (std::size_t at = line_start; at < line_end; ++at) {
      if (text[at] == ',') {
        row.emplace_back();
      } else if (text[at] != '\r') {
        row.back().push_back(text[at]);
      }
    }
    line_start = line_end + 1;
  }
  return rows;
}

struct SimgridFlow {
  Bytes size;
  TimePoint start;
  std::uint32_t route = 0;                ///< of the workload's routes
  std::uint32_t waits_for = 0;            ///< flows before it
  std::vector<std::uint32_t> dependants;  ///< flows that wait for it
  double expected_end_s = 0;
};

struct SimgridWorkload {
  std::vector<Bandwidth> capacities;
  std::vector<std::vector<topology::LinkUse>> routes;
  std::vector<std::pair<std::string, std::string>> ends;  ///< of each route: source, destination
  std::vector<SimgridFlow> flows;
};

inline SimgridWorkload read_simgrid_workload(const std::filesystem::path& folder) {
  SimgridWorkload workload;
  for (const auto& row : read_gzipped_csv(folder / "links.csv.gz")) {
    workload.capacities.emplace_back(std::stoll(row.at(1)));
  }
  std::map<std::pair<std::string, std::string>, std::uint32_t> route_of;
  for (const auto& row : read_gzipped_csv(folder / "routes.csv.gz")) {
    workload.ends.emplace_back(row.at(0), row.at(1));
    route_of[workload.ends.back()] = static_cast<std::uint32_t>(workload.routes.size());
    std::vector<topology::LinkUse>& route = workload.routes.emplace_back();
    const char* at = row.at(2).c_str();
    char* end = nullptr;
    for (unsigned long link = std::strtoul(at, &end, 10); end != at;
         link = std::strtoul(at, &end, 10)) {
      route.push_back(topology::LinkUse{static_cast<LinkId>(link), 1.0});
      at = end;
    }
  }
  const auto rows = read_gzipped_csv(folder / "flows.csv.gz");
  workload.flows.resize(rows.size());
  for (const auto& row : rows) {
    const auto id = static_cast<std::uint32_t>(std::stoul(row.at(0)));
    SimgridFlow& flow = workload.flows.at(id);
    flow.size = Bytes(std::stoll(row.at(3)));
    flow.start = TimePoint(from_seconds(std::stod(row.at(4))));
    flow.route = route_of.at({row.at(1), row.at(2)});
    const char* at = row.at(5).c_str();
    while (*at != '\0') {
      char* end = nullptr;
      workload.flows.at(std::strtoul(at, &end, 10)).dependants.push_back(id);
      ++flow.waits_for;
      at = *end == ';' ? end + 1 : end;
    }
  }
  for (const auto& row : read_gzipped_csv(folder / "finish.csv.gz")) {
    workload.flows.at(std::stoul(row.at(0))).expected_end_s = std::stod(row.at(2));
  }
  return workload;
}

/// Runs all flows; end tick per flow. A flow starts when its time has come and all flows before it
/// have finished.
inline std::vector<TimePoint> run_workload(const SimgridWorkload& workload,
                                           network::FlowNetwork& network) {
  std::vector<network::RouteId> routes;
  routes.reserve(workload.routes.size());
  const std::vector<bool> dominated =
      network::dominated_links(workload.routes, workload.capacities);
  for (auto route : workload.routes) {
    std::erase_if(route, [&](const auto& use) { return dominated[index(use.link)]; });
    routes.push_back(network.add_route(route));
  }
  std::vector<TimePoint> ends(workload.flows.size());
  std::vector<std::uint32_t> waits(workload.flows.size());
  std::vector<std::pair<TimePoint, std::uint32_t>> timed;  // a min-heap
  const auto later = [](const auto& a, const auto& b) { return b < a; };
  const auto release = [&](std::uint32_t flow, TimePoint now) {
    timed.emplace_back(std::max(now, workload.flows[flow].start), flow);
    std::push_heap(timed.begin(), timed.end(), later);
  };
  for (std::uint32_t flow = 0; flow < waits.size(); ++flow) {
    waits[flow] = workload.flows[flow].waits_for;
    if (waits[flow] == 0) release(flow, TimePoint{});
  }
  std::vector<network::FinishedFlow> done;
  while (!timed.empty() || network.running() > 0) {
    TimePoint now = network.next_completion();
    if (!timed.empty()) now = std::min(now, timed.front().first);
    done.clear();
    network.finish_due(now, done);
    for (const network::FinishedFlow& flow : done) {
      ends[flow.tag] = now;
      for (const std::uint32_t next : workload.flows[flow.tag].dependants) {
        if (--waits[next] == 0) release(next, now);
      }
    }
    while (!timed.empty() && timed.front().first == now) {
      const std::uint32_t flow = timed.front().second;
      std::pop_heap(timed.begin(), timed.end(), later);
      timed.pop_back();
      network.start(
          now, network::FlowSpec{
                   workload.flows[flow].size, {}, 1.0, flow, routes[workload.flows[flow].route]});
    }
    network.settle(now);
  }
  return ends;
}

}  // namespace railyard::test
