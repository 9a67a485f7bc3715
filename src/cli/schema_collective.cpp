#include "schema.hpp"

namespace railyard::cli {

std::string collective_schema() {
  using namespace json_schema;
  const std::string step = object({{"source", integer(0)},
                                   {"destination", integer(0)},
                                   {"chunk", integer(0)},
                                   {"count", integer(1)},
                                   {"reduce", boolean()},
                                   {"channel", integer(0)},
                                   {"origin", integer(0)},
                                   {"after", array_of(integer(0))}},
                                  {"source", "destination", "chunk"});
  const std::string operation =
      words({"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"});
  return root("railyard collective", object({{"name", text()},
                                             {"description", text()},
                                             {"operation", operation},
                                             {"ranks", integer(2)},
                                             {"chunks", integer(1)},
                                             {"protocol", words({"ll", "ll128", "simple"})},
                                             {"steps", array_of(step, 1)}},
                                            {"name", "operation", "ranks", "chunks", "steps"}));
}

}  // namespace railyard::cli
