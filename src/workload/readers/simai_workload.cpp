// Text workloads of ASTRA-sim 1 and SimAI: a header of keys, a number of layers, a row a layer.
//
//   HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1 all_gpus: 16 checkpoints: 0 …
//   2
//   name -1 <fwd ns> <comm> <bytes> <input grad ns> <comm> <bytes> <weight grad ns> <comm> <bytes>
//        <update ns> [policy of the layer]
//
// Header values are found by key, never by place: generations of the format differ in which they
// have. Times are nanoseconds, sizes whole buffers, also of an all-gather (its result). Comm types:
// NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL; with _EP or _DP_EP in those groups, else
// forward and input gradient in the tensor group, weight gradient in the data group. Rank = tensor
// + TP · (expert + EP · rest): the experts of a group are neighbours among the data ranks.
//
// The loop is ASTRA-sim's: forward, layer by layer, each waiting for its communication; then from
// the last layer back the input gradient, its communication beside the weight gradient, whose own
// communication nobody waits for but the update. At a layer of checkpoint_initiates the layers from
// the last one of checkpoints on run forward once more.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "railyard/config/text_lines.hpp"
#include "workload/readers/readers.hpp"

namespace railyard::workload {
namespace {

using collective::Operation;
using config::ConfigError;

constexpr std::string_view kPolicies[] = {"MICRO",
                                          "DATA",
                                          "MODEL",
                                          "HYBRID_DATA_MODEL",
                                          "HYBRID_MODEL_DATA",
                                          "HYBRID_TRANSFORMER",
                                          "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                          "HYBRID_CUSTOMIZED",
                                          "HYBRID_DLRM",
                                          "HYBRID_DLRM_ENHANCED",
                                          "DISTRIBUTED_INFERENCE"};
/// Operations of all ranks together that are still expanded.
constexpr std::uint64_t kExpandedMax = 20'000'000;

enum Family : std::uint8_t { tensor, data, expert, data_of_experts, world, families };
constexpr std::string_view kFamilyNames[families] = {"tensor", "data", "expert", "data of experts",
                                                     "world"};

struct Communication {
  std::optional<Operation> operation;
  Family family = tensor;
  Bytes size;
};

/// One of the three parts of a layer.
struct Part {
  Duration compute{};
  Communication communication;
};

struct Layer {
  std::uint32_t name = 0;  ///< into SimaiReader::names_
  std::uint32_t line = 0;
  Part forward;
  Part input_gradient;
  Part weight_gradient;
  Duration update{};
};

/// How the ranks form groups.
struct Layout {
  std::uint32_t ranks = 1;
  std::uint32_t tensor = 1;
  std::uint32_t expert = 1;
  std::uint32_t pipeline = 1;

  [[nodiscard]] std::uint32_t stage() const { return ranks / pipeline; }
  [[nodiscard]] std::vector<Rank> group(Family family, std::uint32_t rank) const {
    const std::uint32_t first = rank / stage() * stage();  // of its stage
    const std::uint32_t in_stage = rank - first;
    const std::uint32_t t = in_stage % tensor;
    const std::uint32_t d = in_stage / tensor;
    const std::uint32_t replicas = stage() / tensor;
    std::vector<Rank> out;
    const auto add = [&](std::uint32_t of_tensor, std::uint32_t of_data) {
      out.push_back(Rank{first + of_tensor + tensor * of_data});
    };
    switch (family) {
      case Family::tensor:
        for (std::uint32_t i = 0; i < tensor; ++i) add(i, d);
        break;
      case Family::data:
        for (std::uint32_t i = 0; i < replicas; ++i) add(t, i);
        break;
      case Family::expert:
        for (std::uint32_t i = 0; i < expert; ++i) add(t, d / expert * expert + i);
        break;
      case data_of_experts:
        for (std::uint32_t i = d % expert; i < replicas; i += expert) add(t, i);
        break;
      case world:
      case families:
        for (std::uint32_t i = 0; i < ranks; ++i) out.push_back(Rank{i});
        break;
    }
    return out;
  }
};

class SimaiReader {
 public:
  SimaiReader(const TraceFile& file, const config::Parameters& terms)
      : lines_(file.open()), terms_(terms) {
    trace_.name = lines_.name();
  }

  Trace read() {
    read_header();
    read_layers();
    layout();
    build_first();
    expand();
    return std::move(trace_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw ConfigError(fmt::format("{}: {}", lines_.place(), what));
  }

  std::int64_t integer(std::string_view word, std::string_view what, std::int64_t most) const {
    const auto value = config::parse_integer(word);
    if (!value || *value < 0 || *value > most)
      fail(fmt::format("expected {} from 0 to {}, found {}", what, most, config::quoted(word)));
    return *value;
  }

  void read_header() {
    std::string_view line;
    if (!lines_.next(line)) fail("is empty");
    const auto words = config::words_of(line);
    if (words.empty()) fail("expected a policy");
    policy_ = std::string(words[0]);
    if (std::find(std::begin(kPolicies), std::end(kPolicies), policy_) == std::end(kPolicies))
      fail(fmt::format("policy {} is unknown", config::quoted(policy_)));
    if (policy_.starts_with("HYBRID_DLRM"))
      fail(fmt::format("policy {} is not simulated: its embedding layers overlap otherwise",
                       policy_));
    std::vector<std::int64_t>* values = nullptr;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (const auto number = config::parse_integer(word)) {
        if (values == nullptr) fail(fmt::format("{} belongs to no key", config::quoted(word)));
        values->push_back(*number);
        continue;
      }
      // Keys end in a colon, but for the pp_comm of some files.
      values = &header_[std::string(word.ends_with(':') ? word.substr(0, word.size() - 1) : word)];
      if (!values->empty()) fail(fmt::format("key {} stands here twice", config::quoted(word)));
    }
    for (const auto& [key, list] : header_) {
      static constexpr std::string_view kKnown[] = {
          "model_parallel_NPU_group", "ep",     "pp", "vpp", "ga", "all_gpus", "checkpoints",
          "checkpoint_initiates",     "pp_comm"};
      if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown))
        trace_.notes.push_back(fmt::format("header key \"{}\" is not used", key));
    }
  }

  [[nodiscard]] std::optional<std::int64_t> header(const std::string& key) const {
    const auto at = header_.find(key);
    if (at == header_.end()) return std::nullopt;
    if (at->second.size() != 1)
      throw ConfigError(fmt::format("{}:1: expected one number after {}", lines_.name(), key));
    return at->second.front();
  }

  /// "checkpoints: 2 0 24": a count, then layers.
  [[nodiscard]] std::vector<bool> listed(const std::string& key) const {
    std::vector<bool> out(layers_.size(), false);
    const auto at = header_.find(key);
    if (at == header_.end() || at->second.empty()) return out;
    const auto& list = at->second;
    if (list[0] != static_cast<std::int64_t>(list.size()) - 1)
      throw ConfigError(fmt::format("{}:1: {}: {} announced, {} given", lines_.name(), key, list[0],
                                    list.size() - 1));
    for (std::size_t i = 1; i < list.size(); ++i) {
      if (list[i] < 0 || static_cast<std::size_t>(list[i]) >= layers_.size())
        throw ConfigError(
            fmt::format("{}:1: {}: there is no layer {}", lines_.name(), key, list[i]));
      out[static_cast<std::size_t>(list[i])] = true;
    }
    return out;
  }

  Communication communication(std::string_view type, std::string_view size, Family family) const {
    Communication out;
    out.family = family;
    out.size = Bytes(integer(size, "a number of bytes", kTraceBytesMax));
    if (type.ends_with("_DP_EP")) {
      out.family = data_of_experts;
      type.remove_suffix(6);
    } else if (type.ends_with("_EP")) {
      out.family = expert;
      type.remove_suffix(3);
    }
    if (type == "ALLREDUCE") {
      out.operation = Operation::all_reduce;
    } else if (type == "ALLGATHER") {
      out.operation = Operation::all_gather;
    } else if (type == "REDUCESCATTER") {
      out.operation = Operation::reduce_scatter;
    } else if (type == "ALLTOALL") {
      out.operation = Operation::all_to_all;
    } else if (type != "NONE") {
      fail(fmt::format("communication {} is unknown", config::quoted(type)));
    }
    return out;
  }

  Part part(const std::vector<std::string_view>& words, std::size_t at, Family family) const {
    const auto ns = integer(words[at], "nanoseconds", INT64_MAX / 2);
    return {
        trace_time(static_cast<double>(ns), kTicksPerNanosecond, [&] { return lines_.place(); }),
        communication(words[at + 1], words[at + 2], family)};
  }

  std::uint32_t number_of(std::string_view name) {
    const auto found = name_numbers_.find(name);
    if (found != name_numbers_.end()) return found->second;
    const auto fresh = static_cast<std::uint32_t>(names_.size());
    name_numbers_.emplace(name, fresh);
    names_.emplace_back(name);
    return fresh;
  }

  void read_layers() {
    std::string_view line;
    if (!lines_.next(line)) fail("expected the number of layers");
    const auto count = integer(config::trimmed(line), "a number of layers", 100'000'000);
    while (lines_.next(line)) {
      const auto words = config::words_of(line);
      if (words.empty()) continue;
      const std::size_t columns = policy_ == "HYBRID_CUSTOMIZED" ? 13 : 12;
      if (words.size() != columns)
        fail(fmt::format("expected {} columns under policy {}, found {}", columns, policy_,
                         words.size()));
      const std::string_view policy = columns == 13 ? words[12] : std::string_view(policy_);
      const bool all = policy == "MICRO" || policy == "MODEL";
      Layer layer;
      layer.name = number_of(words[0]);
      layer.line = lines_.number();
      layer.forward = part(words, 2, all ? world : tensor);
      layer.input_gradient = part(words, 5, all ? world : tensor);
      layer.weight_gradient = part(words, 8, policy == "DATA" || all ? world : data);
      const auto update = integer(words[11], "nanoseconds", INT64_MAX / 2);
      layer.update = trace_time(static_cast<double>(update), kTicksPerNanosecond,
                                [&] { return lines_.place(); });
      layers_.push_back(std::move(layer));
    }
    if (static_cast<std::int64_t>(layers_.size()) != count)
      throw ConfigError(
          fmt::format("{}:2: {} layers announced, {} given", lines_.name(), count, layers_.size()));
  }

  void layout() {
    const auto positive = [&](const char* key, std::int64_t fallback) {
      const std::int64_t value = header(key).value_or(fallback);
      if (value < 1 || value > kTraceRanksMax)
        throw ConfigError(fmt::format("{}:1: {} {}: expected 1 to {}", lines_.name(), key, value,
                                      kTraceRanksMax));
      return static_cast<std::uint32_t>(value);
    };
    layout_.tensor = positive("model_parallel_NPU_group", 1);
    layout_.expert = positive("ep", 1);
    layout_.pipeline = positive("pp", 1);
    if (terms_.has_value("ranks")) {
      layout_.ranks = static_cast<std::uint32_t>(terms_.get<std::int64_t>("ranks"));
    } else {
      layout_.ranks = positive("all_gpus", layout_.tensor);
      if (!header_.contains("all_gpus"))
        trace_.notes.push_back(
            "the header does not say all_gpus: taken as the tensor group; ranks "
            "says otherwise");
    }
    const std::uint64_t unit = std::uint64_t{layout_.tensor} * layout_.expert * layout_.pipeline;
    if (layout_.ranks % unit != 0) {
      throw ConfigError(fmt::format(
          "{}:1: {} ranks are no multiple of tensor {} × expert {} × pipeline {}", lines_.name(),
          layout_.ranks, layout_.tensor, layout_.expert, layout_.pipeline));
    }
  }

  std::uint32_t add(const Layer& layer, TraceOperation operation, std::string_view what,
                    std::initializer_list<std::uint32_t> after) {
    operation.id = layer.line;
    name_.assign(names_[layer.name]).append(1, ' ').append(what);
    first_.add(operation, name_);
    TraceDependency on[2];
    std::size_t count = 0;
    for (const std::uint32_t before : after) {
      if (before != kNothing) on[count++] = {before, false};
    }
    first_.depend(first_.operations.size() - 1, std::span(on, count));
    return static_cast<std::uint32_t>(first_.operations.size() - 1);
  }

  std::uint32_t compute(const Layer& layer, Duration duration, std::string_view what,
                        std::initializer_list<std::uint32_t> after, std::uint16_t stream = 0) {
    TraceOperation operation;
    operation.duration = duration;
    operation.stream = stream;
    return add(layer, operation, what, after);
  }

  /// The communication of a part; what it waits for where there is none.
  std::uint32_t communicate(const Layer& layer, const Communication& what, std::string_view name,
                            std::uint32_t after) {
    if (!what.operation || what.size <= Bytes(0)) return after;
    TraceOperation operation;
    operation.kind = TraceKind::collective;
    operation.operation = *what.operation;
    operation.size = what.size;
    operation.group = what.family;  // a family for now
    used_[what.family] = true;
    return add(layer, operation, name, {after});
  }

  std::uint32_t forward(const Layer& layer, std::uint32_t after) {
    const auto computed = compute(layer, layer.forward.compute, "forward", {after});
    return communicate(layer, layer.forward.communication, "forward communication", computed);
  }

  void build_first() {
    const auto checkpoints = listed("checkpoints");
    const auto initiates = listed("checkpoint_initiates");
    std::uint32_t chain = kNothing;
    std::uint32_t beside = kNothing;  // communication that the next layer waits for, too
    for (const Layer& layer : layers_) chain = forward(layer, chain);
    if (policy_ == "DISTRIBUTED_INFERENCE") return;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const Layer& layer = layers_[i];
      if (policy_ == "HYBRID_TRANSFORMER_FWD_IN_BCKWD" && initiates[i]) {
        std::size_t from = i;
        while (from > 0 && !checkpoints[from]) --from;
        for (std::size_t again = from; again <= i; ++again) {
          const Layer& redone = layers_[again];
          const auto computed =
              compute(redone, redone.forward.compute, "recompute", {chain, beside});
          beside = kNothing;
          chain = communicate(redone, redone.forward.communication, "recompute communication",
                              computed);
        }
      }
      const auto input =
          compute(layer, layer.input_gradient.compute, "input gradient", {chain, beside});
      beside = communicate(layer, layer.input_gradient.communication,
                           "input gradient communication", input);
      chain = compute(layer, layer.weight_gradient.compute, "weight gradient", {input});
      const auto gathered = communicate(layer, layer.weight_gradient.communication,
                                        "weight gradient communication", chain);
      if (layer.update > Duration{}) compute(layer, layer.update, "update", {gathered}, 1);
    }
  }

  void expand() {
    const std::string expand = terms_.get<std::string>("expand");
    const std::uint64_t all = std::uint64_t{layout_.ranks} * first_.operations.size();
    const bool possible = layout_.pipeline == 1 && all <= kExpandedMax;
    if (expand == "all" && !possible) {
      throw ConfigError(
          layout_.pipeline > 1
              ? fmt::format("{}: pp: {}: the file does not say which layers are whose stage's; "
                            "expand=first reads rank 0 alone",
                            lines_.name(), layout_.pipeline)
              : fmt::format("{}: {} operations of {} ranks are more than {}; expand=first reads "
                            "rank 0 alone",
                            lines_.name(), first_.operations.size(), layout_.ranks, kExpandedMax));
    }
    const std::uint32_t present = expand == "first" || !possible ? 1 : layout_.ranks;
    if (present < layout_.ranks) {
      trace_.notes.push_back(fmt::format(
          "only rank 0 of {} is read; --absent join lets the others take part in what it does",
          layout_.ranks));
    }
    if (layout_.pipeline > 1)
      trace_.notes.push_back("messages between pipeline stages (pp_comm) are left out");
    layers_ = {};
    TraceGroups groups;
    first_.file = lines_.name();
    first_.id_word = "line";
    first_.present = true;
    trace_.ranks.resize(layout_.ranks);
    for (std::uint32_t rank = 0; rank < present; ++rank) {
      std::uint32_t group_of[families] = {};
      for (std::uint8_t family = 0; family < families; ++family) {
        if (used_[family])
          group_of[family] =
              groups.add(kFamilyNames[family], layout_.group(static_cast<Family>(family), rank));
      }
      if (rank + 1 < present) {
        trace_.ranks[rank] = first_;
      } else {
        trace_.ranks[rank] = std::move(first_);
      }
      for (TraceOperation& operation : trace_.ranks[rank].operations)
        operation.group = group_of[operation.group];
    }
    trace_.groups = groups.finish(layout_.ranks, trace_.name);
  }

  static constexpr std::uint32_t kNothing = UINT32_MAX;
  config::LineStream lines_;
  const config::Parameters& terms_;
  std::string policy_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> header_;
  BlockVector<Layer> layers_;
  std::vector<std::string> names_;  ///< of layers, each once
  std::map<std::string, std::uint32_t, std::less<>> name_numbers_;
  std::string name_;
  Layout layout_;
  RankTrace first_;
  bool used_[families] = {};
  Trace trace_;
};

}  // namespace

bool is_simai_workload(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  const auto words = config::words_of(line);
  return !words.empty() &&
         std::find(std::begin(kPolicies), std::end(kPolicies), words[0]) != std::end(kPolicies);
}

Trace read_simai_workload(std::span<const TraceFile> files, const config::Parameters& terms) {
  return SimaiReader(files.front(), terms).read();
}

}  // namespace railyard::workload
