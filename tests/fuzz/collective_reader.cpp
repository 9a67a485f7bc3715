// Any bytes as a collective in a file (RAILYARD_READER: read_step_list, read_msccl): refused with
// words, or messages that a group can run, whose phases carry the same bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collective/files/step_program.hpp"
#include "railyard/collective/file.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

using namespace railyard;
using namespace railyard::collective;

namespace {

void check_bytes(const FileCollective& file, std::int64_t size) {
  const Request request{file.operation, Bytes(size), {}};
  const GroupShape shape = GroupShape::flat(file.ranks);
  if (!file.algorithm->refusal(request, shape).empty()) return;
  const Schedule schedule = file.algorithm->schedule(request, shape);
  Bytes stepped;
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& transfer = schedule.transfers[i];
    stepped += transfer.size;
    for (std::uint32_t d = 0; d < transfer.dependency_count; ++d) {
      RAILYARD_CHECK(schedule.dependencies[transfer.first_dependency + d] < i,
                     "message {} waits for a later one", i);
    }
  }
  Bytes coupled;
  for (const CoupledPhase& phase : file.algorithm->coupled(request, shape).phases) {
    for (const CoupledEdge& edge : phase.edges) coupled += edge.size;
  }
  RAILYARD_CHECK(stepped == coupled, "{} bytes in steps, {} in phases", stepped.count(),
                 coupled.count());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    static_cast<void>(RAILYARD_READER(text, "fuzz"));
    const FileCollective file = read_collective(text, "fuzz");
    for (const std::int64_t bytes : {1, 1000, 65'536}) check_bytes(file, bytes);
  } catch (const config::ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty(), "refused without a word");
  }
  return 0;
}
