#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <unordered_map>

#include "network/flow_names.hpp"
#include "railyard/config/csv.hpp"
#include "railyard/network/flow_list.hpp"

namespace railyard::network {
namespace {

constexpr double kTicksMax = 4e18;  ///< leaves room on the clock behind a start

struct StartColumn {
  std::string_view name;
  double ticks_per_unit;
};
constexpr StartColumn kStartColumns[] = {
    {"start", static_cast<double>(kTicksPerSecond)},
    {"start_s", static_cast<double>(kTicksPerSecond)},
    {"start_us", static_cast<double>(kTicksPerSecond) * 1e-6},
    {"start_ps", static_cast<double>(kTicksPerSecond) * 1e-12}};

/// The one column of starts.
config::CsvColumn start_column(config::Csv& csv, config::Errors& errors, double& ticks_per_unit) {
  config::CsvColumn found;
  std::string_view first;
  for (const StartColumn& one : kStartColumns) {
    const config::CsvColumn column = csv.optional(one.name);
    if (!column) continue;
    if (found) {
      errors.add(
          fmt::format("{}:1: columns \"{}\" and \"{}\" both say when a flow starts: keep one",
                      csv.name(), first, one.name));
      continue;
    }
    found = column;
    first = one.name;
    ticks_per_unit = one.ticks_per_unit;
  }
  if (!found) return csv.required("start", errors);
  return found;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : csv_(config::Csv::parse_file(path)) {
    list_.name = csv_.name();
    id_ = csv_.required("id", errors_);
    source_ = csv_.required("src", errors_);
    destination_ = csv_.required("dst", errors_);
    bytes_ = csv_.required("bytes", errors_);
    start_ = start_column(csv_, errors_, ticks_per_unit_);
    received_ = csv_.optional("deps");
    sent_ = csv_.optional("dep");
    links_ = csv_.optional("links");
    share_ = csv_.optional("share");
    cap_ = csv_.optional("cap_Bps");
    priority_ = csv_.optional("priority");
    csv_.finish({}, errors_);
    if (csv_.rows() == 0) errors_.add(csv_.name() + ": has a header but not one flow");
    errors_.throw_if_any();
  }

  FlowList read() {
    ids_.reserve(csv_.rows());
    list_.flows.reserve(csv_.rows());
    for (std::size_t row = 0; row < csv_.rows(); ++row) read_flow(row);
    for (std::size_t row = 0; row < csv_.rows(); ++row) {
      read_dependencies(row, received_, Signal::received);
      read_dependencies(row, sent_, Signal::sent);
    }
    errors_.throw_if_any();
    check_no_cycle(list_, errors_);
    errors_.throw_if_any();
    return std::move(list_);
  }

 private:
  void read_flow(std::size_t row) {
    ListedFlow flow;
    flow.id = std::string(config::trimmed(csv_.text(row, id_)));
    flow.line = line_of(row);
    if (flow.id.empty()) csv_.fail(row, id_, errors_, "a flow needs an id");
    const auto [first, fresh] =
        ids_.emplace(config::trimmed(csv_.text(row, id_)), static_cast<std::uint32_t>(row));
    if (!fresh) {
      csv_.fail(row, id_, errors_,
                fmt::format("\"{}\" is taken by {}", flow.id, csv_.place(first->second)));
    }
    flow.source = endpoint(row, source_);
    flow.destination = endpoint(row, destination_);
    if (flow.source == flow.destination) {
      csv_.fail(row, destination_, errors_, "is the source as well: a flow goes somewhere else");
    }
    flow.size = Bytes(csv_.integer(row, bytes_, errors_, {.min = 1}));
    const double start =
        csv_.real(row, start_, errors_, {.min = 0, .max = kTicksMax / ticks_per_unit_});
    flow.start = TimePoint(to_ticks(start * ticks_per_unit_));
    if (share_) flow.share = csv_.real(row, share_, errors_, {.min = 1e-3, .max = 1e3});
    if (cap_ && !csv_.is_empty(row, cap_)) {
      flow.cap = Bandwidth(std::llround(csv_.real(row, cap_, errors_, {.min = 1, .max = 1e15})));
    }
    if (priority_) {
      flow.priority = static_cast<std::uint8_t>(
          csv_.integer(row, priority_, errors_, {.min = 0, .max = kPriorities - 1}));
    }
    list_.flows.push_back(std::move(flow));
    if (links_) list_.own_links.emplace_back(csv_.text(row, links_));
  }

  std::uint32_t endpoint(std::size_t row, config::CsvColumn column) {
    const std::string_view name = config::trimmed(csv_.text(row, column));
    if (name.empty()) csv_.fail(row, column, errors_, "a flow needs two end points");
    const auto [at, fresh] =
        endpoints_.emplace(name, static_cast<std::uint32_t>(list_.endpoints.size()));
    if (fresh) list_.endpoints.emplace_back(name);
    return at->second;
  }

  void read_dependencies(std::size_t row, config::CsvColumn column, Signal signal) {
    if (!column) return;
    std::string_view rest = csv_.text(row, column);
    while (!config::trimmed(rest).empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view name = config::trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const auto found = ids_.find(name);
      if (found == ids_.end()) {
        csv_.fail(row, column, errors_, fmt::format("no flow has the id \"{}\"", name));
        continue;
      }
      list_.dependencies.push_back({static_cast<std::uint32_t>(row), found->second, signal});
    }
  }

  /// Places are "file:line".
  [[nodiscard]] std::uint32_t line_of(std::size_t row) const {
    const std::string place = csv_.place(row);
    return static_cast<std::uint32_t>(std::stoul(place.substr(place.rfind(':') + 1)));
  }

  config::Csv csv_;
  config::Errors errors_;
  FlowList list_;
  config::CsvColumn id_, source_, destination_, bytes_, start_, received_, sent_, links_, share_,
      cap_, priority_;
  double ticks_per_unit_ = 1;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
  std::unordered_map<std::string_view, std::uint32_t> endpoints_;
};

}  // namespace

FlowList read_flow_csv(const std::filesystem::path& path) {
  return Reader(path).read();
}

}  // namespace railyard::network
