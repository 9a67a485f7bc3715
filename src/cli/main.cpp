// The only program file: hands the arguments to a verb, and is where every exception ends.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/compare.hpp"
#include "verbs.hpp"

namespace railyard::cli {

namespace {

std::string overview() {
  std::string out =
      "usage: railyard VERB [options] …\n\n"
      "Which scheduler, placement, routing and collective policy should a GPU cluster "
      "run?\n\nverbs:\n";
  for (const Verb& verb : verbs()) out += fmt::format("  {:<11}{}\n", verb.name, verb.summary);
  return out +
         "\n`railyard VERB --help` has the options of a verb and examples; `railyard --version` "
         "the version.\n"
         "exit codes: 0 good, 1 a comparison or check failed, 2 wrong input, 3 internal check "
         "failed,\n"
         "4 input/output error, 130 interrupted\n\n"
         "example:\n  railyard run scenarios/quickstart.json\n";
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    say(overview());
    return kWrongInput;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    write_stdout(overview());
    return kGood;
  }
  if (arguments[0] == "--version") {
    write_stdout(fmt::format("railyard {}\n", metrics::version()));
    return kGood;
  }
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) {
    if (verb.name == arguments[0]) {
      CommandLine line = verb.options();
      const bool wanted = line.parse({arguments.begin() + 1, arguments.end()});
      return wanted ? verb.run(line) : kGood;
    }
    names.push_back(verb.name);
  }
  throw config::ConfigError(
      unknown(fmt::format("\"{}\" is no verb of railyard", arguments[0]), arguments[0], names));
}

/// Where an allocation fails, by --memory-limit or the system. Nothing here may allocate, and no
/// destructor may run: others may be half-way through their work.
[[noreturn]] void end_without_memory() {
  constexpr std::string_view kText =
      "out of memory: the limit (--memory-limit, or the system's) is reached; what was finished "
      "before is kept; raise it, give fewer --jobs, or a smaller scenario\n";
  static_cast<void>(!::write(STDERR_FILENO, kText.data(), kText.size()));
  std::_Exit(kIo);
}

int guarded(const Arguments& arguments) {
  try {
    return dispatch(arguments);
  } catch (const config::ConfigError& error) {
    for (const std::string& line : error.lines()) say(line);
    return kWrongInput;
  } catch (const report::ResultError& error) {
    say(error.what());
    return kWrongInput;
  } catch (const IoError& error) {
    say(error.what());
    return kIo;
  } catch (const std::system_error& error) {  // a thread too many, most likely
    say(fmt::format("the system refuses: {}; give fewer --jobs, or raise --memory-limit",
                    error.what()));
    return kIo;
  } catch (const std::exception& error) {
    say(fmt::format("internal error: {}\nreproduce: {}\nversion: {}", error.what(),
                    shell_command(arguments), metrics::version()));
    return kInternal;
  }
}

}  // namespace

}  // namespace railyard::cli

int main(int count, char** values) {
  std::set_new_handler(railyard::cli::end_without_memory);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, exit code 4
  return railyard::cli::guarded({values + 1, values + count});
}
