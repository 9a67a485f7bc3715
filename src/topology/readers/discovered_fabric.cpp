#include "topology/readers/discovered_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "topology/readers/foreign_file.hpp"

namespace railyard::topology {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr std::int64_t kGpusMax = 4096;

LinkTerms read_terms(const config::Node& node, config::Errors& errors, DiscoveredScope scope,
                     bool is_nic, DiscoveredOptions& options) {
  LinkTerms terms;
  terms.given = true;
  config::Reader reader(node, errors);
  if (scope.states_bandwidth) {
    if (reader.has("bandwidth")) {
      static_cast<void>(reader.child("bandwidth"));
      reader.fail("bandwidth", "the file states the speed of every link: leave this key out");
    }
  } else if (reader.has("bandwidth")) {
    terms.bandwidth = read_bandwidth(reader);
  }
  LinkSpec rest;
  read_link_terms(reader, rest);
  terms.efficiency = rest.efficiency;
  terms.latency = rest.latency;
  if (is_nic && !scope.states_nics) {
    options.nics_per_host = static_cast<std::uint32_t>(reader.optional<std::int64_t>(
        "per_host", options.gpus_per_host.value_or(1), config::Range<std::int64_t>{1, kGpusMax}));
  }
  if (!is_nic && !scope.states_bandwidth) {
    terms.count = static_cast<std::uint32_t>(
        reader.optional<std::int64_t>("count", 1, config::Range<std::int64_t>{1, kGpusMax}));
  }
  reader.finish();
  return terms;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
      continue;
    }
    const auto number = [](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t first = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(first, at - first);
    };
    const std::string_view x = number(a, i);
    const std::string_view y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  const std::size_t rest_a = a.size() - i;
  const std::size_t rest_b = b.size() - j;
  if (rest_a != rest_b) return rest_a < rest_b;
  return a < b;  // equal but for leading zeros
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

DiscoveredOptions read_discovered_options(config::Reader& reader, DiscoveredScope scope) {
  DiscoveredOptions options;
  options.gpu_kind = reader.optional<std::string>("gpu", std::string(kUnknownGpu));
  if (const auto node = reader.child("gpus_per_host")) {
    std::int64_t gpus = 0;
    if (config::decode(*node, reader.errors(), gpus)) {
      if (gpus >= 1 && gpus <= kGpusMax) {
        options.gpus_per_host = static_cast<std::uint32_t>(gpus);
      } else {
        reader.fail("gpus_per_host", fmt::format("must be from 1 to {}", kGpusMax));
      }
    }
  }
  options.nvlink = optional_link(reader, "nvlink");
  options.pcie = optional_link(reader, "pcie");
  if (!scope.states_nics) options.nics_per_host = options.gpus_per_host.value_or(1);
  if (const auto nic = reader.child("nic")) {
    options.nic = read_terms(*nic, reader.errors(), scope, true, options);
  }
  if (const auto link = reader.child("switch_link")) {
    options.switch_link = read_terms(*link, reader.errors(), scope, false, options);
  }
  options.core_link = options.switch_link;
  options.core_link.given = false;
  if (const auto link = reader.child("core_link")) {
    options.core_link = read_terms(*link, reader.errors(), scope, false, options);
  }
  options.ignore = reader.optional<std::vector<std::string>>("ignore", std::vector<std::string>{});
  return options;
}

std::uint32_t DiscoveredFabric::add_switch(std::string name, std::uint32_t line) {
  devices_.push_back({std::move(name), {}, true, line});
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

std::uint32_t DiscoveredFabric::add_nic(std::string host, std::string nic, std::uint32_t line) {
  devices_.push_back({std::move(host), std::move(nic), false, line});
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

std::string DiscoveredFabric::device_name(std::uint32_t device) const {
  const Device& it = devices_[device];
  return it.nic.empty() ? it.name : fmt::format("{} {}", it.name, it.nic);
}

std::string DiscoveredFabric::end_name(const DeviceEnd& end) const {
  return end.port == 0 ? device_name(end.device)
                       : fmt::format("{} port {}", device_name(end.device), end.port);
}

void DiscoveredFabric::join_ends(config::Errors& errors) {
  std::stable_sort(ends_.begin(), ends_.end(),
                   [](const DiscoveredCable& x, const DiscoveredCable& y) { return x.a < y.a; });
  const auto find = [this](const DeviceEnd& end) {
    const auto at = std::lower_bound(
        ends_.begin(), ends_.end(), end,
        [](const DiscoveredCable& cable, const DeviceEnd& wanted) { return cable.a < wanted; });
    return at != ends_.end() && at->a == end ? &*at : nullptr;
  };
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const DiscoveredCable& end = ends_[i];
    if (i > 0 && ends_[i - 1].a == end.a) {
      errors.add(fmt::format("{}: {} is stated twice: first at {}", file_->place(end.line),
                             end_name(end.a), file_->place(ends_[i - 1].line)));
      continue;
    }
    const DiscoveredCable* back = find(end.b);
    if (back == nullptr) {
      errors.add(fmt::format("{}: {} leads to {}, which does not lead back", file_->place(end.line),
                             end_name(end.a), end_name(end.b)));
    } else if (back->b != end.a) {
      errors.add(fmt::format("{}: {} leads to {}, which at {} leads to {}", file_->place(end.line),
                             end_name(end.a), end_name(end.b), file_->place(back->line),
                             end_name(back->b)));
    } else if (end.a < end.b) {
      if (back->bandwidth != end.bandwidth) {
        errors.add(fmt::format(
            "{}: {} runs at {}, but its other end, {} at {}, at {}", file_->place(end.line),
            end_name(end.a), as_text(end.bandwidth.value_or(Bandwidth{})), end_name(end.b),
            file_->place(back->line), as_text(back->bandwidth.value_or(Bandwidth{}))));
      }
      cables_.push_back(end);
    } else if (end.a == end.b) {
      errors.add(fmt::format("{}: {} leads to itself", file_->place(end.line), end_name(end.a)));
    }
  }
  ends_.clear();
}

}  // namespace railyard::topology
