#include "arch/adapter/adapter_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// Whether each row of the source is a run of columns of one tensor's row, the same columns for all.
bool takes_adapters(const RowSource& source) {
  const uint64_t columns = source.num_columns();
  const uint64_t first = source.place(0, 0).column;
  for (const uint64_t row : {uint64_t{0}, source.num_rows() - 1}) {
    const RowSource::Place begin = source.place(row, 0);
    const RowSource::Place end = source.place(row, columns - 1);
    if (begin.tensor != end.tensor || begin.row != end.row || begin.column != first ||
        end.column != first + columns - 1) {
      return false;
    }
  }
  return true;
}

/// Name by which adapters know the matrix of a linear: the embedding is the output matrix there.
std::string_view linear_name(const TensorInfo& tensor) {
  return tensor.name == "token_embd.weight" ? "output.weight" : std::string_view(tensor.name);
}

/// A change, with its place among the ranks of a site.
struct PlacedChange {
  const LowRankChange* change;
  float scale;
  uint64_t first_rank = 0;
  bool is_placed = false;
  uint64_t rows_taken = 0;
};

class SiteFiller {
 public:
  SiteFiller(const AdapterSites& sites, std::span<const ScaledAdapter> adapters) : sites_(sites) {
    for (const ScaledAdapter& one : adapters) {
      refuse_rest(*one.adapter);
      for (const LowRankChange& change : one.adapter->changes) {
        by_tensor_[change.tensor].push_back({&change, scale_of(one, change)});
      }
    }
  }

  std::vector<SiteFactors> fill() {
    std::vector<SiteFactors> all;
    for (const AdapterSite& site : sites_.sites) all.push_back(fill_site(site));
    for (const auto& [tensor, changes] : by_tensor_) {
      for (const PlacedChange& one : changes) {
        if (one.rows_taken >= one.change->num_rows) continue;
        fail(Code::Unsupported,
             "tensor {}: the program has no product that takes an adapter for it; merge the "
             "adapter at load (merged_adapters)",
             quoted(tensor));
      }
    }
    return all;
  }

 private:
  static float scale_of(const ScaledAdapter& one, const LowRankChange& change) {
    const float scale = one.scale * change.scale;
    if (!std::isfinite(scale)) {
      fail(Code::Argument, "{}: scale {} times that of {}, {}, is beyond the numbers of 32 bits",
           one.adapter->name, one.scale, quoted(change.tensor), change.scale);
    }
    return scale;
  }
  static void refuse_rest(const Adapter& adapter) {
    const auto refuse = [&adapter](std::string_view tensor, const char* what) {
      fail(Code::Unsupported,
           "{}: {} {}, which no request can do for itself: merge the adapter at "
           "load (merged_adapters)",
           adapter.name, what, quoted(tensor));
    };
    if (!adapter.replaced.empty()) refuse(adapter.replaced.front().tensor, "replaces");
    if (!adapter.biases.empty()) refuse(adapter.biases.front().tensor, "adds to");
    for (const LowRankChange& one : adapter.changes) {
      if (!one.magnitudes.empty()) refuse(one.tensor, "rescales");
    }
    if (!adapter.invocation.empty()) {
      fail(Code::Unsupported,
           "{}: is active from its invocation tokens on (aLoRA), which is not "
           "computed",
           adapter.name);
    }
  }

  SiteFactors fill_site(const AdapterSite& site) {
    const uint64_t columns = site.source.num_columns();
    const uint64_t rows = site.source.num_rows();
    SiteFactors out{std::vector<float>(sites_.rank * columns),
                    std::vector<float>(rows * sites_.rank)};
    for (auto& [tensor, changes] : by_tensor_) {
      for (PlacedChange& one : changes) one.is_placed = false;
    }
    uint64_t ranks = 0;
    for (uint64_t row = 0; row < rows; ++row) {
      const RowSource::Place place = site.source.place(row, 0);
      const auto found = by_tensor_.find(linear_name(*place.tensor));
      if (found == by_tensor_.end()) continue;
      for (PlacedChange& one : found->second) {
        const LowRankChange& change = *one.change;
        if (place.row < change.first_row || place.row - change.first_row >= change.num_rows) {
          continue;
        }
        if (!one.is_placed) ranks += put_a(one, place.column, columns, ranks, out);
        const float* from = change.b.data() + (place.row - change.first_row) * change.rank;
        float* to = out.b.data() + row * sites_.rank + one.first_rank;
        for (uint64_t k = 0; k < change.rank; ++k) to[k] = one.scale * from[k];
        ++one.rows_taken;
      }
    }
    return out;
  }

  /// Returns the ranks that it takes.
  uint64_t put_a(PlacedChange& one, uint64_t first_column, uint64_t columns, uint64_t ranks,
                 SiteFactors& out) const {
    const LowRankChange& change = *one.change;
    if (change.rank > sites_.rank - ranks) {
      fail(Code::Limit,
           "tensor {}: adapters of rank {} in all, but the model was opened with "
           "adapter_rank {}",
           quoted(change.tensor), ranks + change.rank, sites_.rank);
    }
    if (first_column + columns != change.num_columns || first_column != 0) {
      fail(Code::Unsupported,
           "tensor {}: a product takes a part of its columns; merge the adapter "
           "at load (merged_adapters)",
           quoted(change.tensor));
    }
    std::ranges::copy(change.a, out.a.begin() + static_cast<int64_t>(ranks * columns));
    one.first_rank = ranks;
    one.is_placed = true;
    return change.rank;
  }

  const AdapterSites& sites_;
  std::map<std::string, std::vector<PlacedChange>, std::less<>> by_tensor_;
};

}  // namespace

AdapterSiteBuilder::AdapterSiteBuilder(ProgramBuilder& builder, const TensorBinder& tensors,
                                       uint32_t num_slots, uint32_t rank)
    : builder_(builder), tensors_(tensors) {
  sites_.num_slots = num_slots;
  sites_.rank = rank;
}

/// Null for rows that belong to no tokens.
const Route* AdapterSiteBuilder::route_for(uint32_t row_class) {
  if (row_class != TENON_ROWS_TOKENS && row_class != TENON_ROWS_OUTPUTS) return nullptr;
  RouteOptions options;
  options.used = 1;
  if (sites_.numbers == kNoSlot) {
    sites_.numbers = builder_.input("adapter of each row", TENON_ROWS_TOKENS, 1);
    sites_.blanks = builder_.input("adapters", TENON_ROWS_TOKENS, sites_.num_slots);
    options.numbers = sites_.numbers;
    of_tokens_ = op::moe_route(builder_, sites_.blanks, options);
  }
  if (row_class == TENON_ROWS_TOKENS) return &of_tokens_;
  if (!has_outputs_) {
    has_outputs_ = true;
    options.numbers = op::gather_rows(builder_, sites_.numbers);
    of_outputs_ = op::moe_route(builder_, op::gather_rows(builder_, sites_.blanks), options);
  }
  return &of_outputs_;
}

Slot AdapterSiteBuilder::after_linear(Slot x, Slot weight, Slot y) {
  const RowSource* source = tensors_.source_of(weight);
  if (source == nullptr || !takes_adapters(*source)) return y;
  const Route* route = route_for(builder_.row_class(x));
  if (route == nullptr) return y;
  const std::string name(builder_.name(weight));
  const uint64_t slots = sites_.num_slots;
  const Slot a = builder_.weight("adapters a of " + name, Format::F32, slots * sites_.rank,
                                 source->num_columns());
  const Slot b = builder_.weight("adapters b of " + name, Format::F32, slots * source->num_rows(),
                                 sites_.rank);
  const auto same = [weight](const AdapterSite& site) { return site.weight == weight; };
  if (std::ranges::none_of(sites_.sites, same)) sites_.sites.push_back({weight, *source, a, b});
  MoeLinearOptions bank;
  bank.experts = sites_.num_slots;
  bank.first_is_zero = true;
  const Slot low = op::moe_linear(builder_, x, *route, a, bank);
  return op::add(builder_, y, op::moe_linear(builder_, low, *route, b, bank));
}

std::vector<SiteFactors> factors_of_sites(const AdapterSites& sites,
                                          std::span<const ScaledAdapter> adapters) {
  return SiteFiller(sites, adapters).fill();
}

}  // namespace tenon
