// Readers of job traces: one catalog, `railyard list job_readers`.
//
// Rows that hold no such values are refused by file, line and column. Rows that are in order but no
// jobs of GPUs that ran (CPU jobs, jobs still queued, steps of jobs) are skipped, counted by
// reason. Times become seconds after the first submission.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "railyard/config/byte_stream.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/workload/job_stream.hpp"

namespace railyard::workload {

/// A file of a trace: on disk, packed by gzip or not, or a text in memory (tests).
struct JobFile {
  std::filesystem::path path;
  std::optional<std::string> text{};
  [[nodiscard]] std::string contents() const;
  [[nodiscard]] config::ByteStream open() const;
};

struct JobReaderEntry {
  config::EntryDescription description;
  bool (*recognises)(std::string_view head);  ///< the first 4 KiB, unpacked
  JobTrace (*read)(const JobFile& file, const config::Parameters& parameters);
};
[[nodiscard]] std::span<const JobReaderEntry> job_reader_catalog();

/// The reader for this file by its content; null where none knows it.
[[nodiscard]] const JobReaderEntry* recognise_jobs(const JobFile& file);

/// Reads a job trace. `reader`: an entry's name or an object with its parameters; empty: whatever
/// recognises the file, with its defaults. Throws ConfigError naming file, line and column, or
/// IoError.
[[nodiscard]] JobTrace read_jobs(const JobFile& file, const config::Node& reader = {});

}  // namespace railyard::workload
