// Scenario file to World: every error of the file at once.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cost.hpp"
#include "railyard/collective/collective.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/scheduler/background.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/topology/hostlist.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/workload/compression.hpp"
#include "rules.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

using config::Document;
using config::Errors;
using config::Node;
using config::Range;
using config::Reader;

/// Hosts by name, as Slurm writes them ("node[01-16]"): the busy ones, or the free ones.
void occupy_by_name(Reader& reader, const char* key, const std::vector<std::string>& expressions,
                    World& world) {
  const topology::Topology& topology = world.topology;
  const Node where = reader.child(key).value_or(reader.node());
  const std::size_t before = reader.errors().count();
  const auto listed = hosts_named(where, reader.errors(), expressions, topology);
  if (reader.errors().count() > before) return;
  const bool busy = std::string_view(key) == "hosts";
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    if (std::ranges::binary_search(listed, host) == busy)
      world.background.push_back({host, scheduler::whole_host_mask(topology.host(host).gpus)});
  }
}

void read_background(Reader& scenario, World& world) {
  const auto node = scenario.child("occupied");
  if (!node) return;
  Reader reader(*node, scenario.errors());
  const auto counts = reader.maybe<std::vector<std::int64_t>>("hosts_per_minipod");
  const bool has_share = reader.has("share");
  const double share = reader.optional<double>("share", 0.0, Range<double>{0.0, 1.0});
  const auto named = reader.maybe<std::vector<std::string>>("hosts");
  const auto free = reader.maybe<std::vector<std::string>>("free_hosts");
  reader.finish();
  if ((counts ? 1 : 0) + (has_share ? 1 : 0) + (named ? 1 : 0) + (free ? 1 : 0) != 1) {
    scenario.fail("occupied",
                  "give one of \"hosts_per_minipod\", \"share\", \"hosts\" and \"free_hosts\"");
    return;
  }
  if (named || free) {
    occupy_by_name(reader, named ? "hosts" : "free_hosts", named ? *named : *free, world);
    return;
  }
  const Rng rng = RngStreams(world.seed).stream("background");
  try {
    if (counts) {
      std::vector<std::uint32_t> hosts;
      for (const std::int64_t count : *counts) {
        if (count < 0 || count > std::numeric_limits<std::uint32_t>::max()) {
          throw config::ConfigError(fmt::format("{} hosts of a minipod cannot be busy", count));
        }
        hosts.push_back(static_cast<std::uint32_t>(count));
      }
      world.background = scheduler::occupy(world.topology, hosts, rng);
    } else {
      world.background = scheduler::occupy(world.topology, share, rng);
    }
  } catch (const config::ConfigError& error) {
    scenario.fail("occupied", error.lines().front());
  }
}

/// Compression of gradients depends on the jobs: what it refuses gets the policy set's place.
void try_compression(Reader& scenario, const World& world) {
  const auto policies = scenario.node().find("policies");
  for (const PolicySpec& policy : world.policies) {
    if (policy.compression.name == "none") continue;
    const Node set = policies->find(policy.name).value_or(*policies);
    const Node where = set.find("compression").value_or(set);
    try {
      const bool gradients = std::any_of(world.gradient_bytes.begin(), world.gradient_bytes.end(),
                                         [](std::int64_t bytes) { return bytes > 0; });
      if (!gradients) throw config::ConfigError("no job of the scenario has gradients");
      static_cast<void>(jobs_under(world, policy));
    } catch (const config::ConfigError& error) {
      scenario.errors().add(where, error.lines().front());
    }
  }
}

/// Priorities order flows on links: there must be some that they share.
void check_traffic(Reader& scenario, const World& world) {
  if (world.network.model.shares_links()) return;
  const auto policies = scenario.node().find("policies");
  for (const PolicySpec& policy : world.policies) {
    if (policy.traffic.name == "none" || !scenario.errors().empty()) continue;
    const Node set = policies->find(policy.name).value_or(*policies);
    scenario.errors().add(set.find("traffic").value_or(set),
                          "needs the network model \"fluid\": the others share no links");
  }
}

void read_topology(Reader& scenario, World& world) {
  const auto given = scenario.required_child("topology");
  if (!given) return;
  const Node node = topology::resolve_description(*given, scenario.errors());
  if (!node) return;
  world.topology_text = node.dump();
  world.topology = topology::build(node, scenario.errors());
  if (world.topology.gpu_count() == 0) return;
  if (const auto kinds = world.topology.gpu_kinds(); kinds.size() > 1) {
    scenario.errors().add(node, fmt::format("hosts with {} and with {} GPUs: a job would run on "
                                            "both, which is not simulated; give the host groups "
                                            "one kind",
                                            kinds[0], kinds[1]));
    return;
  }
  if (const auto own = scenario.child("gpu")) {
    const Node gpu = own->is_string() && workload::find_gpu(own->string()) == nullptr
                         ? config::resolve(*own, scenario.errors())
                         : *own;
    if (gpu)
      world.gpu = std::make_shared<workload::GpuSpec>(workload::read_gpu(gpu, scenario.errors()));
    return;
  }
  if (const workload::GpuSpec* known = workload::find_gpu(world.topology.gpu_kind())) {
    world.gpu = std::make_shared<workload::GpuSpec>(*known);
  } else if (!node.find("gpu")) {
    scenario.fail("topology",
                  "the file does not say which GPUs its hosts have: write {\"builder\": \"read\", "
                  "\"file\": …, \"gpu\": \"H100-80\"}, or another of `railyard list gpus`");
  } else {
    std::vector<std::string_view> names;
    for (const workload::GpuSpec& gpu : workload::gpu_catalog()) names.push_back(gpu.name);
    const std::string_view near = config::nearest(world.topology.gpu_kind(), names);
    scenario.errors().add(node.find("gpu").value_or(node),
                          fmt::format("unknown GPU kind \"{}\"; {}", world.topology.gpu_kind(),
                                      near.empty() ? std::string("`railyard list gpus` shows them")
                                                   : fmt::format("did you mean \"{}\"?", near)));
  }
}

/// A flow of a job keeps the path of its start.
void refuse_repath(const Node& network, Errors& errors, const topology::Routing& routing) {
  if (routing.repath_interval() == Duration{}) return;
  const Node node = network.find("routing").value_or(network);
  errors.add(node.find("repath_interval").value_or(node), std::string(training::kNoRepath));
}

/// packet_corrected needs a transport, which jobs do not have.
void decode_model(Reader& reader, training::NetworkSettings& network) {
  const auto node = reader.child("model");
  if (!node) return;
  std::vector<const config::EntryDescription*> entries;
  for (const auto& entry : network::network_model_catalog()) {
    if (entry.description.name != "packet_corrected") entries.push_back(&entry.description);
  }
  const auto choice = config::decode_choice(*node, reader.errors(), "network model", entries);
  network.model =
      config::entry_of(network::network_model_catalog(), choice.name).create(choice.parameters);
  if (network.model.fidelity != network::Fidelity::loggp) return;
  for (const char* key : {"protocol", "collectives"}) {
    if (reader.has(key)) {
      reader.fail(key,
                  "not with \"loggp\": L, o and g say what a message costs, and every "
                  "collective runs step by step");
    }
  }
}

/// A value with the folders that its paths are relative to.
void add_value(const Node& node, Digest& digest) {
  if (node.is_string()) digest.add(std::string_view(node.directory().native()));
  if (!node.is_object() && !node.is_array()) {
    digest.add(std::string_view(node.dump()));
    return;
  }
  digest.add(static_cast<std::uint64_t>(node.size()));
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (node.is_object()) digest.add(node.key_at(i));
    add_value(node.at(i), digest);
  }
}

void add_run_keys(const Node& root, World& world) {
  Digest shared;
  shared.add(world.seed);
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string_view key = root.key_at(i);
    if (key == "policies" || key == "baseline" || key == "description" || key == "notes" ||
        key == "seed") {
      continue;
    }
    shared.add(key);
    add_value(root.at(i), shared);
  }
  for (const PolicySpec& policy : world.policies) {
    Digest digest = shared;
    digest.add(std::string_view(policy.name));
    add_value(*root.find("policies")->find(policy.name), digest);
    world.run_keys.push_back(digest.value());
  }
}

}  // namespace

void decode_network(const Node& node, Errors& errors, World& world) {
  Reader reader(node, errors);
  decode_model(reader, world.network);
  static_cast<void>(reader.optional_choice("transport", {"ideal"}, 0));
  const auto routings = config::descriptions(topology::routing_catalog());
  config::Choice choice;
  if (const auto routing = reader.child("routing")) {
    choice = config::decode_choice(*routing, errors, "routing", routings);
  } else {
    choice = config::default_choice("ecmp", routings);
  }
  const std::size_t execution = reader.optional_choice("collectives", {"coupled", "stepped"}, 0);
  world.network.execution =
      execution == 0 ? training::Execution::coupled : training::Execution::stepped;
  world.network.reuse = reader.optional<bool>("reuse", true);
  world.network.gradients_last =
      reader.optional_choice("priority", {"none", "gradients_last"}, 0) == 1;
  if (world.network.gradients_last && !world.network.model.shares_links()) {
    reader.fail("priority", "needs the network model \"fluid\": the others share no links");
  }
  if (const auto protocol = reader.child("protocol")) {
    Reader fields(*protocol, errors);
    collective::Protocol& known = world.network.protocol;
    for (const auto& [key, value] : std::initializer_list<std::pair<const char*, Duration*>>{
             {"base", &known.base},
             {"ring_nvlink", &known.ring.nvlink},
             {"ring_network", &known.ring.network},
             {"tree_nvlink", &known.tree.nvlink},
             {"tree_network", &known.tree.network},
             {"launch", &known.launch}}) {
      *value = fields.optional<Duration>(key, *value);
      if (*value > std::chrono::seconds(1)) fields.fail(key, "must be at most 1s");
    }
    fields.finish();
  }
  world.limits.phases = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("phases", world.limits.phases, Range<std::int64_t>{1, 64}));
  world.limits.iterations_together = static_cast<std::uint32_t>(reader.optional<std::int64_t>(
      "iterations_together", world.limits.iterations_together, Range<std::int64_t>{1, 1000}));
  reader.finish();
  if (errors.empty()) {
    world.network.routing = config::entry_of(topology::routing_catalog(), choice.name)
                                .create(world.topology, choice.parameters);
    refuse_repath(node, errors, *world.network.routing);
  }
}

void read_network(Reader& scenario, World& world) {
  if (const auto node = scenario.child("network")) {
    world.network_text = node->dump();
    decode_network(*node, scenario.errors(), world);
  } else {
    world.network_text = "{}";
    decode_network(Document::parse_text("{}", "network").root(), scenario.errors(), world);
  }
}

Spec load(const Document& document, const std::string& name, std::optional<std::uint64_t> seed,
          Catalogs catalogs) {
  Errors errors;
  auto world = std::make_shared<World>();
  world->catalogs = catalogs ? std::move(catalogs)
                             : std::make_shared<scheduler::Catalogs>(scheduler::in_tree_catalogs());
  world->name = name;
  Reader scenario(document.root(), errors);
  world->description = scenario.optional<std::string>("description", "");
  world->notes = scenario.optional<std::vector<std::string>>("notes", {});
  const std::int64_t file_seed = scenario.optional<std::int64_t>(
      "seed", 1, Range<std::int64_t>{0, std::numeric_limits<std::int64_t>::max()});
  world->seed = seed.value_or(static_cast<std::uint64_t>(file_seed));
  world->horizon = scenario.optional<Duration>("horizon", kHorizonMax);
  if (world->horizon > kHorizonMax) scenario.fail("horizon", "the clock ends at 1,064 days");
  if (const auto diffusion = scenario.child("diffusion")) {
    Reader reader(*diffusion, errors);
    world->diffusion_alpha = reader.required<double>("alpha", Range<double>{0.0, 1.0});
    reader.finish();
  }
  read_failures(scenario, *world);
  read_topology(scenario, *world);
  read_policies(scenario, *world);
  const bool fabric = world->topology.gpu_count() > 0 && world->gpu != nullptr;
  if (fabric) {
    read_network(scenario, *world);
    read_cost(scenario, *world);
    read_background(scenario, *world);
    read_jobs(scenario, *world);
    read_rules(scenario, *world);
    if (errors.empty()) try_compression(scenario, *world);
    check_traffic(scenario, *world);
  } else {
    // Without a fabric these cannot be checked; their keys are still known.
    for (const char* key : {"network", "cost", "quotas", "drains", "maintenance", "occupied",
                            "jobs", "job_trace", "arrival_scale"}) {
      static_cast<void>(scenario.child(key));
    }
  }
  scenario.finish();
  errors.throw_if_any();
  add_run_keys(document.root(), *world);
  return Spec(std::move(world));
}

}  // namespace railyard::scenario
