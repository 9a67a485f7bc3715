#include "workload/readers/chakra_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "railyard/config/json_stream.hpp"
#include "railyard/config/text_lines.hpp"
#include "workload/chakra_numbers.hpp"

namespace railyard::workload {
namespace {

using collective::Operation;
using config::ConfigError;
using config::ParameterSpec;
using config::ParameterType;

/// Streams of a rank: computations of one run one at a time.
struct Stream {
  static constexpr std::uint16_t gpu = 0, cpu = 1, memory = 2, none = 3;
};

constexpr std::string_view kCommNames[] = {
    "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
    "all-to-all", "reduce-scatter", "reduce-scatter-block", "barrier"};

std::optional<Operation> operation_of(std::int64_t comm_type) {
  switch (comm_type) {
    case chakra::kAllReduce:
      return Operation::all_reduce;
    case chakra::kAllGather:
      return Operation::all_gather;
    case chakra::kBroadcast:
      return Operation::broadcast;
    case chakra::kAllToAll:
      return Operation::all_to_all;
    case chakra::kReduceScatter:
    case chakra::kReduceScatterBlock:
      return Operation::reduce_scatter;
    default:
      return std::nullopt;
  }
}

/// A list of ranks in JSON.
std::vector<Rank> read_ranks(config::JsonStream& json) {
  std::vector<Rank> ranks;
  json.array([&] {
    const auto rank = json.integer();
    if (!rank || *rank < 0 || *rank >= kTraceRanksMax)
      json.fail(fmt::format("a rank is a whole number below {}", kTraceRanksMax));
    ranks.push_back(Rank{static_cast<std::uint32_t>(*rank)});
  });
  return ranks;
}

}  // namespace

void ChakraNode::clear() {
  ChakraNode fresh;
  fresh.name = std::move(name);
  fresh.dependencies = std::move(dependencies);
  fresh.metadata = std::move(metadata);
  fresh.group = std::move(group);
  *this = std::move(fresh);
  name.clear();
  dependencies.clear();
  metadata.clear();
  group.clear();
}

std::vector<ParameterSpec> chakra_parameters() {
  return {
      ParameterSpec{.name = "ranks",
                    .type = ParameterType::integer,
                    .fallback = "null",
                    .help = "ranks in all, where not every one has a file",
                    .min = 1,
                    .max = kTraceRanksMax},
      ParameterSpec{.name = "is_cpu_op",
                    .type = ParameterType::boolean,
                    .fallback = "false",
                    .help = "of nodes that do not say: old feeders mean true, new ones false"},
      ParameterSpec{.name = "dangling",
                    .type = ParameterType::choice,
                    .fallback = "\"refuse\"",
                    .help = "dependencies on nodes that are not there",
                    .choices = {"refuse", "ignore"}},
      ParameterSpec{.name = "groups",
                    .type = ParameterType::path,
                    .fallback = "null",
                    .help = "comm_group.json: {\"<pg_name>\": [rank, …]}"},
      ParameterSpec{.name = "peak_tflops",
                    .type = ParameterType::real,
                    .fallback = "null",
                    .help = "of computations that state num_ops and no duration",
                    .min = 1e-3,
                    .max = 1e9},
      ParameterSpec{.name = "memory_bandwidth",
                    .type = ParameterType::bandwidth,
                    .fallback = "null",
                    .help = "their other bound, by tensor_size; without it peak_tflops alone"},
  };
}

ChakraTerms::ChakraTerms(const config::Parameters& parameters)
    : is_cpu_op(parameters.get<bool>("is_cpu_op")),
      ignore_dangling(parameters.get<std::string>("dangling") == "ignore") {
  constexpr double kTicks = static_cast<double>(kTicksPerSecond);
  if (parameters.has_value("peak_tflops"))
    flops_per_tick = parameters.get<double>("peak_tflops") * 1e12 / kTicks;
  if (parameters.has_value("memory_bandwidth")) {
    const auto bandwidth = parameters.get<Bandwidth>("memory_bandwidth");
    memory_bytes_per_tick = static_cast<double>(bandwidth.bytes_per_s()) / kTicks;
  }
}

ChakraTrace::ChakraTrace(std::span<const TraceFile> files, const config::Parameters& parameters)
    : files_(files), parameters_(parameters), terms_(parameters) {
  trace_.name = trace_name(files);
  if (parameters.has_value("groups")) read_groups(parameters.get<std::string>("groups"));
}

/// comm_group.json: {"<group>": [rank, …]}.
void ChakraTrace::read_groups(const std::filesystem::path& path) {
  config::JsonStream json(config::ByteStream::open(path));
  json.object([&](std::string_view key) {
    const std::string name(key);
    std::vector<Rank> ranks = read_ranks(json);
    if (ranks.empty()) json.fail(fmt::format("group \"{}\" has no ranks", name));
    if (!shared_groups_.try_emplace(name, std::move(ranks)).second)
      json.fail(fmt::format("group \"{}\" stands here twice", name));
  });
  json.finish();
}

void ChakraTrace::begin_rank(std::uint32_t rank, const std::string& file) {
  if (trace_.ranks.size() <= rank) trace_.ranks.resize(rank + 1);
  rank_ = &trace_.ranks[rank];
  rank_->file = file;
  rank_->id_word = "node";
  rank_->present = true;
  rank_groups_.clear();
  group_numbers_.clear();
  pending_.clear();
}

std::string ChakraTrace::place(const ChakraNode& node) const {
  return fmt::format("{}: node {} {}", rank_->file, node.id, config::quoted(node.name));
}

void ChakraTrace::fail(const ChakraNode& node, const std::string& what) const {
  throw ConfigError(fmt::format("{}: {}", place(node), what));
}

void ChakraTrace::define_group(std::string_view name, std::vector<Rank> ranks) {
  rank_groups_[std::string(name)] = std::move(ranks);
}

/// The JSON list in the metadata node process_group:init: [{"pg_name": …, "ranks": […]}, …].
void ChakraTrace::read_process_groups(const ChakraNode& node) {
  // inputs.values may be the list itself or a list that holds it as a string.
  config::JsonStream json(config::ByteStream::over(node.metadata, place(node)));
  json.array([&] {
    if (json.peek() == config::JsonStream::Kind::string) {
      ChakraNode inner;
      inner.id = node.id;
      inner.name = node.name;
      inner.metadata = std::string(json.string());
      read_process_groups(inner);
      return;
    }
    std::string name;
    std::optional<std::int64_t> number;
    std::vector<Rank> ranks;
    json.object([&](std::string_view key) {
      if (key == "pg_name") {
        name = json.scalar();
      } else if (key == "backend_id") {
        number = config::parse_integer(json.scalar());
      } else if (key == "ranks") {
        ranks = read_ranks(json);
      } else if (key == "group_size") {
        const auto size = json.integer().value_or(0);
        if (size > 0 && size <= kTraceRanksMax) expect_ranks(static_cast<std::uint32_t>(size));
      } else {
        json.skip();
      }
    });
    if (number) group_numbers_[*number] = name;
    define_group(name, std::move(ranks));
  });
}

std::uint32_t ChakraTrace::group_of(const ChakraNode& node) {
  if (const auto own = rank_groups_.find(node.group); own != rank_groups_.end())
    return groups_.add(own->first, own->second);
  if (const auto shared = shared_groups_.find(node.group); shared != shared_groups_.end())
    return groups_.add(shared->first, shared->second);
  if (node.group.empty() || node.group == "0") return groups_.add("world", {});
  fail(node,
       fmt::format("group \"{}\" is not defined: give its ranks in groups=comm_group.json, or "
                   "in a metadata node process_group:init",
                   node.group));
}

/// Duration where stated, else the roofline over num_ops and tensor_size, as ASTRA-sim:
/// num_ops / min(peak, bandwidth · num_ops / tensor_size).
Duration ChakraTrace::compute_time(const ChakraNode& node) {
  if (node.ticks)
    return trace_time(static_cast<double>(*node.ticks), 1, [&] { return place(node); });
  if (node.duration_micros > 0 || node.num_ops <= 0)
    return trace_time(static_cast<double>(node.duration_micros), kTicksPerMicrosecond,
                      [&] { return place(node); });
  if (!terms_.flops_per_tick) {
    ++without_duration_;
    return {};
  }
  double ticks = static_cast<double>(node.num_ops) / *terms_.flops_per_tick;
  if (terms_.memory_bytes_per_tick)
    ticks = std::max(ticks, static_cast<double>(node.tensor_size) / *terms_.memory_bytes_per_tick);
  return trace_time(ticks, 1, [&] { return place(node); });
}

void ChakraTrace::add_collective(const ChakraNode& node, TraceOperation& operation) {
  operation.kind = TraceKind::collective;
  if (!node.comm_type) fail(node, "a collective without attribute comm_type");
  const std::int64_t type = *node.comm_type;
  operation.group = group_of(node);
  if (type == chakra::kBarrier) {
    operation.kind = TraceKind::barrier;
    return;
  }
  const auto known = operation_of(type);
  if (!known) {
    const bool named = type >= 0 && type <= chakra::kBarrier;
    fail(node, fmt::format("comm_type {}{} is not simulated; 0, 2, 5, 6, 7, 8 and 9 are", type,
                           named ? fmt::format(" ({})", kCommNames[type]) : ""));
  }
  operation.operation = *known;
  if (!node.comm_size) fail(node, "a collective without attribute comm_size");
  operation.size = Bytes(*node.comm_size);
}

void ChakraTrace::add_message(const ChakraNode& node, TraceOperation& operation) {
  const bool sends = node.type == chakra::kSend;
  operation.kind = sends ? TraceKind::send : TraceKind::receive;
  const auto& peer = sends ? node.comm_destination : node.comm_source;
  if (!peer) fail(node, fmt::format("without attribute {}", sends ? "comm_dst" : "comm_src"));
  if (*peer < 0 || *peer >= kTraceRanksMax) fail(node, fmt::format("rank {} cannot be", *peer));
  if (!node.comm_size) fail(node, "a message without attribute comm_size");
  if (node.comm_tag < 0 || node.comm_tag > UINT32_MAX)
    fail(node, fmt::format("tag {} is out of range", node.comm_tag));
  operation.peer = static_cast<std::uint32_t>(*peer);
  operation.tag = static_cast<std::uint32_t>(node.comm_tag);
  operation.size = Bytes(*node.comm_size);
  expect_ranks(operation.peer + 1);
}

void ChakraTrace::add(const ChakraNode& node) {
  if (node.type > chakra::kCollective) fail(node, fmt::format("type {} is unknown", node.type));
  if (node.comm_size && (*node.comm_size < 0 || *node.comm_size > kTraceBytesMax))
    fail(node, fmt::format("comm_size {} is out of range", *node.comm_size));
  TraceOperation operation;
  operation.id = node.id;
  if (node.type == chakra::kCollective) {
    add_collective(node, operation);
  } else if (node.type == chakra::kSend || node.type == chakra::kReceive) {
    add_message(node, operation);
  } else if (node.type <= chakra::kMetadata) {
    operation.stream = Stream::none;
    if (node.type == chakra::kMetadata && node.name.find("process_group:init") != std::string::npos)
      read_process_groups(node);
  } else {
    const bool is_memory = node.type < 4;
    const bool on_cpu = node.is_cpu_op.value_or(terms_.is_cpu_op);
    operation.stream = is_memory ? Stream::memory : on_cpu ? Stream::cpu : Stream::gpu;
    operation.duration = compute_time(node);
  }
  operation.first_dependency = pending_.size();
  operation.dependency_count = static_cast<std::uint32_t>(node.dependencies.size());
  pending_.insert(pending_.end(), node.dependencies.begin(), node.dependencies.end());
  rank_->add(operation, node.name);
}

/// Turns ids into positions.
void ChakraTrace::end_rank() {
  auto& operations = rank_->operations;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  places.reserve(operations.size());
  for (std::uint32_t i = 0; i < operations.size(); ++i) places.emplace_back(operations[i].id, i);
  std::sort(places.begin(), places.end());
  const auto twice = std::adjacent_find(places.begin(), places.end(),
                                        [](auto& a, auto& b) { return a.first == b.first; });
  if (twice != places.end())
    throw ConfigError(fmt::format("{}: two nodes have id {}", rank_->file, twice->first));
  auto& out = rank_->dependencies;
  out.reserve(pending_.size());
  for (TraceOperation& operation : operations) {
    const std::uint64_t from = operation.first_dependency;
    operation.first_dependency = out.size();
    for (std::uint64_t d = from; d < from + operation.dependency_count; ++d) {
      const auto found = std::lower_bound(places.begin(), places.end(), std::pair(pending_[d], 0U));
      if (found != places.end() && found->first == pending_[d]) {
        out.push_back({found->second, false});
      } else if (terms_.ignore_dangling) {
        ++dangling_;
      } else {
        throw ConfigError(fmt::format(
            "{}: node {} {} waits for node {}, which is not there; dangling=ignore drops such "
            "dependencies",
            rank_->file, operation.id, config::quoted(rank_->name(operation)), pending_[d]));
      }
    }
    operation.dependency_count =
        static_cast<std::uint32_t>(out.size() - operation.first_dependency);
  }
}

Trace ChakraTrace::finish() {
  const std::uint32_t ranks =
      count_ranks(files_, parameters_, std::max(ranks_, groups_.ranks_named()));
  trace_.ranks.resize(ranks);
  trace_.groups = groups_.finish(ranks, trace_.name);
  for (RankTrace& rank : trace_.ranks) {
    for (TraceOperation& operation : rank.operations) {
      if (operation.kind != TraceKind::collective || operation.operation != Operation::all_gather)
        continue;
      const auto members = static_cast<std::int64_t>(trace_.groups[operation.group].ranks.size());
      operation.size = operation.size * members;
    }
  }
  if (without_duration_ > 0) {
    trace_.notes.push_back(fmt::format(
        "{} computations state num_ops and no duration; they take no time unless peak_tflops is "
        "given",
        without_duration_));
  }
  if (dangling_ > 0)
    trace_.notes.push_back(fmt::format("{} dependencies on missing nodes dropped", dangling_));
  for (const auto& [what, count] : left_out_)
    trace_.notes.push_back(fmt::format("{} {}", count, what));
  return std::move(trace_);
}

}  // namespace railyard::workload
