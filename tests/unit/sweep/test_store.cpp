#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/sweep/store.hpp"

using namespace railyard;
using sweep::Identity;
using sweep::Store;

namespace {

namespace fs = std::filesystem;

const Identity kIdentity{{"version", "1"}, {"scenario", "aa"}, {"points", "bb"}};

struct Folder {
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] fs::path log() const { return path / "points.log"; }
  [[nodiscard]] std::string text() const {
    std::ifstream in(log(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& text) const { std::ofstream(log(), std::ios::binary) << text; }
  fs::path path = fs::temp_directory_path() / "railyard-test-store";
};

std::string refusal(const fs::path& path, const Identity& identity, bool resume) {
  try {
    const Store store(path, identity, resume);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

const std::string kText = "{\n  \"a\": 1\n}\n";

}  // namespace

TEST_CASE("what was added is there when the folder is opened again, line feeds and all") {
  const Folder folder;
  {
    Store store(folder.path, kIdentity, false);
    store.add(3, kText);
    store.add(0, "[]");
  }
  const Store store(folder.path, kIdentity, true);
  CHECK(store.size() == 2);
  REQUIRE(store.find(3) != nullptr);
  CHECK(*store.find(3) == kText);
  CHECK(store.find(1) == nullptr);
  CHECK(store.damaged() == 0);
}

// A process may be killed after any byte of a write: every prefix of the log is opened. A point is
// there exactly when its line is whole.
TEST_CASE("after a kill at any byte the points that were finished are there, and can be added to") {
  const Folder folder;
  {
    Store store(folder.path, kIdentity, false);
    for (std::size_t point = 0; point < 3; ++point) store.add(point, kText);
  }
  const std::string whole = folder.text();
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    folder.write(whole.substr(0, cut));
    const auto lines = std::count(whole.begin(), whole.begin() + static_cast<long>(cut), '\n');
    // A line whose line feed alone is missing is whole, too.
    const bool feed_missing = lines > 0 && cut < whole.size() && whole[cut] == '\n';
    const auto there = static_cast<std::size_t>(std::max(0L, lines - 1)) + (feed_missing ? 1 : 0);
    {
      Store store(folder.path, kIdentity, true);
      INFO("cut at ", cut);
      REQUIRE(store.size() == there);
      store.add(7, "[7]");
    }
    const Store again(folder.path, kIdentity, true);
    CHECK(again.size() == there + 1);
    CHECK(*again.find(7) == "[7]");
  }
}

// One bit of every byte after the header in turn.
TEST_CASE("a damaged record is found by its checksum, and it alone is lost") {
  const Folder folder;
  {
    Store store(folder.path, kIdentity, false);
    for (std::size_t point = 0; point < 3; ++point) store.add(point, kText);
  }
  const std::string whole = folder.text();
  for (std::size_t at = whole.find('\n') + 1; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    if (damaged[at] == '\n' || whole[at] == '\n') continue;  // it splits or joins two lines
    folder.write(damaged);
    const Store store(folder.path, kIdentity, true);
    INFO("byte ", at);
    CHECK(store.size() == 2);
    CHECK(store.damaged() == 1);
  }
}

TEST_CASE("a folder with points is not begun anew, and not gone on with by another sweep") {
  const Folder folder;
  { Store(folder.path, kIdentity, false).add(0, kText); }
  CHECK(refusal(folder.path, kIdentity, false).find("holds points of a sweep") !=
        std::string::npos);
  for (std::size_t part = 0; part < kIdentity.size(); ++part) {
    Identity other = kIdentity;
    other[part].second += "x";
    CHECK(refusal(folder.path, other, true).find("begun with another " + other[part].first) !=
          std::string::npos);
  }
  CHECK(refusal(folder.path, kIdentity, true).empty());
}

TEST_CASE("two sweeps on one folder are refused while the first lives") {
  const Folder folder;
  {
    const Store first(folder.path, kIdentity, false);
    CHECK(refusal(folder.path, kIdentity, true).find("another sweep is writing") !=
          std::string::npos);
  }
  CHECK(refusal(folder.path, kIdentity, true).empty());
}

// A limit on the size of files is a full disk to who writes: the write ends in the middle.
TEST_CASE("a full disk refuses a point and leaves those before it whole") {
  const Folder folder;
  Store store(folder.path, kIdentity, false);
  store.add(0, kText);
  const auto size = static_cast<rlim_t>(fs::file_size(folder.log()));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{size + 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  CHECK_THROWS_AS(store.add(1, kText), IoError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(fs::file_size(folder.log()) == size);
  store.add(1, kText);
  CHECK(store.size() == 2);
}
