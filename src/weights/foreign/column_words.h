// Weights packed along their inputs: words [inputs * bits / 32, outputs], a column for each output.
// GPTQ and EXL2 share it.
#pragma once

#include <cstdint>
#include <vector>

#include "weights/foreign/bit_packing.h"
#include "weights/foreign/module.h"

namespace tenon::foreign {

/// Outputs that are decoded at once: bounds memory, and makes the pieces read of each row of words
/// long enough.
inline constexpr uint64_t kColumnBand = 256;

/// Unpacks the codes of `values` inputs of one column.
///   words  the column's first word, in rows of `stride` words
///   first  the first row of words to read
inline void unpack_column(const uint32_t* words, uint64_t stride, uint64_t first, uint64_t values,
                          uint32_t bits, bool planar, uint8_t* out) {
  for (uint64_t done = 0; done < values; done += 32) {
    const uint64_t count = std::min<uint64_t>(32, values - done);
    uint32_t block[8] = {};
    const uint64_t num_words = stream_words(count, bits);
    for (uint64_t i = 0; i < num_words; ++i) {
      block[i] = words[(first + done / 32 * bits + i) * stride];
    }
    if (planar) {
      uint8_t all[32];
      unpack_planes(block, bits, all);
      std::copy_n(all, count, out + done);
    } else {
      unpack_stream(reinterpret_cast<const uint8_t*>(block), 0, count, bits, out + done);
    }
  }
}

}  // namespace tenon::foreign
