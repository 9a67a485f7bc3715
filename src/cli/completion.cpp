// Completion in shells, made from the option tables: a script that holds every verb, option and
// name of this version and asks the program nothing.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/metrics/run_result.hpp"

namespace railyard::cli {

namespace {

struct VerbText {
  std::string name;
  std::string summary;
  std::string arguments;
  std::vector<std::string> first;  ///< what its first word may be; empty: files
  std::vector<OptionText> options;
};

std::vector<VerbText> verb_texts() {
  std::vector<VerbText> out;
  for (const Verb& verb : verbs()) {
    const CommandLine line = verb.options();
    const auto& first = line.usage().first_word;
    out.push_back({std::string(verb.name),
                   std::string(verb.summary),
                   std::string(line.usage().arguments),
                   {first.begin(), first.end()},
                   line.options()});
  }
  return out;
}

std::vector<std::string> spellings(const OptionText& option) {
  std::vector<std::string> out{"--" + option.name};
  if (option.letter != 0) out.push_back(fmt::format("-{}", option.letter));
  return out;
}

/// Every character of `special` with a `mark` before it.
std::string marked(std::string_view text, std::string_view special, char mark) {
  std::string out;
  for (const char letter : text) {
    if (special.find(letter) != std::string_view::npos) out += mark;
    out += letter;
  }
  return out;
}

/// 'text' of a POSIX shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char letter : text)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

bool takes_file(const OptionText& option) {
  return option.value.find("FILE") != std::string::npos || option.value == "SCENARIO";
}

// --- bash

/// How bash completes the value of an option. Free text is completed with nothing.
std::string bash_value(const OptionText& option) {
  if (!option.names.empty()) return fmt::format("_railyard_words {}", fmt::join(option.names, " "));
  if (option.value == "DIR") return "_railyard_files -d";
  if (takes_file(option)) return "_railyard_files -f";
  return "COMPREPLY=()";
}

/// `case` arms: options that complete alike share one, in order of their first use.
std::string bash_values(const std::vector<VerbText>& verbs) {
  std::vector<std::pair<std::string, std::string>> arms;
  for (const VerbText& verb : verbs) {
    for (const OptionText& option : verb.options) {
      if (option.value.empty()) continue;
      const std::string action = bash_value(option);
      auto at = std::find_if(arms.begin(), arms.end(),
                             [&](const auto& arm) { return arm.second == action; });
      if (at == arms.end()) at = arms.insert(arms.end(), {"", action});
      for (const std::string& spelling : spellings(option)) {
        at->first +=
            fmt::format("{}'{} {}'", at->first.empty() ? "" : " | \\\n      ", verb.name, spelling);
      }
    }
  }
  std::string out;
  for (const auto& [options, action] : arms)
    out += fmt::format("    {})\n      {} ;;\n", options, action);
  return out;
}

std::string bash_verbs(const std::vector<VerbText>& verbs) {
  std::string out;
  for (const VerbText& verb : verbs) {
    std::string options;
    for (const OptionText& option : verb.options) {
      for (const std::string& spelling : spellings(option)) options += ' ' + spelling;
    }
    out += fmt::format("    {})\n      options='{}'\n      first='{}' ;;\n", verb.name,
                       options.substr(1), fmt::join(verb.first, " "));
  }
  return out;
}

constexpr std::string_view kBash =
    R"(# bash completion of railyard @VERSION@, written by `railyard completion bash`.
# shellcheck shell=bash

_railyard_words() { mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur"); }

_railyard_files() {  # -f files, -d folders
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

# _railyard_value VERB OPTION: completes the option's value; fails where it takes none.
_railyard_value() {
  case "$1 $2" in
@VALUES@    *) return 1 ;;
  esac
}

# _railyard_table VERB: its options and what its first word may be.
_railyard_table() {
  options= first=
  case $1 in
@TABLE@  esac
}

_railyard() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}
  local options first word skip= words=0 i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _railyard_words @VERBS@ --help --version
    return
  fi
  # bash takes --option=value for three words.
  if [ "$cur" = = ]; then
    cur=
  elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if _railyard_value "$verb" "$before"; then return; fi
  _railyard_table "$verb"
  if [[ $cur == -* ]]; then
    _railyard_words "$options"
    return
  fi
  for ((i = 2; i < COMP_CWORD; ++i)); do  # words before this one that are no options
    word=${COMP_WORDS[i]}
    if [ -n "$skip" ]; then
      [ "$word" = = ] || skip=
    elif [[ $word == -* ]]; then
      local reply=("${COMPREPLY[@]}")
      if _railyard_value "$verb" "$word"; then skip=yes; fi
      COMPREPLY=("${reply[@]}")
    else
      words=$((words + 1))
    fi
  done
  if [ "$words" -eq 0 ] && [ -n "$first" ]; then
    _railyard_words "$first"
  else
    _railyard_files -f
  fi
}

complete -F _railyard railyard
)";

// --- zsh

std::string zsh_value(const OptionText& option) {
  if (!option.names.empty()) return fmt::format("({})", fmt::join(option.names, " "));
  if (option.value == "DIR") return "_files -/";
  return takes_file(option) ? "_files" : " ";
}

/// A specification of _arguments.
std::string zsh_option(const OptionText& option) {
  const std::string help = marked(option.help, "[]\\:", '\\');
  const std::string value =
      option.value.empty()
          ? ""
          : fmt::format(":{}:{}", marked(option.value, ":\\", '\\'), zsh_value(option));
  std::string out;
  for (const std::string& spelling : spellings(option)) {
    const bool is_long = spelling.size() > 2;
    out += fmt::format(
        "        {}\n",
        shell_quoted(fmt::format("{}{}{}[{}]{}", option.repeated ? "*" : "", spelling,
                                 value.empty() ? "" : (is_long ? "=" : "+"), help, value)) +
            " \\");
  }
  return out;
}

std::string zsh_verbs(const std::vector<VerbText>& verbs) {
  std::string out;
  for (const VerbText& verb : verbs) {
    out += fmt::format("    {})\n      _arguments -s \\\n", verb.name);
    for (const OptionText& option : verb.options) out += zsh_option(option);
    const std::string name = verb.arguments.empty() ? "word" : marked(verb.arguments, ":\\", '\\');
    if (!verb.first.empty())
      out += fmt::format("        {} \\\n",
                         shell_quoted(fmt::format("1:{}:({})", name, fmt::join(verb.first, " "))));
    out += fmt::format("        {} ;;\n", shell_quoted(fmt::format("*:{}:_files", name)));
  }
  return out;
}

constexpr std::string_view kZsh = R"(#compdef railyard
# zsh completion of railyard @VERSION@, written by `railyard completion zsh`.

_railyard() {
  local -a verbs
  verbs=(
@NAMES@  )
  if (( CURRENT == 2 )); then
    _describe -t verbs verb verbs
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
@TABLE@  esac
}

# Read from a file of $fpath, or by `source`.
if [ "$funcstack[1]" = _railyard ]; then _railyard "$@"; else compdef _railyard railyard; fi
)";

// --- fish

std::string fish_quoted(std::string_view text) {
  return "'" + marked(text, "'\\", '\\') + "'";
}

std::string fish_option(const VerbText& verb, const OptionText& option) {
  std::string out =
      fmt::format("complete -c railyard -n '__railyard_verb {}' -l {}", verb.name, option.name);
  if (option.letter != 0) out += fmt::format(" -s {}", option.letter);
  if (!option.value.empty()) {
    if (!option.names.empty())
      out += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(option.names, " "))));
    else if (option.value == "DIR")
      out += " -x -a '(__fish_complete_directories)'";
    else
      out += takes_file(option) ? " -r -F" : " -x";
  }
  return out + " -d " + fish_quoted(option.help) + '\n';
}

std::string fish_script(const std::vector<VerbText>& verbs) {
  std::string out = fmt::format(
      "# fish completion of railyard {}, written by `railyard completion fish`.\n\n"
      "function __railyard_verb\n"
      "  set -l words (commandline -opc)\n"
      "  test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
      "end\n\n"
      "function __railyard_first  # no word yet behind the verb\n"
      "  __railyard_verb $argv[1]; and test (count (commandline -opc)) -eq 2\n"
      "end\n\n"
      "function __railyard_begins\n"
      "  test (count (commandline -opc)) -eq 1\n"
      "end\n\n"
      "complete -c railyard -n __railyard_begins -f -l help -d 'the verbs'\n"
      "complete -c railyard -n __railyard_begins -f -l version -d 'the version'\n",
      metrics::version());
  for (const VerbText& verb : verbs) {
    out += fmt::format("\ncomplete -c railyard -n __railyard_begins -f -a {} -d {}\n", verb.name,
                       fish_quoted(verb.summary));
    if (!verb.first.empty())
      out += fmt::format("complete -c railyard -n '__railyard_first {}' -f -a '{}'\n", verb.name,
                         fmt::join(verb.first, " "));
    for (const OptionText& option : verb.options) out += fish_option(verb, option);
  }
  return out;
}

// ---

/// The text with every @NAME@ replaced.
std::string filled(std::string_view text, const std::map<std::string, std::string>& parts) {
  std::string out(text);
  for (const auto& [name, part] : parts) {
    const std::string mark = '@' + name + '@';
    if (const auto at = out.find(mark); at != std::string::npos) out.replace(at, mark.size(), part);
  }
  return out;
}

std::string script(std::string_view shell) {
  const auto verbs = verb_texts();
  const std::string version(metrics::version());
  std::vector<std::string> names;
  std::string described;
  for (const VerbText& verb : verbs) {
    names.push_back(verb.name);
    described += "    " + shell_quoted(verb.name + ':' + marked(verb.summary, ":\\", '\\')) + '\n';
  }
  if (shell == "bash") {
    return filled(kBash, {{"VERSION", version},
                          {"VALUES", bash_values(verbs)},
                          {"TABLE", bash_verbs(verbs)},
                          {"VERBS", fmt::format("{}", fmt::join(names, " "))}});
  }
  if (shell == "zsh") {
    return filled(kZsh, {{"VERSION", version}, {"NAMES", described}, {"TABLE", zsh_verbs(verbs)}});
  }
  return fish_script(verbs);
}

const std::vector<std::string_view> kShells{"bash", "zsh", "fish"};

}  // namespace

CommandLine completion_options() {
  CommandLine line({"completion",
                    "bash|zsh|fish",
                    "Writes the script that completes verbs, options, their values and files. An "
                    "installed package has it where\n"
                    "the shells look; in a checkout, read it: `source <(railyard completion "
                    "bash)`, the same in zsh (after\n"
                    "compinit), `railyard completion fish | source`.",
                    {"railyard completion bash", "railyard completion fish"},
                    kShells});
  line.option("out", "FILE", "writes it here instead of to stdout");
  return line;
}

int completion(const CommandLine& line) {
  line.expect_words(1, 1, "bash, zsh or fish");
  const std::string& shell = line.words()[0];
  if (std::find(kShells.begin(), kShells.end(), shell) == kShells.end())
    throw config::ConfigError(
        unknown(fmt::format("\"{}\" is no shell that is completed", shell), shell, kShells));
  if (const auto file = line.text("out")) {
    write_file(*file, script(shell));
  } else {
    write_stdout(script(shell));
  }
  return kGood;
}

}  // namespace railyard::cli
