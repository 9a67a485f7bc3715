#include <doctest/doctest.h>

#include "unit/collective/algorithms.hpp"

namespace railyard::test {

using collective::GroupShape;
using collective::Operation;

TEST_CASE("operations have one name each, both ways") {
  for (std::size_t o = 0; o < collective::kOperations; ++o) {
    const auto operation = collective::operation_at(o);
    CHECK(collective::operation_of(collective::name(operation)) == operation);
  }
  CHECK_FALSE(collective::operation_of("allreduce").has_value());
}

TEST_CASE("an operation that an algorithm cannot do is refused, naming one that can") {
  const GroupShape shape = GroupShape::flat(4);
  CHECK(make_algorithm("ring")->refusal({Operation::all_to_all, Bytes(8)}, shape) ==
        "ring does all_reduce, all_gather, reduce_scatter, broadcast, reduce only; for all_to_all "
        "use direct or pairwise");
  CHECK(make_algorithm("double_binary_tree")->refusal({Operation::all_gather, Bytes(8)}, shape) ==
        "double_binary_tree does all_reduce only; for all_gather use ring or direct or "
        "recursive_halving_doubling or pat or nvls");
  CHECK(make_algorithm("hierarchical")->refusal({Operation::broadcast, Bytes(8)}, shape) ==
        "hierarchical does all_reduce only; for broadcast use ring or binomial_tree");
  CHECK(make_algorithm("direct")->refusal({Operation::all_reduce, Bytes(8)}, shape) ==
        "direct does all_to_all, all_gather, reduce_scatter, send_recv only; for all_reduce use "
        "ring or double_binary_tree or hierarchical or recursive_halving_doubling or nvls or "
        "nvls_tree");
}

TEST_CASE("hierarchical refuses islands of unequal size and takes equal ones") {
  const auto hierarchical = make_algorithm("hierarchical");
  CHECK(hierarchical->refusal({Operation::all_reduce, Bytes(8)}, GroupShape{{0, 0, 1, 1}}).empty());
  CHECK(hierarchical->refusal({Operation::all_reduce, Bytes(8)}, GroupShape{{0, 0, 1}}) ==
        "hierarchical needs islands of equal size, but island 0 holds 2 ranks of the group and "
        "island 1 holds 1; use ring or "
        "double_binary_tree");
}

TEST_CASE("NVLS refuses a group that leaves its island, NVLSTree unequal islands") {
  CHECK(make_algorithm("nvls")->refusal({Operation::all_reduce, Bytes(8)}, islands_of(4, 8)) ==
        "nvls reduces in the switches of one NVLink island, but the group's 8 ranks sit on 2; use "
        "nvls_tree or ring");
  CHECK(
      make_algorithm("nvls")->refusal({Operation::all_reduce, Bytes(8)}, islands_of(8, 8)).empty());
  CHECK(make_algorithm("nvls_tree")
            ->refusal({Operation::all_reduce, Bytes(8)}, GroupShape{{0, 0, 1}}) ==
        "nvls_tree needs islands of equal size, but island 0 holds 2 ranks of the group and island "
        "1 holds 1; use ring or double_binary_tree");
}

TEST_CASE("shares are refused where they make no sense") {
  const GroupShape shape = GroupShape::flat(3);
  const auto direct = make_algorithm("direct");
  CHECK(direct->refusal({Operation::all_gather, Bytes(8), {1, 1, 1}}, shape) ==
        "direct: shares of destinations belong to all_to_all, not to all_gather");
  CHECK(direct->refusal({Operation::all_to_all, Bytes(8), {1, 1}}, shape) ==
        "direct: 2 shares for 3 ranks; give one a rank");
  CHECK(direct->refusal({Operation::all_to_all, Bytes(8), {0, 0, 0}}, shape) ==
        "direct: the shares add up to 0; expected 1 to 2147483648");
  CHECK(direct->refusal({Operation::all_to_all, Bytes(8), {0, 2, 0}}, shape).empty());
  CHECK(direct->refusal({Operation::all_to_all, Bytes(8), {}, true}, shape) ==
        "direct: shares by source need shares");
}

TEST_CASE("a refused request is an internal error when executed all the same") {
  CHECK_THROWS_AS(static_cast<void>(make_algorithm("ring")->schedule(
                      {Operation::all_to_all, Bytes(8)}, GroupShape::flat(2))),
                  InternalError);
}

TEST_CASE("every entry of the catalog is built once") {
  CHECK(collective::algorithm_catalog().size() == 11);
  for (const auto& entry : collective::algorithm_catalog())
    CHECK(make_algorithm(entry.description.name) != nullptr);
}

}  // namespace railyard::test
