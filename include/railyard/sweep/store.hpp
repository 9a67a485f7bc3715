// The finished points of a sweep on disk: each is durable as soon as it is finished.
//
// points.log in the sweep's folder begins with what the sweep is made of, then a line a point:
// number, length and checksum of its text, and the text. A line is written at once and flushed to
// the disk. What a crash, a full disk or a bad sector left of a line fails its checksum, and only
// that point is run again. One process at a time: the folder is locked while a Store lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railyard::sweep {

/// What a sweep is made of, part by part ("scenario", "points", "version") with a fingerprint each:
/// points of two sweeps that differ in a part are not mixed.
using Identity = std::vector<std::pair<std::string, std::string>>;

class Store {
 public:
  /// Opens the folder's log, or begins one. Throws ConfigError where it holds points and `resume`
  /// is not wished, or points of a sweep that differs (naming the parts); IoError where the folder
  /// cannot be written or another process has it.
  Store(const std::filesystem::path& folder, const Identity& identity, bool resume);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// The text of a point; null where it is not there.
  [[nodiscard]] const std::string* find(std::size_t point) const;
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  /// Lines whose checksum failed: their points are not there.
  [[nodiscard]] std::size_t damaged() const { return damaged_; }
  /// On disk when it returns. Throws IoError (full disk); what was there before stays whole.
  void add(std::size_t point, std::string_view text);

 private:
  void read(const Identity& identity, bool resume);

  std::filesystem::path path_;
  int lock_ = -1;
  int file_ = -1;
  std::map<std::size_t, std::string> points_;
  std::size_t damaged_ = 0;
};

/// Points of a folder's log that are whole, whoever writes to it meanwhile; none where there is no
/// log. Throws ConfigError where they are those of another sweep.
[[nodiscard]] std::map<std::size_t, std::string> read_points(const std::filesystem::path& folder,
                                                             const Identity& identity);

}  // namespace railyard::sweep
