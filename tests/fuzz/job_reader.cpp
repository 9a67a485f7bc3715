// Any bytes as a job trace of every reader: refused with errors that say something, or jobs that
// our own CSV holds. The csv reader is given the columns of its sample, lingjun the workers of its.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/workload/job_reader.hpp"

using namespace railyard;
using namespace railyard::workload;

namespace {

std::vector<config::Document> readers() {
  std::vector<config::Document> out;
  for (const JobReaderEntry& entry : job_reader_catalog()) {
    const std::string name(entry.description.name);
    std::string text = config::json_string(name);
    if (name == "csv") {
      text = R"({"name": "csv", "job": "id", "submit": "born", "gpus": "ngpu", "duration": "ran",
                 "user": "who", "separator": ";"})";
    } else if (name == "lingjun") {
      text = R"({"name": "lingjun", "workers": ")" RAILYARD_SOURCE_DIR
             R"(/tests/fuzz/seeds/jobs/worker.csv"})";
    }
    out.push_back(config::Document::parse_text(text, "reader"));
  }
  return out;
}

void read(const std::string& text, const config::Document& reader) {
  try {
    const JobTrace trace = read_jobs({"fuzz", text}, reader.root());
    RAILYARD_CHECK(!trace.jobs.empty(), "neither jobs nor an error");
    std::ostringstream out;
    write_job_csv(out, trace.jobs);
    const JobTrace again = read_jobs({"again", out.str()});
    RAILYARD_CHECK(again.jobs.size() == trace.jobs.size(), "{} of {} jobs came back",
                   again.jobs.size(), trace.jobs.size());
  } catch (const config::ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty() && !error.lines().front().empty(),
                   "refused without a word");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<config::Document> kReaders = readers();
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const config::Document& reader : kReaders) read(text, reader);
  return 0;
}
