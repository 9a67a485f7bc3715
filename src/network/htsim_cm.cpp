// A connection matrix of htsim:
//
//   Nodes 16
//   Connections 2
//   Triggers 1
//   0->1 id 1 start 0 size 2000000 send_done_trigger 1
//   1->2 id 2 trigger 1 size 2000000
//   trigger id 1 oneshot
//
// Triggers (htsim's trigger.cpp): oneshot starts all its flows at its only signal, barrier at its
// count-th, multishot one flow for each signal. Those that could never fire, or that htsim would
// stop at, are refused. Lines that begin with # are comments.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "network/flow_names.hpp"
#include "railyard/network/flow_list.hpp"

namespace railyard::network {
namespace {

constexpr std::uint64_t kBytesMax = UINT64_C(1) << 62U;

struct Trigger {
  enum class Kind : std::uint8_t { oneshot, multishot, barrier };
  Kind kind = Kind::oneshot;
  std::uint64_t count = 0;  ///< of a barrier
  std::uint32_t line = 0;   ///< where it is defined; 0: nowhere
  std::uint32_t first_use = 0;
  std::vector<std::uint32_t> targets;
  std::vector<std::pair<std::uint32_t, Signal>> inputs;
};

class ConnectionReader {
 public:
  ConnectionReader(const std::filesystem::path& path, std::optional<double> ticks_per_start)
      : ticks_per_start_(ticks_per_start), lines_(config::TextLines::parse_file(path)) {
    list_.name = path.string();
  }

  FlowList read() {
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      line_ = static_cast<std::uint32_t>(line + 1);
      read_line(config::trimmed(lines_[line]));
    }
    finish();
    errors_.throw_if_any();
    check_no_cycle(list_, errors_);
    errors_.throw_if_any();
    return std::move(list_);
  }

 private:
  void fail(const std::string& what) { fail_at(line_, what); }
  void fail_at(std::uint32_t line, const std::string& what) {
    errors_.add(fmt::format("{}:{}: {}", list_.name, line, what));
  }

  bool number(std::string_view word, std::string_view what, std::uint64_t& out) {
    const auto [stop, fault] = std::from_chars(word.data(), word.data() + word.size(), out);
    if (!word.empty() && fault == std::errc{} && stop == word.data() + word.size()) return true;
    fail(fmt::format("expected a whole number after \"{}\", found \"{}\"", what, word));
    return false;
  }

  void read_line(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (word == "Nodes" || word == "Connections" || word == "Triggers" || word == "Failures") {
      std::uint64_t value = 0;
      if (!number(config::trimmed(rest), word, value)) return;
      counts_[std::string(word)] = value;
    } else if (word == "trigger") {
      read_trigger(rest);
    } else if (word == "failure") {
      fail("failures stand in a table of their own: see --faults");
    } else if (word.find("->") != std::string_view::npos) {
      read_connection(word, rest);
    } else {
      fail(
          fmt::format("expected \"SRC->DST …\", \"trigger …\", \"Nodes\", \"Connections\" or "
                      "\"Triggers\", found \"{}\"",
                      word));
    }
  }

  void read_trigger(std::string_view rest) {
    Trigger* trigger = nullptr;
    bool has_kind = false;
    while (!config::trimmed(rest).empty()) {
      const std::string_view key = take_word(rest);
      std::uint64_t value = 0;
      if (key == "id") {
        if (!number(take_word(rest), key, value)) return;
        trigger = &triggers_[value];
        if (trigger->line != 0) {
          fail(fmt::format("trigger {} is defined in line {} already", value, trigger->line));
          return;
        }
        trigger->line = line_;
      } else if (trigger == nullptr) {
        fail("expected \"trigger id N …\"");
        return;
      } else if (key == "oneshot" || key == "multishot" || key == "barrier") {
        trigger->kind = key == "oneshot"     ? Trigger::Kind::oneshot
                        : key == "multishot" ? Trigger::Kind::multishot
                                             : Trigger::Kind::barrier;
        has_kind = true;
      } else if (key == "count") {
        if (!number(take_word(rest), key, trigger->count)) return;
      } else {
        fail(fmt::format("unknown word \"{}\"; there are id, oneshot, multishot, barrier, count",
                         key));
        return;
      }
    }
    if (!has_kind) fail("say what the trigger is: oneshot, multishot or barrier");
  }

  std::uint32_t endpoint(std::string_view word) {
    std::uint64_t number_of = 0;
    if (!number(word, "->", number_of)) return 0;
    const auto nodes = counts_.find("Nodes");
    if (nodes != counts_.end() && number_of >= nodes->second) {
      fail(fmt::format("end point {} of {} nodes: they count from 0", number_of, nodes->second));
    }
    const auto [at, fresh] =
        endpoints_.emplace(number_of, static_cast<std::uint32_t>(list_.endpoints.size()));
    if (fresh) list_.endpoints.push_back(fmt::format("{}", number_of));
    return at->second;
  }

  void read_connection(std::string_view word, std::string_view rest) {
    const auto index = static_cast<std::uint32_t>(list_.flows.size());
    ListedFlow flow;
    flow.line = line_;
    const std::size_t arrow = word.find("->");
    flow.source = endpoint(word.substr(0, arrow));
    flow.destination = endpoint(word.substr(arrow + 2));
    if (flow.source == flow.destination) fail("a flow goes somewhere else than its source");
    bool has_start = false;
    bool has_trigger = false;
    while (!config::trimmed(rest).empty()) {
      const std::string_view key = take_word(rest);
      const std::string_view value = take_word(rest);
      std::uint64_t number_of = 0;
      if (key == "start") {
        has_start = true;
        read_start(value, flow);
        continue;
      }
      if (key != "id" && key != "size" && key != "trigger" && key != "send_done_trigger" &&
          key != "recv_done_trigger") {
        fail(
            fmt::format("unknown word \"{}\"; there are id, start, trigger, size, "
                        "send_done_trigger, recv_done_trigger",
                        key));
        return;
      }
      if (!number(value, key, number_of)) return;
      if (key == "id") flow.id = fmt::format("{}", number_of);
      if (key == "size")
        flow.size = Bytes(static_cast<std::int64_t>(std::min(number_of, kBytesMax)));
      if (key == "trigger") {
        has_trigger = true;
        use(number_of).targets.push_back(index);
      }
      if (key == "send_done_trigger") use(number_of).inputs.emplace_back(index, Signal::sent);
      if (key == "recv_done_trigger") use(number_of).inputs.emplace_back(index, Signal::received);
    }
    if (flow.size.count() <= 0) fail("a flow needs a size of at least one byte");
    if (has_start == has_trigger) fail("a flow has either a start or a trigger");
    if (flow.id.empty()) flow.id = fmt::format("{}", index + 1);
    const auto [first, fresh] = ids_.emplace(flow.id, line_);
    if (!fresh) fail(fmt::format("id {} is taken by line {}", flow.id, first->second));
    list_.flows.push_back(std::move(flow));
  }

  void read_start(std::string_view word, ListedFlow& flow) {
    double value = 0;
    const auto [stop, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || fault != std::errc{} || stop != word.data() + word.size() ||
        !(value >= 0 && value < 1e18)) {
      fail(fmt::format("expected a time after \"start\", found \"{}\"", word));
      return;
    }
    if (value == 0) return;
    if (!ticks_per_start_) {
      if (!unit_missing_) {
        fail(
            fmt::format("start {}: in which unit? htsim's programs disagree; say --start-unit "
                        "ps, ns, us, ms or s",
                        word));
      }
      unit_missing_ = true;
      return;
    }
    const double ticks = value * *ticks_per_start_;
    if (ticks > 4e18) {
      fail(fmt::format("start {}: beyond the clock", word));
      return;
    }
    flow.start = TimePoint(to_ticks(ticks));
  }

  Trigger& use(std::uint64_t id) {
    Trigger& trigger = triggers_[id];
    if (trigger.first_use == 0) trigger.first_use = line_;
    return trigger;
  }

  void finish() {
    expect_count("Connections", list_.flows.size());
    std::size_t defined = 0;
    for (auto& [id, trigger] : triggers_) {
      if (trigger.line != 0) ++defined;
      finish_trigger(id, trigger);
    }
    expect_count("Triggers", defined);
    if (list_.flows.empty()) errors_.add(list_.name + ": holds not one flow");
  }

  void expect_count(const std::string& what, std::size_t found) {
    const auto at = counts_.find(what);
    if (at == counts_.end() || at->second == found) return;
    errors_.add(
        fmt::format("{}: \"{} {}\", but there are {}", list_.name, what, at->second, found));
  }

  void finish_trigger(std::uint64_t id, const Trigger& trigger) {
    if (trigger.line == 0) {
      fail_at(trigger.first_use, fmt::format("trigger {} is not defined", id));
      return;
    }
    if (trigger.targets.empty() && trigger.inputs.empty()) return;
    const std::uint64_t fires = trigger.inputs.size();
    if (trigger.kind == Trigger::Kind::multishot) {
      if (fires < trigger.targets.size()) {
        fail_at(trigger.line, fmt::format("trigger {} gets {} signals, but {} flows wait for it",
                                          id, fires, trigger.targets.size()));
      }
      list_.relays.push_back({trigger.targets, trigger.inputs});
      return;
    }
    const std::uint64_t wanted = trigger.kind == Trigger::Kind::barrier ? trigger.count : 1;
    if (fires != wanted || wanted == 0) {
      fail_at(trigger.line,
              fmt::format("trigger {} fires at its {}. signal, but {} flows signal it", id, wanted,
                          fires));
      return;
    }
    for (const std::uint32_t target : trigger.targets) {
      for (const auto& [before, signal] : trigger.inputs)
        list_.dependencies.push_back({target, before, signal});
    }
  }

  std::optional<double> ticks_per_start_;
  config::TextLines lines_;
  FlowList list_;
  config::Errors errors_;
  std::uint32_t line_ = 0;
  bool unit_missing_ = false;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::map<std::uint64_t, std::uint32_t> endpoints_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  std::map<std::uint64_t, Trigger> triggers_;
};

}  // namespace

FlowList read_connection_matrix(const std::filesystem::path& path,
                                std::optional<double> ticks_per_start) {
  return ConnectionReader(path, ticks_per_start).read();
}

}  // namespace railyard::network
