#include "report_export.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "command.hpp"
#include "command_line.hpp"
#include "output.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/compare.hpp"
#include "railyard/report/page.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;

/// A folder that goes with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "railyard-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError(name + ": cannot be made");
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string browser() {
  if (const char* own = std::getenv("CHROMIUM"); own != nullptr && *own != 0) return own;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    const Ended found = run_command(fmt::format("command -v {}", name));
    if (found.code == 0) return found.text;
  }
  throw IoError(
      "railyard report --export: the pictures are drawn by a browser, and there is no chromium "
      "here: install it, or name it in the variable CHROMIUM");
}

std::string last_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::string last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

/// The document that the browser has when the page has drawn its pictures.
std::string opened(const std::string& page) {
  const std::string program = browser();
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "page.html";
  const fs::path log = scratch.path() / "log";
  write_file(file, page);
  // The browser's own sandbox does not work for root. Virtual time runs until nothing is awaited.
  std::string command = fmt::format("timeout 300 {}", shell_word(program));
  for (const char* option :
       {"--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
        "--hide-scrollbars", "--disable-background-networking", "--window-size=900,800",
        "--virtual-time-budget=100000", "--dump-dom"})
    command += fmt::format(" {}", option);
  if (::geteuid() == 0) command += " --no-sandbox";
  command +=
      fmt::format(" --user-data-dir={} {} 2>{}", shell_word((scratch.path() / "profile").string()),
                  shell_word("file://" + file.string() + "#export"), log.string());
  const Ended ended = run_command(command);
  if (ended.code != 0)
    throw IoError(fmt::format("{} does not open the page (exit code {}): {}", program, ended.code,
                              last_line(log)));
  return ended.text;
}

}  // namespace

std::size_t export_charts(const std::string& page, const fs::path& folder) {
  prepare_folder(folder);
  std::vector<report::ChartPicture> pictures;
  try {
    pictures = report::exported_charts(opened(page));
  } catch (const report::ResultError& error) {
    throw IoError(fmt::format("railyard report --export: {}", error.what()));
  }
  for (const report::ChartPicture& picture : pictures) {
    write_file(folder / (picture.id + ".svg"), picture.svg);
    write_file(folder / (picture.id + ".png"), picture.png);
  }
  return pictures.size();
}

}  // namespace railyard::cli
