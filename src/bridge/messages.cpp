#include "bridge/messages.hpp"

#include "railyard/metrics/run_result.hpp"
#include "railyard/report/json_writer.hpp"

namespace railyard::bridge {

namespace {

using report::JsonWriter;
using scheduler::ClusterView;
using scheduler::JobView;

std::uint32_t number(JobId job) {
  return static_cast<std::uint32_t>(index(job));
}

void add_estimate(JsonWriter& json, const JobView& job) {
  if (!job.estimate) return;
  json.member("estimate_s", in_seconds(job.estimate->run));
  json.member("log_sigma", job.estimate->log_sigma);
}

void add_job(JsonWriter& json, const JobView& job) {
  json.member("name", job.name);
  json.member("gpus", job.shape.gpus);
  json.member("tensor", job.shape.tensor);
  json.member("pipeline", job.shape.pipeline);
  json.member("data", job.shape.data);
  json.member("submitted_s", in_seconds(job.submitted));
  json.key("priority");
  json.value(static_cast<double>(job.priority));
  json.member("user", job.user);
  json.member("group", job.group);
  json.member("kind", job.kind);
  add_estimate(json, job);
}

}  // namespace

std::string hello_message(const ClusterView& view, const scheduler::Catalogs& catalogs) {
  const scheduler::Inventory& inventory = *view.inventory;
  const topology::Topology& topology = inventory.topology();
  JsonWriter json;
  json.open('{', true);
  json.member("type", "hello");
  json.member("protocol", static_cast<std::uint64_t>(kProtocol));
  json.member("railyard", metrics::version());
  json.member("seed", view.streams->seed());
  json.member("decision_latency_s", in_seconds(view.decision_latency));
  json.member("gpus_per_host", inventory.gpus_per_host());
  json.key("hosts");
  json.open('[');
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    json.open('{');
    json.member("name", std::string_view(topology.host_name(host)));
    json.member("minipod", static_cast<std::uint32_t>(index(topology.host(host).minipod)));
    json.member("leaf", static_cast<std::uint32_t>(index(topology.host(host).leaf)));
    json.close('}');
  }
  json.close(']');
  json.key("placements");
  json.open('[');
  for (const auto& entry : catalogs.placements) json.value(entry.description.name);
  json.close(']');
  json.close('}');
  return json.finish();
}

void News::add(const scheduler::Event& event, const ClusterView& view) {
  Item item;
  item.kind = event.kind;
  item.job = view.job(event.job);
  item.progress_s = in_seconds(item.job.progress(view.now));
  if (event.kind == scheduler::Event::Kind::started) {
    for (const scheduler::HostSlot& slot : item.job.placement->slots) {
      item.hosts.push_back(static_cast<std::uint32_t>(index(slot.host)));
    }
  }
  items_.push_back(std::move(item));
}

void News::add_refusal(std::optional<JobId> job, std::string_view reason) {
  Item item;
  item.about = job;
  item.refused = reason;
  items_.push_back(std::move(item));
}

void News::add_no_place(JobId job) {
  Item item;
  item.about = job;
  item.no_place = true;
  items_.push_back(std::move(item));
}

void News::tell_again(const std::vector<scheduler::HostSlot>& slots) {
  for (const scheduler::HostSlot& slot : slots) again_[index(slot.host)] = true;
}

std::string News::decide_message(const ClusterView& view) {
  static constexpr const char* kNames[] = {"announced", "arrived", "started", "preempted",
                                           "finished"};
  JsonWriter json;
  json.open('{', true);
  json.member("type", "decide");
  json.member("time_s", in_seconds(view.now));
  json.key("events");
  json.open('[');
  for (const Item& item : items_) {
    json.open('{');
    if (item.no_place || !item.refused.empty()) {
      json.member("event", item.no_place ? "no_place" : "refused");
      if (item.about) json.member("job", number(*item.about));
      if (!item.no_place) json.member("reason", std::string_view(item.refused));
    } else {
      json.member("event", kNames[static_cast<std::size_t>(item.kind)]);
      json.member("job", number(item.job.job));
      if (item.kind == scheduler::Event::Kind::arrived) add_job(json, item.job);
      if (item.kind == scheduler::Event::Kind::preempted) {
        json.member("progress_s", item.progress_s);
        add_estimate(json, item.job);
      }
      if (item.kind == scheduler::Event::Kind::started) {
        json.key("hosts");
        json.open('[');
        for (const std::uint32_t host : item.hosts) json.value(host);
        json.close(']');
      }
    }
    json.close('}');
  }
  items_.clear();
  json.close(']');
  json.key("free");
  json.open('[');
  free_.resize(view.inventory->topology().hosts().size(), 0);
  again_.resize(free_.size(), false);
  for (std::uint32_t h = 0; h < free_.size(); ++h) {
    const std::uint32_t free = view.inventory->free_gpus(static_cast<HostId>(h));
    if (free == free_[h] && !again_[h]) continue;
    free_[h] = free;
    again_[h] = false;
    json.open('[');
    json.value(h);
    json.value(free);
    json.close(']');
  }
  json.close(']');
  json.close('}');
  return json.finish();
}

}  // namespace railyard::bridge
