#include <map>

#include "railyard/core/check.hpp"
#include "railyard/report/report.hpp"
#include "result_json.hpp"

namespace railyard::report {

namespace {

/// A member of every item, as an array on one line: a tenth of the size of an object an item.
template <typename Items, typename Of>
void column(JsonWriter& json, std::string_view key, const Items& items, Of of) {
  json.key(key);
  json.open('[', true);
  for (const auto& item : items) json.value(of(item));
  json.close(']');
}

void add_fabric(JsonWriter& json, const metrics::Fabric& fabric) {
  json.key("fabric");
  json.open('{');
  json.key("minipods");
  json.open('{');
  column(json, "name", fabric.minipods, [](const auto& m) -> std::string_view { return m.name; });
  column(json, "gpus", fabric.minipods, [](const auto& m) { return m.gpus; });
  json.close('}');
  json.key("switches");
  json.open('{');
  column(json, "name", fabric.switches, [](const auto& s) -> std::string_view { return s.name; });
  column(json, "kind", fabric.switches, [](const auto& s) -> std::string_view { return s.kind; });
  column(json, "minipod", fabric.switches, [](const auto& s) { return s.minipod; });
  json.close('}');
  json.key("links");
  json.open('{');
  column(json, "from", fabric.links, [](const auto& l) { return l.from; });
  column(json, "to", fabric.links, [](const auto& l) { return l.to; });
  column(json, "name", fabric.links, [](const auto& l) -> std::string_view { return l.name; });
  column(json, "tier", fabric.links, [](const auto& l) -> std::string_view { return l.tier; });
  column(json, "capacity_bytes_per_s", fabric.links,
         [](const auto& l) { return l.capacity_bytes_per_s; });
  json.close('}');
  json.member("links_left_out", fabric.links_left_out);
  json.member("occupied_gpus", fabric.occupied_gpus);
  json.close('}');
}

void add_samples(JsonWriter& json, const std::vector<metrics::ClusterSample>& samples) {
  json.key("samples");
  json.open('{');
  column(json, "t_s", samples, [](const auto& s) { return s.t_s; });
  column(json, "allocated_share", samples, [](const auto& s) { return s.allocated_share; });
  column(json, "queued_jobs", samples, [](const auto& s) { return s.queued_jobs; });
  column(json, "fragmentation", samples, [](const auto& s) { return s.fragmentation; });
  json.close('}');
}

void add_holdings(JsonWriter& json, const std::vector<metrics::Holding>& holdings) {
  json.key("holdings");
  json.open('{');
  column(json, "job", holdings, [](const auto& h) { return h.job; });
  column(json, "minipod", holdings, [](const auto& h) { return h.minipod; });
  column(json, "gpus", holdings, [](const auto& h) { return h.gpus; });
  column(json, "from_s", holdings, [](const auto& h) { return h.from_s; });
  column(json, "to_s", holdings, [](const auto& h) { return h.to_s; });
  json.close('}');
}

void add_groups(JsonWriter& json, const std::optional<metrics::GroupPlaces>& groups) {
  json.key("groups");
  if (!groups) {
    json.null();
    return;
  }
  json.open('{');
  json.member("job", groups->job);
  json.member("pipeline", groups->pipeline);
  json.member("data", groups->data);
  column(json, "minipod", groups->minipod, [](std::uint32_t minipod) { return minipod; });
  json.close('}');
}

void add_loads(JsonWriter& json, const std::vector<metrics::LinkLoad>& loads) {
  json.key("links");
  json.open('{');
  column(json, "link", loads, [](const auto& l) { return l.link; });
  column(json, "bytes", loads, [](const auto& l) { return l.bytes; });
  column(json, "utilization", loads, [](const auto& l) { return l.utilization; });
  column(json, "busy_share", loads, [](const auto& l) { return l.busy_share; });
  column(json, "binding_share", loads, [](const auto& l) { return l.binding_share; });
  column(json, "connections", loads, [](const auto& l) { return l.connections; });
  json.close('}');
}

/// Numbers of texts in order of their first use.
class Texts {
 public:
  std::uint32_t number(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return texts_; }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> texts_;
};

void add_timeline(JsonWriter& json, const metrics::Timeline& timeline) {
  Texts texts;
  json.key(timeline.title);
  json.open('{');
  column(json, "group", timeline.rows, [](const auto& r) -> std::string_view { return r.group; });
  column(json, "stream", timeline.rows, [](const auto& r) -> std::string_view { return r.name; });
  json.key("bars");
  json.open('{');
  column(json, "row", timeline.bars, [](const auto& b) { return b.row; });
  column(json, "from_s", timeline.bars, [](const auto& b) { return in_seconds(b.start); });
  column(json, "to_s", timeline.bars, [](const auto& b) { return in_seconds(b.end); });
  column(json, "name", timeline.bars, [&](const auto& b) { return texts.number(b.name); });
  column(json, "category", timeline.bars, [&](const auto& b) { return texts.number(b.category); });
  json.close('}');
  column(json, "texts", texts.all(), [](const std::string& t) -> std::string_view { return t; });
  json.close('}');
}

}  // namespace

std::string detail_json(const metrics::RunResult& result, const metrics::Detail& detail) {
  RAILYARD_CHECK(result.policies.size() == detail.policies.size(), "{} policies, {} details",
                 result.policies.size(), detail.policies.size());
  JsonWriter json;
  open_result(json, result);
  add_fabric(json, detail.fabric);
  json.key("policies");
  json.open('{');
  for (std::size_t i = 0; i < detail.policies.size(); ++i) {
    const metrics::PolicyDetail& policy = detail.policies[i];
    json.key(result.policies[i].name);
    json.open('{');
    json.member("end_s", policy.end_s);
    add_samples(json, policy.samples);
    add_holdings(json, policy.holdings);
    add_groups(json, policy.groups);
    add_loads(json, policy.links);
    json.close('}');
  }
  json.close('}');
  json.key("timelines");
  json.open('{');
  for (const metrics::Timeline& timeline : detail.timelines) add_timeline(json, timeline);
  json.close('}');
  json.close('}');
  return json.finish();
}

}  // namespace railyard::report
