#include "topology/host_plan.hpp"

#include <fmt/format.h>

#include <cmath>

namespace railyard::topology {

Bandwidth LinkSpec::capacity() const {
  return Bandwidth(std::llround(static_cast<double>(bandwidth.bytes_per_s()) * efficiency));
}

std::string as_text(Bandwidth bandwidth) {
  return fmt::format("{}Gbps", static_cast<double>(bandwidth.bytes_per_s()) * 8e-9);
}

constexpr double kEfficiencyMin = 0.05;
constexpr Duration kLatencyMax = std::chrono::seconds(1);

Bandwidth read_bandwidth(config::Reader& reader) {
  const auto bandwidth = reader.required<Bandwidth>("bandwidth");
  if (reader.has("bandwidth") && reader.errors().empty() && bandwidth < kBandwidthMin) {
    reader.fail("bandwidth", "must be at least 10Mbps");
  }
  return bandwidth;
}

void read_link_terms(config::Reader& reader, LinkSpec& link) {
  link.efficiency = reader.optional<double>("efficiency", 1.0, config::Range<double>{0.0, 1.0});
  if (reader.has("efficiency") && link.efficiency == 0.0) {
    reader.fail("efficiency", "must be above 0: a link without payload carries nothing");
  }
  if (link.efficiency > 0.0 && link.efficiency < kEfficiencyMin) {
    reader.fail("efficiency", fmt::format("must be at least {}", kEfficiencyMin));
  }
  link.latency = reader.optional<Duration>("latency", Duration{});
  if (link.latency > kLatencyMax) reader.fail("latency", "must be at most 1s");
}

LinkSpec read_link(const config::Node& node, config::Errors& errors,
                   void (*extra)(config::Reader&, void*), void* context) {
  LinkSpec link;
  config::Reader reader(node, errors);
  link.bandwidth = read_bandwidth(reader);
  read_link_terms(reader, link);
  if (extra != nullptr) extra(reader, context);
  reader.finish();
  return link;
}

LinkSpec required_link(config::Reader& reader, std::string_view key) {
  const auto child = reader.required_child(key);
  return child ? read_link(*child, reader.errors()) : LinkSpec{};
}

std::optional<LinkSpec> optional_link(config::Reader& reader, std::string_view key) {
  const auto child = reader.child(key);
  if (!child) return std::nullopt;
  return read_link(*child, reader.errors());
}

namespace {

void read_nics(config::Reader& reader, HostPlan& plan) {
  plan.nics = plan.gpus;
  const auto node = reader.required_child("nic");
  if (!node) return;
  plan.nic = read_link(
      *node, reader.errors(),
      [](config::Reader& nic, void* context) {
        auto& host = *static_cast<HostPlan*>(context);
        const auto nics =
            nic.optional<std::int64_t>("per_host", host.gpus, config::Range<std::int64_t>{1, 4096});
        if (nics > host.gpus) {
          nic.fail("per_host",
                   fmt::format(
                       "{} NICs for {} GPUs: describe the NICs that serve one GPU as one of their "
                       "summed bandwidth",
                       nics, host.gpus));
        } else if (nics >= 1 && host.gpus % nics != 0) {
          nic.fail("per_host",
                   fmt::format("{} NICs do not divide {} GPUs evenly", nics, host.gpus));
        } else if (nics >= 1) {
          host.nics = static_cast<std::uint32_t>(nics);
        }
      },
      &plan);
}

void read_nvlink(config::Reader& reader, HostPlan& plan) {
  const auto node = reader.child("nvlink");
  if (!node) return;
  plan.nvlink = read_link(
      *node, reader.errors(),
      [](config::Reader& nvlink, void* context) {
        auto& host = *static_cast<HostPlan*>(context);
        host.wiring = static_cast<Wiring>(
            nvlink.optional_choice("wiring", {"nvswitch", "full_mesh", "hypercube_mesh"}, 0));
        if (host.wiring == Wiring::hypercube_mesh && host.gpus != 8)
          nvlink.fail("wiring", fmt::format("a hypercube mesh joins 8 GPUs, not {}", host.gpus));
        if (host.wiring != Wiring::nvswitch && nvlink.has("hosts_per_island")) {
          (void)nvlink.child("hosts_per_island");
          nvlink.fail("hosts_per_island", "only an NVSwitch joins hosts: leave it out");
          return;
        }
        host.hosts_per_island = static_cast<std::uint32_t>(nvlink.optional<std::int64_t>(
            "hosts_per_island", 1, config::Range<std::int64_t>{1, 4096}));
      },
      &plan);
}

}  // namespace

HostPlan read_host_plan(config::Reader& reader) {
  HostPlan plan;
  plan.gpu_kind = reader.required<std::string>("gpu");
  const auto gpus =
      reader.required<std::int64_t>("gpus_per_host", config::Range<std::int64_t>{1, 4096});
  plan.gpus = gpus >= 1 && gpus <= 4096 ? static_cast<std::uint32_t>(gpus) : 1;
  read_nvlink(reader, plan);
  read_nics(reader, plan);
  if (const auto pcie = optional_link(reader, "pcie")) {
    plan.pcie = *pcie;
  } else if (plan.nvlink) {
    plan.pcie.bandwidth = plan.nic.bandwidth;
  } else {
    reader.fail("pcie",
                "missing key \"pcie\": without \"nvlink\" the GPUs of a host talk over PCIe");
  }
  return plan;
}

}  // namespace railyard::topology
