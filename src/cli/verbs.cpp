#include "verbs.hpp"

#include <array>

#include "command_line.hpp"

namespace railyard::cli {

namespace {

constexpr std::array<Verb, 20> kVerbs{{
    {"run", "simulates every policy set of a scenario and compares them", run_options, run},
    {"explain", "why a job waited, why it is where it is, why its iteration takes that long",
     explain_options, explain},
    {"sweep", "runs a scenario over a grid or list of settings and seeds", sweep_options, sweep},
    {"compare", "two or more results side by side, the first is the baseline", compare_options,
     compare},
    {"report", "a result or a sweep as a page of charts: one HTML file", report_page_options,
     report_page},
    {"check", "re-runs recorded scenarios and says what moved", check_options, check},
    {"topology", "shows, checks and converts a fabric; its bandwidths and bottlenecks",
     topology_options, topology},
    {"flows", "runs a list of flows over a fabric or over given links: the network by itself",
     flows_options, flows},
    {"collective", "one collective by itself, by size: what nccl-tests prints", collective_options,
     collective},
    {"trace", "records an iteration, replays it; reads and generates traces of jobs", trace_options,
     trace},
    {"place", "decides where a job goes; host and rank files for mpirun, torchrun, Slurm",
     place_options, place},
    {"validate", "published training steps against the simulator", validate_options, validate},
    {"plan", "the parallelism that trains a model fastest on a fabric", plan_options, plan},
    {"calibrate", "your GEMM sweep, nccl-tests logs, one iteration: a GPU, fabric, stack file",
     calibrate_options, calibrate},
    {"list", "policies, topologies, collectives, GPUs, models, metrics", list_options, list},
    {"init", "writes a commented scenario from five answers", init_options, init},
    {"digest", "the behaviour fingerprint of scenarios, one line each", digest_options, digest},
    {"schema", "JSON Schemas of the files this program reads and writes", schema_options, schema},
    {"completion", "what completes this program's words in bash, zsh or fish", completion_options,
     completion},
    {"man", "manual pages, of the program and of each verb", man_options, man},
}};

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

}  // namespace railyard::cli
