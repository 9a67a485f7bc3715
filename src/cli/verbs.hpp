// The verbs of `railyard`, one a file. A verb gets its arguments and returns an exit code; what
// goes wrong is thrown and ends
// in main.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railyard::cli {

/// Exit codes; a contract with scripts.
enum Exit : int {
  kGood = 0,
  kDiffers = 1,  ///< a comparison or check failed
  kWrongInput = 2,
  kInternal = 3,
  kIo = 4,
  kInterrupted = 130
};

using Arguments = std::vector<std::string>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments& arguments);
};
[[nodiscard]] std::span<const Verb> verbs();

int run(const Arguments& arguments);
int explain(const Arguments& arguments);
int sweep(const Arguments& arguments);
int check(const Arguments& arguments);
int compare(const Arguments& arguments);
int list(const Arguments& arguments);
int topology(const Arguments& arguments);
int place(const Arguments& arguments);
int calibrate(const Arguments& arguments);
int flows(const Arguments& arguments);
int collective(const Arguments& arguments);
int trace(const Arguments& arguments);
int digest(const Arguments& arguments);
int validate(const Arguments& arguments);
int plan(const Arguments& arguments);
int schema(const Arguments& arguments);
int report_page(const Arguments& arguments);
int init(const Arguments& arguments);

}  // namespace railyard::cli
