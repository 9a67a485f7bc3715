// What ails a job, as a trouble table has it: symptom, cause, remedy. The table is data; whether a
// symptom is there, and which of its causes, is read off the job's results: the parts of its
// iteration, where its groups lie, who shared its links, how often it lost its GPUs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/metrics/run_result.hpp"

namespace railyard::metrics {

enum class Symptom : std::uint8_t { low_busy_share, unstable_speed, latency_spread };

struct SymptomDescription {
  Symptom symptom{};
  std::string_view key;
  std::string_view title;
  double bound = 0;         ///< of a cause's measure
  bool below = false;       ///< it is there below the bound; else above
  std::string_view reason;  ///< why this bound
};
[[nodiscard]] std::span<const SymptomDescription> symptom_catalog();

struct CauseDescription {
  Symptom symptom{};
  std::string_view key;
  std::string_view title;
  std::string_view measure;  ///< what is compared with the symptom's bound
  std::string_view part;     ///< what `Finding::part` is
  std::string_view remedy;
};
[[nodiscard]] std::span<const CauseDescription> cause_catalog();

/// A symptom that a job shows, with the one cause that weighs most.
struct Finding {
  const SymptomDescription* symptom = nullptr;
  const CauseDescription* cause = nullptr;
  std::string job;
  double value = 0;        ///< a share: 0.1 is 10 %
  double part = 0;         ///< how much of it is the cause's; a share, or a number of times
  std::uint32_t jobs = 1;  ///< of the policy set, with this symptom from this cause
};

/// Of one job, in the order of the catalog. A job whose results do not say (one that never ran, a
/// recorded job's parts of an iteration) shows nothing.
[[nodiscard]] std::vector<Finding> findings_of(const JobResult& job);
/// Of a policy set: for every symptom and cause the job that has it worst.
[[nodiscard]] std::vector<Finding> findings_of(const PolicyResult& policy);

}  // namespace railyard::metrics
