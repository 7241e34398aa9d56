// Formats of pictures and sound, recognised by their first bytes: one file and one line of the table
// in decode.cpp each. Heads are read by code of ours, so limits hold before a codec is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/system.h"

namespace tenon::decoding {

using Bytes = std::span<const std::byte>;

/// Refused beyond, before anything is allocated for the decoded form.
struct Limits {
  uint64_t max_side = 32768;
  uint64_t max_pixels = 178'956'970;
  uint64_t max_samples = uint64_t{1} << 28;  ///< numbers, over all channels
};

enum class Kind : uint32_t { Picture = 1, Sound = 2 };

/// Facts about a file.
struct Info {
  Kind kind = Kind::Picture;
  const char* format = "";  ///< "png"; lives for ever
  uint32_t channels = 0;    ///< of a picture 1 (grey), 3 (RGB) or 4 (RGB, opacity)
  uint64_t width = 0;       ///< as stored, before orientation
  uint64_t height = 0;
  uint32_t orientation = 1;  ///< EXIF, 1..8
  bool is_animated = false;  ///< the first frame is taken
  uint32_t rate = 0;         ///< samples per second of a channel
  uint64_t frames = 0;       ///< samples of each channel; 0 in a head that does not tell
  [[nodiscard]] uint64_t values() const {
    return (kind == Kind::Picture ? width * height : frames) * channels;
  }
};

/// A decoded file: bytes [height, width, channels], or f32 [frames, channels] in -1..1.
struct Decoded {
  Info info;
  Buffer data;
  [[nodiscard]] uint8_t* pixels() const { return reinterpret_cast<uint8_t*>(data.data()); }
  [[nodiscard]] float* samples() const { return reinterpret_cast<float*>(data.data()); }
};

struct Format {
  const char* name;
  bool (*matches)(Bytes file);
  /// Reads the head. Throws Format, Unsupported.
  Info (*inspect)(Bytes file);
  /// Decodes what inspect described; `into.info` is set, and `into.data` too where its size is
  /// known. Throws Format, Unsupported, Limit, NoMemory.
  void (*decode)(Bytes file, const Limits& limits, Decoded& into);
};

/// Allocates into.data for into.info, whose sizes are within the limits. Throws NoMemory.
void allocate(Decoded& into);
/// Throws Limit naming what exceeds it, Format for a picture without pixels or sound without rate.
void check(const Info& info, const Limits& limits);

/// The file begins with these characters at `offset`.
bool has_text(Bytes file, size_t offset, const char* text);

/// Orientation (1..8) of a TIFF block, as EXIF has it; 1 if it says none or is damaged.
uint32_t exif_orientation(Bytes tiff);

}  // namespace tenon::decoding
