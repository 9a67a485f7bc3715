// A partner decides, line by line (docs/reference/policies.md).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/messages.hpp"
#include "railyard/bridge/partner.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"

namespace railyard::bridge {

namespace {

using config::Errors;
using config::Node;
using config::Reader;
using scheduler::ClusterView;
using scheduler::Decision;
using scheduler::HostSlot;
using scheduler::Inventory;
using scheduler::JobState;
using scheduler::JobView;
using scheduler::Placement;
using scheduler::PlacementPolicy;
using scheduler::SchedulerError;

/// Questions at one instant, before a partner is taken to ask for ever.
constexpr std::uint32_t kRoundsMax = 100'000;

class LineScheduler final : public scheduler::Scheduler {
 public:
  LineScheduler(StartPartner start, std::string name, const PlacementPolicy* placement,
                const scheduler::Catalogs& catalogs)
      : start_(std::move(start)),
        name_(std::move(name)),
        placement_(placement),
        catalogs_(catalogs) {}

  void begin(const ClusterView& view) override {
    guarded([&] {
      partner_ = start_();
      partner_->send(hello_message(view, catalogs_));
      const auto document = answer();
      Errors errors;
      Reader reader(document.root(), errors);
      if (reader.required<std::string>("type") != "hello") {
        reader.fail("type", "the first answer is {\"type\": \"hello\", \"protocol\": 1}");
      }
      const auto protocol = reader.required<std::int64_t>("protocol");
      if (errors.empty() && protocol != kProtocol) {
        reader.fail("protocol", fmt::format("it speaks version {}, this program speaks {}",
                                            protocol, kProtocol));
      }
      preempts_ = reader.optional<bool>("preempts", false);
      reader.finish();
      errors.throw_if_any();
    });
  }

  std::vector<Decision> decide(const ClusterView& view) override {
    std::vector<Decision> decisions;
    guarded([&] {
      rounds_ = view.now == asked_at_ ? rounds_ + 1 : 1;
      asked_at_ = view.now;
      if (rounds_ > kRoundsMax) {
        throw SchedulerError(fmt::format("it asked to go on {} times at one instant", kRoundsMax));
      }
      partner_->send(news_.decide_message(view));
      decisions = read_answer(view);
    });
    return decisions;
  }

  [[nodiscard]] bool again() override { return again_; }
  [[nodiscard]] bool displaces() const override { return preempts_; }
  void observe(const scheduler::Event& event, const ClusterView& view) override {
    news_.add(event, view);
  }
  void refused(std::optional<JobId> job, std::string_view reason) override {
    news_.add_refusal(job, reason);
  }

 private:
  /// Every complaint says whom it is about.
  template <typename Work>
  void guarded(const Work& work) const {
    std::string why;
    try {
      work();
      return;
    } catch (const SchedulerError& error) {
      why = error.what();
    } catch (const config::ConfigError& error) {
      why = error.lines().front();
    }
    throw SchedulerError(fmt::format("the scheduler \"{}\": {}", name_, why));
  }

  config::Document answer() {
    const std::string line = partner_->receive();
    return config::Document::parse_text(line, fmt::format("answer {}", ++answers_));
  }

  std::vector<Decision> read_answer(const ClusterView& view) {
    const auto document = answer();
    Errors errors;
    Reader reader(document.root(), errors);
    if (reader.required<std::string>("type") != "decisions") {
      reader.fail("type", "an answer is {\"type\": \"decisions\", \"decisions\": […]}");
    }
    std::vector<Decision> decisions;
    Inventory free(*view.inventory);
    std::size_t told = 0;
    if (const auto list = reader.required_child("decisions"); list && list->is_array()) {
      told = list->size();
      for (std::size_t i = 0; i < list->size() && errors.empty(); ++i) {
        if (auto one = read_decision(list->at(i), errors, view, free)) {
          decisions.push_back(std::move(*one));
        }
      }
    } else if (list) {
      errors.add(*list, "expected an array of decisions");
    }
    again_ = reader.optional<bool>("again", false);
    reader.finish();
    if (again_ && told == 0) reader.fail("again", "nothing was decided, so nothing has changed");
    errors.throw_if_any();
    return decisions;
  }

  /// Empty: none is made of it (the named policy finds no place), or it is wrong.
  std::optional<Decision> read_decision(const Node& node, Errors& errors, const ClusterView& view,
                                        Inventory& free) {
    Reader reader(node, errors);
    std::optional<Decision> decision;
    if (reader.has("start")) {
      decision = read_start(reader, view, free);
    } else if (reader.has("preempt")) {
      if (const auto job = read_job(reader, "preempt", view)) {
        if (view.job(*job).holds_gpus()) news_.tell_again(view.job(*job).placement->slots);
        give_back(view.job(*job), free);
        decision = scheduler::Preempt{*job};
      }
    } else if (reader.has("reject")) {
      const auto job = read_job(reader, "reject", view);
      auto reason = reader.required<std::string>("reason");
      if (job) decision = scheduler::Reject{*job, std::move(reason)};
    } else if (reader.has("wake_s")) {
      const double at = reader.required<double>("wake_s", {0.0, in_seconds(kHorizonMax)});
      decision = scheduler::Wake{TimePoint(from_seconds(at))};
    } else {
      errors.add(node, "a decision has \"start\", \"preempt\", \"reject\" or \"wake_s\"");
      return std::nullopt;
    }
    if (!reader.has("start")) reader.finish();
    return errors.empty() ? std::move(decision) : std::nullopt;
  }

  /// A job that the partner has been told of.
  static std::optional<JobId> read_job(Reader& reader, const char* key, const ClusterView& view) {
    const auto number = reader.required<std::int64_t>(key);
    const auto jobs = static_cast<std::int64_t>(view.jobs.size());
    if (number < 0 || number >= jobs ||
        view.jobs[static_cast<std::size_t>(number)].state == JobState::absent) {
      reader.fail(key, fmt::format("no job {} has arrived", number));
      return std::nullopt;
    }
    return static_cast<JobId>(number);
  }

  std::optional<Decision> read_start(Reader& reader, const ClusterView& view, Inventory& free) {
    const auto job = read_job(reader, "start", view);
    const auto hosts = reader.maybe<std::vector<std::int64_t>>("hosts");
    const auto order = reader.optional_choice("rank_order", {"pp_fastest", "dp_fastest"}, 0);
    const auto place = reader.child("place");
    const bool ordered = reader.has("rank_order");
    reader.finish();  // a misspelled key is more to the point than what is missing for it
    if (!reader.errors().empty()) return std::nullopt;
    if (hosts && place) reader.fail("place", "give \"hosts\" or \"place\", not both");
    if (!hosts && ordered) {
      reader.fail("rank_order", "it goes with \"hosts\"; a placement policy has its own");
    }
    if (!hosts && !place && placement_ == nullptr) {
      reader.fail("start", "give \"hosts\" or \"place\", or the policy set a \"placement\"");
    }
    if (!job || !reader.errors().empty()) return std::nullopt;
    std::optional<Placement> placement;
    if (hosts) {
      placement = on_hosts(reader, *hosts, view.job(*job), free);
      placement->rank_order = static_cast<scheduler::RankOrder>(order);
    } else {
      const PlacementPolicy* policy = place ? named(*place, reader.errors()) : placement_;
      if (policy == nullptr) return std::nullopt;
      placement =
          policy->place(view.job(*job).shape, free, view.streams->stream("placement", index(*job)));
      if (!placement) {
        news_.add_no_place(*job);
        return std::nullopt;
      }
    }
    news_.tell_again(placement->slots);
    // What the cluster will refuse takes nothing.
    const bool all_free = std::ranges::all_of(placement->slots, [&free](const HostSlot& slot) {
      return slot.gpu_mask != 0 && (slot.gpu_mask & ~free.free_mask(slot.host)) == 0;
    });
    if (view.job(*job).state == JobState::waiting && all_free) {
      for (const HostSlot& slot : placement->slots) {
        const std::uint64_t left = free.free_mask(slot.host) & slot.gpu_mask;
        if (left == slot.gpu_mask) free.take(slot);
      }
    }
    return scheduler::Start{*job, std::move(*placement)};
  }

  /// Whole hosts, or the lowest free GPUs of one. What is not free is for the cluster to refuse.
  static Placement on_hosts(Reader& reader, const std::vector<std::int64_t>& hosts,
                            const JobView& job, const Inventory& free) {
    Placement placement;
    const auto known = static_cast<std::int64_t>(free.topology().hosts().size());
    for (const std::int64_t number : hosts) {
      if (number < 0 || number >= known) {
        reader.fail("hosts",
                    fmt::format("no host {}: they are numbered from 0 to {}", number, known - 1));
        break;
      }
      const auto host = static_cast<HostId>(number);
      std::uint64_t mask = scheduler::whole_host_mask(free.gpus_per_host());
      if (job.shape.gpus < free.gpus_per_host()) {
        mask = 0;
        std::uint64_t left = free.free_mask(host);
        for (std::uint32_t g = 0; g < job.shape.gpus; ++g, left &= left - 1) {
          mask |= left & (~left + 1);
        }
      }
      placement.slots.push_back({host, mask});
    }
    return placement;
  }

  static void give_back(const JobView& job, Inventory& free) {
    if (job.state != JobState::running) return;
    for (const HostSlot& slot : job.placement->slots) {
      if ((free.free_mask(slot.host) & slot.gpu_mask) == 0) free.release(slot);
    }
  }

  /// A placement policy of the catalogs, as a scenario names one.
  const PlacementPolicy* named(const Node& node, Errors& errors) {
    const auto [known, fresh] = policies_.try_emplace(node.dump());
    if (!fresh) return known->second.get();
    const auto table = scheduler::table(catalogs_.placements);
    const auto choice =
        config::decode_choice(node, errors, "placement policy", config::descriptions(table));
    if (!errors.empty()) return nullptr;
    known->second = config::entry_of(table, choice.name).create(choice.parameters);
    return known->second.get();
  }

  StartPartner start_;
  std::string name_;
  const PlacementPolicy* placement_;
  const scheduler::Catalogs& catalogs_;
  std::unique_ptr<Partner> partner_;
  News news_;
  std::map<std::string, std::unique_ptr<PlacementPolicy>> policies_;
  std::uint64_t answers_ = 0;
  TimePoint asked_at_{};
  std::uint32_t rounds_ = 0;
  bool again_ = false;
  bool preempts_ = false;
};

}  // namespace

std::unique_ptr<scheduler::Scheduler> scheduler_of(StartPartner start, std::string name,
                                                   const PlacementPolicy* placement,
                                                   const scheduler::Catalogs& catalogs) {
  return std::make_unique<LineScheduler>(std::move(start), std::move(name), placement, catalogs);
}

}  // namespace railyard::bridge
