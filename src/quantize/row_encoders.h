// Encoders of rows, even and by the weight of each value.
#pragma once

#include <cstdint>

#include "quant/formats.h"

namespace tenon {

/// Encodes in [values] f32 (values a multiple of block_values, all finite) into `blocks`.
///   weights  [values] of squared errors, positive and about 1 on average
using EncodeWeightedRow = void (*)(const float* in, const float* weights, void* blocks,
                                   uint64_t values) noexcept;

struct RowEncoder {
  EncodeRow even = nullptr;              ///< the blocks of FormatInfo::encode_row; nullptr without
  EncodeWeightedRow weighted = nullptr;  ///< nullptr if blocks do not depend on weights
};

RowEncoder row_encoder(Format format) noexcept;

}  // namespace tenon
