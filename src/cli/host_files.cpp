#include "host_files.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace railyard::cli {

namespace {

using scenario::PlacedJob;

/// Hosts in the order of their first ranks, with the ranks of each.
std::vector<std::pair<std::string, std::vector<std::size_t>>> ranks_by_host(const PlacedJob& job) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> hosts;
  std::map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const auto [found, first] = places.try_emplace(job.ranks[rank].host, hosts.size());
    if (first) hosts.emplace_back(job.ranks[rank].host, std::vector<std::size_t>{});
    hosts[found->second].second.push_back(rank);
  }
  return hosts;
}

}  // namespace

std::string refuse_blocks(const PlacedJob& job) {
  const auto hosts = ranks_by_host(job);
  for (const auto& [host, ranks] : hosts) {
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      if (ranks[i] != ranks[i - 1] + 1) {
        return fmt::format("host {} has ranks {} and {} and not those between them", host,
                           ranks[i - 1], ranks[i]);
      }
      if (job.ranks[ranks[i]].gpu <= job.ranks[ranks[i - 1]].gpu) {
        return fmt::format("on host {} rank {} has GPU {} and rank {} GPU {}", host, ranks[i - 1],
                           job.ranks[ranks[i - 1]].gpu, ranks[i], job.ranks[ranks[i]].gpu);
      }
    }
    if (ranks.size() != hosts.front().second.size()) {
      return fmt::format("host {} has {} ranks and host {} has {}", hosts.front().first,
                         hosts.front().second.size(), host, ranks.size());
    }
  }
  return {};
}

std::string hostfile(const PlacedJob& job) {
  std::string out;
  for (const auto& [host, ranks] : ranks_by_host(job))
    out += fmt::format("{} slots={}\n", host, ranks.size());
  return out;
}

std::string rankfile(const PlacedJob& job) {
  std::string out;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    fmt::format_to(std::back_inserter(out), "rank {}={} slot={}\n", rank, job.ranks[rank].host,
                   job.ranks[rank].gpu);
  }
  return out;
}

std::string torchrun(const PlacedJob& job) {
  const auto hosts = ranks_by_host(job);
  std::string out = fmt::format(
      "# on each host: torchrun --nnodes={} --nproc-per-node={} --node-rank=<its number below> "
      "--master-addr={} …\n",
      hosts.size(), hosts.front().second.size(), hosts.front().first);
  for (std::size_t h = 0; h < hosts.size(); ++h)
    fmt::format_to(std::back_inserter(out), "{} {}\n", h, hosts[h].first);
  return out;
}

std::string slurm_hostfile(const PlacedJob& job) {
  std::string out;
  for (const scenario::RankPlace& rank : job.ranks) out += rank.host + '\n';
  return out;
}

std::string slurm_options(const PlacedJob& job) {
  const auto hosts = ranks_by_host(job);
  std::string names;
  for (const auto& [host, ranks] : hosts) names += (names.empty() ? "" : ",") + host;
  return fmt::format(
      "# export SLURM_HOSTFILE=slurm_hostfile\n--nodes={}\n--ntasks={}\n--distribution=arbitrary\n"
      "--nodelist={}\n",
      hosts.size(), job.ranks.size(), names);
}

std::string ranks_csv(const PlacedJob& job) {
  std::string out = "rank,host,gpu,tensor,data,pipeline\n";
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::size_t cell = rank / job.tensor;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{}\n", rank, job.ranks[rank].host,
                   job.ranks[rank].gpu, rank % job.tensor, cell % job.data, cell / job.data);
  }
  return out;
}

}  // namespace railyard::cli
