// What a result's JSON is put together from.
#pragma once

#include "railyard/metrics/run_result.hpp"
#include "railyard/report/json_writer.hpp"

namespace railyard::report {

/// Opens an object with what says of which run it is: version, scenario, seed, digest.
void open_result(JsonWriter& json, const metrics::RunResult& result);
/// "metrics": { … }, with the attribution at its place in the contract.
void add_metrics(JsonWriter& json, const metrics::PolicyResult& policy);

}  // namespace railyard::report
