// An input file read from front to back in blocks, for files too large to stand in memory whole.
//
// Files packed by gzip are unpacked as they are read, whatever their name (as config/file.hpp).
//
//   ByteStream in = ByteStream::open(path);
//   while (in.fill()) { use(in.rest()); in.skip(in.rest().size()); }
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace railyard::config {

class ByteStream {
 public:
  /// Throws ConfigError (missing file) or IoError (unreadable).
  [[nodiscard]] static ByteStream open(const std::filesystem::path& path);
  /// Over a text in memory, packed or not.
  [[nodiscard]] static ByteStream over(std::string text, std::string name);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// What has been read and not skipped. Valid until the next call that is not const.
  [[nodiscard]] std::string_view rest() const { return {buffer_.get() + begin_, end_ - begin_}; }
  /// At least one byte in rest(); false at the end. Throws ConfigError where the gzip stream is
  /// broken, IoError where the file cannot be read.
  bool fill() { return begin_ < end_ || read_more(1); }
  /// At least `bytes` in rest(); false where the file has fewer left.
  bool need(std::size_t bytes) { return end_ - begin_ >= bytes || read_more(bytes); }
  void skip(std::size_t bytes) { begin_ += bytes; }
  /// The stream ends so many bytes behind what has been skipped.
  void end_after(std::uint64_t bytes);
  /// Bytes skipped so far, unpacked.
  [[nodiscard]] std::uint64_t offset() const { return read_ - (end_ - begin_); }

 private:
  struct Source;
  ByteStream(std::string name, std::unique_ptr<Source> source);
  bool read_more(std::size_t bytes);
  void cut();

  std::string name_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t end_at_ = UINT64_MAX;
};

/// The lines of a stream, one after the other, without their ends; CRLF is tolerated. A line is
/// valid until the next.
class LineStream {
 public:
  explicit LineStream(ByteStream in) : in_(std::move(in)) {}
  /// False at the end. Throws ConfigError for a line of more than 16 MiB.
  bool next(std::string_view& line);
  [[nodiscard]] std::uint32_t number() const { return number_; }  ///< of the last line, from 1
  [[nodiscard]] std::string place() const;                        ///< "file:line"
  [[nodiscard]] const std::string& name() const { return in_.name(); }

 private:
  ByteStream in_;
  std::size_t consumed_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace railyard::config
