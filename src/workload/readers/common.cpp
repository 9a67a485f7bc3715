#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "railyard/config/document.hpp"
#include "railyard/config/text_lines.hpp"
#include "workload/readers/readers.hpp"

namespace railyard::workload {

using config::ConfigError;

void refuse_time(double value, const std::string& place) {
  throw ConfigError(
      fmt::format("{}: a time of {} is negative or beyond the clock of 1,064 days", place, value));
}

std::uint32_t TraceGroups::add(std::string_view name, std::vector<Rank> ranks) {
  const auto fresh = static_cast<std::uint32_t>(groups_.size());
  for (const Rank rank : ranks)
    ranks_named_ = std::max(ranks_named_, static_cast<std::uint32_t>(rank) + 1);
  const auto [at, inserted] = index_.try_emplace({std::string(name), std::move(ranks)}, fresh);
  if (inserted) groups_.push_back({std::string(name), at->first.second});
  return at->second;
}

std::vector<TraceGroup> TraceGroups::finish(std::uint32_t ranks, const std::string& trace) {
  for (TraceGroup& group : groups_) {
    if (group.ranks.empty()) {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) group.ranks.push_back(Rank{rank});
    }
    std::vector<Rank> sorted = group.ranks;
    std::sort(sorted.begin(), sorted.end());
    if (static_cast<std::uint32_t>(sorted.back()) >= ranks) {
      throw ConfigError(fmt::format("{}: group \"{}\" holds rank {}, but there are {} ranks", trace,
                                    group.name, index(sorted.back()), ranks));
    }
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      throw ConfigError(fmt::format("{}: group \"{}\" holds a rank twice", trace, group.name));
  }
  return std::move(groups_);
}

std::uint32_t count_ranks(std::span<const TraceFile> files, const config::Parameters& terms,
                          std::uint32_t named) {
  std::vector<std::uint32_t> found;
  for (const TraceFile& file : files) found.push_back(file.rank.value_or(0));
  std::sort(found.begin(), found.end());
  if (const auto twice = std::adjacent_find(found.begin(), found.end()); twice != found.end()) {
    throw ConfigError(
        fmt::format("{}: two files are of rank {}; files of one rank each are named "
                    "\"prefix.<rank>.et\"",
                    trace_name(files), *twice));
  }
  std::uint32_t ranks = std::max(named, found.back() + 1);
  if (terms.has_value("ranks")) {
    const auto given = static_cast<std::uint32_t>(terms.get<std::int64_t>("ranks"));
    if (given < ranks) {
      throw ConfigError(fmt::format("{}: ranks={}, but the trace names rank {}", trace_name(files),
                                    given, ranks - 1));
    }
    ranks = given;
  }
  if (ranks > kTraceRanksMax)
    throw ConfigError(
        fmt::format("{}: {} ranks; at most {}", trace_name(files), ranks, kTraceRanksMax));
  return ranks;
}

TorchCall torch_call(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  for (const std::string_view prefix : {"nccl:", "c10d::"}) {
    if (plain.starts_with(prefix)) plain.erase(0, prefix.size());
  }
  using collective::Operation;
  static constexpr std::pair<std::string_view, Operation> kOperations[] = {
      {"allreduce", Operation::all_reduce},         {"allgather", Operation::all_gather},
      {"reducescatter", Operation::reduce_scatter}, {"broadcast", Operation::broadcast},
      {"alltoall", Operation::all_to_all},
  };
  TorchCall call;
  call.is_wait = plain == "wait" || plain == "init" || plain.starts_with("pg:");
  if (plain == "send") call.kind = TraceKind::send;
  if (plain == "recv") call.kind = TraceKind::receive;
  if (plain == "barrier") call.kind = TraceKind::barrier;
  for (const auto& [word, operation] : kOperations) {
    if (!plain.starts_with(word)) continue;
    const std::string_view rest = std::string_view(plain).substr(word.size());
    if (rest.empty() || rest == "base" || rest == "v" || rest == "vbase" || rest == "coalesced" ||
        rest == "intotensor" || rest == "tensor" || rest == "single" ||
        rest == "intotensorcoalesced" || rest == "tensorcoalesced" || rest == "sparse") {
      call.kind = TraceKind::collective;
      call.operation = operation;
    }
  }
  return call;
}

std::int64_t torch_dtype_bytes(std::string_view dtype) {
  static constexpr std::pair<std::string_view, std::int64_t> kBytes[] = {
      {"Double", 8}, {"Long", 8},  {"Float", 4}, {"Int", 4},  {"BFloat16", 2},
      {"Half", 2},   {"Short", 2}, {"Byte", 1},  {"Char", 1}, {"Bool", 1}};
  for (const auto& [name, bytes] : kBytes) {
    if (name == dtype) return bytes;
  }
  return dtype.starts_with("Float8") ? 1 : 0;
}

std::string trace_name(std::span<const TraceFile> files) {
  std::string name = files.front().path.string();
  if (!files.front().rank) return name;
  const std::size_t folder = name.rfind('/');
  const std::size_t from = folder == std::string::npos ? 0 : folder + 1;
  const std::string middle = fmt::format(".{}.", *files.front().rank);
  const std::size_t at = name.find(middle, from);
  return at == std::string::npos ? name : name.substr(0, at);
}

}  // namespace railyard::workload
