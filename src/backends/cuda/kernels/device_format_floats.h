// f32, f16 and bf16: eight values from a row.
#pragma once

#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_weight_bytes.h"

namespace tenon::cuda {

TENON_DEVICE void decode_floats(uint format, Words row, uint first, float (&w)[8]) {
  if (format == 0) {
    for (uint i = 0; i < 8; ++i) w[i] = bits_to_float(row.at[first + i]);
    return;
  }
  for (uint i = 0; i < 4; ++i) {
    const uint pair = row.at[first / 2 + i];
    if (format == 1) {
      w[2 * i] = half_to_float(pair & 0xFFFFu);
      w[2 * i + 1] = half_to_float(pair >> 16);
    } else {
      w[2 * i] = bits_to_float(pair << 16);
      w[2 * i + 1] = bits_to_float(pair & 0xFFFF0000u);
    }
  }
}

}  // namespace tenon::cuda
