// GOAL, the text form of LogGOPSim's schedules:
//
//   num_ranks 2
//   rank 0 {
//   l1: send 1000b to 1 tag 7
//   l2: calc 500
//   l2 requires l1
//   }
//
// Sizes are bytes, calc is nanoseconds. `requires` waits for the end, `irequires` for the begin. A
// calc runs on its cpu (default 0), one at a time; which cpu or nic a message takes is not
// modelled.
// Comments: // and /* */. One statement a line; a brace may follow on the line of its `rank`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "railyard/config/text_lines.hpp"
#include "workload/readers/readers.hpp"

namespace railyard::workload {
namespace {

using config::ConfigError;

constexpr std::uint32_t kNoOperation = UINT32_MAX;

/// Labels of one rank. Nearly all files number them: "l1", "l2".
class Labels {
 public:
  void clear() {
    numbered_.clear();
    others_.clear();
  }
  [[nodiscard]] std::uint32_t find(std::string_view label) const {
    if (const auto number = number_of(label))
      return *number < numbered_.size() ? numbered_[*number] : kNoOperation;
    const auto found = others_.find(label);
    return found == others_.end() ? kNoOperation : found->second;
  }
  void set(std::string_view label, std::uint32_t operation) {
    const auto number = number_of(label);
    if (!number) {
      others_.emplace(label, operation);
      return;
    }
    if (numbered_.size() <= *number) numbered_.resize(std::size_t{*number} + 1, kNoOperation);
    numbered_[*number] = operation;
  }

 private:
  /// Of "l17"; not of labels that are written otherwise ("l017") or would take too much room.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view label) const {
    if (label.size() < 2 || label[0] != 'l' || (label[1] == '0' && label.size() > 2)) return {};
    std::uint32_t number = 0;
    const auto [stop, fault] =
        std::from_chars(label.data() + 1, label.data() + label.size(), number);
    const bool good = fault == std::errc{} && stop == label.data() + label.size();
    constexpr std::size_t kRoom = 1U << 20U;
    if (!good || number > 2 * numbered_.size() + kRoom || others_.contains(label)) return {};
    return number;
  }
  std::vector<std::uint32_t> numbered_;
  std::map<std::string, std::uint32_t, std::less<>> others_;
};

struct Wait {
  std::uint32_t operation = 0;
  TraceDependency on;
};

class GoalReader {
 public:
  explicit GoalReader(const TraceFile& file) : lines_(file.open()) { trace_.name = lines_.name(); }

  Trace read() {
    std::string_view line;
    while (lines_.next(line)) {
      if (in_comment_ || line.find('/') != std::string_view::npos) line = without_comments(line);
      split(line);
      if (count_ > 0) statement();
    }
    if (in_comment_) fail("a comment without end");
    if (rank_ != nullptr) fail("the last rank is not closed by }");
    if (trace_.ranks.empty()) fail("no num_ranks");
    return std::move(trace_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw ConfigError(fmt::format("{}: {}", lines_.place(), what));
  }

  std::string_view without_comments(std::string_view line) {
    text_.clear();
    for (std::size_t at = 0; at < line.size(); ++at) {
      const std::string_view two = line.substr(at, 2);
      if (in_comment_) {
        if (two == "*/") {
          in_comment_ = false;
          ++at;
        }
      } else if (two == "//") {
        break;
      } else if (two == "/*") {
        in_comment_ = true;
        ++at;
      } else {
        text_ += line[at];
      }
    }
    return text_;
  }

  void split(std::string_view line) {
    count_ = 0;
    for (std::size_t at = 0;;) {
      while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
      if (at == line.size()) return;
      const std::size_t begin = at;
      while (at < line.size() && line[at] != ' ' && line[at] != '\t') ++at;
      if (count_ == words_.size()) fail("too many words for one statement");
      words_[count_++] = line.substr(begin, at - begin);
    }
  }

  void statement() {
    if (words_[0] == "num_ranks") return num_ranks();
    if (words_[0] == "rank") return open_rank();
    if (rank_ == nullptr) fail(fmt::format("{} outside of a rank", config::quoted(words_[0])));
    if (words_[0] == "}") {
      if (count_ > 1) fail("something follows the }");
      return close_rank();
    }
    if (count_ == 3 && (words_[1] == "requires" || words_[1] == "irequires")) return dependency();
    const bool labelled = words_[0].ends_with(':');
    operation(labelled ? 1 : 0);
    if (!labelled) return;
    const std::string_view label = words_[0].substr(0, words_[0].size() - 1);
    if (labels_.find(label) != kNoOperation)
      fail(fmt::format("label {} is taken", config::quoted(label)));
    labels_.set(label, static_cast<std::uint32_t>(rank_->operations.size() - 1));
  }

  template <typename Integer>
  Integer number(std::string_view word, std::string_view what, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [stop, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (fault != std::errc{} || stop != word.data() + word.size() || value > most) {
      fail(fmt::format("expected a whole number up to {} {}, found {}", most, what,
                       config::quoted(word)));
    }
    return static_cast<Integer>(value);
  }

  void num_ranks() {
    if (!trace_.ranks.empty()) fail("num_ranks stands here twice");
    if (count_ != 2) fail("expected \"num_ranks N\"");
    const auto ranks = number<std::uint32_t>(words_[1], "after num_ranks", kTraceRanksMax);
    if (ranks == 0) fail("num_ranks 0: a trace has ranks");
    trace_.ranks.resize(ranks);
    for (RankTrace& rank : trace_.ranks) {
      rank.file = lines_.name();
      rank.id_word = "line";
      rank.present = true;
    }
    opened_.assign(ranks, false);
  }

  void open_rank() {
    if (trace_.ranks.empty()) fail("expected num_ranks before the first rank");
    if (rank_ != nullptr) fail("the rank before is not closed by }");
    if (count_ != 3 || words_[2] != "{") fail("expected \"rank N {\"");
    const auto at = number<std::uint32_t>(words_[1], "after rank", trace_.ranks.size() - 1);
    if (opened_[at]) fail(fmt::format("rank {} stands here twice", at));
    opened_[at] = true;
    rank_ = &trace_.ranks[at];
    labels_.clear();
    waits_.clear();
  }

  void close_rank() {
    // A counting sort by operation, which keeps the order of the file.
    auto& operations = rank_->operations;
    for (const Wait& wait : waits_) ++operations[wait.operation].dependency_count;
    std::uint64_t next = 0;
    std::vector<std::uint64_t> place;
    place.reserve(operations.size());
    for (TraceOperation& one : operations) {
      one.first_dependency = next;
      place.push_back(next);
      next += one.dependency_count;
    }
    rank_->dependencies.resize(next);
    for (const Wait& wait : waits_) rank_->dependencies[place[wait.operation]++] = wait.on;
    rank_ = nullptr;
  }

  void dependency() {
    const std::uint32_t operation = labels_.find(words_[0]);
    const std::uint32_t on = labels_.find(words_[2]);
    for (const auto& [at, word] : {std::pair(operation, words_[0]), std::pair(on, words_[2])}) {
      if (at == kNoOperation)
        fail(fmt::format("label {} is not defined above", config::quoted(word)));
    }
    waits_.push_back({operation, {on, words_[1] == "irequires"}});
  }

  std::uint32_t peer(std::string_view word, bool may_be_any) {
    if (may_be_any && word == "-1") return kAnyRank;
    return number<std::uint32_t>(word, "as a rank", trace_.ranks.size() - 1);
  }

  void operation(std::size_t at) {
    TraceOperation out;
    out.id = lines_.number();
    const std::string_view what = at < count_ ? words_[at] : std::string_view();
    const bool sends = what == "send";
    std::size_t next = at + 2;
    if (what == "calc" && next <= count_) {
      const auto ns = number<std::uint64_t>(words_[at + 1], "of nanoseconds", UINT64_C(1) << 62U);
      out.duration =
          trace_time(static_cast<double>(ns), kTicksPerNanosecond, [&] { return lines_.place(); });
    } else if ((sends || what == "recv") && at + 4 <= count_ &&
               words_[at + 2] == (sends ? "to" : "from") && words_[at + 1].ends_with('b')) {
      out.kind = sends ? TraceKind::send : TraceKind::receive;
      const std::string_view size = words_[at + 1];
      out.size = Bytes(number<std::int64_t>(size.substr(0, size.size() - 1), "of bytes",
                                            static_cast<std::uint64_t>(kTraceBytesMax)));
      out.peer = peer(words_[at + 3], !sends);
      next = at + 4;
    } else {
      fail(
          fmt::format("expected \"send <n>b to <rank>\", \"recv <n>b from <rank>\", \"calc <ns>\", "
                      "\"a requires b\", \"a irequires b\" or \"}}\", found {}",
                      config::quoted(what)));
    }
    for (; next < count_; next += 2) option(next, out);
    rank_->add(out, {});
  }

  void option(std::size_t at, TraceOperation& out) {
    if (at + 1 == count_)
      fail(fmt::format("a number is missing after {}", config::quoted(words_[at])));
    const std::string_view key = words_[at];
    if (key == "tag" && out.kind != TraceKind::compute) {
      out.tag = number<std::uint32_t>(words_[at + 1], "after tag", UINT32_MAX);
    } else if (key == "cpu") {
      out.stream = number<std::uint16_t>(words_[at + 1], "after cpu", UINT16_MAX);
    } else if (key == "nic" && out.kind != TraceKind::compute) {
      static_cast<void>(number<std::uint16_t>(words_[at + 1], "after nic", UINT16_MAX));
    } else {
      fail(fmt::format("unknown word {}; there are tag, cpu and nic", config::quoted(key)));
    }
  }

  config::LineStream lines_;
  Trace trace_;
  RankTrace* rank_ = nullptr;
  std::vector<bool> opened_;
  Labels labels_;
  std::vector<Wait> waits_;
  std::array<std::string_view, 16> words_;
  std::size_t count_ = 0;
  std::string text_;
  bool in_comment_ = false;
};

}  // namespace

bool is_goal(std::string_view head) {
  while (!head.empty()) {
    const std::string_view rest = config::trimmed(head);
    if (rest.starts_with("//")) {
      const std::size_t end = rest.find('\n');
      head = end == std::string_view::npos ? std::string_view() : rest.substr(end);
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/");
      head = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
    } else {
      return rest.starts_with("num_ranks");
    }
  }
  return false;
}

Trace read_goal(std::span<const TraceFile> files, const config::Parameters& /*terms*/) {
  return GoalReader(files.front()).read();
}

}  // namespace railyard::workload
