// Reading a whole input file. Files packed by gzip are unpacked, whatever their name: the first two
// bytes say so.
#pragma once

#include <filesystem>
#include <string>

namespace railyard::config {

/// The (unpacked) bytes of a file. ConfigError when it is missing or its gzip stream is broken,
/// IoError when it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace railyard::config
