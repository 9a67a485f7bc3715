#include "railyard/config/file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::config {

std::string read_file(const std::filesystem::path& path) {
  std::error_code fault;
  const std::filesystem::file_status status = std::filesystem::status(path, fault);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw ConfigError(fmt::format("{}: no such file", path.string()));
  }
  if (status.type() == std::filesystem::file_type::directory) {
    throw IoError(fmt::format("{}: is a directory, not a file", path.string()));
  }
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file)
    throw IoError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  std::string text;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get()))
    text.append(block, got);
  if (std::ferror(file.get()) != 0) {
    throw IoError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  return text;
}

}  // namespace railyard::config
