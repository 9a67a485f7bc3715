// Options of a verb: parsing, --help, errors with the nearest name. The only place that knows
// Boost.Program_options.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "railyard/report/report.hpp"
#include "verbs.hpp"

namespace railyard::scheduler {
struct Catalogs;
}

namespace railyard::cli {

/// What stands in `railyard VERB --help` beside the options.
struct Usage {
  std::string_view verb;
  std::string_view arguments;  ///< "SCENARIO…"
  std::string_view about;
  std::vector<std::string_view> examples;  ///< each runs as it stands, in a checkout
  /// What the first word may be, for completion; empty: names of files.
  std::vector<std::string_view> first_word = {};
};

/// A line of a verb's option table.
struct OptionText {
  std::string name;   ///< "output"
  char letter = 0;    ///< 'o', or 0
  std::string value;  ///< "FILE"; empty for a flag
  std::string help;
  bool repeated = false;
  std::vector<std::string> names;  ///< values to choose from; empty: free
};

class CommandLine {
 public:
  explicit CommandLine(Usage usage);
  CommandLine(CommandLine&& other) noexcept;
  CommandLine& operator=(CommandLine&&) = delete;
  ~CommandLine();

  CommandLine& flag(const char* name, const char* help);
  CommandLine& option(const char* name, const char* value, const char* help);
  /// May be given again and again.
  CommandLine& repeated(const char* name, const char* value, const char* help);
  /// Options that every simulating verb has: --set --plugin --seed --jobs --progress --quiet.
  CommandLine& simulation_options();
  CommandLine& format_option();
  CommandLine& plugin_option();
  /// Values of the option just declared, for completion; `one_of` has them all, others may exist
  /// beside those of a family of `railyard list`.
  CommandLine& one_of(std::initializer_list<const char*> names);
  CommandLine& member_of(std::string_view family);

  /// Parses; prints the help and returns false when --help was asked for. Throws ConfigError.
  [[nodiscard]] bool parse(const Arguments& arguments);

  [[nodiscard]] const Arguments& words() const {
    return words_;
  }  ///< arguments that are no options
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> text(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const;
  /// A whole number, not negative. Throws ConfigError.
  [[nodiscard]] std::optional<std::uint64_t> number(const std::string& name) const;
  [[nodiscard]] report::Format format() const;
  /// The policies that can be named: those in the tree and of --plugin. Throws ConfigError.
  [[nodiscard]] std::shared_ptr<const scheduler::Catalogs> catalogs() const;
  [[nodiscard]] unsigned jobs() const;  ///< --jobs, or as many as there are cores
  /// --set options as pointer and value.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> changes() const;
  /// Throws ConfigError unless there are so many words.
  void expect_words(std::size_t least, std::size_t most, std::string_view what) const;
  [[nodiscard]] std::string help() const;
  [[nodiscard]] const Usage& usage() const { return usage_; }
  [[nodiscard]] std::vector<OptionText> options() const;
  /// The command as a shell would read it, and the wall time since it started: for meta.json.
  [[nodiscard]] std::string command() const { return command_; }
  [[nodiscard]] double elapsed_s() const;

 private:
  struct State;
  Usage usage_;
  std::unique_ptr<State> state_;
  Arguments words_;
  std::string command_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The word as a shell reads it: in quotes, where it needs them.
[[nodiscard]] std::string shell_word(const std::string& word);
/// "railyard ARGUMENTS…" as a shell would read it.
[[nodiscard]] std::string shell_command(const Arguments& arguments);

/// "what; did you mean \"x\"?", or with the list of what there is.
[[nodiscard]] std::string unknown(std::string_view what, std::string_view word,
                                  const std::vector<std::string_view>& known);

}  // namespace railyard::cli
