#include <doctest/doctest.h>

#include <filesystem>

#include "railyard/collective/nccl.hpp"
#include "railyard/config/csv.hpp"
#include "support/shared_data.hpp"

namespace railyard::test {

namespace nccl = collective::nccl;

namespace {

nccl::Architecture architecture_of(std::string_view generation) {
  if (generation == "volta") return nccl::Architecture::volta;
  if (generation == "ampere") return nccl::Architecture::ampere;
  return generation == "hopper" ? nccl::Architecture::hopper : nccl::Architecture::blackwell;
}

}  // namespace

// The expectations are made by nccl_choice.py from NCCL's published constants, without a look at
// our tables or code: 3 operations × 8 sizes × 14 fabrics.
TEST_CASE("algorithm and protocol are what NCCL 2.30.7 would take") {
  auto csv = config::Csv::parse_file(source_dir() / "tests" / "differential" / "nccl_choice.csv");
  config::Errors errors;
  const auto operation = csv.required("operation", errors);
  const auto bytes = csv.required("bytes", errors);
  const auto ranks = csv.required("ranks", errors);
  const auto nodes = csv.required("nodes", errors);
  const auto generation = csv.required("generation", errors);
  const auto channels = csv.required("channels", errors);
  const auto intra = csv.required("channel_intra_gb_per_s", errors);
  const auto inter = csv.required("channel_inter_gb_per_s", errors);
  const auto algorithm = csv.required("algorithm", errors);
  const auto protocol = csv.required("protocol", errors);
  const auto predicted = csv.required("predicted_us", errors);
  CHECK(csv.rows() >= 200);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    nccl::Fabric fabric;
    fabric.ranks = static_cast<std::uint32_t>(csv.integer(row, ranks, errors));
    fabric.nodes = static_cast<std::uint32_t>(csv.integer(row, nodes, errors));
    fabric.architecture = architecture_of(csv.text(row, generation));
    fabric.channels = static_cast<std::uint32_t>(csv.integer(row, channels, errors));
    fabric.channel_intra_gb_per_s = csv.real(row, intra, errors);
    fabric.channel_inter_gb_per_s = csv.real(row, inter, errors);
    fabric.nvls = fabric.architecture >= nccl::Architecture::hopper;
    const auto choice =
        nccl::choose(collective::operation_of(csv.text(row, operation)).value(),
                     Bytes(csv.integer(row, bytes, errors)), fabric, nccl::version("2.30.7"));
    CAPTURE(row + 2);
    REQUIRE(choice.has_value());
    CHECK(nccl::name(choice->algorithm) == csv.text(row, algorithm));
    CHECK(nccl::name(choice->protocol) == csv.text(row, protocol));
    CHECK(choice->predicted_us ==
          doctest::Approx(csv.real(row, predicted, errors)).epsilon(1e-6).scale(0));
  }
  CHECK(errors.empty());
}

}  // namespace railyard::test
