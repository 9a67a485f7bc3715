#include "railyard/config/file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <system_error>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::config {
namespace {

/// A small file can unpack to anything; more than this is no input of ours.
constexpr std::size_t kUnpackedMax = std::size_t{8} << 30U;

/// All members of a gzip file, one after the other.
std::string unpacked(const std::string& packed, const std::string& name) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  RAILYARD_CHECK(inflateInit2(&stream, kGzipOnly) == Z_OK, "zlib cannot be started");
  const auto end = [](z_stream* it) { inflateEnd(it); };
  const std::unique_ptr<z_stream, decltype(end)> closer(&stream, end);
  std::string text;
  char block[1 << 16];
  std::size_t fed = 0;
  for (;;) {
    if (stream.avail_in == 0) {
      constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
      const std::size_t next = std::min(kMost, packed.size() - fed);
      // zlib's interface predates const; it does not write there.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + fed));
      stream.avail_in = static_cast<uInt>(next);
      fed += next;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    const int state = inflate(&stream, Z_NO_FLUSH);
    text.append(block, sizeof block - stream.avail_out);
    if (text.size() > kUnpackedMax)
      throw ConfigError(fmt::format("{}: unpacks to more than {} bytes", name, kUnpackedMax));
    if (state == Z_STREAM_END) {
      if (stream.avail_in == 0 && fed == packed.size()) return text;
      if (inflateReset(&stream) == Z_OK) continue;
    }
    if (state == Z_OK && (stream.avail_in > 0 || fed < packed.size() || stream.avail_out == 0))
      continue;
    throw ConfigError(fmt::format("{}: the gzip stream is {}; pack the file again", name,
                                  state == Z_DATA_ERROR ? "damaged" : "cut off"));
  }
}

}  // namespace

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
  const bool gzipped = text.size() > 2 && text[0] == '\x1f' && text[1] == '\x8b';
  return gzipped ? unpacked(text, path.string()) : text;
}

}  // namespace railyard::config
