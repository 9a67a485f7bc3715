// Any bytes as a trace of one reader (RAILYARD_READER), alone and as every rank of two: refused
// with errors that say something, or operations that match to a valid DAG or are refused in one
// line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/workload/trace_reader.hpp"

using namespace railyard;
using namespace railyard::workload;

namespace {

const TraceReaderEntry& reader() {
  for (const TraceReaderEntry& entry : trace_reader_catalog()) {
    if (entry.description.name == RAILYARD_READER) return entry;
  }
  RAILYARD_CHECK(false, "no trace reader {}", RAILYARD_READER);
  return trace_reader_catalog().front();
}

/// A short file may count many ranks ("all_gpus: 1000000"): that is no fault, but takes long.
bool counts_high(std::string_view text) {
  constexpr std::size_t kDigitsMax = 3;
  std::size_t digits = 0;
  for (const char letter : text) {
    digits = letter >= '0' && letter <= '9' ? digits + 1 : 0;
    if (digits > kDigitsMax) return true;
  }
  return false;
}

void check(const std::vector<TraceFile>& files, const config::Parameters& terms) {
  Trace trace;
  try {
    trace = reader().read(files, terms);
  } catch (const config::ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty() && !error.lines().front().empty(),
                   "refused without a word");
    return;
  }
  RAILYARD_CHECK(!trace.ranks.empty(), "neither ranks nor an error");
  if (trace.ranks.size() > 4096) return;
  for (const AbsentRanks absent : {AbsentRanks::refuse, AbsentRanks::join}) {
    try {
      match(trace, absent).validate();
    } catch (const config::ConfigError& error) {
      RAILYARD_CHECK(error.lines().size() == 1, "{} diagnoses", error.lines().size());
    }
  }
}

/// A packed file that is cut off is refused before anybody knows what it holds.
void recognise(const std::string& text) {
  try {
    static_cast<void>(recognise_trace({"fuzz", {}, text}));
  } catch (const config::ConfigError& error) {
    RAILYARD_CHECK(error.lines().size() == 1, "{} reasons", error.lines().size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const config::Choice choice =
      config::default_choice(RAILYARD_READER, {&reader().description});
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (RAILYARD_COUNTS && counts_high(text)) return 0;
  recognise(text);
  check({{"fuzz", {}, text}}, choice.parameters);
  if (reader().one_file_per_rank)
    check({{"fuzz.0.et", 0, text}, {"fuzz.1.et", 1, text}}, choice.parameters);
  return 0;
}
