#include <algorithm>
#include <map>

#include "collective_binder.hpp"
#include "railyard/collective/file.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/topology/ring_order.hpp"

namespace railyard::training {
namespace {

namespace nccl = collective::nccl;
double gb_per_s(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.bytes_per_s()) * 1e-9;
}

/// What a GPU can send at once over links of a tier.
Bandwidth out_of(NodeId node, topology::Tier tier, const topology::Topology& topology) {
  Bandwidth sum;
  for (const topology::Link& link : topology.out_links(node)) {
    if (link.tier == tier) sum = sum + link.capacity;
  }
  return sum;
}

/// The NICs of the group's ranks on the island that has least of them.
double nics_gb_per_s(std::span<const GpuId> group, const collective::GroupShape& shape,
                     const topology::Topology& topology) {
  double least = 0;
  const auto members = shape.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::vector<NodeId> nics;
    for (const std::uint32_t rank : members[i]) nics.push_back(topology.nic_node(group[rank]));
    std::sort(nics.begin(), nics.end());
    nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
    double sum = 0;
    for (const NodeId nic : nics) sum += gb_per_s(out_of(nic, topology::Tier::leaf, topology));
    least = i == 0 ? sum : std::min(least, sum);
  }
  return least;
}

nccl::Fabric fabric_of(std::span<const GpuId> group, const collective::GroupShape& shape,
                       const topology::Topology& topology, nccl::Architecture architecture) {
  nccl::Fabric fabric;
  fabric.ranks = shape.ranks();
  fabric.nodes = shape.islands();
  fabric.architecture = architecture;
  fabric.channels = nccl::channels_of(architecture);
  const NodeId gpu = topology.gpu_node(group.front());
  const Bandwidth nvlink = out_of(gpu, topology::Tier::nvlink, topology);
  fabric.nvlink = nvlink > Bandwidth{};
  const double intra =
      gb_per_s(fabric.nvlink ? nvlink : out_of(gpu, topology::Tier::host, topology));
  const double inter = nics_gb_per_s(group, shape, topology);
  fabric.channel_intra_gb_per_s = (intra > 0 ? intra : inter) / fabric.channels;
  fabric.channel_inter_gb_per_s = (inter > 0 ? inter : intra) / fabric.channels;
  fabric.nvls = architecture >= nccl::Architecture::hopper &&
                topology::island_of(topology, group.front()).first;
  return fabric;
}

[[noreturn]] void refuse(const std::string& choice, const collective::Request& request,
                         std::size_t ranks, const std::string& reason) {
  throw config::ConfigError(
      fmt::format("collective algorithm \"{}\" cannot run this {} over {} ranks: {}", choice,
                  collective::name(request.operation), ranks, reason));
}

std::shared_ptr<const collective::Algorithm> made(const std::string& name,
                                                  const config::Parameters& parameters) {
  return config::entry_of(collective::algorithm_catalog(), name).create(parameters);
}

ResolvedCollective as_nccl(const config::Choice& choice, const collective::Request& request,
                           std::span<const GpuId> group, const collective::GroupShape& shape,
                           const topology::Topology& topology,
                           const collective::Protocol& protocol) {
  const auto& hosts = topology.hosts();
  const std::string& kind =
      topology.gpu_kinds()[hosts[index(topology.host_of(group.front()))].gpu_kind];
  const auto architecture = nccl::architecture_of(kind);
  if (!architecture) {
    refuse("auto", request, group.size(),
           fmt::format("it follows NCCL, which does not run on \"{}\"; name an algorithm", kind));
  }
  const nccl::Fabric fabric = fabric_of(group, shape, topology, *architecture);
  const nccl::Version& version = nccl::version(choice.parameters.get<std::string>("version"));
  nccl::Choice taken;
  if (nccl::tuned(request.operation)) {
    const auto found = nccl::choose(request.operation, request.size, fabric, version,
                                    nccl::restriction_of(choice.parameters));
    if (!found) {
      refuse("auto", request, group.size(),
             fmt::format("NCCL {} has no {} under {} for it on {} nodes of {}", version.name,
                         choice.parameters.get<std::string>("algorithm"),
                         choice.parameters.get<std::string>("protocol"), fabric.nodes, kind));
    }
    taken = *found;
  }
  nccl::Plan plan = nccl::plan(request.operation, request.size, fabric, version, taken);
  plan.costs.once += protocol.launch;
  return {made(plan.algorithm, plan.parameters), plan.algorithm,
          std::string(nccl::name(plan.protocol)), plan.costs};
}

}  // namespace

collective::GroupShape shape_of(std::span<const GpuId> group, const topology::Topology& topology) {
  collective::GroupShape shape;
  std::map<topology::IslandKey, std::uint32_t> islands;
  for (const GpuId gpu : group) {
    const auto next = static_cast<std::uint32_t>(islands.size());
    shape.island_of.push_back(
        islands.try_emplace(topology::island_of(topology, gpu), next).first->second);
  }
  return shape;
}

ResolvedCollective resolve(const std::string& text, const collective::Request& request,
                           std::span<const GpuId> group, const collective::GroupShape& shape,
                           const topology::Topology& topology,
                           const collective::Protocol& protocol) {
  const config::Choice choice = collective::decode_choice_text(
      collective::choice_for(text, static_cast<std::uint32_t>(group.size())));
  const bool automatic = choice.name == nccl::auto_description().name;
  const bool from_file = choice.name == collective::file_description().name;
  ResolvedCollective out;
  if ((automatic || from_file) && group.size() == 1) {
    // Nothing to do for one rank, whatever would do it.
    return resolve(collective::Choices{}.of(request.operation), request, group, shape, topology,
                   protocol);
  }
  if (automatic) {
    out = as_nccl(choice, request, group, shape, topology, protocol);
  } else if (from_file) {
    const collective::FileCollective file = collective::file_collective(choice.parameters);
    out = {file.algorithm, choice.name, std::string(nccl::name(file.protocol)),
           collective::file_costs(file.protocol, protocol)};
  } else {
    out = {made(choice.name, choice.parameters), choice.name, "simple", {}};
    const bool tree = choice.name == "double_binary_tree" || choice.name == "nvls_tree";
    out.costs.once = protocol.base;
    out.costs.step = tree ? protocol.tree : protocol.ring;
  }
  if (const std::string refusal = out.algorithm->refusal(request, shape); !refusal.empty())
    refuse(out.name, request, group.size(), refusal);
  return out;
}

}  // namespace railyard::training
