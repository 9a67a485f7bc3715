// Manual pages made from the option tables, in the man macros of roff: railyard(1) and a page a
// verb.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/metrics/run_result.hpp"

namespace railyard::cli {

namespace {

/// Running text: no escapes, no line that is a request, no typographic hyphens in names of options.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char letter : text) {
    if (begins && (letter == '.' || letter == '\'')) out += "\\&";
    begins = letter == '\n';
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else if (letter == '`') {
      out += "\\(ga";
    } else if (letter == '^') {
      out += "\\(ha";
    } else if (letter == '~') {
      out += "\\(ti";
    } else {
      out += letter;
    }
  }
  return out;
}

/// Lines of the help are broken for a terminal; a page fills its own. A line that begins with a
/// word and a colon ("convert: …") begins a paragraph.
std::string paragraphs(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::string_view word = line.substr(0, line.find(' '));
    if (at > 0 && !word.empty() && word.back() == ':') out += ".PP\n";
    out += roff(line) + '\n';
    at = end + 1;
  }
  return out;
}

std::string title(std::string_view page) {
  std::string upper(page);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  // No date: the same page from every build of a version.
  return fmt::format(".TH {} 1 \"\" \"Railyard {}\" \"Railyard manual\"\n", roff(upper),
                     metrics::version());
}

std::string option_heading(const OptionText& option) {
  std::string out = ".TP\n";
  const std::string value =
      option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(option.value));
  if (option.letter != 0) out += fmt::format("\\fB\\-{}\\fR{}, ", option.letter, value);
  return out + fmt::format("\\fB\\-\\-{}\\fR{}\n", roff(option.name), value);
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\ngood\n"
    ".TP\n1\na comparison or check failed\n"
    ".TP\n2\nthe input is wrong\n"
    ".TP\n3\nan internal check failed\n"
    ".TP\n4\ninput or output failed\n"
    ".TP\n130\ninterrupted; what was finished is kept\n";

std::string verb_page(const Verb& verb) {
  const CommandLine line = verb.options();
  const Usage& usage = line.usage();
  const std::string name = fmt::format("railyard-{}", verb.name);
  std::string out = title(name);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(verb.summary));
  out += fmt::format(".SH SYNOPSIS\n\\fBrailyard {}\\fR [\\fIoptions\\fR]{}\n", roff(verb.name),
                     usage.arguments.empty() ? "" : " " + roff(usage.arguments));
  out += ".SH DESCRIPTION\n" + paragraphs(usage.about) + ".SH OPTIONS\n";
  for (const OptionText& option : line.options())
    out += option_heading(option) + roff(option.help) + '\n';
  out += kExitStatus;
  out += ".SH EXAMPLES\n.EX\n";
  for (const std::string_view example : usage.examples) out += roff(example) + '\n';
  return out + ".EE\n.SH SEE ALSO\n.BR railyard (1)\n";
}

std::string overview_page() {
  std::string out = title("railyard");
  out +=
      ".SH NAME\nrailyard \\- simulator of GPU clusters that train large models\n"
      ".SH SYNOPSIS\n\\fBrailyard\\fR \\fIVERB\\fR [\\fIoptions\\fR] \\fI\\&...\\fR\n"
      ".br\n\\fBrailyard\\fR \\fB\\-\\-version\\fR\n"
      ".SH DESCRIPTION\n"
      "Simulates training jobs on a cluster flow by flow, and says which scheduler, placement, "
      "routing and collective policy it should run, and what that does to throughput and job "
      "completion time.\n.PP\n"
      "Results go to stdout; progress, warnings and errors to stderr.\n"
      ".SH VERBS\n";
  for (const Verb& verb : verbs()) {
    out += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(fmt::format("railyard-{}", verb.name)),
                       roff(verb.summary));
  }
  out += kExitStatus;
  return out + ".SH EXAMPLES\n.EX\nrailyard run scenarios/quickstart.json\n.EE\n";
}

std::string page_of(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return verb_page(verb);
    known.push_back(verb.name);
  }
  throw config::ConfigError(unknown(fmt::format("\"{}\" is no verb", name), name, known));
}

}  // namespace

CommandLine man_options() {
  CommandLine line({"man",
                    "[VERB]",
                    "Writes the manual page of the program, or of a verb, as roff: an installed "
                    "package has them where `man` looks.",
                    {"railyard man run", "railyard man --out build/man"}});
  line.option("out", "DIR", "writes every page there, railyard.1 and railyard-VERB.1");
  return line;
}

int man(const CommandLine& line) {
  line.expect_words(0, 1, "a verb at most");
  const auto out = line.text("out");
  if (out && !line.words().empty())
    throw config::ConfigError("railyard man: --out writes every page; leave out the verb");
  if (!out) {
    write_stdout(line.words().empty() ? overview_page() : page_of(line.words()[0]));
    return kGood;
  }
  const std::filesystem::path folder(*out);
  prepare_folder(folder);
  write_file(folder / "railyard.1", overview_page());
  for (const Verb& verb : verbs())
    write_file(folder / fmt::format("railyard-{}.1", verb.name), verb_page(verb));
  return kGood;
}

}  // namespace railyard::cli
