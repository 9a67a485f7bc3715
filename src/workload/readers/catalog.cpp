#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "railyard/config/reader.hpp"
#include "railyard/config/text_lines.hpp"
#include "workload/readers/chakra_nodes.hpp"
#include "workload/readers/readers.hpp"

namespace railyard::workload {
namespace {

using config::ConfigError;
using config::ParameterSpec;
using config::ParameterType;
namespace fs = std::filesystem;

/// "dir/t.12.et.gz" is prefix "t", rank 12, ending ".et" (with ".gz" beside it).
struct RankedName {
  std::string prefix;
  std::uint32_t rank = 0;
  std::string ending;
};

std::optional<RankedName> ranked(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::size_t last = name.rfind('.');
  if (last == std::string::npos || last == 0) return std::nullopt;
  const std::size_t before = name.rfind('.', last - 1);
  if (before == std::string::npos) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(before + 1, last - before - 1);
  const auto rank = config::parse_integer(digits);
  if (!rank || *rank < 0 || *rank >= kTraceRanksMax || digits.front() == '+') return std::nullopt;
  return RankedName{name.substr(0, before), static_cast<std::uint32_t>(*rank), name.substr(last)};
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code fault;
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, fault)) {
    if (entry.is_regular_file(fault)) out.push_back(entry.path());
  }
  if (fault)
    throw IoError(fmt::format("{}: cannot be listed: {}", folder.string(), fault.message()));
  std::sort(out.begin(), out.end());
  return out;
}

/// The files beside `path` with this prefix and ending (empty: any that is the same for all).
std::vector<TraceFile> files_of(const fs::path& path, const std::string& prefix,
                                std::string ending) {
  std::vector<TraceFile> out;
  for (const fs::path& file : files_in(path.parent_path())) {
    const auto name = ranked(file.filename().string());
    if (!name || name->prefix != prefix) continue;
    if (ending.empty()) ending = name->ending;
    if (name->ending == ending) out.push_back({path.parent_path() / file.filename(), name->rank});
  }
  std::sort(out.begin(), out.end(), [](const TraceFile& a, const TraceFile& b) {
    return std::pair(*a.rank, a.path) < std::pair(*b.rank, b.path);
  });
  return out;
}

ParameterSpec ranks_parameter() {
  return {.name = "ranks",
          .type = ParameterType::integer,
          .fallback = "null",
          .help = "ranks in all, where the files do not say",
          .min = 1,
          .max = kTraceRanksMax};
}

/// The number of an octal field of a tar header.
std::uint64_t octal(std::string_view field) {
  std::uint64_t value = 0;
  for (const char c : field) {
    if (c >= '0' && c <= '7') value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

/// The files in a tar archive (POSIX ustar), packed or not; none where it is no archive.
std::vector<TraceFile> members_of(const fs::path& path) {
  constexpr std::size_t kBlock = 512;
  std::vector<TraceFile> out;
  config::ByteStream in = config::ByteStream::open(path);
  while (in.need(kBlock) && in.rest().substr(257, 5) == "ustar") {
    const std::string_view header = in.rest();
    const std::string_view name = header.substr(0, std::min(header.find('\0'), std::size_t{100}));
    const std::uint64_t size = octal(header.substr(124, 12));
    const fs::path member(name);
    const bool is_file = header[156] == '0' || header[156] == '\0';
    in.skip(kBlock);
    // Names with ._ in front are macOS's attributes of the file beside.
    if (is_file && size > 0 && !member.filename().string().starts_with("._")) {
      const auto rank = ranked(member.filename().string());
      out.push_back({path / member, rank ? std::optional(rank->rank) : std::nullopt});
      out.back().archive = path;
      out.back().offset = in.offset();
      out.back().size = size;
    }
    for (std::uint64_t left = (size + kBlock - 1) / kBlock * kBlock; left > 0 && in.fill();) {
      const std::uint64_t step = std::min<std::uint64_t>(left, in.rest().size());
      in.skip(static_cast<std::size_t>(step));
      left -= step;
    }
  }
  if (out.size() == 1) out.front().rank.reset();
  return out;
}

std::string head_of(const TraceFile& file) {
  constexpr std::size_t kHead = 4096;
  config::ByteStream in = file.open();
  static_cast<void>(in.need(kHead));
  return std::string(in.rest().substr(0, kHead));
}

}  // namespace

config::ByteStream TraceFile::open() const {
  if (text) return config::ByteStream::over(*text, path.string());
  config::ByteStream in = config::ByteStream::open(archive.empty() ? path : archive);
  if (!archive.empty()) {
    for (std::uint64_t left = offset; left > 0 && in.fill();) {
      const std::uint64_t step = std::min<std::uint64_t>(left, in.rest().size());
      in.skip(static_cast<std::size_t>(step));
      left -= step;
    }
    in.end_after(size);
  }
  return in;
}

std::span<const TraceReaderEntry> trace_reader_catalog() {
  static const std::vector<TraceReaderEntry> kTable{
      {{.name = "chakra",
        .summary = "Chakra execution traces in protobuf, <prefix>.<rank>.et",
        .parameters = chakra_parameters()},
       {".et"},
       &is_chakra,
       true,
       &read_chakra},
      {{.name = "chakra_json",
        .summary = "Chakra in JSON: workload_graph, protobuf-JSON, PyTorch's execution trace",
        .parameters = chakra_parameters()},
       {".json"},
       &is_chakra_json,
       true,
       &read_chakra_json},
      {{.name = "goal", .summary = "GOAL schedules of LogGOPSim in text", .parameters = {}},
       {".goal"},
       &is_goal,
       false,
       &read_goal},
      {{.name = "kineto",
        .summary = "PyTorch's profiler (Chrome trace events), a file a rank",
        .parameters = {ranks_parameter(),
                       ParameterSpec{.name = "gaps",
                                     .type = ParameterType::choice,
                                     .fallback = "\"keep\"",
                                     .help = "times in which a stream waited for the host",
                                     .choices = {"keep", "drop"}}}},
       {".pt.trace.json"},
       &is_kineto,
       true,
       &read_kineto},
      {{.name = "simai_workload",
        .summary = "text workloads of ASTRA-sim 1 and SimAI (AICB)",
        .parameters = {ranks_parameter(),
                       ParameterSpec{.name = "expand",
                                     .type = ParameterType::choice,
                                     .fallback = "\"auto\"",
                                     .help = "ranks that are written out: all, the first, or all "
                                             "where that is possible",
                                     .choices = {"auto", "all", "first"}}}},
       {".txt"},
       &is_simai_workload,
       false,
       &read_simai_workload},
  };
  return kTable;
}

std::vector<TraceFile> trace_files(const fs::path& path) {
  std::error_code fault;
  if (fs::is_directory(path, fault)) {
    std::vector<TraceFile> out;
    for (const fs::path& file : files_in(path)) {
      const auto name = ranked(file.filename().string());
      out.push_back({file, name ? std::optional(name->rank) : std::nullopt});
    }
    if (out.empty()) throw ConfigError(fmt::format("{}: an empty folder", path.string()));
    std::stable_sort(out.begin(), out.end(), [](const TraceFile& a, const TraceFile& b) {
      return a.rank.value_or(0) < b.rank.value_or(0);
    });
    return out;
  }
  if (fs::exists(path, fault)) {
    if (auto members = members_of(path); !members.empty()) return members;
    const auto name = ranked(path.filename().string());
    if (!name) return {{path, std::nullopt}};
    auto out = files_of(path, name->prefix, name->ending);
    // "trace-0.0.4.json" alone ends in a version, not in a rank.
    const char last = name->prefix.empty() ? ' ' : name->prefix.back();
    if (out.size() == 1 && last >= '0' && last <= '9') out.front().rank.reset();
    return out;
  }
  const bool has_folder = path.parent_path().empty() || fs::is_directory(path.parent_path(), fault);
  auto out = has_folder ? files_of(path, path.filename().string(), "") : std::vector<TraceFile>();
  if (out.empty())
    throw ConfigError(
        fmt::format("{}: no such file, nor {}.<rank>.et", path.string(), path.string()));
  return out;
}

const TraceReaderEntry* recognise_trace(const TraceFile& file) {
  const std::string head = head_of(file);
  for (const TraceReaderEntry& entry : trace_reader_catalog()) {
    if (entry.recognises(head)) return &entry;
  }
  std::string name = file.path.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const TraceReaderEntry& entry : trace_reader_catalog()) {
    for (const std::string_view ending : entry.endings) {
      if (name.ends_with(ending)) return &entry;
    }
  }
  return nullptr;
}

Trace read_trace(const fs::path& path, const config::Node& reader) {
  std::vector<TraceFile> files = trace_files(path);
  std::vector<const config::EntryDescription*> descriptions;
  for (const TraceReaderEntry& entry : trace_reader_catalog())
    descriptions.push_back(&entry.description);
  config::Choice choice;
  if (reader) {
    config::Errors errors;
    choice = config::decode_choice(reader, errors, "trace reader", descriptions);
    errors.throw_if_any();
  } else {
    const TraceReaderEntry* known = recognise_trace(files.front());
    if (known == nullptr)
      throw ConfigError(fmt::format("{}: no reader knows this file (railyard list trace_readers)",
                                    files.front().path.string()));
    choice = config::default_choice(known->description.name, descriptions);
  }
  for (const TraceReaderEntry& entry : trace_reader_catalog()) {
    if (entry.description.name != choice.name) continue;
    if (!entry.one_file_per_rank && fs::is_regular_file(path)) files = {{path, std::nullopt}};
    if (!entry.one_file_per_rank && files.size() > 1) {
      throw ConfigError(fmt::format("{}: a trace of {} is one file, here are {}", path.string(),
                                    choice.name, files.size()));
    }
    Trace trace = entry.read(files, choice.parameters);
    trace.format = choice.name;
    return trace;
  }
  throw ConfigError(fmt::format("no trace reader named {}", choice.name));
}

}  // namespace railyard::workload
