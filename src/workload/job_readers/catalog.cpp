#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/file.hpp"
#include "railyard/config/reader.hpp"
#include "workload/job_readers/common.hpp"

namespace railyard::workload {
namespace {

bool never(std::string_view /*head*/) {
  return false;
}

std::vector<config::ParameterSpec> with_states(std::vector<config::ParameterSpec> parameters = {}) {
  parameters.push_back(states_parameter());
  return parameters;
}

std::string head_of(const JobFile& file) {
  constexpr std::size_t kHead = 4096;
  config::ByteStream in = file.open();
  static_cast<void>(in.need(kHead));
  return std::string(in.rest().substr(0, kHead));
}

}  // namespace

std::string JobFile::contents() const {
  return text ? *text : config::read_file(path);
}

config::ByteStream JobFile::open() const {
  return text ? config::ByteStream::over(*text, path.string()) : config::ByteStream::open(path);
}

std::span<const JobReaderEntry> job_reader_catalog() {
  static const std::vector<JobReaderEntry> kTable{
      {{"acme", "AcmeTrace's trace_seren.csv and trace_kalos.csv (NSDI'24)", with_states()},
       &is_acme,
       &read_acme},
      {{"csv", "any table with a row a job, its columns named", with_states(csv_jobs_parameters())},
       &never,
       &read_csv_jobs},
      {{"gavel_philly", "arrivals and sizes of Philly as Gavel has them, in one table",
        gavel_philly_parameters()},
       &is_gavel_philly,
       &read_gavel_philly},
      {{"helios", "Helios' cluster_log.csv (SC'21)", with_states()}, &is_helios, &read_helios},
      {{"job_csv", "our own CSV, which `trace convert` and `trace generate` write", {}},
       &is_job_csv,
       &read_job_csv},
      {{"lingjun", "job.csv and worker.csv of Alibaba's Lingjun 2023 (SIGCOMM'24)",
        lingjun_parameters()},
       &is_lingjun,
       &read_lingjun},
      {{"pai", "pai_task_table.csv of Alibaba's PAI 2020 (NSDI'22)", with_states()},
       &is_pai,
       &read_pai},
      {{"philly", "cluster_job_log of Microsoft's Philly (ATC'19), JSON", with_states()},
       &is_philly,
       &read_philly},
      {{"sacct", "what Slurm prints by `sacct -P`", with_states()}, &is_sacct, &read_sacct},
      {{"swf", "standard workload format of the Parallel Workloads Archive", swf_parameters()},
       &is_swf,
       &read_swf},
  };
  return kTable;
}

const JobReaderEntry* recognise_jobs(const JobFile& file) {
  const std::string head = head_of(file);
  for (const JobReaderEntry& entry : job_reader_catalog()) {
    if (entry.recognises(head)) return &entry;
  }
  return nullptr;
}

JobTrace read_jobs(const JobFile& file, const config::Node& reader) {
  std::vector<const config::EntryDescription*> descriptions;
  for (const JobReaderEntry& entry : job_reader_catalog())
    descriptions.push_back(&entry.description);
  config::Choice choice;
  if (reader) {
    config::Errors errors;
    choice = config::decode_choice(reader, errors, "job reader", descriptions);
    errors.throw_if_any();
  } else {
    const JobReaderEntry* known = recognise_jobs(file);
    // What nobody knows is most likely our own with a column left out: its reader says which.
    choice = config::default_choice(known == nullptr ? "job_csv" : known->description.name,
                                    descriptions);
  }
  for (const JobReaderEntry& entry : job_reader_catalog()) {
    if (entry.description.name != choice.name) continue;
    JobTrace trace = entry.read(file, choice.parameters);
    trace.format = choice.name;
    return trace;
  }
  throw config::ConfigError(fmt::format("no job reader named {}", choice.name));
}

}  // namespace railyard::workload
