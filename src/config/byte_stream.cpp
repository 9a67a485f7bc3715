#include "railyard/config/byte_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::config {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18U;
constexpr std::size_t kLineMax = std::size_t{16} << 20U;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

/// The packed bytes, from a file or from memory, and the state of unpacking them.
struct ByteStream::Source {
  std::string name;
  std::unique_ptr<std::FILE, CloseFile> file;
  std::string text;
  std::size_t text_read = 0;
  std::size_t block = kBlock;  ///< a short text needs no large buffers
  std::unique_ptr<char[]> packed;
  z_stream zip{};
  bool started = false;
  bool gzipped = false;
  bool in_member = false;  ///< inside a gzip member: the end of the file would cut it

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (gzipped) inflateEnd(&zip);
  }

  std::size_t read_raw(char* out, std::size_t most) {
    if (!file) {
      const std::size_t count = std::min(most, text.size() - text_read);
      std::memcpy(out, text.data() + text_read, count);
      text_read += count;
      return count;
    }
    const std::size_t count = std::fread(out, 1, most, file.get());
    if (count == 0 && std::ferror(file.get()) != 0)
      throw IoError(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
    return count;
  }

  [[noreturn]] void broken(const char* how) const {
    throw ConfigError(fmt::format("{}: the gzip stream is {}; pack the file again", name, how));
  }

  std::size_t read_zipped(char* out, std::size_t most) {
    zip.next_out = reinterpret_cast<Bytef*>(out);
    zip.avail_out = static_cast<uInt>(std::min<std::size_t>(most, kBlock));
    const uInt wanted = zip.avail_out;
    while (zip.avail_out == wanted) {
      if (zip.avail_in == 0) {
        zip.avail_in = static_cast<uInt>(read_raw(packed.get(), block));
        zip.next_in = reinterpret_cast<Bytef*>(packed.get());
        if (zip.avail_in == 0) {
          if (in_member) broken("cut off");
          break;
        }
      }
      in_member = true;
      const int state = inflate(&zip, Z_NO_FLUSH);
      if (state == Z_STREAM_END) {
        in_member = false;
        if (inflateReset(&zip) != Z_OK) broken("damaged");
      } else if (state != Z_OK) {
        broken("damaged");
      }
    }
    return wanted - zip.avail_out;
  }

  std::size_t read(char* out, std::size_t most) {
    if (!started) {
      started = true;
      packed.reset(new char[block]);
      const std::size_t head = read_raw(packed.get(), block);
      gzipped = head > 2 && packed[0] == '\x1f' && packed[1] == '\x8b';
      zip.next_in = reinterpret_cast<Bytef*>(packed.get());
      zip.avail_in = static_cast<uInt>(head);
      constexpr int kGzipOnly = 16 + MAX_WBITS;
      if (gzipped) RAILYARD_CHECK(inflateInit2(&zip, kGzipOnly) == Z_OK, "zlib cannot be started");
    }
    if (gzipped) return read_zipped(out, most);
    if (zip.avail_in > 0) {  // what was read to see whether it is packed
      const std::size_t count = std::min<std::size_t>(most, zip.avail_in);
      std::memcpy(out, zip.next_in, count);
      zip.next_in += count;
      zip.avail_in -= static_cast<uInt>(count);
      return count;
    }
    return read_raw(out, most);
  }
};

ByteStream::ByteStream(std::string name, std::unique_ptr<Source> source)
    : name_(std::move(name)), source_(std::move(source)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

ByteStream ByteStream::open(const std::filesystem::path& path) {
  std::error_code fault;
  const std::filesystem::file_status status = std::filesystem::status(path, fault);
  if (status.type() == std::filesystem::file_type::not_found)
    throw ConfigError(fmt::format("{}: no such file", path.string()));
  if (status.type() == std::filesystem::file_type::directory)
    throw IoError(fmt::format("{}: is a directory, not a file", path.string()));
  auto source = std::make_unique<Source>();
  source->name = path.string();
  source->file.reset(std::fopen(path.c_str(), "rb"));
  if (!source->file)
    throw IoError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  return {path.string(), std::move(source)};
}

ByteStream ByteStream::over(std::string text, std::string name) {
  auto source = std::make_unique<Source>();
  source->name = name;
  source->block = std::clamp(text.size(), std::size_t{256}, kBlock);
  source->text = std::move(text);
  return {std::move(name), std::move(source)};
}

bool ByteStream::read_more(std::size_t bytes) {
  const std::size_t have = end_ - begin_;
  const std::size_t block = source_->block;
  if (capacity_ < bytes + block) {
    const std::size_t capacity = std::max(2 * capacity_, bytes + block);
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (have > 0) std::memcpy(larger.get(), buffer_.get() + begin_, have);
    buffer_ = std::move(larger);
    capacity_ = capacity;
  } else if (have > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, have);
  }
  begin_ = 0;
  end_ = have;
  while (end_ < bytes) {
    if (read_ >= end_at_) return false;
    const std::size_t got = source_->read(buffer_.get() + end_, capacity_ - end_);
    if (got == 0) return false;
    end_ += got;
    read_ += got;
    cut();
  }
  return true;
}

void ByteStream::end_after(std::uint64_t bytes) {
  end_at_ = offset() + bytes;
  cut();
}

/// Forgets what has been read behind the end.
void ByteStream::cut() {
  if (read_ <= end_at_) return;
  end_ -= static_cast<std::size_t>(read_ - end_at_);
  read_ = end_at_;
}

bool LineStream::next(std::string_view& line) {
  in_.skip(consumed_);
  consumed_ = 0;
  std::size_t end = 0;
  if (!in_.fill()) return false;
  ++number_;
  for (std::size_t searched = 0;;) {
    const std::string_view rest = in_.rest();
    end = rest.find('\n', searched);
    if (end != std::string_view::npos) break;
    searched = rest.size();
    if (searched > kLineMax)
      throw ConfigError(fmt::format("{}: a line of more than {} bytes", place(), kLineMax));
    if (!in_.need(searched + 1)) {
      end = searched;
      break;
    }
  }
  const std::string_view rest = in_.rest();
  line = rest.substr(0, end);
  consumed_ = std::min(end + 1, rest.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  return true;
}

std::string LineStream::place() const {
  return fmt::format("{}:{}", in_.name(), number_);
}

}  // namespace railyard::config
