// Reading a whole input file.
#pragma once

#include <filesystem>
#include <string>

namespace railyard::config {

/// The bytes of a file. ConfigError when it is missing, IoError when it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace railyard::config
