// Well-known collectives as the files a user might write.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

namespace railyard::test {

struct StepText {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t chunk = 0;
  std::uint32_t count = 1;
  bool reduce = false;
  std::vector<std::size_t> after{};
};

inline std::string step_list_text(const std::string& operation, std::uint32_t ranks,
                                  std::uint32_t chunks, const std::vector<StepText>& steps) {
  std::string out =
      fmt::format(R"({{"name": "test", "operation": "{}", "ranks": {}, "chunks": {}, "steps": [)",
                  operation, ranks, chunks);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepText& step = steps[i];
    out += fmt::format(
        "{}\n{{\"source\": {}, \"destination\": {}, \"chunk\": {}, \"count\": {}, "
        "\"reduce\": {}, \"after\": [{}]}}",
        i == 0 ? "" : ",", step.source, step.destination, step.chunk, step.count, step.reduce,
        fmt::join(step.after, ", "));
  }
  return out + "]}";
}

/// Rank r passes on, in step s, the chunk that it received in the step before: r − s.
inline std::string ring_text(std::uint32_t n) {
  std::vector<StepText> steps;
  for (std::uint32_t s = 0; s < 2 * (n - 1); ++s) {
    for (std::uint32_t r = 0; r < n; ++r) {
      StepText step{r, (r + 1) % n, (r + 2 * n - s) % n, 1, s < n - 1, {}};
      if (s > 0) step.after = {(s - 1) * n + (r + n - 1) % n};
      steps.push_back(step);
    }
  }
  return step_list_text("all_reduce", n, n, steps);
}

/// n a power of two. Ranks at distance n/2, n/4, … exchange the half of the block they share that
/// is the other's; then back. Both must have finished the step before.
inline std::string halving_doubling_text(std::uint32_t n) {
  std::vector<StepText> steps;
  std::vector<std::uint32_t> distances;
  for (std::uint32_t d = n / 2; d > 0; d /= 2) distances.push_back(d);
  const std::size_t halvings = distances.size();
  for (std::size_t i = halvings; i-- > 0;) distances.push_back(distances[i]);
  for (std::size_t k = 0; k < distances.size(); ++k) {
    const std::uint32_t d = distances[k];
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t other = r ^ d;
      const std::uint32_t owner = k < halvings ? other : r;
      StepText step{r, other, owner / d * d, d, k < halvings, {}};
      if (k > 0) {
        const std::uint32_t before = distances[k - 1];
        step.after = {(k - 1) * n + (r ^ before), (k - 1) * n + (other ^ before)};
      }
      steps.push_back(step);
    }
  }
  return step_list_text("all_reduce", n, n, steps);
}

/// A ring all-reduce as MSCCL has it: one thread block a GPU. In place the sums stay in the input.
inline std::string msccl_ring_text(std::uint32_t n, bool in_place) {
  const char* out = in_place ? "i" : "o";
  std::string text = fmt::format(
      R"(<algo name="ring" proto="Simple" nchannels="1" nchunksperloop="{0}" ngpus="{0}" coll="allreduce" inplace="{1}">)",
      n, in_place ? 1 : 0);
  for (std::uint32_t r = 0; r < n; ++r) {
    text += fmt::format(
        "\n <gpu id=\"{0}\" i_chunks=\"{1}\" o_chunks=\"{1}\" s_chunks=\"0\">\n  <tb "
        "id=\"0\" send=\"{2}\" recv=\"{3}\" chan=\"0\">",
        r, n, (r + 1) % n, (r + n - 1) % n);
    for (std::uint32_t s = 0; s <= 2 * (n - 1); ++s) {
      const std::uint32_t chunk = (r + 2 * n - s) % n;
      const char* type = s == 0            ? "s"
                         : s < n - 1       ? "rrs"
                         : s == n - 1      ? "rrcs"
                         : s < 2 * (n - 1) ? "rcs"
                                           : "r";
      text += fmt::format(
          "\n   <step s=\"{}\" type=\"{}\" srcbuf=\"i\" srcoff=\"{}\" dstbuf=\"{}\" "
          "dstoff=\"{}\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>",
          s, type, chunk, out, chunk);
    }
    text += "\n  </tb>\n </gpu>";
  }
  return text + "\n</algo>\n";
}

}  // namespace railyard::test
