// Encoders of rows that weigh the error of each value. Weights of 1 give the blocks of the table of
// formats.
#pragma once

#include <cstdint>

#include "quant/formats.h"

namespace tenon {

/// Encodes in [values] f32 (values a multiple of block_values, all finite) into `blocks`.
///   weights  [values] of squared errors, positive and about 1 on average
using EncodeWeightedRow = void (*)(const float* in, const float* weights, void* blocks,
                                   uint64_t values) noexcept;

/// nullptr for formats whose blocks do not depend on weights.
EncodeWeightedRow weighted_encoder(Format format) noexcept;

}  // namespace tenon
