#include "command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <map>
#include <sstream>
#include <thread>

#include "list.hpp"
#include "memory_limit.hpp"
#include "output.hpp"
#include "railyard/bridge/catalogs.hpp"
#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"

namespace railyard::cli {

namespace options = boost::program_options;

struct CommandLine::State {
  options::options_description described{"options"};
  options::variables_map values;
  std::map<std::string, std::vector<std::string>> names;     ///< of values, by option
  std::map<std::string, std::vector<std::string>> families;  ///< of `railyard list`, likewise
};

CommandLine::CommandLine(Usage usage)
    : usage_(std::move(usage)), state_(std::make_unique<State>()) {
  flag("help,h", "this text");
  option("memory-limit", "SIZE",
         "ends with exit code 4 before this program takes more memory, as 2GiB");
}
CommandLine::~CommandLine() = default;
CommandLine::CommandLine(CommandLine&& other) noexcept = default;

CommandLine& CommandLine::flag(const char* name, const char* help) {
  state_->described.add_options()(name, options::bool_switch(), help);
  return *this;
}

CommandLine& CommandLine::option(const char* name, const char* value, const char* help) {
  state_->described.add_options()(name, options::value<std::string>()->value_name(value), help);
  return *this;
}

CommandLine& CommandLine::repeated(const char* name, const char* value, const char* help) {
  state_->described.add_options()(
      name, options::value<std::vector<std::string>>()->value_name(value)->composing(), help);
  return *this;
}

CommandLine& CommandLine::simulation_options() {
  repeated("set", "/pointer=value",
           "change the scenario at a JSON pointer (repeatable); paths in the value are "
           "relative to the working directory");
  plugin_option();
  option("seed", "N", "seed, in place of the scenario's");
  option("jobs", "N", "threads; results do not depend on them (default: all cores)");
  option("progress", "WHEN", "auto, always or never (default: auto: when stderr is a terminal)")
      .one_of({"auto", "always", "never"});
  return flag("quiet", "no progress and no warnings on stderr");
}

CommandLine& CommandLine::plugin_option() {
  return repeated("plugin", "FILE",
                  "a library of your own with more policies (repeatable); trusted code: it runs "
                  "with your rights");
}

CommandLine& CommandLine::format_option() {
  return option("format", "FORM", "table, json, csv or markdown (default: table)")
      .one_of({"table", "json", "csv", "markdown"});
}

CommandLine& CommandLine::one_of(std::initializer_list<const char*> names) {
  state_->names[state_->described.options().back()->long_name()].assign(names.begin(), names.end());
  return *this;
}

CommandLine& CommandLine::member_of(std::string_view family) {
  state_->families[state_->described.options().back()->long_name()].emplace_back(family);
  return *this;
}

std::vector<OptionText> CommandLine::options() const {
  std::vector<OptionText> out;
  for (const auto& option : state_->described.options()) {
    OptionText text;
    text.name = option->long_name();
    const std::string shown =
        option->canonical_display_name(options::command_line_style::allow_dash_for_short);
    if (shown.size() == 2 && shown[0] == '-') text.letter = shown[1];
    const auto& value = *option->semantic();
    if (value.max_tokens() > 0) text.value = option->format_parameter();
    text.repeated = value.is_composing();
    text.help = option->description();
    if (const auto at = state_->names.find(text.name); at != state_->names.end())
      text.names = at->second;
    for (const std::string& family : state_->families[text.name]) {
      for (std::string& name : members_of(family)) text.names.push_back(std::move(name));
    }
    out.push_back(std::move(text));
  }
  return out;
}

namespace {

std::vector<std::string_view> long_names(const options::options_description& described,
                                         std::vector<std::string>& store) {
  store.clear();
  for (const auto& option : described.options()) store.push_back("--" + option->long_name());
  return {store.begin(), store.end()};
}

}  // namespace

bool CommandLine::parse(const Arguments& arguments) {
  Arguments whole{std::string(usage_.verb)};
  whole.insert(whole.end(), arguments.begin(), arguments.end());
  command_ = shell_command(whole);

  // No prefixes: an option of a later version must not change what a script means today.
  const int style =
      options::command_line_style::unix_style & ~options::command_line_style::allow_guessing;
  options::options_description all;
  all.add(state_->described).add_options()("word", options::value<Arguments>());
  options::positional_options_description words;
  words.add("word", -1);
  try {
    const auto parsed =
        options::command_line_parser(arguments).options(all).positional(words).style(style).run();
    options::store(parsed, state_->values);
    options::notify(state_->values);
  } catch (const options::unknown_option& error) {
    std::vector<std::string> store;
    const std::string name = error.get_option_name();
    throw config::ConfigError(unknown(fmt::format("{}: unknown option", name), name,
                                      long_names(state_->described, store)));
  } catch (const options::error& error) {
    throw config::ConfigError(error.what());
  }
  if (state_->values.count("word") > 0) words_ = state_->values["word"].as<Arguments>();
  if (has("help")) {
    write_stdout(help());
    return false;
  }
  if (const auto limit = text("memory-limit")) {
    const auto size = config::parse_bytes(*limit);
    if (!size || *size <= Bytes(0))
      throw config::ConfigError(
          fmt::format("--memory-limit: expected a size as 2GiB, found \"{}\"", *limit));
    limit_memory(*size);
  }
  return true;
}

bool CommandLine::has(const std::string& name) const {
  const auto& value = state_->values[name];
  if (value.empty()) return false;
  const bool* flag = boost::any_cast<bool>(&value.value());
  return flag == nullptr || *flag;
}

std::optional<std::string> CommandLine::text(const std::string& name) const {
  const auto& value = state_->values[name];
  if (value.empty()) return std::nullopt;
  return value.as<std::string>();
}

std::vector<std::string> CommandLine::texts(const std::string& name) const {
  const auto& value = state_->values[name];
  if (value.empty()) return {};
  return value.as<std::vector<std::string>>();
}

std::optional<std::uint64_t> CommandLine::number(const std::string& name) const {
  const auto given = text(name);
  if (!given) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc{} || stop != end) {
    throw config::ConfigError(
        fmt::format("--{}: expected a whole number from 0, found \"{}\"", name, *given));
  }
  return value;
}

std::shared_ptr<const scheduler::Catalogs> CommandLine::catalogs() const {
  std::vector<std::filesystem::path> libraries;
  for (const std::string& file : texts("plugin")) libraries.emplace_back(file);
  return bridge::make_catalogs(libraries);
}

report::Format CommandLine::format() const {
  const std::string name = text("format").value_or("table");
  const std::vector<std::string_view> known{"table", "json", "csv", "markdown"};
  const auto at = std::find(known.begin(), known.end(), name);
  if (at == known.end())
    throw config::ConfigError(
        unknown(fmt::format("--format: \"{}\" is unknown", name), name, known));
  return static_cast<report::Format>(at - known.begin());
}

unsigned CommandLine::jobs() const {
  const auto given = number("jobs");
  if (!given) return std::max(1U, std::thread::hardware_concurrency());
  if (*given == 0 || *given > 1024)
    throw config::ConfigError("--jobs: expected a number of threads from 1 to 1024");
  return static_cast<unsigned>(*given);
}

std::vector<std::pair<std::string, std::string>> CommandLine::changes() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& change : texts("set")) {
    const auto equals = change.find('=');
    if (change.empty() || change.front() != '/' || equals == std::string::npos) {
      throw config::ConfigError(
          fmt::format("--set: expected /json/pointer=value, found \"{}\"", change));
    }
    out.emplace_back(change.substr(0, equals), change.substr(equals + 1));
  }
  return out;
}

void CommandLine::expect_words(std::size_t least, std::size_t most, std::string_view what) const {
  if (words_.size() >= least && words_.size() <= most) return;
  throw config::ConfigError(
      fmt::format("railyard {}: expected {}, found {} argument{}; see railyard {} --help",
                  usage_.verb, what, words_.size(), words_.size() == 1 ? "" : "s", usage_.verb));
}

std::string CommandLine::help() const {
  std::string out = fmt::format("usage: railyard {} [options] {}\n\n{}\n\n", usage_.verb,
                                usage_.arguments, usage_.about);
  std::ostringstream described;
  described << state_->described;
  out += described.str() + "\nexamples:\n";
  for (const std::string_view example : usage_.examples) out += fmt::format("  {}\n", example);
  return out;
}

std::string shell_word(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" '\"\\$`*?;&|<>(){}[]~#\n\t!") == std::string::npos;
  if (plain) return word;
  std::string out = "'";
  for (const char letter : word)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

std::string shell_command(const Arguments& arguments) {
  std::string out = "railyard";
  for (const std::string& argument : arguments) out += ' ' + shell_word(argument);
  return out;
}

double CommandLine::elapsed_s() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  return elapsed.count();
}

std::string unknown(std::string_view what, std::string_view word,
                    const std::vector<std::string_view>& known) {
  const std::string_view near = config::nearest(word, known);
  if (!near.empty()) return fmt::format("{}; did you mean \"{}\"?", what, near);
  return fmt::format("{}; there are {}", what, fmt::join(known, ", "));
}

}  // namespace railyard::cli
