#include "railyard/training/collective_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/routing.hpp"
#include "topology.hpp"

namespace railyard::cli {

namespace {

using collective::Operation;

struct Row {
  Bytes size;
  training::CollectiveRun run;
  double time_s = 0;
  double algorithm_bytes_per_s = 0;
  double bus_bytes_per_s = 0;
};

std::vector<std::string_view> operations() {
  std::vector<std::string_view> names;
  for (std::size_t o = 0; o < collective::kOperations; ++o)
    names.push_back(collective::name(collective::operation_at(o)));
  return names;
}

Operation operation_of(const std::string& word) {
  if (const auto operation = collective::operation_of(word)) return *operation;
  throw config::ConfigError(unknown(
      fmt::format("railyard collective: \"{}\" is no operation", word), word, operations()));
}

/// An option as a choice of the reader: a name, or JSON with parameters.
config::Document option_document(const CommandLine& line, const std::string& option,
                                 const std::string& fallback) {
  const std::string given = line.text(option).value_or(fallback);
  const bool is_json = !given.empty() && (given.front() == '{' || given.front() == '"');
  return config::Document::parse_text(is_json ? given : '"' + given + '"', "--" + option);
}

/// "0-3,8": GPUs of ranks 0, 1, …
std::vector<GpuId> listed_gpus(const std::string& list, const topology::Topology& fabric) {
  const auto number = [&](std::string_view text) {
    const auto value = config::parse_integer(text);
    if (value && *value >= 0 && *value < static_cast<std::int64_t>(fabric.gpu_count()))
      return static_cast<std::uint32_t>(*value);
    throw config::ConfigError(fmt::format("--gpus: expected GPUs from 0 to {} as 0-3,8, found {}",
                                          fabric.gpu_count() - 1, config::quoted(text)));
  };
  std::vector<GpuId> group;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view part = std::string_view(list).substr(from, comma - from);
    const std::size_t dash = part.find('-');
    const std::uint32_t first = number(part.substr(0, dash));
    const std::uint32_t last =
        dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    for (std::uint32_t gpu = first; gpu <= last; ++gpu) group.push_back(GpuId{gpu});
    from = comma + 1;
  }
  std::vector<GpuId> sorted = group;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw config::ConfigError(fmt::format("--gpus: GPU {} stands there twice", index(*twice)));
  if (group.size() < 2) throw config::ConfigError("--gpus: a collective needs two ranks");
  return group;
}

/// The ranks: those listed, whole hosts in order, or the first N GPUs.
std::vector<GpuId> group_of(const CommandLine& line, const topology::Topology& fabric) {
  if (const auto list = line.text("gpus")) {
    if (line.has("ranks") || line.has("hosts"))
      throw config::ConfigError("railyard collective: give --gpus, --ranks or --hosts");
    return listed_gpus(*list, fabric);
  }
  if (line.has("ranks") && line.has("hosts"))
    throw config::ConfigError("railyard collective: give --ranks or --hosts, not both");
  std::uint64_t count = fabric.gpu_count();
  if (const auto ranks = line.number("ranks")) count = *ranks;
  if (const auto hosts = line.number("hosts")) {
    if (*hosts > fabric.hosts().size()) {
      throw config::ConfigError(
          fmt::format("--hosts: {} of {} hosts", *hosts, fabric.hosts().size()));
    }
    count = 0;
    for (std::size_t h = 0; h < *hosts; ++h) count += fabric.hosts()[h].gpus;
  }
  if (count < 2 || count > fabric.gpu_count()) {
    throw config::ConfigError(
        fmt::format("--{}: a collective needs 2 to {} ranks on this fabric, not {}",
                    line.has("hosts") ? "hosts" : "ranks", fabric.gpu_count(), count));
  }
  std::vector<GpuId> group;
  for (std::uint64_t g = 0; g < count; ++g) group.push_back(static_cast<GpuId>(g));
  return group;
}

training::NetworkSettings network_of(const CommandLine& line, const topology::Topology& fabric) {
  config::Errors errors;
  const auto document = option_document(line, "routing", "spray");
  const auto choice = config::decode_choice(document.root(), errors, "routing",
                                            config::descriptions(topology::routing_catalog()));
  errors.throw_if_any();
  training::NetworkSettings network;
  network.routing =
      config::entry_of(topology::routing_catalog(), choice.name).create(fabric, choice.parameters);
  if (network.routing->repath_interval() > Duration{})
    throw config::ConfigError(fmt::format("--routing: {}", training::kNoRepath));
  const std::string form = line.text("form").value_or("coupled");
  if (form != "coupled" && form != "stepped") {
    throw config::ConfigError(
        unknown(fmt::format("--form: \"{}\" is no form", form), form, {"coupled", "stepped"}));
  }
  if (form == "stepped") network.execution = training::Execution::stepped;
  if (const auto launch = line.text("launch")) {
    const auto time = config::parse_duration(*launch);
    if (!time)
      throw config::ConfigError(
          fmt::format("--launch: expected a time as 10us, found \"{}\"", *launch));
    network.protocol.launch = *time;
  }
  return network;
}

std::string choice_of(const CommandLine& line, Operation operation) {
  config::Errors errors;
  const auto document = option_document(line, "algorithm", "auto");
  std::string text = collective::read_choice(document.root(), errors, operation);
  errors.throw_if_any();
  const auto protocol = line.text("protocol");
  if (!protocol) return text;
  // As NCCL_PROTO beside NCCL_ALGO: the algorithm by name becomes auto's restriction.
  if (text.front() == '{') {
    throw config::ConfigError(
        "--protocol: write it into --algorithm, as in "
        "'{\"name\": \"auto\", \"protocol\": \"ll\"}'");
  }
  const auto restricted = config::Document::parse_text(
      fmt::format(R"({{"name": "auto", "algorithm": "{}", "protocol": {}}})",
                  text == "auto" ? "any" : text, config::json_string(*protocol)),
      "--protocol");
  text = collective::read_choice(restricted.root(), errors, operation);
  errors.throw_if_any();
  return text;
}

collective::RingOrder ring_order_of(const CommandLine& line) {
  const auto& words = collective::ring_order_words();
  const std::string given = line.text("ring-order").value_or("rank");
  const auto at = std::find(words.begin(), words.end(), given);
  if (at != words.end()) return static_cast<collective::RingOrder>(at - words.begin());
  throw config::ConfigError(
      unknown(fmt::format("--ring-order: \"{}\" is unknown", given), given, words));
}

Bytes size_of(const std::string& given, const std::string& option) {
  // nccl-tests takes bare numbers of bytes; so does this.
  const bool bare = !given.empty() && given.find_first_not_of("0123456789") == std::string::npos;
  const auto size = config::parse_bytes(bare ? given + "B" : given);
  if (!size || *size <= Bytes(0)) {
    throw config::ConfigError(
        fmt::format("--{}: expected a size as 8, 64KiB or 1GB, found \"{}\"", option, given));
  }
  return *size;
}

std::vector<Bytes> sizes_of(const CommandLine& line) {
  if (const auto list = line.text("sizes")) {
    if (line.has("begin") || line.has("end") || line.has("factor"))
      throw config::ConfigError("--sizes: stands in place of --begin, --end and --factor");
    std::vector<Bytes> sizes;
    std::size_t from = 0;
    while (from <= list->size()) {
      const std::size_t comma = std::min(list->find(',', from), list->size());
      sizes.push_back(size_of(list->substr(from, comma - from), "sizes"));
      from = comma + 1;
    }
    return sizes;
  }
  const Bytes begin = size_of(line.text("begin").value_or("8"), "begin");
  const Bytes end = size_of(line.text("end").value_or(line.text("begin").value_or("8GiB")), "end");
  const std::uint64_t factor = line.number("factor").value_or(2);
  if (factor < 2 || factor > 1'000'000) throw config::ConfigError("--factor: expected 2 or more");
  if (end < begin) throw config::ConfigError("--end: is below --begin");
  std::vector<Bytes> sizes;
  for (Bytes size = begin; size <= end; size = size * static_cast<std::int64_t>(factor)) {
    sizes.push_back(size);
    if (size.count() > INT64_MAX / static_cast<std::int64_t>(factor)) break;
  }
  return sizes;
}

std::string printed(const std::vector<Row>& rows, report::Format format) {
  if (format == report::Format::csv) {
    std::string out = "bytes,time_s,algbw_bytes_per_s,busbw_bytes_per_s,algorithm,protocol\n";
    for (const Row& row : rows) {
      out += fmt::format("{},{},{},{},{},{}\n", row.size.count(), row.time_s,
                         row.algorithm_bytes_per_s, row.bus_bytes_per_s, row.run.algorithm,
                         row.run.protocol);
    }
    return out;
  }
  if (format == report::Format::json) {
    std::string out = "[";
    for (const Row& row : rows) {
      out += fmt::format(
          "{}\n  {{\"bytes\": {}, \"time_s\": {}, \"algbw_bytes_per_s\": {}, "
          "\"busbw_bytes_per_s\": {}, \"algorithm\": \"{}\", \"protocol\": \"{}\"}}",
          out.size() > 1 ? "," : "", row.size.count(), row.time_s, row.algorithm_bytes_per_s,
          row.bus_bytes_per_s, row.run.algorithm, row.run.protocol);
    }
    return out + "\n]\n";
  }
  report::Table table{{{"size", "B", {}, false, false},
                       {"time", "us", {}, false, false},
                       {"algbw", "GB/s", {}, false, false},
                       {"busbw", "GB/s", {}, false, false},
                       {"algorithm", "", {}, true, false},
                       {"protocol", "", {}, true, false}}};
  for (const Row& row : rows) {
    table.columns[0].cells.push_back(fmt::format("{}", row.size.count()));
    table.columns[1].cells.push_back(fmt::format("{:.2f}", row.time_s * 1e6));
    table.columns[2].cells.push_back(fmt::format("{:.2f}", row.algorithm_bytes_per_s * 1e-9));
    table.columns[3].cells.push_back(fmt::format("{:.2f}", row.bus_bytes_per_s * 1e-9));
    table.columns[4].cells.push_back(row.run.algorithm);
    table.columns[5].cells.push_back(row.run.protocol);
  }
  return format == report::Format::markdown ? report::to_markdown(table) : report::to_text(table);
}

}  // namespace

CommandLine collective_options() {
  CommandLine line(
      {"collective",
       "OPERATION",
       "What nccl-tests prints, for any fabric: one collective by itself, rank i on GPU "
       "i, by size. OPERATION is\nall_reduce, all_gather, reduce_scatter, broadcast, "
       "reduce, all_to_all, send_recv or barrier. Sizes and bus\nbandwidth are as in "
       "nccl-tests.",
       {"railyard collective all_reduce --topology topologies/superpod_h100.json "
        "--hosts 4 --begin 1MiB --end 1GiB",
        "railyard collective all_to_all --topology topologies/superpod_a100.json "
        "--ranks 64 --begin 64MiB --algorithm pairwise"},
       operations()});
  line.option("topology", "FILE", "the fabric");
  line.option("ranks", "N", "the first N GPUs (default: all)");
  line.option("hosts", "N", "the GPUs of the first N hosts");
  line.option("gpus", "LIST", "these GPUs, rank by rank, as 0-3,8-11");
  line.option("ring-order", "NAME",
              "rank, or topology: leaves islands, leaves and minipods once each")
      .one_of({"rank", "topology"});
  line.option("begin", "SIZE", "smallest size (default: 8)");
  line.option("end", "SIZE", "largest size (default: 8GiB, or --begin when given)");
  line.option("factor", "N", "from one size to the next (default: 2)");
  line.option("sizes", "LIST", "these sizes, separated by commas, in place of the three above");
  line.option("algorithm", "NAME", "see railyard list collectives (default: auto, as NCCL)")
      .one_of({"auto"})
      .member_of("collectives");
  line.option("protocol", "NAME", "of auto or one of NCCL's algorithms: ll, ll128 or simple")
      .one_of({"ll", "ll128", "simple"});
  line.option("routing", "NAME", "see railyard list routings (default: spray)")
      .member_of("routings");
  line.option("form", "NAME", "coupled, or stepped: every transfer a flow (default: coupled)")
      .one_of({"coupled", "stepped"});
  line.option("launch", "TIME", "of auto: what the host adds per collective (default: 0us)");
  line.repeated("set", "/POINTER=VALUE", "changes a value of the fabric's file");
  line.format_option();
  return line;
}

int collective(const CommandLine& line) {
  line.expect_words(1, 1, "an operation");
  const Operation operation = operation_of(line.words()[0]);
  if (!line.has("topology")) throw config::ConfigError("railyard collective: needs --topology");
  const std::string choice = choice_of(line, operation);
  const std::vector<Bytes> sizes = sizes_of(line);
  const report::Format format = line.format();
  const topology::Topology fabric = read_topology(line, *line.text("topology"));
  const std::vector<GpuId> group = group_of(line, fabric);
  const training::NetworkSettings network = network_of(line, fabric);
  const collective::RingOrder ring_order = ring_order_of(line);
  std::vector<Row> rows;
  for (const Bytes size : sizes) {
    Row row{size, training::run_collective(fabric, group, {operation, size, {}}, choice, network,
                                           ring_order)};
    row.time_s = in_seconds(row.run.time);
    if (row.run.time > Duration{})
      row.algorithm_bytes_per_s = static_cast<double>(size.count()) / row.time_s;
    row.bus_bytes_per_s = row.algorithm_bytes_per_s *
                          training::bus_factor(operation, static_cast<std::uint32_t>(group.size()));
    rows.push_back(row);
  }
  write_stdout(printed(rows, format));
  return kGood;
}

}  // namespace railyard::cli
