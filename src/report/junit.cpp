#include "railyard/report/junit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

namespace railyard::report {

std::string junit_xml(const std::string& suite, std::span<const CheckedCase> cases) {
  double seconds = 0;
  for (const CheckedCase& one : cases) seconds += one.seconds;
  const auto failures = std::count_if(cases.begin(), cases.end(),
                                      [](const auto& one) { return !one.failure.empty(); });
  const auto time = [](double value) { return fmt::format("{:.3f}", value); };

  pugi::xml_document document;
  pugi::xml_node whole = document.append_child("testsuite");
  whole.append_attribute("name") = suite.c_str();
  whole.append_attribute("tests") = fmt::format("{}", cases.size()).c_str();
  whole.append_attribute("failures") = fmt::format("{}", failures).c_str();
  whole.append_attribute("time") = time(seconds).c_str();
  for (const CheckedCase& one : cases) {
    pugi::xml_node test = whole.append_child("testcase");
    test.append_attribute("classname") = suite.c_str();
    test.append_attribute("name") = one.name.c_str();
    test.append_attribute("time") = time(one.seconds).c_str();
    if (one.failure.empty()) continue;
    pugi::xml_node failure = test.append_child("failure");
    const std::string first = one.failure.substr(0, one.failure.find('\n'));
    failure.append_attribute("message") = first.c_str();
    failure.append_child(pugi::node_pcdata).set_value(one.failure.c_str());
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace railyard::report
