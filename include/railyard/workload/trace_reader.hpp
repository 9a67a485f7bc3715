// Readers of communication traces: one catalog, `railyard list trace_readers`.
//
// Files are read from front to back in blocks, packed by gzip or not; what stands in memory is the
// common form (trace.hpp), never a file's text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/byte_stream.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/workload/trace.hpp"

namespace railyard::workload {

/// A file of a trace: on disk, or a text in memory (tests).
struct TraceFile {
  std::filesystem::path path;
  std::optional<std::uint32_t> rank;  ///< by its name, "prefix.<rank>.et"
  std::optional<std::string> text{};
  // Of a member of a tar archive.
  std::filesystem::path archive{};
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  [[nodiscard]] config::ByteStream open() const;
};

struct TraceReaderEntry {
  config::EntryDescription description;
  std::vector<std::string_view> endings;      ///< of file names, without ".gz"
  bool (*recognises)(std::string_view head);  ///< the first 4 KiB, unpacked
  bool one_file_per_rank;
  Trace (*read)(std::span<const TraceFile> files, const config::Parameters& parameters);
};
[[nodiscard]] std::span<const TraceReaderEntry> trace_reader_catalog();

/// The files of a trace: the one named; or all "<prefix>.<n><ending>" where `path` is one of them
/// or their prefix; or all files of a folder, in order of their names.
[[nodiscard]] std::vector<TraceFile> trace_files(const std::filesystem::path& path);

/// The reader for this file by its content, or by its name where the content does not say; null
/// where none knows it.
[[nodiscard]] const TraceReaderEntry* recognise_trace(const TraceFile& file);

/// Reads a trace. `reader`: an entry's name or an object with its parameters; empty: whatever
/// recognises the file, with its defaults. Throws ConfigError.
[[nodiscard]] Trace read_trace(const std::filesystem::path& path, const config::Node& reader = {});

}  // namespace railyard::workload
