#include "railyard/collective/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collective/chunks.hpp"
#include "collective/files/step_program.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class FileAlgorithm final : public Algorithm {
 public:
  FileAlgorithm(CheckedProgram checked, std::string file)
      : program_(std::move(checked.program)),
        transfers_(std::move(checked.transfers)),
        file_(std::move(file)) {
    program_.actions = {};
  }

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    if (request.operation != program_.operation) {
      return fmt::format("{} performs {}, not {}", file_, name(program_.operation),
                         name(request.operation));
    }
    if (shape.ranks() != program_.ranks) {
      return fmt::format(
          "{} is for {} ranks, but the group has {}; \"otherwise\" names an algorithm "
          "for groups of other sizes",
          file_, program_.ranks, shape.ranks());
    }
    if (request.size < program_.size_min || request.size > program_.size_max) {
      return fmt::format("{} is for {} to {} bytes, not for {}", file_, program_.size_min.count(),
                         program_.size_max.count(), request.size.count());
    }
    if (request.by_source) {
      return fmt::format(
          "{} cannot bring back unequal shares: its chunks are cut by destination; "
          "use direct or pairwise",
          file_);
    }
    return refuse_shares("file", request, shape.ranks());
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    return expand(request).schedule;
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const Expanded expanded = expand(request);
    Coupled out = coupled_by_step(expanded.schedule, shape);
    RAILYARD_CHECK(out.phases.size() == expanded.arrivals.size(), "{} phases of {} steps",
                   out.phases.size(), expanded.arrivals.size());
    std::uint32_t before = 0;
    for (std::size_t s = 0; s < out.phases.size(); ++s) {
      CoupledPhase& phase = out.phases[s];
      const std::uint32_t now = std::max(before, expanded.arrivals[s]);
      phase.latency_steps = now - before;
      phase.crossing_steps = std::min(phase.crossing_steps, phase.latency_steps);
      before = now;
    }
    return out;
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    const GroupShape shape = GroupShape::flat(ranks);
    Duration time{};
    for (const CoupledPhase& phase : coupled(request, shape).phases) {
      std::vector<Bytes> sent(ranks);
      std::vector<Bytes> received(ranks);
      for (const CoupledEdge& edge : phase.edges) {
        sent[edge.source] += edge.size;
        received[edge.destination] += edge.size;
      }
      const Bytes most =
          std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received));
      time += alpha * static_cast<std::int64_t>(phase.latency_steps) + most / rate;
    }
    return time;
  }

 private:
  struct Expanded {
    Schedule schedule;
    std::vector<std::uint32_t> arrivals;  ///< [step] the longest chain of arrivals that ends in it
  };

  [[nodiscard]] std::vector<Chunk> chunks_of(const Request& request) const {
    const Chunk whole{.offset = Bytes(0), .size = request.size};
    if (!chunks_of_ranks(program_.operation)) return cut(whole, program_.chunks);
    const std::vector<Chunk> owned = program_.operation == Operation::all_to_all
                                         ? destination_chunks(request, program_.ranks)
                                         : cut(whole, program_.ranks);
    std::vector<Chunk> out;
    for (const Chunk& part : owned) {
      const auto pieces = cut(part, program_.chunks / program_.ranks);
      out.insert(out.end(), pieces.begin(), pieces.end());
    }
    return out;
  }

  /// The messages with bytes. A message of no bytes hands what it waits for on to those that wait
  /// for it. Steps count messages one behind the other, by dependency or on one channel.
  [[nodiscard]] Expanded expand(const Request& request) const {
    const std::vector<Chunk> chunks = chunks_of(request);
    ScheduleBuilder builder;
    std::vector<std::vector<std::uint32_t>> stands_for(transfers_.size());
    std::vector<std::uint32_t> step;     // [transfer of the schedule]
    std::vector<std::uint32_t> arrival;  // [transfer of the schedule]
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last;
    Expanded out;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      const FileTransfer& transfer = transfers_[i];
      std::vector<std::uint32_t> after;
      for (const std::uint32_t before : transfer.after)
        after.insert(after.end(), stands_for[before].begin(), stands_for[before].end());
      std::ranges::sort(after);
      after.erase(std::unique(after.begin(), after.end()), after.end());
      Chunk piece{.offset = chunks[transfer.chunks.front()].offset, .size = Bytes(0)};
      for (const std::uint32_t chunk : transfer.chunks) piece.size += chunks[chunk].size;
      if (piece.size == Bytes(0)) {
        stands_for[i] = std::move(after);
        continue;
      }
      std::uint32_t now = 0;
      std::uint32_t arrived = 1;
      for (const std::uint32_t before : after) {
        now = std::max(now, step[before] + 1);
        arrived = std::max(arrived, arrival[before] + 1);
      }
      const std::pair channel{transfer.source, transfer.channel};
      if (const auto before = last.find(channel); before != last.end()) {
        now = std::max(now, step[before->second] + 1);
        arrived = std::max(arrived, arrival[before->second]);
      }
      last[channel] = builder.add({.source = transfer.source,
                                   .destination = transfer.destination,
                                   .channel = transfer.channel,
                                   .reduce = transfer.reduce,
                                   .step = now,
                                   .connection = transfer.connection},
                                  piece, after);
      stands_for[i] = {last[channel]};
      step.push_back(now);
      arrival.push_back(arrived);
      if (now >= out.arrivals.size()) out.arrivals.resize(now + 1, 0);
      out.arrivals[now] = std::max(out.arrivals[now], arrived);
    }
    out.schedule = builder.take();
    return out;
  }

  StepProgram program_;  ///< without its actions
  std::vector<FileTransfer> transfers_;
  std::string file_;
};

}  // namespace

FileCollective read_collective(std::string_view text, const std::string& name) {
  const bool xml = config::trimmed(text).starts_with('<');
  CheckedProgram checked = xml ? read_msccl(text, name) : read_step_list(text, name);
  FileCollective out{.name = checked.program.name,
                     .operation = checked.program.operation,
                     .ranks = checked.program.ranks,
                     .protocol = checked.program.protocol,
                     .algorithm = nullptr};
  out.algorithm = std::make_shared<FileAlgorithm>(std::move(checked), name);
  return out;
}

const config::EntryDescription& file_description() {
  using config::ParameterSpec;
  using config::ParameterType;
  static const config::EntryDescription kDescription{
      .name = "file",
      .summary =
          "The messages that a file states, JSON or MSCCL's XML, for groups of its size: "
          "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all",
      .parameters = {
          ParameterSpec{
              .name = "path", .type = ParameterType::path, .fallback = {}, .help = "The file"},
          ParameterSpec{.name = "otherwise",
                        .type = ParameterType::string,
                        .fallback = "null",
                        .help = "The algorithm of groups of other sizes, by name; null: "
                                "they are refused"},
          ParameterSpec{.name = "text",
                        .type = ParameterType::string,
                        .fallback = "null",
                        .help = "What stands in the file, which then is not read; "
                                "recordings carry it"}}};
  return kDescription;
}

FileCollective file_collective(const config::Parameters& parameters) {
  const auto& path = parameters.get<std::string>("path");
  if (parameters.has_value("text"))
    return read_collective(parameters.get<std::string>("text"), path);
  return read_collective(config::TextLines::parse_file(path).text(), path);
}

StepCosts file_costs(nccl::WireProtocol protocol, const Protocol& simple) {
  if (protocol == nccl::WireProtocol::simple) return {.once = simple.base, .step = simple.ring};
  return nccl::step_costs(nccl::Algorithm::ring, protocol, nccl::versions().front());
}

}  // namespace railyard::collective
