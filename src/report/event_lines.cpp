#include <fmt/format.h>

#include "railyard/core/check.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"

namespace railyard::report {

std::string event_lines(const metrics::RunResult& result, const metrics::Detail& detail) {
  RAILYARD_CHECK(result.policies.size() == detail.policies.size(), "{} policies, {} details",
                 result.policies.size(), detail.policies.size());
  std::string out;
  for (std::size_t policy = 0; policy < detail.policies.size(); ++policy) {
    for (const metrics::LoggedEvent& one : detail.policies[policy].events) {
      JsonWriter json;
      json.open('{', true);
      json.key("t_s");
      json.raw(exact_seconds(one.ticks));
      json.member("policy", result.policies[policy].name);
      json.member("event", one.event);
      for (const auto& [key, text] :
           {std::pair("job", &one.job), std::pair("host", &one.host), std::pair("why", &one.why)}) {
        if (!text->empty()) json.member(key, *text);
      }
      if (!one.hosts.empty()) json.member("hosts", one.hosts);
      json.close('}');
      out += json.finish();
    }
  }
  return out;
}

}  // namespace railyard::report
