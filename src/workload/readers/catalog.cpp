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

std::string head_of(const TraceFile& file) {
  constexpr std::size_t kHead = 4096;
  config::ByteStream in = file.open();
  static_cast<void>(in.need(kHead));
  return std::string(in.rest().substr(0, kHead));
}

}  // namespace

config::ByteStream TraceFile::open() const {
  return text ? config::ByteStream::over(*text, path.string()) : config::ByteStream::open(path);
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
      {{.name = "goal", .summary = "GOAL schedules of LogGOPSim in text", .parameters = {}},
       {".goal"},
       &is_goal,
       false,
       &read_goal},
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
    const auto name = ranked(path.filename().string());
    if (!name) return {{path, std::nullopt}};
    return files_of(path, name->prefix, name->ending);
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
