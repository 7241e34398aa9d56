#include "model/adapter_bank.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tenon {
namespace {

void load_factors(const ModelProgram& program, const AdapterSite& site, uint32_t slot,
                  const SiteFactors& factors) {
  const uint64_t rank = program.adapters.rank;
  const uint64_t rows = site.source.num_rows();
  program.executable->load_rows(site.a, slot * rank, rank, std::as_bytes(std::span(factors.a)));
  program.executable->load_rows(site.b, slot * rows, rows, std::as_bytes(std::span(factors.b)));
}

SiteFactors zeros_of(const ModelProgram& program, const AdapterSite& site) {
  const uint64_t rank = program.adapters.rank;
  return {std::vector<float>(rank * site.source.num_columns()),
          std::vector<float>(rank * site.source.num_rows())};
}

}  // namespace

uint64_t adapter_bytes(const AdapterSites& sites) {
  uint64_t values = 0;
  for (const AdapterSite& site : sites.sites) {
    values += site.source.num_columns() + site.source.num_rows();
  }
  return values * sites.rank * sites.num_slots * sizeof(float);
}

void clear_adapters(const ModelProgram& program) {
  for (const AdapterSite& site : program.adapters.sites) {
    const SiteFactors zeros = zeros_of(program, site);
    for (uint32_t slot = 0; slot < program.adapters.num_slots; ++slot) {
      load_factors(program, site, slot, zeros);
    }
  }
}

void expect_loadable_adapters(const ModelProgram& program, std::string_view model) {
  for (const AdapterSite& site : program.adapters.sites) {
    try {
      load_factors(program, site, 0, zeros_of(program, site));
    } catch (const Error& error) {
      if (error.code() != Code::State) throw;
      fail(Code::Unsupported,
           "{}: adapter_slots is {}, but its device takes no weights once it is loaded; "
           "merged_adapters has no such limit",
           model, program.adapters.num_slots - 1);
    }
  }
}

AdapterBank::AdapterBank(const ModelProgram& program, DeviceTurn& turn,
                         std::shared_ptr<System> system)
    : program_(program),
      turn_(turn),
      system_(std::move(system)),
      slots_(program.adapters.num_slots - 1) {}

void AdapterBank::check(std::span<const ScaledAdapter> adapters) const {
  (void)factors_of_sites(program_.adapters, adapters);
}

uint32_t AdapterBank::num_used() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(
      std::ranges::count_if(slots_, [](const Place& place) { return !place.lease.expired(); }));
}

std::shared_ptr<const AdapterLease> AdapterBank::take(std::span<const ScaledAdapter> adapters) {
  std::vector<ScaledAdapter> sum;
  for (const ScaledAdapter& one : adapters) {
    if (!std::isfinite(one.scale)) {
      fail(Code::Argument, "{}: scale {} is no number", one.adapter->name, one.scale);
    }
    if (one.scale != 0.0f) sum.push_back(one);
  }
  if (sum.empty()) return nullptr;
  std::ranges::stable_sort(sum, [](const ScaledAdapter& a, const ScaledAdapter& b) {
    return std::pair(a.adapter->fingerprint, a.scale) < std::pair(b.adapter->fingerprint, b.scale);
  });
  Hasher hasher;
  for (const ScaledAdapter& one : sum) {
    hasher.add(std::as_bytes(std::span(&one.adapter->fingerprint, 1)));
    hasher.add(std::as_bytes(std::span(&one.scale, 1)));
  }
  const Hash128 key = hasher.value();
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find(slots_, key, &Place::key);
  if (same != slots_.end()) {
    if (auto lease = same->lease.lock()) {
      same->taken = ++takes_;
      return lease;
    }
  }
  auto place = same;
  for (auto one = slots_.begin(); one != slots_.end() && same == slots_.end(); ++one) {
    if (!one->lease.expired()) continue;
    if (place == slots_.end() || one->taken < place->taken) place = one;
  }
  if (place == slots_.end()) {
    fail(Code::Busy, "all {} adapter slots are in use; adapter_slots sets their number",
         slots_.size());
  }
  auto lease = std::make_shared<AdapterLease>();
  lease->slot = static_cast<uint32_t>(place - slots_.begin()) + 1;
  lease->key = key;
  if (same == slots_.end()) {
    place->key = {};  // until all of it is loaded
    load(lease->slot, sum);
    place->key = key;
  }
  place->lease = lease;
  place->taken = ++takes_;
  return lease;
}

void AdapterBank::load(uint32_t slot, std::span<const ScaledAdapter> adapters) {
  const std::vector<SiteFactors> factors = factors_of_sites(program_.adapters, adapters);
  const DeviceTurn::Use turn(turn_, DeviceTurn::Patience{*system_});
  for (size_t i = 0; i < factors.size(); ++i) {
    load_factors(program_, program_.adapters.sites[i], slot, factors[i]);
  }
}

}  // namespace tenon
