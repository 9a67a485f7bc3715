// What a result's JSON is put together from.
#pragma once

#include "railyard/metrics/run_result.hpp"
#include "railyard/report/json_writer.hpp"

namespace railyard::report {

/// "metrics": { … }, with the attribution at its place in the contract.
void add_metrics(JsonWriter& json, const metrics::PolicyResult& policy);

}  // namespace railyard::report
