// WebP by libwebp, whose simple functions are declared here; the container is read by code of ours,
// which also finds the first frame of an animation.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/system_library.h"
#include "decode/bits.h"
#include "decode/formats.h"

namespace tenon::decoding {
namespace {

constexpr size_t kRiffHeadBytes = 12;
constexpr size_t kRiffChunkBytes = 8;
constexpr size_t kFrameHeadBytes = 16;

struct LibWebp {
  using Decode = uint8_t* (*)(const uint8_t*, size_t, uint8_t*, size_t, int);
  Decode decode_rgb = nullptr;
  Decode decode_rgba = nullptr;
};

const LibWebp& libwebp() {
  static const LibWebp loaded = [] {
    const auto system = System::real();
    const SystemLibrary library(*system, {"libwebp.so.7", "libwebp.so"},
                                "WebP pictures need libwebp (Debian: libwebp7)");
    LibWebp made;
    library.find("WebPDecodeRGBInto", made.decode_rgb);
    library.find("WebPDecodeRGBAInto", made.decode_rgba);
    return made;
  }();
  return loaded;
}

struct WebpFrame {
  Bytes bits;  ///< what libwebp decodes: the file, or the chunks of a frame
  uint64_t left = 0;
  uint64_t top = 0;
  uint64_t width = 0;
  uint64_t height = 0;
  bool has_opacity = false;
};

/// Size of a key frame (VP8) or of a lossless picture (VP8L).
void read_webp_bits(Bytes chunk, bool is_lossless, WebpFrame& frame) {
  if (chunk.size() < 10 || (is_lossless && byte_at(chunk, 0) != 0x2F) ||
      (!is_lossless && !has_text(chunk, 3, "\x9D\x01\x2A"))) {
    fail(Code::Format, "WebP: the picture's head is damaged");
  }
  if (is_lossless) {
    const uint32_t bits = little32(chunk, 1);
    frame.width = (bits & 0x3FFF) + 1;
    frame.height = (bits >> 14 & 0x3FFF) + 1;
    frame.has_opacity = frame.has_opacity || (bits >> 28 & 1) != 0;
  } else {
    frame.width = little16(chunk, 6) & 0x3FFF;
    frame.height = little16(chunk, 8) & 0x3FFF;
  }
}

/// Calls visit(name's offset, content) for each chunk from `at` on, until it returns false. The last
/// one may be cut short.
template <typename Visit>
void each_chunk(Bytes file, size_t at, const Visit& visit) {
  while (at < file.size() && file.size() - at >= kRiffChunkBytes) {
    const size_t told = little32(file, at + 4);
    const size_t length = std::min(told, file.size() - at - kRiffChunkBytes);
    if (!visit(at, file.subspan(at + kRiffChunkBytes, length))) return;
    at += kRiffChunkBytes + told + told % 2;
  }
}

/// Reads chunks of one picture. True if one held its pixels.
bool read_webp_picture(Bytes file, size_t at, WebpFrame& frame) {
  bool is_found = false;
  each_chunk(file, at, [&](size_t name, Bytes content) {
    const bool is_lossless = has_text(file, name, "VP8L");
    if (has_text(file, name, "ALPH")) frame.has_opacity = true;
    if (!is_lossless && !has_text(file, name, "VP8 ")) return true;
    read_webp_bits(content, is_lossless, frame);
    is_found = true;
    return false;
  });
  return is_found;
}

/// The canvas's facts, and the frame to decode.
Info read_webp(Bytes file, WebpFrame& frame) {
  Info info;
  bool is_extended = false;
  bool has_frame = false;
  each_chunk(file, kRiffHeadBytes, [&](size_t name, Bytes content) {
    if (has_text(file, name, "VP8X")) {
      if (content.size() < 10) fail(Code::Format, "WebP: the head is cut short");
      is_extended = true;
      info.is_animated = (byte_at(content, 0) & 2) != 0;
      info.width = little24(content, 4) + 1;
      info.height = little24(content, 7) + 1;
    } else if (has_text(file, name, "EXIF")) {
      info.orientation = exif_orientation(content);
    } else if (has_text(file, name, "ANMF") && info.is_animated && !has_frame) {
      if (content.size() < kFrameHeadBytes) fail(Code::Format, "WebP: a frame is cut short");
      frame.left = little24(content, 0) * uint64_t{2};
      frame.top = little24(content, 3) * uint64_t{2};
      frame.bits = content.subspan(kFrameHeadBytes);
      has_frame = read_webp_picture(frame.bits, 0, frame);
    } else if (!info.is_animated && !has_frame &&
               (has_text(file, name, "VP8 ") || has_text(file, name, "VP8L"))) {
      frame.bits = file;
      has_frame = read_webp_picture(file, kRiffHeadBytes, frame);
    }
    return true;
  });
  if (!has_frame) fail(Code::Format, "WebP: there is no picture in the file");
  if (!is_extended) {
    info.width = frame.width;
    info.height = frame.height;
  }
  if (frame.left + frame.width > info.width || frame.top + frame.height > info.height ||
      (!info.is_animated && (frame.width != info.width || frame.height != info.height))) {
    fail(Code::Format, "WebP: a frame of {} x {} does not fit its canvas of {} x {}", frame.width,
         frame.height, info.width, info.height);
  }
  const bool covers = frame.width == info.width && frame.height == info.height;
  info.channels = frame.has_opacity || !covers ? 4 : 3;
  return info;
}

Info inspect_webp(Bytes file) {
  WebpFrame frame;
  return read_webp(file, frame);
}

bool is_webp(Bytes file) { return has_text(file, 0, "RIFF") && has_text(file, 8, "WEBP"); }

void decode_webp(Bytes file, const Limits& /*limits*/, Decoded& into) {
  const LibWebp& api = libwebp();
  WebpFrame frame;
  const Info info = read_webp(file, frame);
  allocate(into);
  std::memset(into.pixels(), 0, into.data.size());
  const uint64_t stride = info.width * info.channels;
  const uint64_t first = frame.top * stride + frame.left * info.channels;
  const auto decode = info.channels == 4 ? api.decode_rgba : api.decode_rgb;
  const uint8_t* done =
      decode(reinterpret_cast<const uint8_t*>(frame.bits.data()), frame.bits.size(),
             into.pixels() + first, into.data.size() - first, static_cast<int>(stride));
  if (done == nullptr)
    fail(Code::Format, "WebP: the picture is damaged or cut short, or memory is full");
}

}  // namespace

extern const Format kWebp{"webp", is_webp, inspect_webp, decode_webp};

}  // namespace tenon::decoding
