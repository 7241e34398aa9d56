// Selective state spaces as mixers: Mamba and Mamba 2.
#pragma once

#include <cstdint>
#include <string_view>

#include "arch/build_context.h"

namespace tenon {

/// Source of a selective scan's inputs, and columns of its convolution.
enum class MambaVersion {
  First,   ///< a decay per value; "ssm_x" makes dt, B and C from the convolved values
  Second,  ///< a decay per head; "ssm_in" makes all inputs, and B and C are convolved, too
  Plamo,   ///< PLaMo 2: heads of Second with inputs of First
};

/// RMS norms of the time step's row before its matrix, of B and of C.
enum class ScanNorms {
  None,
  Unweighted,  ///< Falcon Mamba
  Weighted,    ///< "ssm_dt_norm", "ssm_b_norm", "ssm_c_norm"
};

/// Selective state space: Mamba (Gu and Dao 2023, arXiv 2312.00752) and Mamba 2 (Dao and Gu 2024,
/// arXiv 2405.21060).
struct StateSpaceSpec {
  MambaVersion version = MambaVersion::Second;
  uint32_t inner = 0;   ///< columns
  uint32_t heads = 0;   ///< divides inner; Mamba: = inner
  uint32_t groups = 1;  ///< groups of heads, each with its B and C
  uint32_t state = 0;   ///< state values per column
  uint32_t kernel = 0;  ///< taps of the convolution
  uint32_t rank = 0;    ///< rank of the time step's projection; 0 in Mamba 2
  ScanNorms norms = ScanNorms::None;
  std::string_view norm_suffix = ".weight";  ///< suffix of the names of the norms' weights
  float epsilon = 0.0f;

  /// Columns of the convolution.
  [[nodiscard]] uint64_t conv_columns() const {
    return version == MambaVersion::Second ? inner + uint64_t{2} * groups * state : inner;
  }
  [[nodiscard]] uint64_t conv_values() const { return (kernel - 1) * conv_columns(); }
  [[nodiscard]] uint64_t state_values() const { return conv_values() + uint64_t{inner} * state; }

  /// Needs "ssm_in", "ssm_conv1d", "ssm_dt", "ssm_a", "ssm_d" and "ssm_out"; Mamba also "ssm_x",
  /// Mamba 2 maybe "ssm_norm".
  ///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

}  // namespace tenon
