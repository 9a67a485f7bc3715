#include "railyard/report/page.hpp"

#include "json_value.hpp"
#include "page_bundle.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/report.hpp"
#include "sections.hpp"

namespace railyard::report {

namespace {

std::string_view better_name(metrics::Better better) {
  switch (better) {
    case metrics::Better::higher:
      return "higher";
    case metrics::Better::lower:
      return "lower";
    default:
      return "neither";
  }
}

Json catalog() {
  Json metrics = Json::array();
  for (const auto& metric : metrics::metric_catalog()) {
    metrics.push_back({{"key", metric.key},
                       {"title", metric.title},
                       {"better", better_name(metric.better)},
                       {"summary", metric.summary}});
  }
  Json parts = Json::array();
  for (const auto& part : metrics::attribution_parts())
    parts.push_back({{"key", part.key}, {"title", part.title}});
  return {{"metrics", std::move(metrics)}, {"parts", std::move(parts)}};
}

/// Jobs as columns, keys once: a third of the size of an object a job.
Json columns(const Json& jobs) {
  Json out = Json::object();
  if (jobs.empty()) return out;
  for (const auto& [key, value] : jobs.front().items()) {
    Json column = Json::array();
    for (const Json& job : jobs) column.push_back(job.at(key));
    out[key] = std::move(column);
  }
  return out;
}

/// Takes what is the same under every policy set out of the policies' jobs: names, sizes and
/// submissions. Null where no policy has a job.
Json take_shared_jobs(Json& policies) {
  Json shared = Json::object();
  for (auto& [name, policy] : policies.items()) policy["jobs"] = columns(policy.at("jobs"));
  for (const char* key : {"name", "gpus", "submit_s"}) {
    for (auto& [name, policy] : policies.items()) {
      Json& jobs = policy["jobs"];
      if (!jobs.contains(key)) return nullptr;
      shared[key] = std::move(jobs[key]);
      jobs.erase(key);
    }
  }
  return shared;
}

Json texts(const std::vector<std::string>& lines) {
  Json out = Json::array();
  for (const std::string& line : lines) out.push_back(line);
  return out;
}

Json verdict_json(const metrics::RunResult& result, const std::optional<Verdict>& decided) {
  if (!decided) return nullptr;
  Json ties = Json::array();
  for (const std::size_t tie : decided->ties) ties.push_back(result.policies[tie].name);
  return {{"metric", metrics::metric_catalog()[static_cast<std::size_t>(decided->metric)].key},
          {"winner", result.policies[decided->winner].name},
          {"ties", std::move(ties)},
          {"against", result.policies[decided->against].name}};
}

/// detail.json beside a result.json; null where there is none.
Json detail_beside(const std::filesystem::path& file, const metrics::RunResult& result) {
  const std::filesystem::path path = file.parent_path() / "detail.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return nullptr;
  Json detail = parse_json(read_text(path), path.string());
  const std::string digest = Value(detail, path.string(), "").at("digest").text();
  if (digest != result.digest) {
    throw ResultError(
        fmt::format("{}: is of another run (digest {}) than {} (digest {}); run the scenario again "
                    "with --out, or remove it",
                    path.string(), digest, file.string(), result.digest));
  }
  return detail;
}

void add_result(Json& data, const std::filesystem::path& file) {
  const std::string text = read_text(file);
  const metrics::RunResult result = parse_result(text, file.string());
  const auto decided = verdict(result);
  data["verdict"] = verdict_json(result, decided);
  data["why"] = texts(why(result, decided));
  data["warnings"] = texts(warnings_once(result));
  Json json = parse_json(text, file.string());
  json.erase("comparison");  // ratios of what is here
  data["jobs"] = take_shared_jobs(json["policies"]);
  data["result"] = std::move(json);
  data["detail"] = detail_beside(file, result);
}

void add_sweep(Json& data, const std::filesystem::path& file) {
  Json sweep = parse_json(read_text(file), file.string());
  const Value root(sweep, file.string(), "");
  for (const char* key : {"name", "description", "railyard", "baseline"})
    static_cast<void>(root.at(key).text());
  for (const char* key : {"axes", "settings"}) root.at(key).each([](const auto&, const Value&) {});
  sweep["points"] = root.at("points").size();  // their metrics are in the settings' means
  data["sweep"] = std::move(sweep);
}

/// result.json or points.json: a folder's, or the file itself by what it holds.
bool is_sweep(std::filesystem::path& source) {
  std::error_code ignored;
  if (std::filesystem::is_directory(source, ignored)) {
    const bool sweep = std::filesystem::exists(source / "points.json", ignored);
    source /= sweep ? "points.json" : "result.json";
    return sweep;
  }
  return parse_json(read_text(source), source.string()).contains("settings");
}

std::string html_escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '&') {
      out += "&amp;";
    } else if (letter == '<') {
      out += "&lt;";
    } else {
      out += letter;
    }
  }
  return out;
}

void replace(std::string& text, std::string_view mark, const std::string& with) {
  const std::size_t at = text.find(mark);
  RAILYARD_CHECK(at != std::string::npos, "the page has no {}", mark);
  text.replace(at, mark.size(), with);
}

}  // namespace

std::string page_missing() {
  return std::string(page_bundle().missing);
}

std::string script_safe(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size(); ++at) {
    const std::string_view here = std::string_view(json).substr(at, 3);
    if (json[at] == '<') {
      out += "\\u003c";
    } else if (here == "\xe2\x80\xa8" || here == "\xe2\x80\xa9") {
      out += here == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += json[at];
    }
  }
  return out;
}

std::string page_html(const std::filesystem::path& source,
                      const std::optional<std::filesystem::path>& validation) {
  RAILYARD_CHECK(page_missing().empty(), "{}", page_missing());
  Json data = {{"catalog", catalog()}};
  std::filesystem::path file = source;
  const bool sweep = is_sweep(file);
  if (sweep) {
    add_sweep(data, file);
  } else {
    add_result(data, file);
  }
  if (validation) {
    Json rows = parse_json(read_text(*validation), validation->string());
    const Value root(rows, validation->string(), "");
    for (const char* key : {"rows", "summary"}) root.at(key).each([](const auto&, const Value&) {});
    data["validation"] = std::move(rows);
  }
  const std::string title = sweep ? data["sweep"]["name"].get<std::string>()
                                  : data["result"]["scenario"].get<std::string>();
  std::string page;
  for (const char* piece : page_bundle().pieces) page += piece;
  replace(page, "@@TITLE@@", html_escaped(title) + " – Railyard");
  replace(page, "@@DATA@@", script_safe(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return page;
}

}  // namespace railyard::report
