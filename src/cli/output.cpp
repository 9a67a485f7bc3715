#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "railyard/core/check.hpp"

namespace railyard::cli {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw IoError(fmt::format("{}: {}", what, std::generic_category().message(error)));
}

/// Writes all bytes; the error number, or 0.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

fs::path temporary_beside(const fs::path& path) {
  return path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
}

}  // namespace

void write_stdout(std::string_view text) {
  if (const int error = write_all(STDOUT_FILENO, text); error != 0)
    fail("stdout: cannot be written", error);
}

void say(std::string_view line) {
  // One write a line, so that lines of threads do not mix.
  write_all(STDERR_FILENO, std::string(line) + '\n');
}

void prepare_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(fmt::format("{}: cannot be made", folder.string()), error.value());
  const fs::path probe = temporary_beside(folder / "result.json");
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) fail(fmt::format("{}: cannot be written", folder.string()), errno);
  ::close(file);
  ::unlink(probe.c_str());
}

void write_file(const fs::path& path, std::string_view text) {
  const fs::path temporary = temporary_beside(path);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) fail(fmt::format("{}: cannot be written", path.string()), errno);
  int error = write_all(file, text);
  if (error == 0 && ::fsync(file) != 0 && errno != EINVAL) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  fail(fmt::format("{}: cannot be written", path.string()), error);
}

fs::path bundled(std::string_view folder) {
  std::error_code error;
  const fs::path here(folder);
  if (fs::is_directory(here, error)) return here;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path shared = program.parent_path().parent_path() / "share/railyard" / folder;
  if (fs::is_directory(shared, error)) return shared;
  // build/PRESET/railyard stands two folders below the repository.
  for (int up = 0; up < 4 && program.has_relative_path(); ++up) {
    program = program.parent_path();
    if (fs::is_directory(program / folder, error) &&
        fs::exists(program / "CMakePresets.json", error)) {
      return program / folder;
    }
  }
  return {};
}

fs::path input_file(const std::string& word, std::string_view folder) {
  std::error_code error;
  const fs::path ours = bundled(folder);
  if (fs::exists(word, error) || word.empty() || ours.empty() || fs::path(word).is_absolute())
    return word;
  for (const fs::path& path : {ours.parent_path() / word, ours / (word + ".json")}) {
    if (fs::is_regular_file(path, error)) return path;
  }
  return word;
}

std::string shown_path(const fs::path& path) {
  std::error_code error;
  const fs::path relative = fs::proximate(path, error);
  if (error || relative.empty() || *relative.begin() == "..") return path.string();
  return relative.string();
}

}  // namespace railyard::cli
