// Products of a program that take adapters: beside each linear, a told mixture of experts whose
// experts are the slots of a bank. Each row names its slot; slot 0 is zeros.
//
//   numbers [., 1] -> moe_route -> ids
//   x, ids -> moe_linear (A, [slots * rank, columns]) -> moe_linear (B, [slots * rows, rank])
//   y + that
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arch/adapter/adapter.h"
#include "arch/tensor_binder.h"
#include "program/operations.h"
#include "program/program.h"

namespace tenon {

/// A linear and the weights of its bank.
struct AdapterSite {
  Slot weight;
  RowSource source;  ///< of the linear's weight
  Slot a;            ///< [num_slots * rank, columns] f32
  Slot b;            ///< [num_slots * rows, rank] f32
};

struct AdapterSites {
  uint32_t num_slots = 0;  ///< with slot 0; 0 means that there is no bank
  uint32_t rank = 0;
  Slot numbers = kNoSlot;  ///< input [T, 1]: the slot of each row
  Slot blanks = kNoSlot;   ///< input [T, num_slots], which nothing reads: zeros
  std::vector<AdapterSite> sites;
};

/// Adds the bank's operations while a program is built.
class AdapterSiteBuilder {
 public:
  ///   num_slots  at least 2
  AdapterSiteBuilder(ProgramBuilder& builder, const TensorBinder& tensors, uint32_t num_slots,
                     uint32_t rank);
  /// The result `y` of a linear with its row's adapter.
  Slot after_linear(Slot x, Slot weight, Slot y);
  [[nodiscard]] AdapterSites take() { return std::move(sites_); }

 private:
  [[nodiscard]] const Route* route_for(uint32_t row_class);

  ProgramBuilder& builder_;
  const TensorBinder& tensors_;
  AdapterSites sites_;
  Route of_tokens_;
  Route of_outputs_;
  bool has_outputs_ = false;
};

/// Values of one slot at a site.
struct SiteFactors {
  std::vector<float> a;  ///< [rank, columns]
  std::vector<float> b;  ///< [rows, rank], times all scales
};

/// Values for a slot at each site: the sum of the adapters, in their order. Throws Unsupported for
/// changes that no site takes, naming the tensor, Limit for ranks whose sum is above the bank's.
std::vector<SiteFactors> factors_of_sites(const AdapterSites& sites,
                                          std::span<const ScaledAdapter> adapters);

}  // namespace tenon
