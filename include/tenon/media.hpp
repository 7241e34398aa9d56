// Decoding pictures and sound in C++, over tenon/media.h (libtenon-media). Not part of tenon.hpp:
// programs that decode for themselves do not link it.
#pragma once

#include <tenon/media.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tenon/error.hpp>

namespace tenon {
inline namespace v1 {

/// Files beyond are refused before anything is allocated; 0: the defaults of tenon_decode_options.
struct DecodeLimits {
  uint32_t max_side = 0;
  uint64_t max_pixels = 0;
  uint64_t max_samples = 0;
};

namespace detail {

inline void check_decoded(tenon_status status) {
  if (status != TENON_OK) throw Error(static_cast<Code>(status), tenon_decode_last_error());
}

inline tenon_decode_options decode_options(const DecodeLimits& limits) {
  tenon_decode_options options{};
  options.struct_size = sizeof options;
  options.max_side = limits.max_side;
  options.max_pixels = limits.max_pixels;
  options.max_samples = limits.max_samples;
  return options;
}

}  // namespace detail

/// Facts about a file, from its head alone. Throws Error.
inline tenon_decode_info inspect_media(std::span<const std::byte> bytes, DecodeLimits limits = {}) {
  const tenon_decode_options options = detail::decode_options(limits);
  tenon_decode_info info{};
  info.struct_size = sizeof info;
  detail::check_decoded(tenon_decode_inspect(bytes.data(), bytes.size(), &options, &info));
  return info;
}

/// A decoded file. Immutable; move-only.
class DecodedMedia {
 public:
  /// Decodes a file that lies in memory. Throws Error.
  explicit DecodedMedia(std::span<const std::byte> bytes, DecodeLimits limits = {}) {
    const tenon_decode_options options = detail::decode_options(limits);
    tenon_decoded* decoded = nullptr;
    detail::check_decoded(tenon_decode(bytes.data(), bytes.size(), &options, &decoded));
    decoded_.reset(decoded);
    info_.struct_size = sizeof info_;
    detail::check_decoded(tenon_decode_get_info(decoded, &info_));
  }

  [[nodiscard]] const tenon_decode_info& info() const noexcept { return info_; }
  [[nodiscard]] bool is_picture() const noexcept { return info_.kind == TENON_DECODE_PICTURE; }
  /// Bytes [height, width, channels]; empty for sound.
  [[nodiscard]] std::span<const uint8_t> pixels() const noexcept {
    const uint8_t* pixels = tenon_decode_pixels(decoded_.get());
    return {pixels, pixels == nullptr ? 0 : static_cast<size_t>(info_.bytes)};
  }
  /// f32 [frames, channels]; empty for a picture.
  [[nodiscard]] std::span<const float> samples() const noexcept {
    const float* samples = tenon_decode_samples(decoded_.get());
    return {samples, samples == nullptr ? 0 : static_cast<size_t>(info_.bytes / sizeof(float))};
  }

 private:
  struct Destroy {
    void operator()(tenon_decoded* decoded) const noexcept { tenon_decode_destroy(decoded); }
  };
  std::unique_ptr<tenon_decoded, Destroy> decoded_;
  tenon_decode_info info_{};
};

}  // namespace v1
}  // namespace tenon
