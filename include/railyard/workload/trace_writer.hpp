// Writers of traces for other tools: one catalog, `railyard list trace_writers`.
//
// What a format cannot say is refused by name. Barriers become the dependencies they join; the
// order of tasks on a stream becomes dependencies.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "railyard/workload/iteration_dag.hpp"
#include "railyard/workload/recording.hpp"

namespace railyard::workload {

/// Opens the file of one rank, or the only one (rank 0), for writing.
using OpenTraceFile = std::function<std::unique_ptr<std::ostream>(std::uint32_t rank)>;

struct TraceWriterEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view ending;
  bool one_file_per_rank;  ///< "<out>.<rank><ending>"
  void (*write)(const Recording& recording, const OpenTraceFile& open);
};
[[nodiscard]] std::span<const TraceWriterEntry> trace_writer_catalog();

}  // namespace railyard::workload
