// Published data that developers have beside the repository (../shared/data) and users do not.
// Tests that want it skip, with a count, where it is absent: the line "skipped without shared data:
// …" is what tools/test counts.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

namespace railyard::test {

[[nodiscard]] inline std::filesystem::path source_dir() {
  return RAILYARD_SOURCE_DIR;
}

/// Path of a file or folder below ../shared/data, or empty (and the skip is printed).
[[nodiscard]] inline std::optional<std::filesystem::path> shared_data(const std::string& relative) {
  std::filesystem::path path = source_dir() / ".." / "shared" / "data" / relative;
  if (std::filesystem::exists(path)) return path;
  std::printf("skipped without shared data: %s\n", relative.c_str());
  return std::nullopt;
}

}  // namespace railyard::test
