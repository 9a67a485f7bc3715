#include <doctest/doctest.h>

#include "unit/collective/algorithms.hpp"

namespace railyard::test {

using collective::GroupShape;
using collective::Operation;

TEST_CASE("operations have one name each, both ways") {
  for (std::uint8_t o = 0; o < 5; ++o) {
    const auto operation = static_cast<Operation>(o);
    CHECK(collective::operation_of(collective::name(operation)) == operation);
  }
  CHECK_FALSE(collective::operation_of("allreduce").has_value());
}

TEST_CASE("an operation that an algorithm cannot do is refused, naming one that can") {
  const GroupShape shape = GroupShape::flat(4);
  CHECK(make_algorithm("ring")->refusal({Operation::all_to_all, Bytes(8)}, shape) ==
        "ring does all_reduce, all_gather, reduce_scatter, broadcast only; for all_to_all use "
        "direct");
  CHECK(make_algorithm("double_binary_tree")->refusal({Operation::all_gather, Bytes(8)}, shape) ==
        "double_binary_tree does all_reduce only; for all_gather use ring or direct");
  CHECK(make_algorithm("hierarchical")->refusal({Operation::broadcast, Bytes(8)}, shape) ==
        "hierarchical does all_reduce only; for broadcast use ring");
  CHECK(make_algorithm("direct")->refusal({Operation::all_reduce, Bytes(8)}, shape) ==
        "direct does all_to_all, all_gather, reduce_scatter only; for all_reduce use ring or "
        "double_binary_tree or hierarchical");
}

TEST_CASE("hierarchical refuses islands of unequal size and takes equal ones") {
  const auto hierarchical = make_algorithm("hierarchical");
  CHECK(hierarchical->refusal({Operation::all_reduce, Bytes(8)}, GroupShape{{0, 0, 1, 1}}).empty());
  CHECK(hierarchical->refusal({Operation::all_reduce, Bytes(8)}, GroupShape{{0, 0, 1}}) ==
        "hierarchical needs islands of equal size, but island 0 holds 2 ranks of the group and "
        "island 1 holds 1; use ring or "
        "double_binary_tree");
}

TEST_CASE("a refused request is an internal error when executed all the same") {
  CHECK_THROWS_AS(static_cast<void>(make_algorithm("ring")->schedule(
                      {Operation::all_to_all, Bytes(8)}, GroupShape::flat(2))),
                  InternalError);
}

TEST_CASE("every entry of the catalog is built once") {
  CHECK(collective::algorithm_catalog().size() == 4);
  for (const auto& entry : collective::algorithm_catalog())
    CHECK(make_algorithm(entry.description.name) != nullptr);
}

}  // namespace railyard::test
