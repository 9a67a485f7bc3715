#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/core/rng.hpp"

namespace {

using railyard::Digest;

template <typename... Values>
std::string digest_of(Values... values) {
  Digest digest;
  (digest.add(values), ...);
  return digest.hex();
}

// splitmix64 from state 0: its published first output.
TEST_CASE("the scatterer is the finaliser of splitmix64") {
  CHECK(railyard::mix64(0) == UINT64_C(0xe220a8397b1dcdaf));
}

// FNV-1a of "a" is af63dc4c8601ec8c in its authors' table of test vectors, and of "" the offset
// basis.
TEST_CASE("text is hashed by FNV-1a and scattered") {
  CHECK(railyard::hash_text("a") == railyard::mix64(UINT64_C(0xaf63dc4c8601ec8c)));
  CHECK(railyard::hash_text("") == railyard::mix64(UINT64_C(0xcbf29ce484222325)));
}

// Computed by an independent program (Python) from the definition: state' = mix(state ^ mix(value))
// + rotl(state, 29).
TEST_CASE("a digest is the same for ever") {
  CHECK(digest_of() == "5261696c79617264");
  CHECK(digest_of(UINT64_C(1)) == "7af3c86f754d2c85");
  CHECK(digest_of(UINT64_C(1), UINT64_C(2)) == "7ff54728ea0e1e0f");
  CHECK(digest_of(0.5, railyard::Duration(100), std::string_view("fat_tree")) ==
        "88fc65789b00248a");
}

TEST_CASE("a digest depends on order, on where texts end and on how many values there are") {
  CHECK(digest_of(UINT64_C(1), UINT64_C(2)) != digest_of(UINT64_C(2), UINT64_C(1)));
  CHECK(digest_of(std::string_view("ab"), std::string_view("c")) !=
        digest_of(std::string_view("a"), std::string_view("bc")));
  CHECK(digest_of(UINT64_C(0)) != digest_of());
  CHECK(digest_of(UINT64_C(0)) != digest_of(UINT64_C(0), UINT64_C(0)));
}

TEST_CASE("a digest does not tell the zeros of either sign apart, but any other two numbers") {
  CHECK(digest_of(0.0) == digest_of(-0.0));
  CHECK(digest_of(1.0) != digest_of(1.0 + 0x1.0p-52));
}

TEST_CASE("identifiers keep their index and do not convert into each other") {
  CHECK(railyard::index(railyard::GpuId{2047}) == 2047);
  static_assert(!std::is_convertible_v<railyard::GpuId, railyard::HostId>);
  static_assert(!std::is_convertible_v<railyard::LinkId, std::uint32_t>);
  static_assert(!std::is_convertible_v<std::uint32_t, railyard::Rank>);
}

TEST_CASE("a failed check tells the place inside the repository, the condition and the values") {
  const int jobs = 3;
  try {
    RAILYARD_CHECK(jobs == 4, "{} jobs are left", jobs);
    FAIL("the check passed");
  } catch (const railyard::InternalError& error) {
    const std::string what = error.what();
    CHECK(what.rfind("tests/unit/core/test_digest.cpp:", 0) == 0);
    CHECK(what.find("check `jobs == 4` failed: 3 jobs are left") != std::string::npos);
  }
}

}  // namespace
