#include "railyard/sweep/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"

namespace railyard::sweep {

namespace {

// A text is JSON, which holds no control characters outside of escapes: a line feed becomes the
// record separator of ASCII, and a line of the log is a record.
constexpr char kLineFeed = '\x1e';

std::string checksum(std::size_t point, std::string_view text) {
  Digest digest;
  digest.add(static_cast<std::uint64_t>(point));
  digest.add(text);
  return digest.hex();
}

std::string header_of(const Identity& identity) {
  std::string out = "railyard sweep 1";
  for (const auto& [part, fingerprint] : identity) out += fmt::format(" {}={}", part, fingerprint);
  return out;
}

/// Parts in which the two differ.
std::string differing(std::string_view header, const Identity& identity) {
  std::string out;
  for (const auto& [part, fingerprint] : identity) {
    const std::string own = fmt::format(" {}={}", part, fingerprint);
    const bool same = (std::string(header) + ' ').find(own + ' ') != std::string::npos;
    if (!same) out += (out.empty() ? "" : ", ") + part;
  }
  return out.empty() ? "form" : out;
}

struct Record {
  std::size_t point = 0;
  std::string text;
};

std::optional<std::size_t> count_of(std::string_view word) {
  std::size_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (word.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// Empty when the line is damaged.
std::optional<Record> record_of(std::string_view line) {
  std::array<std::string_view, 3> words;
  for (std::string_view& word : words) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    word = line.substr(0, space);
    line.remove_prefix(space + 1);
  }
  const auto point = count_of(words[0]);
  const auto length = count_of(words[1]);
  if (!point || !length || *length != line.size()) return std::nullopt;
  Record out{*point, std::string(line)};
  std::replace(out.text.begin(), out.text.end(), kLineFeed, '\n');
  if (checksum(*point, out.text) != words[2]) return std::nullopt;
  return out;
}

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

/// All of it, or what was there before.
void append(int file, const std::filesystem::path& path, std::string_view text) {
  const off_t before = ::lseek(file, 0, SEEK_END);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = errno;
      static_cast<void>(!::ftruncate(file, before));
      errno = error;
      fail(path, "cannot be written; the points finished before are kept");
    }
    written += static_cast<std::size_t>(count);
  }
  if (::fdatasync(file) != 0) fail(path, "cannot be flushed to the disk");
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// What a log holds.
struct Log {
  bool begun = false;  ///< its first line is whole
  bool torn = false;   ///< its last line is not
  std::map<std::size_t, std::string> points;
  std::size_t damaged = 0;
};

void check_header(std::string_view line, const std::filesystem::path& path,
                  const Identity& identity, bool resume) {
  if (!resume) {
    throw config::ConfigError(
        fmt::format("{}: holds points of a sweep; `railyard sweep --resume` goes on with it, "
                    "another --out begins anew",
                    path.string()));
  }
  if (line != header_of(identity)) {
    throw config::ConfigError(
        fmt::format("{}: was begun with another {}; its points are not mixed with these: give "
                    "another --out",
                    path.string(), differing(line, identity)));
  }
}

Log parse_log(std::string_view text, const std::filesystem::path& path, const Identity& identity,
              bool resume) {
  Log out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out.torn = end == text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!out.begun) {
      if (out.torn) break;  // killed while it began: no point was finished
      check_header(line, path, identity, resume);
      out.begun = true;
    } else if (auto record = record_of(line)) {
      out.points[record->point] = std::move(record->text);
    } else if (!line.empty()) {
      ++out.damaged;
    }
  }
  return out;
}

}  // namespace

std::map<std::size_t, std::string> read_points(const std::filesystem::path& folder,
                                               const Identity& identity) {
  const std::filesystem::path path = folder / "points.log";
  return parse_log(text_of(path), path, identity, true).points;
}

Store::Store(const std::filesystem::path& folder, const Identity& identity, bool resume)
    : path_(folder / "points.log") {
  const std::filesystem::path lock = folder / "sweep.lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(lock, "cannot be written");
  try {
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      throw IoError(
          fmt::format("{}: another sweep is writing to this folder; wait for it, or give "
                      "another --out",
                      folder.string()));
    }
    read(identity, resume);
  } catch (...) {
    if (file_ >= 0) ::close(file_);
    ::close(lock_);
    throw;
  }
}

Store::~Store() {
  ::close(file_);
  ::close(lock_);
}

void Store::read(const Identity& identity, bool resume) {
  Log log = parse_log(text_of(path_), path_, identity, resume);
  points_ = std::move(log.points);
  damaged_ = log.damaged;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (log.begun ? 0 : O_TRUNC);
  file_ = ::open(path_.c_str(), flags, 0666);
  if (file_ < 0) fail(path_, "cannot be written");
  if (!log.begun) append(file_, path_, header_of(identity) + '\n');
  if (log.begun && log.torn) append(file_, path_, "\n");
}

const std::string* Store::find(std::size_t point) const {
  const auto found = points_.find(point);
  return found == points_.end() ? nullptr : &found->second;
}

void Store::add(std::size_t point, std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', kLineFeed);
  append(file_, path_,
         fmt::format("{} {} {} {}\n", point, line.size(), checksum(point, text), line));
  points_[point] = std::string(text);
}

}  // namespace railyard::sweep
