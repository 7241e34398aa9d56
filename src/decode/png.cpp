// PNG by libspng. The interface (spng.h, stable since 0.6) is declared here as far as it is used.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/system_library.h"
#include "decode/bits.h"
#include "decode/formats.h"

namespace tenon::decoding {
namespace {

constexpr size_t kPngHeadBytes = 8 + 8 + 13 + 4;
constexpr size_t kPngChunkBytes = 12;  // length, type, checksum

// Numbers of spng.h.
constexpr int kRgba8 = 1, kRgba16 = 2, kRgb8 = 4, kGrey8 = 64;
constexpr int kUseTransparency = 1;
/// Bytes of chunks beside the picture, each and together.
constexpr size_t kMaxPngChunk = size_t{16} << 20;
constexpr size_t kMaxPngChunks = size_t{32} << 20;

struct Spng {
  void* (*ctx_new)(int) = nullptr;
  void (*ctx_free)(void*) = nullptr;
  int (*set_png_buffer)(void*, const void*, size_t) = nullptr;
  int (*set_image_limits)(void*, uint32_t, uint32_t) = nullptr;
  int (*set_chunk_limits)(void*, size_t, size_t) = nullptr;
  int (*decoded_image_size)(void*, int, size_t*) = nullptr;
  int (*decode_image)(void*, void*, size_t, int, int) = nullptr;
  const char* (*strerror)(int) = nullptr;
};

const Spng& spng() {
  static const Spng loaded = [] {
    const auto system = System::real();
    const SystemLibrary library(*system, {"libspng.so.0", "libspng.so"},
                                "PNG pictures need libspng (Debian: libspng0)");
    Spng made;
    library.find("spng_ctx_new", made.ctx_new);
    library.find("spng_ctx_free", made.ctx_free);
    library.find("spng_set_png_buffer", made.set_png_buffer);
    library.find("spng_set_image_limits", made.set_image_limits);
    library.find("spng_set_chunk_limits", made.set_chunk_limits);
    library.find("spng_decoded_image_size", made.decoded_image_size);
    library.find("spng_decode_image", made.decode_image);
    library.find("spng_strerror", made.strerror);
    return made;
  }();
  return loaded;
}

class SpngContext {
 public:
  explicit SpngContext(const Spng& api) : api_(api), context_(api.ctx_new(0)) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~SpngContext() { api_.ctx_free(context_); }
  SpngContext(const SpngContext&) = delete;
  SpngContext& operator=(const SpngContext&) = delete;
  [[nodiscard]] void* get() const { return context_; }
  void expect(int result) const {
    constexpr int kNoMemory = 2;
    if (result == kNoMemory) fail(Code::NoMemory, "PNG: out of memory");
    if (result != 0) fail(Code::Format, "PNG: {}", api_.strerror(result));
  }

 private:
  const Spng& api_;
  void* context_;
};

struct PngHead {
  uint32_t depth = 0;
  bool is_grey = false;
  Info info;
};

PngHead read_png_head(Bytes file) {
  if (file.size() < kPngHeadBytes || !has_text(file, 12, "IHDR")) {
    fail(Code::Format, "PNG: the head is cut short or missing");
  }
  PngHead head;
  head.info.width = big32(file, 16);
  head.info.height = big32(file, 20);
  head.depth = byte_at(file, 24);
  const uint32_t colours = byte_at(file, 25);  // bits: 1 palette, 2 colour, 4 opacity
  head.is_grey = (colours & 2) == 0;
  bool has_opacity = (colours & 4) != 0;
  // Chunks before and after the pixels, by their lengths alone.
  for (size_t at = 8; file.size() - at >= kPngChunkBytes;) {
    const size_t length = big32(file, at);
    if (length > file.size() - at - kPngChunkBytes) break;
    if (has_text(file, at + 4, "tRNS")) has_opacity = true;
    if (has_text(file, at + 4, "acTL")) head.info.is_animated = true;
    if (has_text(file, at + 4, "eXIf")) {
      head.info.orientation = exif_orientation(file.subspan(at + 8, length));
    }
    at += length + kPngChunkBytes;
  }
  head.info.channels = has_opacity ? 4 : head.is_grey ? 1 : 3;
  return head;
}

Info inspect_png(Bytes file) { return read_png_head(file).info; }

bool is_png(Bytes file) { return has_text(file, 0, "\x89PNG\r\n\x1A\n"); }

void decode_png(Bytes file, const Limits& limits, Decoded& into) {
  const Spng& api = spng();
  const PngHead head = read_png_head(file);
  const SpngContext context(api);
  const auto side = static_cast<uint32_t>(std::min<uint64_t>(limits.max_side, INT32_MAX));
  context.expect(api.set_image_limits(context.get(), side, side));
  context.expect(api.set_chunk_limits(context.get(), kMaxPngChunk, kMaxPngChunks));
  context.expect(api.set_png_buffer(context.get(), file.data(), file.size()));
  const uint32_t channels = into.info.channels;
  const bool is_deep = head.depth == 16;
  const int format = is_deep ? kRgba16 : channels == 4 ? kRgba8 : channels == 3 ? kRgb8 : kGrey8;
  const uint64_t pixels = into.info.width * into.info.height;
  const uint64_t expected = is_deep ? pixels * 8 : pixels * channels;
  size_t size = 0;
  context.expect(api.decoded_image_size(context.get(), format, &size));
  if (size != expected) fail(Code::Format, "PNG: the head contradicts itself");
  const int flags = channels == 4 ? kUseTransparency : 0;
  allocate(into);
  if (!is_deep) {
    context.expect(api.decode_image(context.get(), into.pixels(), size, format, flags));
    return;
  }
  const Buffer deep(System::real(), size, "a picture of 16 bits");
  context.expect(api.decode_image(context.get(), deep.data(), size, format, flags));
  const auto* values = reinterpret_cast<const uint16_t*>(deep.data());
  for (uint64_t i = 0; i < pixels; ++i) {
    for (uint32_t c = 0; c < channels; ++c) {
      const uint32_t value = values[4 * i + c];
      into.pixels()[i * channels + c] = static_cast<uint8_t>((value * 255 + 32767) / 65535);
    }
  }
}

}  // namespace

extern const Format kPng{"png", is_png, inspect_png, decode_png};

}  // namespace tenon::decoding
