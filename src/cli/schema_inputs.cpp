#include <algorithm>
#include <map>

#include "railyard/bridge/catalogs.hpp"
#include "railyard/cluster/cluster.hpp"
#include "railyard/collective/choices.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/network/network_model.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/workload/compression.hpp"
#include "railyard/workload/job_reader.hpp"
#include "railyard/workload/transformer.hpp"
#include "schema.hpp"

namespace railyard::cli {

namespace {

using namespace json_schema;
using config::EntryDescription;
using config::ParameterSpec;
using config::ParameterType;

std::string parameter(const ParameterSpec& spec) {
  switch (spec.type) {
    case ParameterType::boolean:
      return boolean();
    case ParameterType::integer:
      return integer(spec.min ? static_cast<std::int64_t>(*spec.min) : INT64_C(-1) << 53);
    case ParameterType::real:
      return number(spec.min.value_or(-1e300), spec.max.value_or(1e300));
    case ParameterType::choice:
      return words(spec.choices);
    case ParameterType::bytes:
      return bytes();
    case ParameterType::bandwidth:
      return bandwidth();
    case ParameterType::duration:
      return duration();
    case ParameterType::command:
      return array_of(text(), 1);
    default:
      return text();
  }
}

/// A member of a catalog: its name, or an object with its name and parameters.
std::string choice(const std::vector<const EntryDescription*>& entries) {
  std::vector<std::string_view> names;
  std::vector<std::string> objects;
  for (const EntryDescription* entry : entries) {
    names.push_back(entry->name);
    Members members{{"name", words({entry->name})}};
    for (const ParameterSpec& spec : entry->parameters)
      members.emplace_back(spec.name, parameter(spec));
    objects.push_back(object(members, {"name"}));
  }
  objects.insert(objects.begin(), words(names));
  return any_of(objects);
}

std::string link(Members more = {}) {
  more.insert(more.begin(),
              {{"bandwidth", bandwidth()}, {"efficiency", number(0, 1)}, {"latency", duration()}});
  return object(more, {"bandwidth"});
}

std::string words_of_gpus() {
  std::vector<std::string_view> gpus;
  for (const workload::GpuSpec& gpu : workload::gpu_catalog()) gpus.push_back(gpu.name);
  return words(gpus);
}

std::string nvlink() {
  return link({{"wiring", words({"nvswitch", "full_mesh", "hypercube_mesh"})},
               {"hosts_per_island", integer(1)}});
}

/// Keys of hosts that are mixed, and of the builders beside clos and fat_tree.
Members more_topology_members() {
  const std::string host_group = object({{"hosts", integer(1)},
                                         {"gpu", words_of_gpus()},
                                         {"gpus_per_host", integer(1)},
                                         {"nvlink", nvlink()},
                                         {"pcie", link()},
                                         {"nic", link({{"per_host", integer(1)}})}},
                                        {"hosts", "gpu", "gpus_per_host", "nic"});
  const std::string counts = any_of({integer(1), array_of(integer(1), 1)});
  const std::string tier = object({{"hosts", counts},
                                   {"leaves", integer(1)},
                                   {"joins", counts},
                                   {"switches", integer(1)},
                                   {"link", link()},
                                   {"oversubscription", number(0, 1e6)},
                                   {"uplinks", integer(1)}});
  return {{"host_groups", array_of(host_group, 1)},
          {"tiers", array_of(tier, 1)},
          {"groups", integer(1)},
          {"routers_per_group", integer(1)},
          {"hosts_per_router", integer(1)},
          {"global_links_per_router", integer(1)},
          {"leaves_per_group", integer(1)},
          {"spines_per_group", integer(1)},
          {"global_links_per_spine", integer(1)},
          {"global_link", link()},
          {"local_links", integer(1)},
          {"parallel", integer(1)},
          {"switches", integer(1)},
          {"hosts_per_switch", integer(1)},
          {"dimensions", array_of(integer(1), 1)},
          {"wrap", boolean()},
          {"paths", words({"dimension_order", "minimal"})},
          {"pods", integer(1)},
          {"segments_per_pod", integer(1)},
          {"hosts_per_segment", integer(1)},
          {"planes", integer(1)},
          {"aggregations", integer(1)},
          {"aggregation_uplinks", integer(1)}};
}

using KeySchemas = std::map<std::string, std::string, std::less<>>;

/// Schemas of the keys of topology builders; one that is not here may hold anything.
KeySchemas topology_members() {
  const std::string graph_node = object(
      {{"name", text()}, {"kind", text()}, {"host", text()}, {"minipod", text()}, {"nic", text()}},
      {"name", "kind"});
  const std::string graph_link = link({{"from", text()},
                                       {"to", text()},
                                       {"count", integer(1)},
                                       {"one_way", boolean()},
                                       {"tier", text()}});
  KeySchemas out{
      {"gpu", words_of_gpus()},
      {"gpus_per_host", integer(1)},
      {"nvlink", nvlink()},
      {"pcie", link()},
      {"nic", link({{"per_host", integer(1)}})},
      {"switch_link", link()},
      {"core_link", link()},
      {"hosts_per_leaf", integer(1)},
      {"leaf_hosts", array_of(array_of(integer(1), 1), 1)},
      {"oversubscription", object({{"leaf", number(0, 1e6)}, {"minipod", number(0, 1e6)}})},
      {"partial_leaf", words({"full_uplinks", "scaled_uplinks"})},
      {"spines_per_minipod", integer(1)},
      {"spines", integer(1)},
      {"cores", integer(1)},
      {"radix", integer(1)},
      {"k", integer(2)},
      {"hosts", integer(1)},
      {"file", text()},
      {"nodes", array_of(graph_node, 1)},
      {"links", array_of(graph_link)}};
  for (auto& [key, schema] : more_topology_members()) out.emplace(key, schema);
  return out;
}

/// Of files that are read: those that differ from the builders'.
KeySchemas read_members() {
  std::vector<std::string_view> formats;
  for (const auto& reader : topology::reader_catalog()) formats.push_back(reader.name);
  const std::string terms = object({{"bandwidth", bandwidth()},
                                    {"efficiency", number(0, 1)},
                                    {"latency", duration()},
                                    {"count", integer(1)},
                                    {"per_host", integer(1)}});
  auto members = topology_members();
  members["format"] = words(formats);
  members["gpu"] = text();
  members["ignore"] = array_of(text());
  members["nic"] = terms;
  members["switch_link"] = terms;
  members["core_link"] = terms;
  members["link_speed_unit"] = bandwidth();
  return members;
}

std::string topology_body() {
  std::vector<std::string> alternatives;
  for (const auto& builder : topology::topology_catalog()) {
    const auto known = builder.name == "read" ? read_members() : topology_members();
    Members members{
        {"description", text()}, {"source", text()}, {"builder", words({builder.name})}};
    for (const std::string_view key : builder.keys) {
      const auto at = known.find(key);
      members.emplace_back(key, at == known.end() ? "true" : at->second);
    }
    alternatives.push_back(object(members, {"builder"}));
  }
  return any_of(alternatives);
}

std::string recommender_body() {
  return object(
      {{"kind", words({"recommender"})},
       {"description", text()},
       {"source", text()},
       {"name", text()},
       {"tables", integer(1)},
       {"embedding_dim", integer(1)},
       {"pooling", integer(1)},
       {"rows", integer(1)},
       {"dense_features", integer(1)},
       {"bottom", array_of(integer(1), 1)},
       {"top", array_of(integer(1), 1)},
       {"precision", words(workload::precision_words())}},
      {"kind", "name", "tables", "embedding_dim", "rows", "dense_features", "bottom", "top"});
}

std::string stencil_body() {
  return object({{"kind", words({"stencil"})},
                 {"description", text()},
                 {"source", text()},
                 {"name", text()},
                 {"cells", array_of(integer(1), 1)},
                 {"variables", integer(1)},
                 {"value_bytes", integer(1)},
                 {"halo", integer(1)},
                 {"flops", number(0, 1e9)},
                 {"steps", integer(1)},
                 {"periodic", boolean()}},
                {"kind", "name", "cells"});
}

std::string workload_body() {
  std::vector<std::string_view> operations;
  for (std::size_t o = 0; o < collective::kOperations; ++o)
    operations.push_back(collective::name(collective::operation_at(o)));
  const std::string transformer =
      object({{"kind", words({"transformer"})},
              {"description", text()},
              {"source", text()},
              {"name", text()},
              {"layers", integer(1)},
              {"hidden", integer(1)},
              {"heads", integer(1)},
              {"kv_heads", integer(1)},
              {"head_dim", integer(1)},
              {"ffn", integer(1)},
              {"gated", boolean()},
              {"vocabulary", integer(1)},
              {"sequence", integer(1)},
              {"tied_embeddings", boolean()},
              {"learned_positions", boolean()},
              {"causal", boolean()},
              {"experts", object({{"count", integer(1)},
                                  {"per_token", integer(1)},
                                  {"ffn", integer(1)},
                                  {"shared", integer(0)},
                                  {"dense_layers", integer(0)}},
                                 {"count", "per_token", "ffn"})},
              {"latent_attention", object({{"query_rank", integer(0)},
                                           {"key_value_rank", integer(1)},
                                           {"key_dim", integer(1)},
                                           {"rope_dim", integer(1)},
                                           {"value_dim", integer(1)}},
                                          {"key_value_rank", "key_dim", "rope_dim", "value_dim"})}},
             {"kind", "name", "layers", "hidden", "heads", "vocabulary", "sequence"});
  const std::string collective = object({{"kind", words({"collective"})},
                                         {"description", text()},
                                         {"operation", words(operations)},
                                         {"algorithm", choice(collective::choice_descriptions())},
                                         {"groups", words({"rails", "world"})},
                                         {"size", bytes()},
                                         {"repeats", integer(1)}},
                                        {"kind", "operation", "size"});
  const std::string p2p = object({{"kind", words({"p2p"})},
                                  {"description", text()},
                                  {"size", bytes()},
                                  {"repeats", integer(1)}},
                                 {"kind", "size"});
  return any_of({transformer, collective, p2p, recommender_body(), stencil_body()});
}

std::string collectives_schema() {
  Members members;
  for (std::size_t o = 0; o < collective::kOperations; ++o)
    members.emplace_back(collective::name(collective::operation_at(o)),
                         choice(collective::choice_descriptions()));
  members.emplace_back("ring_order", words(collective::ring_order_words()));
  return object(members);
}

std::string job_input_schema() {
  return object(
      {{"name", text()},
       {"workload", any_of({text(), workload_body()})},
       {"gpus", integer(1)},
       {"grid", array_of(integer(1), 1)},
       {"parallelism", object({{"tensor", integer(1)},
                               {"pipeline", integer(1)},
                               {"data", integer(1)},
                               {"context", integer(1)},
                               {"expert", integer(1)},
                               {"expert_tensor", integer(0)},
                               {"virtual_stages", integer(1)}})},
       {"global_batch", integer(1)},
       {"micro_batch", integer(1)},
       {"schedule", words({"1f1b", "interleaved", "gpipe", "zb_h1", "dualpipe"})},
       {"recompute", words({"none", "full", "selective"})},
       {"precision", words(workload::precision_words())},
       {"sequence_parallel", boolean()},
       {"tensor_overlap", boolean()},
       {"zero", integer(0)},
       {"overlap_sends", boolean()},
       {"overlap_gradients", boolean()},
       {"overlap_parameters", boolean()},
       {"layers_per_stage", array_of(integer(0), 1)},
       {"expert_load", object({{"histogram", array_of(number(0, 1e300), 1)},
                               {"skew", number(0, 10)},
                               {"seed", integer(0)},
                               {"capacity_factor", number(0, 1000)}})},
       {"stack",
        any_of({words({"graphs", "eager"}),
                object({{"launch", duration()}, {"gemm", number(0.1, 10)}, {"skew", duration()}},
                       {"launch"})})},
       {"attention", words({"flash", "unfused"})},
       {"gradients", words({"bf16", "fp32"})},
       {"sends", words({"as_computed", "fp8"})},
       {"scatter_sends", boolean()},
       {"gradient_bucket", bytes()},
       {"all_reduce", choice(collective::choice_descriptions())},
       {"collectives", collectives_schema()},
       {"iterations", integer(1)},
       {"arrival", duration()},
       {"priority", integer(-1'000'000'000)},
       {"user", text()},
       {"group", text()}},
      {"name", "workload", "gpus"});
}

std::string outage_schema(bool planned) {
  const Members members{{"hosts", array_of(text(), 1)},
                        {"from", duration()},
                        {"until", duration()},
                        {"running", words({"finish", "preempt"})}};
  return planned ? object(members, {"hosts", "from", "until"}) : object(members, {"hosts", "from"});
}

std::string cost_input_schema() {
  return object({{"gpu_hour", money()},
                 {"kwh", money()},
                 {"pue", number(1, 10)},
                 {"power", power()},
                 {"idle_power", power()},
                 {"switch_port", money()},
                 {"network_years", number(0.01, 100)}});
}

std::string gpu_body() {
  return object({{"base", text()},
                 {"description", text()},
                 {"source", text()},
                 {"name", text()},
                 {"peak_bf16", text()},
                 {"peak_fp8", text()},
                 {"peak_tf32", text()},
                 {"peak_fp32", text()},
                 {"memory", bytes()},
                 {"memory_bandwidth", bandwidth()},
                 {"gemm_efficiency", number(0, 1)},
                 {"gemm_efficiency_fp8", number(0, 1)},
                 {"memory_efficiency", number(0, 1)},
                 {"attention_efficiency", number(0, 1)},
                 {"multiprocessors", integer(1)},
                 {"kernel_overhead", duration()},
                 {"power", power()},
                 {"idle_power", power()}});
}

std::string network_schema() {
  const std::string protocol = object({{"base", duration()},
                                       {"ring_nvlink", duration()},
                                       {"ring_network", duration()},
                                       {"tree_nvlink", duration()},
                                       {"tree_network", duration()},
                                       {"launch", duration()}});
  // packet_corrected needs a transport, which jobs do not have.
  std::vector<const EntryDescription*> models;
  for (const auto& entry : network::network_model_catalog()) {
    if (entry.description.name != "packet_corrected") models.push_back(&entry.description);
  }
  return object({{"model", choice(models)},
                 {"transport", words({"ideal"})},
                 {"routing", choice(config::descriptions(topology::routing_catalog()))},
                 {"collectives", words({"coupled", "stepped"})},
                 {"reuse", boolean()},
                 {"priority", words({"none", "gradients_last"})},
                 {"protocol", protocol},
                 {"phases", integer(1)},
                 {"iterations_together", integer(1)}});
}

std::string policy_schema() {
  const auto catalogs = bridge::make_catalogs();
  const auto one_of = [](const auto& entries) {
    return choice(config::descriptions(scheduler::table(entries)));
  };
  const Members members{
      {"scheduler", one_of(catalogs->schedulers)},
      {"placement", one_of(catalogs->placements)},
      {"queue", one_of(catalogs->queues)},
      {"interval", duration()},
      {"decision_latency", duration()},
      {"collectives", collectives_schema()},
      {"reservation", one_of(catalogs->reservations)},
      {"predictor", one_of(catalogs->predictors)},
      {"checkpoint_interval", any_of({duration(), words({"young_daly"})})},
      {"checkpoint_cost", duration()},
      {"restart_cost", duration()},
      {"compression", choice(config::descriptions(workload::compression_catalog()))},
      {"traffic", choice(config::descriptions(cluster::traffic_catalog()))}};
  return any_of({object(members, {"placement"}), object(members, {"scheduler"})});
}

std::string job_profile_schema() {
  const std::string kind = object({{"name", text()},
                                   {"percent", number(0, 100)},
                                   {"gpus", map_of(number(0, 1e300), 1)},
                                   {"run_time_s", array_of(array_of(number(0, 1e300), 2), 2)}},
                                  {"name", "percent", "gpus", "run_time_s"});
  const std::string arrivals =
      object({{"cv", number(1, 1000)}, {"same_second_percent", number(0, 99)}}, {"cv"});
  return object({{"kind", words({"job_profile"})},
                 {"description", text()},
                 {"source", text()},
                 {"base", any_of({text(), map_of("true")})},
                 {"arrivals", arrivals},
                 {"types", array_of(kind, 1)}},
                {"kind", "arrivals"});
}

std::string job_trace_schema() {
  std::vector<const EntryDescription*> readers;
  for (const auto& reader : workload::job_reader_catalog()) readers.push_back(&reader.description);
  return any_of({text(), object({{"file", text()}, {"reader", choice(readers)}}, {"file"}),
                 object({{"profile", any_of({text(), job_profile_schema()})},
                         {"load", number(0, 1e3)},
                         {"span", duration()},
                         {"gpus", integer(1)},
                         {"seed", integer(0)}},
                        {"profile", "load", "span"})});
}

}  // namespace

std::string topology_schema() {
  return root("railyard topology", topology_body());
}
std::string workload_schema() {
  return root("railyard workload", workload_body());
}

std::string scenario_schema() {
  return root("railyard scenario",
              object({{"description", text()},
                      {"topology", any_of({text(), topology_body()})},
                      {"occupied", object({{"hosts_per_minipod", array_of(integer(0))},
                                           {"share", number(0, 1)},
                                           {"hosts", array_of(text())},
                                           {"free_hosts", array_of(text())}})},
                      {"gpu", any_of({text(), gpu_body()})},
                      {"jobs", array_of(job_input_schema())},
                      {"job_trace", job_trace_schema()},
                      {"arrival_scale", number(0, 1e6)},
                      {"diffusion", object({{"alpha", number(0, 1)}}, {"alpha"})},
                      {"network", network_schema()},
                      {"cost", cost_input_schema()},
                      {"quotas", object({{"users", map_of(integer(1))},
                                         {"each_user", integer(1)},
                                         {"groups", map_of(integer(1))},
                                         {"each_group", integer(1)}})},
                      {"drains", array_of(outage_schema(false))},
                      {"maintenance", array_of(outage_schema(true))},
                      {"failures", choice(config::descriptions(cluster::failure_catalog()))},
                      {"policies", map_of(policy_schema(), 1)},
                      {"baseline", text()},
                      {"horizon", duration()},
                      {"notes", array_of(text())},
                      {"seed", integer(0)}},
                     {"topology", "policies"}));
}

std::string sweep_schema() {
  const std::string range = object({{"from", number(-1e300, 1e300)},
                                    {"to", number(-1e300, 1e300)},
                                    {"scale", words({"linear", "log"})},
                                    {"whole", boolean()},
                                    {"unit", text()}},
                                   {"from", "to"});
  const std::string sample = object({{"points", integer(1)},
                                     {"seed", integer(0)},
                                     {"axes", map_of(any_of({array_of("true", 1), range}), 1)}},
                                    {"points", "axes"});
  return root(
      "railyard sweep",
      object(
          {{"description", text()},
           {"scenario", text()},
           {"grid", map_of(array_of("true", 1), 1)},
           {"points", array_of(map_of("true"), 1)},
           {"random", sample},
           {"latin_hypercube", sample},
           {"variables", map_of(text())},
           {"constraints", array_of(text())},
           {"seeds", any_of({array_of(integer(0), 1),
                             object({{"first", integer(0)}, {"count", integer(1)}}, {"count"})})}},
          {"description", "scenario"}));
}

}  // namespace railyard::cli
