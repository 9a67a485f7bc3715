#include "verbs.hpp"

#include <array>

namespace railyard::cli {

namespace {

constexpr std::array<Verb, 18> kVerbs{{
    {"run", "simulates every policy set of a scenario and compares them", run},
    {"explain", "why a job waited, why it is where it is, why its iteration takes that long",
     explain},
    {"sweep", "runs a scenario over a grid or list of settings and seeds", sweep},
    {"compare", "two or more results side by side, the first is the baseline", compare},
    {"report", "a result or a sweep as a page of charts: one HTML file", report_page},
    {"check", "re-runs recorded scenarios and says what moved", check},
    {"topology", "shows, checks and converts a fabric; its bandwidths and bottlenecks", topology},
    {"flows", "runs a list of flows over a fabric or over given links: the network by itself",
     flows},
    {"collective", "one collective by itself, by size: what nccl-tests prints", collective},
    {"trace", "records an iteration, replays it; reads and generates traces of jobs", trace},
    {"place", "decides where a job goes; host and rank files for mpirun, torchrun, Slurm", place},
    {"validate", "published training steps against the simulator", validate},
    {"plan", "the parallelism that trains a model fastest on a fabric", plan},
    {"calibrate", "your GEMM sweep, nccl-tests logs, one iteration: a GPU, fabric, stack file",
     calibrate},
    {"list", "policies, topologies, collectives, GPUs, models, metrics", list},
    {"init", "writes a commented scenario from five answers", init},
    {"digest", "the behaviour fingerprint of scenarios, one line each", digest},
    {"schema", "JSON Schemas of the files this program reads and writes", schema},
}};

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

}  // namespace railyard::cli
