#include <algorithm>
#include <cmath>

#include "railyard/workload/compression.hpp"

namespace railyard::workload {
namespace {

using collective::Operation;
using config::ParameterSpec;
using config::ParameterType;

/// Numbers of other widths. Eight-bit ones carry a scale of 4 bytes for each block of 256
/// (Dettmers, 2016, "8-bit approximations for parallelism in deep learning"; block-wise as in
/// Dettmers et al., 2022).
class Cast final : public Compression {
 public:
  explicit Cast(const config::Parameters& parameters)
      : precision_(parameters.get<std::string>("precision")) {}

  [[nodiscard]] std::string refusal(const GradientReduction& reduction) const override {
    if (width() < reduction.element_bytes) return {};
    return fmt::format(
        "the gradients have {} bytes each, casting them to {} saves nothing; cast to fp8 or int8, "
        "or give the job \"gradients\": \"fp32\"",
        reduction.element_bytes, precision_);
  }

  [[nodiscard]] CompressedReduction compressed(const GradientReduction& reduction) const override {
    Bytes payload(reduction.elements() * width());
    if (width() == 1) payload += Bytes((reduction.elements() + 255) / 256 * 4);
    return {
        {{reduction.operation, payload, 0}}, reduction.size + payload, reduction.size + payload};
  }

 private:
  [[nodiscard]] std::int64_t width() const {
    return precision_ == "fp16" || precision_ == "bf16" ? 2 : 1;
  }
  std::string precision_;
};

/// The largest entries by magnitude, each with its index; every rank gathers those of all others
/// and adds them up (Lin et al., 2018, "Deep gradient compression").
class TopK final : public Compression {
 public:
  explicit TopK(const config::Parameters& parameters) : share_(parameters.get<double>("share")) {}

  [[nodiscard]] std::string refusal(const GradientReduction& reduction) const override {
    if (reduction.operation == Operation::all_reduce) return {};
    return "\"top_k\" gathers whole gradients, but the job shards them; use \"zero\": 0 or "
           "compression \"cast\"";
  }

  /// Two reads of the gradient find the threshold (a histogram) and pick the entries; decoding
  /// clears the gradient and adds what came.
  [[nodiscard]] CompressedReduction compressed(const GradientReduction& reduction) const override {
    const auto kept =
        static_cast<std::int64_t>(std::ceil(share_ * static_cast<double>(reduction.elements())));
    const Bytes own(kept * (reduction.element_bytes + 4));
    const Bytes all = own * reduction.ranks;
    return {{{Operation::all_gather, all, 0}}, reduction.size * 2 + own, reduction.size + all * 2};
  }

 private:
  double share_;
};

/// A share of the gradients, those that matter most, is summed over all replicas in fp32; the rest
/// in fp16 behind it, and over a few neighbouring replicas only where `local_ranks` says so.
class Graded final : public Compression {
 public:
  explicit Graded(const config::Parameters& parameters)
      : share_(parameters.get<double>("share")),
        local_(static_cast<std::uint32_t>(parameters.get<std::int64_t>("local_ranks"))) {}

  [[nodiscard]] std::string refusal(const GradientReduction& reduction) const override {
    if (local_ == 0) return {};
    if (reduction.operation != Operation::all_reduce) {
      return "\"graded\" with \"local_ranks\" needs whole gradients, but the job shards them; use "
             "\"zero\": 0 or leave \"local_ranks\" out";
    }
    if (local_ <= reduction.ranks && reduction.ranks % local_ == 0) return {};
    return fmt::format("{} replicas do not divide into parts of {} \"local_ranks\"",
                       reduction.ranks, local_);
  }

  [[nodiscard]] CompressedReduction compressed(const GradientReduction& reduction) const override {
    const auto important =
        static_cast<std::int64_t>(std::llround(share_ * static_cast<double>(reduction.elements())));
    const Bytes exact(important * 4);
    const Bytes rest((reduction.elements() - important) * 2);
    CompressedReduction out;
    if (exact > Bytes(0)) out.pieces.push_back({reduction.operation, exact, 0});
    if (rest > Bytes(0) && local_ != 1) out.pieces.push_back({reduction.operation, rest, local_});
    out.encoding = reduction.size + exact + rest;
    out.decoding = out.encoding;
    return out;
  }

 private:
  double share_;
  std::uint32_t local_;
};

template <typename Member>
std::unique_ptr<Compression> make(const config::Parameters& parameters) {
  return std::make_unique<Member>(parameters);
}

}  // namespace

std::span<const config::CatalogEntry<CompressionFactory>> compression_catalog() {
  static const std::vector<config::CatalogEntry<CompressionFactory>> kTable{
      {{.name = "none", .summary = "Gradients cross the network as they are"},
       [](const config::Parameters&) { return std::unique_ptr<Compression>(); }},
      {{.name = "cast",
        .summary = "Gradients in fewer bits: fp16, bf16, or 8 bits with a scale a block",
        .parameters = {{.name = "precision",
                        .type = ParameterType::choice,
                        .fallback = "\"bf16\"",
                        .help = "of a gradient on the wire",
                        .choices = {"fp16", "bf16", "fp8", "int8"}}}},
       &make<Cast>},
      {{.name = "top_k",
        .summary = "The largest gradients and their indices, gathered by every replica",
        .parameters = {{.name = "share",
                        .type = ParameterType::real,
                        .fallback = "0.01",
                        .help = "of the gradients that is sent",
                        .min = 1e-6,
                        .max = 1}}},
       &make<TopK>},
      {{.name = "graded",
        .summary = "A share of the gradients over all replicas in fp32, the rest behind it in fp16",
        .parameters = {{.name = "share",
                        .type = ParameterType::real,
                        .fallback = "0.15",
                        .help = "of the gradients that is summed in fp32 over all replicas",
                        .min = 0,
                        .max = 1},
                       {.name = "local_ranks",
                        .type = ParameterType::integer,
                        .fallback = "0",
                        .help = "the rest is summed over so many consecutive replicas; 0: all of "
                                "them; 1: none",
                        .min = 0,
                        .max = 1e6}}},
       &make<Graded>},
  };
  return kTable;
}

}  // namespace railyard::workload
