#include "trace_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "output.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"
#include "railyard/workload/trace_reader.hpp"
#include "railyard/workload/trace_writer.hpp"

namespace railyard::cli {
namespace {

namespace fs = std::filesystem;
using workload::Trace;
using workload::TraceKind;

bool is_recording(const std::string& path) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) return false;
  config::ByteStream in = config::ByteStream::open(path);
  static_cast<void>(in.need(256));
  const std::string_view head = config::trimmed(in.rest().substr(0, 256));
  return head.starts_with('{') && head.find("\"kind\"") != std::string_view::npos &&
         head.find("\"recording\"") != std::string_view::npos;
}

workload::AbsentRanks absent_ranks(const CommandLine& line) {
  const std::string word = line.text("absent").value_or("refuse");
  if (word == "refuse") return workload::AbsentRanks::refuse;
  if (word == "join") return workload::AbsentRanks::join;
  throw config::ConfigError(
      unknown(fmt::format("--absent: \"{}\" is no way to treat ranks without a file", word), word,
              {"refuse", "join"}));
}

Trace read_foreign(const CommandLine& line, const std::string& path) {
  const auto given = line.text("reader");
  if (!given) return workload::read_trace(path);
  const bool is_object = given->starts_with('{');
  const auto document =
      config::Document::parse_text(is_object ? *given : config::json_string(*given), "--reader");
  return workload::read_trace(path, document.root());
}

std::string recording_text(const workload::Recording& recording) {
  static constexpr std::array<std::string_view, 5> kKinds{"compute", "collective", "send",
                                                          "barrier", "host"};
  std::array<std::size_t, kKinds.size()> count{};
  for (const auto& task : recording.dag.tasks) ++count.at(static_cast<std::size_t>(task.kind));
  std::string out = fmt::format("{}\n{} ranks, {} tasks, {} dependencies, ends after {} s\n",
                                recording.description, recording.dag.ranks,
                                recording.dag.tasks.size(), recording.dag.dependencies.size(),
                                in_seconds(workload::last_end(recording.times)));
  for (std::size_t i = 0; i < count.size(); ++i)
    out += fmt::format("  {:<10} {}\n", kKinds.at(i), count.at(i));
  return out;
}

std::string foreign_text(const Trace& trace) {
  struct Sum {
    std::size_t operations = 0;
    double bytes = 0;
    double seconds = 0;
  };
  std::map<std::string_view, Sum> sums;
  std::size_t present = 0;
  for (const workload::RankTrace& rank : trace.ranks) {
    present += rank.present ? 1U : 0U;
    for (const workload::TraceOperation& one : rank.operations) {
      static constexpr std::array<std::string_view, 5> kKinds{"compute", "send", "receive", "",
                                                              "barrier"};
      const bool collective = one.kind == TraceKind::collective;
      Sum& sum = sums[collective ? collective::name(one.operation)
                                 : kKinds.at(static_cast<std::size_t>(one.kind))];
      ++sum.operations;
      sum.bytes += static_cast<double>(one.size.count());
      sum.seconds += in_seconds(one.duration);
    }
  }
  std::string out = fmt::format("{}: {} trace of {} ranks, {} of them with operations given\n",
                                trace.name, trace.format, trace.ranks.size(), present);
  for (const auto& [kind, sum] : sums) {
    out += fmt::format("  {:<14} {:>9} operations", kind, sum.operations);
    out += sum.bytes > 0 ? fmt::format(", {:.0f} bytes", sum.bytes) : std::string();
    out += sum.seconds > 0 ? fmt::format(", {:.9g} s", sum.seconds) : std::string();
    out += '\n';
  }
  for (const workload::TraceGroup& group : trace.groups)
    out += fmt::format("  group \"{}\" of {} ranks\n", group.name, group.ranks.size());
  for (const std::string& note : trace.notes) out += fmt::format("  note: {}\n", note);
  return out;
}

}  // namespace

ReadTrace read_any_trace(const CommandLine& line, const std::string& path, bool matched) {
  ReadTrace out;
  if (is_recording(path)) {
    for (const char* option : {"reader", "absent"}) {
      if (line.has(option))
        throw config::ConfigError(fmt::format("--{}: {} is a recording of our own", option, path));
    }
    out.recording = workload::read_recording(path);
    return out;
  }
  const auto absent = absent_ranks(line);
  out.foreign = read_foreign(line, path);
  if (!matched) return out;
  out.recording.description = fmt::format("{}, read as {}", path, out.foreign->format);
  out.recording.dag = workload::match(*out.foreign, absent);
  return out;
}

std::string trace_text(const ReadTrace& trace) {
  return trace.foreign ? foreign_text(*trace.foreign) : recording_text(trace.recording);
}

std::string convert_trace(const workload::Recording& recording, const std::string& format,
                          const std::string& out) {
  const auto parent = fs::path(out).parent_path();
  if (!parent.empty()) prepare_folder(parent);
  if (format == "recording") {
    std::ostringstream text;
    workload::write_recording(text, recording);
    write_file(out, text.str());
    return fmt::format("{}: {}", out, recording_text(recording));
  }
  std::vector<std::string_view> known{"recording"};
  for (const auto& writer : workload::trace_writer_catalog()) {
    known.push_back(writer.name);
    if (writer.name != format) continue;
    std::vector<std::string> names;
    const auto open = [&](std::uint32_t rank) {
      names.push_back(writer.one_file_per_rank ? fmt::format("{}.{}{}", out, rank, writer.ending)
                                               : out);
      auto file = std::make_unique<std::ofstream>(names.back(), std::ios::binary);
      if (!*file) throw IoError(fmt::format("{}: cannot be written", names.back()));
      file->exceptions(std::ios::badbit);
      return file;
    };
    writer.write(recording, open);
    return fmt::format("{} and {} more files, {} ranks\n", names.front(), names.size() - 1,
                       recording.dag.ranks);
  }
  throw config::ConfigError(
      unknown(fmt::format("--to: \"{}\" is no format of traces", format), format, known));
}

}  // namespace railyard::cli
