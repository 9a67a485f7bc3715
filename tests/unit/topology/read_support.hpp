// Reading fabrics from texts and files, and the law that every reader's result obeys.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "railyard/core/rng.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "support/shared_data.hpp"
#include "unit/topology/support.hpp"

namespace railyard::topology::test {

/// The fabric in a file, with `keys` added to its description ("\"gpus_per_host\": 8").
[[nodiscard]] inline Topology build_path(const std::filesystem::path& path,
                                         const std::string& keys) {
  const auto description = config::Document::parse_text(
      fmt::format(R"({{"builder": "read", "file": "{}"{}{}}})", path.filename().string(),
                  keys.empty() ? "" : ", ", keys),
      "description", path.parent_path());
  config::Errors errors;
  Topology topology = build(description.root(), errors);
  errors.throw_if_any();
  return topology;
}

/// A text as a file of that name, for as long as this lives.
class ReadText {
 public:
  ReadText(const std::string& text, const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("railyard-read-{}", static_cast<const void*>(this))),
        path_(folder_ / name) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << text;
  }
  ReadText(const ReadText&) = delete;
  ReadText& operator=(const ReadText&) = delete;
  ~ReadText() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] Topology build(const std::string& keys = "") const {
    return build_path(path_, keys);
  }
  [[nodiscard]] bool refused_with(const std::string& keys, const std::string& words) const {
    std::string message;
    try {
      (void)build_path(path_, keys);
    } catch (const config::ConfigError& error) {
      message = error.what();
    }
    if (message.find(words) != std::string::npos) return true;
    std::printf("refused with: %s\n", message.c_str());
    return false;
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

/// Any next hop, seeded.
class AnyHop final : public HopChooser {
 public:
  explicit AnyHop(Rng& rng) : rng_(rng) {}
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t count) override {
    return static_cast<std::uint32_t>(rng_.below(count));
  }

 private:
  Rng& rng_;
};

/// Every pair of GPUs (all of up to 2,048, else 100,000 seeded ones) has a connected path from one
/// to the other that meets no node twice.
inline void check_every_pair(const Topology& topology) {
  constexpr std::uint64_t kAllUpTo = 2048;
  constexpr std::uint64_t kSample = 100'000;
  Rng rng = RngStreams(1).stream("every pair");
  AnyHop chooser(rng);
  std::vector<LinkId> path;
  std::vector<NodeId> seen;
  std::uint64_t broken = 0;
  std::uint64_t checked = 0;
  const auto check = [&](std::uint64_t a, std::uint64_t b) {
    const auto source = static_cast<GpuId>(a);
    const auto destination = static_cast<GpuId>(b);
    path.clear();
    topology.paths().path(source, destination, chooser, path);
    NodeId at = topology.gpu_node(source);
    seen.assign(1, at);
    bool good = true;
    for (const LinkId id : path) {
      good = good && topology.link(id).from == at;
      at = topology.link(id).to;
      good = good && std::find(seen.begin(), seen.end(), at) == seen.end();
      seen.push_back(at);
    }
    broken += good && at == topology.gpu_node(destination) ? 0 : 1;
    ++checked;
  };
  const std::uint64_t gpus = topology.gpu_count();
  if (gpus <= kAllUpTo) {
    for (std::uint64_t a = 0; a < gpus; ++a) {
      for (std::uint64_t b = 0; b < gpus; ++b) {
        if (a != b) check(a, b);
      }
    }
  } else {
    for (std::uint64_t i = 0; i < kSample; ++i) {
      const std::uint64_t a = rng.below(gpus);
      const std::uint64_t b = rng.below(gpus - 1);
      check(a, b >= a ? b + 1 : b);
    }
  }
  CHECK(broken == 0);
  CHECK(checked == (gpus <= kAllUpTo ? gpus * (gpus - 1) : kSample));
}

}  // namespace railyard::topology::test
