#include "quantize/row_encoders.h"

#include <cstring>

namespace tenon {
namespace {

/// Code of this file alone, which is optimised for speed, as that of the table of formats is not.
template <typename Block>
[[gnu::flatten]] void encode_even(const float* in, void* blocks, uint64_t values) noexcept {
  auto* bytes = static_cast<unsigned char*>(blocks);
  for (uint64_t i = 0; i < values / Block::kValues; ++i) {
    Block block;
    encode(in + i * Block::kValues, block);
    std::memcpy(bytes + i * sizeof(Block), &block, sizeof(Block));
  }
}

template <typename Block>
[[gnu::flatten]] void encode_weighted(const float* in, const float* weights, void* blocks,
                                      uint64_t values) noexcept {
  auto* bytes = static_cast<unsigned char*>(blocks);
  for (uint64_t i = 0; i < values / Block::kValues; ++i) {
    Block block;
    encode(in + i * Block::kValues, block, weights + i * Block::kValues);
    std::memcpy(bytes + i * sizeof(Block), &block, sizeof(Block));
  }
}

template <typename Block>
constexpr RowEncoder row_encoder_of() noexcept {
  RowEncoder encoder;
  if constexpr (requires(const float* in, Block& block) { encode(in, block); }) {
    encoder.even = encode_even<Block>;
  }
  if constexpr (requires(const float* in, Block& block) { encode(in, block, in); }) {
    encoder.weighted = encode_weighted<Block>;
  }
  return encoder;
}

}  // namespace

RowEncoder row_encoder(Format format) noexcept {
  switch (format) {
#define TENON_ENCODER_CASE(enumerator, id, name, block) \
  case Format::enumerator:                              \
    return row_encoder_of<block>();
    TENON_WEIGHT_FORMATS(TENON_ENCODER_CASE)
    TENON_MEMORY_FORMATS(TENON_ENCODER_CASE)
#undef TENON_ENCODER_CASE
    default:
      return {};
  }
}

}  // namespace tenon
