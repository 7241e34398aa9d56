#include "quantize/row_encoders.h"

#include <cstring>

namespace tenon {
namespace {

template <typename Block>
void encode_weighted(const float* in, const float* weights, void* blocks,
                     uint64_t values) noexcept {
  auto* bytes = static_cast<unsigned char*>(blocks);
  for (uint64_t i = 0; i < values / Block::kValues; ++i) {
    Block block;
    encode(in + i * Block::kValues, block, weights + i * Block::kValues);
    std::memcpy(bytes + i * sizeof(Block), &block, sizeof(Block));
  }
}

template <typename Block>
constexpr EncodeWeightedRow encoder_of() noexcept {
  if constexpr (requires(const float* in, Block& block) { encode(in, block, in); }) {
    return encode_weighted<Block>;
  } else {
    return nullptr;
  }
}

}  // namespace

EncodeWeightedRow weighted_encoder(Format format) noexcept {
  switch (format) {
#define TENON_ENCODER_CASE(enumerator, id, name, block) \
  case Format::enumerator:                              \
    return encoder_of<block>();
    TENON_WEIGHT_FORMATS(TENON_ENCODER_CASE)
    TENON_MEMORY_FORMATS(TENON_ENCODER_CASE)
#undef TENON_ENCODER_CASE
    default:
      return nullptr;
  }
}

}  // namespace tenon
