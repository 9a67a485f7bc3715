// Chrome trace events in JSON, as ui.perfetto.dev and chrome://tracing open them. A group of rows is
// a process, a row one thread, or several where its bars overlap: bars of one thread never do, so
// that they nest trivially. Times are microseconds with five decimals: whole ticks.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "railyard/report/report.hpp"

namespace railyard::report {
namespace {

using metrics::Timeline;
using metrics::TimelineBar;

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Duration time) {
  const std::int64_t ticks = time.count();
  return fmt::format("{}.{:05}", ticks / 100'000, ticks % 100'000);
}

/// By bar: which of its row's threads it lies on: the first that is free when it starts.
std::vector<std::uint32_t> threads_of(const Timeline& timeline,
                                      const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> out(timeline.bars.size(), 0);
  std::vector<std::vector<Duration>> free(timeline.rows.size());
  for (const std::uint32_t b : order) {
    const TimelineBar& bar = timeline.bars[b];
    auto& threads = free[bar.row];
    std::uint32_t at = 0;
    while (at < threads.size() && threads[at] > bar.start) ++at;
    if (at == threads.size()) threads.emplace_back();
    threads[at] = bar.end;
    out[b] = at;
  }
  return out;
}

class Writer {
 public:
  std::string write(const std::vector<Timeline>& timelines) {
    out_ = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    for (const Timeline& timeline : timelines) add(timeline);
    return out_ + "\n]}\n";
  }

 private:
  void event(const std::string& text) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    out_ += text;
  }
  void name(std::string_view what, std::uint32_t process, std::uint32_t thread,
            const std::string& value) {
    event(
        fmt::format(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
                    what, process, thread, json_text(value)));
  }

  void add(const Timeline& timeline) {
    std::vector<std::uint32_t> order(timeline.bars.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const TimelineBar& one = timeline.bars[a];
      const TimelineBar& other = timeline.bars[b];
      return std::tuple(one.start, one.end, a) < std::tuple(other.start, other.end, b);
    });
    const auto threads = threads_of(timeline, order);
    std::map<std::string, std::uint32_t> processes;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> thread_ids;
    std::vector<std::uint32_t> process_of_row;
    for (const auto& row : timeline.rows) {
      const auto [at, fresh] = processes.try_emplace(row.group, next_process_);
      if (fresh) {
        ++next_process_;
        name("process_name", at->second, 0, timeline.title + row.group);
      }
      process_of_row.push_back(at->second);
    }
    for (const std::uint32_t b : order) {
      const TimelineBar& bar = timeline.bars[b];
      const std::uint32_t process = process_of_row[bar.row];
      const auto [at, fresh] = thread_ids.try_emplace({bar.row, threads[b]}, next_thread_);
      if (fresh) {
        ++next_thread_;
        const std::string& row = timeline.rows[bar.row].name;
        name("thread_name", process, at->second,
             threads[b] == 0 ? row : fmt::format("{} ({})", row, threads[b] + 1));
      }
      std::string facts;
      for (const auto& [key, value] : bar.facts)
        facts += fmt::format("{}{}:{}", facts.empty() ? "" : ",", json_text(key), json_text(value));
      event(fmt::format(
          R"({{"ph":"X","name":{}{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
          json_text(bar.name), bar.category.empty() ? "" : ",\"cat\":" + json_text(bar.category),
          process, at->second, microseconds(bar.start), microseconds(bar.end - bar.start), facts));
    }
  }

  std::string out_;
  bool first_ = true;
  std::uint32_t next_process_ = 1;
  std::uint32_t next_thread_ = 1;
};

}  // namespace

std::string perfetto_json(const std::vector<Timeline>& timelines) {
  return Writer().write(timelines);
}

}  // namespace railyard::report
