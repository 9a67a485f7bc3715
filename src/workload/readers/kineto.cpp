// PyTorch's profiler (Kineto, Chrome trace events), one file a rank: kernels on the GPU's streams,
// those of NCCL with their arguments (PyTorch 2.2 and later: "Collective name", "In msg nelems",
// "dtype", "Process Group Ranks", …).
//
// A profile says when kernels ran, not why. Here a kernel waits for the one before it on its stream
// and, of every other stream, for the last that had ended when it began; it begins as long after
// the last of these as it did in the profile (the host launching), unless gaps=drop. A kernel of
// NCCL takes what the simulated network says: the profile's duration holds waiting for others.
// Times are microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "railyard/config/json_stream.hpp"
#include "railyard/config/text_lines.hpp"
#include "workload/readers/readers.hpp"

namespace railyard::workload {
namespace {

using config::ConfigError;
using config::JsonStream;

/// What a kernel of NCCL says of itself.
struct Call {
  TorchCall what;
  std::int64_t bytes = 0;
  std::int64_t in_elements = 0;
  std::string collective;
  std::string dtype;
  std::string group;
  std::string group_ranks;
  std::int64_t group_size = 0;
  std::optional<std::int64_t> source;
  std::optional<std::int64_t> destination;
};

constexpr std::uint32_t kNoCall = UINT32_MAX;

struct Kernel {
  std::uint64_t line = 0;
  double begin_us = 0;
  double duration_us = 0;
  std::int64_t stream = 0;
  std::uint32_t name = 0;        ///< into KinetoFile::names
  std::uint32_t call = kNoCall;  ///< into KinetoFile::calls
};

/// What a file says of its rank.
struct RankInfo {
  std::optional<std::int64_t> rank;
  std::int64_t world = 0;
  std::map<std::string, std::vector<Rank>> groups;  ///< pg_config
};

std::optional<std::vector<Rank>> ranks_in(std::string_view text) {
  // "[0, 1, 2]"; a long list is cut with "...".
  if (text.size() < 2 || text.find("...") != std::string_view::npos) return std::nullopt;
  std::vector<Rank> out;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto rank = config::parse_integer(config::trimmed(text.substr(0, comma)));
    if (!rank || *rank < 0 || *rank >= kTraceRanksMax) return std::nullopt;
    out.push_back(Rank{static_cast<std::uint32_t>(*rank)});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (out.empty()) return std::nullopt;
  return out;
}

class KinetoFile {
 public:
  explicit KinetoFile(const TraceFile& file) : json_(file.open()) {}

  void read() {
    if (json_.peek() == JsonStream::Kind::array) {
      events();
    } else {
      json_.object([&](std::string_view key) {
        if (key == "traceEvents") {
          events();
        } else if (key == "distributedInfo") {
          info();
        } else {
          json_.skip();
        }
      });
    }
    json_.finish();
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const Kernel& a, const Kernel& b) { return a.begin_us < b.begin_us; });
  }

  RankInfo rank_info;
  std::vector<Kernel> kernels;
  std::vector<Call> calls;
  std::vector<std::string> names;

 private:
  void info() {
    json_.object([&](std::string_view key) {
      if (key == "rank") {
        rank_info.rank = json_.integer();
      } else if (key == "world_size") {
        rank_info.world = json_.integer().value_or(0);
      } else if (key == "pg_config" && json_.peek() == JsonStream::Kind::array) {
        json_.array([&] { group(); });
      } else {
        json_.skip();
      }
    });
  }

  void group() {
    std::string name;
    std::vector<Rank> ranks;
    json_.object([&](std::string_view key) {
      if (key == "pg_name") {
        name = json_.scalar();
      } else if (key == "ranks" && json_.peek() == JsonStream::Kind::array) {
        json_.array([&] {
          const auto rank = json_.integer().value_or(-1);
          if (rank < 0 || rank >= kTraceRanksMax) json_.fail("a rank out of range");
          ranks.push_back(Rank{static_cast<std::uint32_t>(rank)});
        });
      } else {
        json_.skip();
      }
    });
    rank_info.groups[name] = std::move(ranks);
  }

  void events() {
    json_.array([&] {
      Kernel kernel;
      kernel.line = ++event_;
      call_ = {};
      name_.clear();
      category_.clear();
      phase_.clear();
      json_.object([&](std::string_view key) {
        if (key == "ph") {
          text(phase_);
        } else if (key == "cat") {
          text(category_);
        } else if (key == "name") {
          text(name_);
        } else if (key == "ts") {
          kernel.begin_us = json_.number();
        } else if (key == "dur") {
          kernel.duration_us = json_.number();
        } else if (key == "args" && json_.peek() == JsonStream::Kind::object) {
          arguments(kernel);
        } else {
          json_.skip();
        }
      });
      keep(kernel);
    });
  }

  /// A string, without taking memory anew.
  void text(std::string& out) {
    if (json_.peek() == JsonStream::Kind::string) {
      out.assign(json_.string());
    } else {
      json_.skip();
    }
  }

  void arguments(Kernel& kernel) {
    json_.object([&](std::string_view key) {
      if (key == "stream") {
        kernel.stream = config::parse_integer(json_.scalar()).value_or(0);
      } else if (key == "Collective name") {
        call_.collective = json_.scalar();
      } else if (key == "In msg nelems") {
        call_.in_elements = json_.integer().value_or(0);
      } else if (key == "dtype") {
        call_.dtype = json_.scalar();
      } else if (key == "Group size") {
        call_.group_size = json_.integer().value_or(0);
      } else if (key == "Process Group Name") {
        call_.group = json_.scalar();
      } else if (key == "Process Group Ranks") {
        group_ranks();
      } else if (key == "Src Rank") {
        call_.source = config::parse_integer(json_.scalar());
      } else if (key == "Dst Rank") {
        call_.destination = config::parse_integer(json_.scalar());
      } else {
        json_.skip();
      }
    });
  }

  void group_ranks() {
    if (json_.peek() != JsonStream::Kind::array) {
      call_.group_ranks = json_.scalar();
      return;
    }
    json_.array(
        [&] { call_.group_ranks += (call_.group_ranks.empty() ? "" : ",") + json_.scalar(); });
    call_.group_ranks = "[" + call_.group_ranks + "]";
  }

  void keep(Kernel& kernel) {
    const bool on_gpu = category_ == "kernel" || category_ == "Kernel" ||
                        category_ == "gpu_memcpy" || category_ == "gpu_memset";
    if (phase_ != "X" || !on_gpu) return;
    if (!(kernel.duration_us >= 0) || !(kernel.begin_us >= 0) || kernel.begin_us > 1e17) {
      json_.fail(
          fmt::format("event {} {}: a time out of range", kernel.line, config::quoted(name_)));
    }
    const bool is_nccl = name_.starts_with("nccl");
    if (is_nccl || !call_.collective.empty()) {
      call_.what = torch_call(call_.collective);
      if (!call_.what.kind) {
        json_.fail(fmt::format(
            "event {} {}: \"Collective name\" is {}: a kernel of NCCL must say what it does; "
            "profile with PyTorch 2.2 or later",
            kernel.line, config::quoted(name_), config::quoted(call_.collective)));
      }
      const std::int64_t bytes = torch_dtype_bytes(call_.dtype);
      if (*call_.what.kind != TraceKind::barrier &&
          (bytes == 0 || call_.in_elements < 0 || call_.in_elements > kTraceBytesMax / bytes)) {
        json_.fail(fmt::format("event {} {}: no size: dtype {}, In msg nelems {}", kernel.line,
                               config::quoted(name_), config::quoted(call_.dtype),
                               call_.in_elements));
      }
      call_.bytes = call_.in_elements * bytes;
    }
    if (call_.what.kind) {
      kernel.call = static_cast<std::uint32_t>(calls.size());
      calls.push_back(call_);
    }
    const auto [at, fresh] =
        name_numbers_.try_emplace(name_, static_cast<std::uint32_t>(names.size()));
    if (fresh) names.push_back(name_);
    kernel.name = at->second;
    kernels.push_back(kernel);
  }

  JsonStream json_;
  std::uint64_t event_ = 0;
  // Of the event being read.
  Call call_;
  std::string name_;
  std::string category_;
  std::string phase_;
  std::map<std::string, std::uint32_t, std::less<>> name_numbers_;
};

/// The kernels of a rank as operations.
class RankBuilder {
 public:
  RankBuilder(const KinetoFile& file, RankTrace& rank, TraceGroups& groups, bool keep_gaps)
      : file_(file), rank_(rank), groups_(groups), keep_gaps_(keep_gaps) {}

  void build() {
    for (const Kernel& kernel : file_.kernels) add(kernel);
  }

 private:
  struct Last {
    std::uint16_t stream = 0;
    /// Of its operations: when they ended and which they are, in order.
    std::vector<std::pair<double, std::uint32_t>> ends;
  };

  [[nodiscard]] const std::string& name_of(const Kernel& kernel) const {
    return file_.names[kernel.name];
  }
  [[nodiscard]] std::uint32_t group_of(const Kernel& kernel, const Call& call) {
    if (const auto ranks = ranks_in(call.group_ranks)) return groups_.add(call.group, *ranks);
    if (const auto known = file_.rank_info.groups.find(call.group);
        known != file_.rank_info.groups.end() && !known->second.empty())
      return groups_.add(call.group, known->second);
    if (call.group_size == 0 || call.group_size == file_.rank_info.world)
      return groups_.add("world", {});
    throw ConfigError(fmt::format(
        "{}: event {} {}: the ranks of group {} are not stated: neither "
        "\"Process Group Ranks\" in full nor pg_config",
        rank_.file, kernel.line, config::quoted(name_of(kernel)), config::quoted(call.group)));
  }

  /// The last operation of a stream that had ended at `time`; on its own stream simply the last.
  static std::optional<std::pair<double, std::uint32_t>> before(const Last& stream, double time,
                                                                bool own) {
    if (stream.ends.empty()) return std::nullopt;
    if (own) return stream.ends.back();
    const auto after =
        std::upper_bound(stream.ends.begin(), stream.ends.end(), std::pair(time, UINT32_MAX));
    if (after == stream.ends.begin()) return std::nullopt;
    return *(after - 1);
  }

  void add(const Kernel& kernel) {
    const auto fresh = static_cast<std::uint16_t>(streams_.size());
    if (streams_.size() == UINT16_MAX) throw ConfigError(rank_.file + ": too many streams");
    Last& own = streams_.try_emplace(kernel.stream, Last{fresh, {}}).first->second;
    std::vector<TraceDependency> on;
    double ready = -1;
    for (auto& [number, stream] : streams_) {
      const auto last = before(stream, kernel.begin_us, &stream == &own);
      if (!last) continue;
      ready = std::max(ready, last->first);
      on.push_back({last->second, false});
    }
    const double gap = ready < 0 ? 0 : kernel.begin_us - ready;
    if (keep_gaps_ && gap > 0) {
      TraceOperation idle;
      idle.id = kernel.line;
      idle.stream = own.stream;
      idle.duration = trace_time(gap, kTicksPerMicrosecond, [&] { return rank_.file; });
      rank_.add(idle, "launch");
      rank_.depend(rank_.operations.size() - 1, on);
      on = {{static_cast<std::uint32_t>(rank_.operations.size() - 1), false}};
    }
    rank_.add(operation(kernel, own.stream), name_of(kernel));
    const auto at = static_cast<std::uint32_t>(rank_.operations.size() - 1);
    rank_.depend(at, on);
    const double end = kernel.begin_us + kernel.duration_us;
    own.ends.emplace_back(own.ends.empty() ? end : std::max(end, own.ends.back().first), at);
  }

  TraceOperation operation(const Kernel& kernel, std::uint16_t stream) {
    TraceOperation out;
    out.id = kernel.line;
    out.stream = stream;
    if (kernel.call == kNoCall) {
      out.duration =
          trace_time(kernel.duration_us, kTicksPerMicrosecond, [&] { return rank_.file; });
      return out;
    }
    const Call& call = file_.calls[kernel.call];
    out.kind = *call.what.kind;
    out.operation = call.what.operation;
    out.size = Bytes(call.bytes);
    if (out.kind == TraceKind::send || out.kind == TraceKind::receive) {
      const auto peer = out.kind == TraceKind::send ? call.destination : call.source;
      if (!peer || *peer < 0 || *peer >= kTraceRanksMax)
        throw ConfigError(fmt::format("{}: event {} {}: \"{}\" is missing", rank_.file, kernel.line,
                                      config::quoted(name_of(kernel)),
                                      out.kind == TraceKind::send ? "Dst Rank" : "Src Rank"));
      out.peer = static_cast<std::uint32_t>(*peer);
      groups_.expect(out.peer);
      return out;
    }
    out.group = group_of(kernel, call);
    return out;
  }

  const KinetoFile& file_;
  RankTrace& rank_;
  TraceGroups& groups_;
  bool keep_gaps_;
  std::map<std::int64_t, Last> streams_;
};

}  // namespace

bool is_kineto(std::string_view head) {
  const auto has = [&](std::string_view part) { return head.find(part) != std::string_view::npos; };
  return has("\"traceEvents\"") || (has("\"ph\"") && has("\"ts\"")) ||
         (has("\"schemaVersion\"") && has("\"deviceProperties\""));
}

Trace read_kineto(std::span<const TraceFile> files, const config::Parameters& terms) {
  Trace trace;
  trace.name = trace_name(files);
  const bool keep_gaps = terms.get<std::string>("gaps") == "keep";
  TraceGroups groups;
  std::vector<TraceFile> ranked;
  std::uint32_t named = 0;
  for (const TraceFile& file : files) {
    KinetoFile reader(file);
    reader.read();
    ranked.push_back({file.path, file.rank, {}});
    if (const auto stated = reader.rank_info.rank) {
      if (*stated < 0 || *stated >= kTraceRanksMax)
        throw ConfigError(fmt::format("{}: rank {} cannot be", file.path.string(), *stated));
      ranked.back().rank = static_cast<std::uint32_t>(*stated);
    }
    const std::uint32_t rank = ranked.back().rank.value_or(0);
    named = std::max(named, static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                reader.rank_info.world, rank + 1, kTraceRanksMax)));
    if (trace.ranks.size() <= rank) trace.ranks.resize(rank + 1);
    RankTrace& out = trace.ranks[rank];
    if (out.present)
      throw ConfigError(fmt::format("{}: two files are of rank {}", trace.name, rank));
    out.file = file.path.string();
    out.id_word = "event";
    out.present = true;
    RankBuilder(reader, out, groups, keep_gaps).build();
  }
  const std::uint32_t ranks = count_ranks(ranked, terms, std::max(named, groups.ranks_named()));
  trace.ranks.resize(ranks);
  trace.groups = groups.finish(ranks, trace.name);
  for (RankTrace& rank : trace.ranks) {
    for (TraceOperation& one : rank.operations) {
      if (one.kind != TraceKind::collective || one.operation != collective::Operation::all_gather)
        continue;
      one.size = one.size * static_cast<std::int64_t>(trace.groups[one.group].ranks.size());
    }
  }
  return trace;
}

}  // namespace railyard::workload
