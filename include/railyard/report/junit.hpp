// Checks as JUnit XML, which CI systems show as test results.
#pragma once

#include <span>
#include <string>

namespace railyard::report {

struct CheckedCase {
  std::string name;     ///< of the recording
  double seconds = 0;   ///< that the check took
  std::string failure;  ///< what moved; empty: nothing
};

/// One suite, in the format of Ant's JUnit task as Jenkins, GitLab and GitHub's actions read it.
[[nodiscard]] std::string junit_xml(const std::string& suite, std::span<const CheckedCase> cases);

}  // namespace railyard::report
