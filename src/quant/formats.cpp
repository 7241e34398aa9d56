#include "quant/formats.h"

namespace tenon {
namespace {

/// DecodeRow of a block format. Copies blocks one by one, since file bytes have no alignment.
template <typename Block>
void decode_row(const void* blocks, float* out, uint64_t values) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(blocks);
  for (uint64_t i = 0; i < values / Block::kValues; ++i) {
    Block block;
    std::memcpy(&block, bytes + i * sizeof(Block), sizeof(Block));
    decode(block, out + i * Block::kValues);
  }
}

/// EncodeRow of a block format with an encoder.
template <typename Block>
void encode_row(const float* in, void* blocks, uint64_t values) noexcept {
  auto* bytes = static_cast<unsigned char*>(blocks);
  for (uint64_t i = 0; i < values / Block::kValues; ++i) {
    Block block;
    encode(in + i * Block::kValues, block);
    std::memcpy(bytes + i * sizeof(Block), &block, sizeof(Block));
  }
}

/// The table entry of a block format; its sizes and codecs come from its header.
template <typename Block>
constexpr FormatInfo weight_format(Format id, const char* name) noexcept {
  EncodeRow encoder = nullptr;
  if constexpr (requires(const float* in, Block& block) { encode(in, block); }) {
    encoder = encode_row<Block>;
  }
  return {id, name, Block::kValues, sizeof(Block), decode_row<Block>, encoder, true};
}

}  // namespace

constexpr FormatInfo kFormats[] = {
#define TENON_WEIGHT_ENTRY(enumerator, id, name, block) \
  weight_format<block>(Format::enumerator, name),
#define TENON_STORAGE_ENTRY(enumerator, id, name, bytes) \
  {Format::enumerator, name, 1, bytes, nullptr, nullptr, false},
    TENON_WEIGHT_FORMATS(TENON_WEIGHT_ENTRY) TENON_MEMORY_FORMATS(TENON_WEIGHT_ENTRY)
        TENON_STORAGE_FORMATS(TENON_STORAGE_ENTRY)
#undef TENON_WEIGHT_ENTRY
#undef TENON_STORAGE_ENTRY
};

const FormatInfo* find_format(uint32_t gguf_id) noexcept {
  for (const FormatInfo& info : kFormats) {
    if (static_cast<uint32_t>(info.id) == gguf_id) return &info;
  }
  return nullptr;
}

const FormatInfo* find_format(Format format) noexcept {
  return find_format(static_cast<uint32_t>(format));
}

const FormatInfo* find_format(std::string_view name) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (const FormatInfo& info : kFormats) {
    const std::string_view own = info.name;
    bool same = own.size() == name.size();
    for (size_t i = 0; same && i < own.size(); ++i) same = lower(own[i]) == lower(name[i]);
    if (same) return &info;
  }
  return nullptr;
}

}  // namespace tenon
