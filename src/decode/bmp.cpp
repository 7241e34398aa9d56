// BMP, by a reader of ours: 1, 4, 8, 16, 24 and 32 bits, bit fields, run lengths.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "decode/bits.h"
#include "decode/formats.h"

namespace tenon::decoding {
namespace {

constexpr size_t kFileHeadBytes = 14;
enum BmpCoding : uint32_t { kPlain = 0, kRuns8 = 1, kRuns4 = 2, kFields = 3, kOpaqueFields = 6 };

struct BmpHead {
  Info info;
  bool is_upside_up = false;  ///< rows from the top
  uint32_t bits = 0;
  uint32_t coding = kPlain;
  size_t pixels = 0;         ///< offset of the rows
  size_t palette = 0;        ///< offset
  size_t palette_entry = 4;  ///< bytes
  size_t num_colours = 0;
  std::array<uint32_t, 4> masks{};  ///< red, green, blue, opacity
};

void read_bmp_core(Bytes file, BmpHead& head) {
  head.info.width = little16(file, 18);
  head.info.height = little16(file, 20);
  head.bits = little16(file, 24);
  head.palette_entry = 3;
}

void read_bmp_info(Bytes file, size_t dib, BmpHead& head) {
  const auto width = static_cast<int64_t>(static_cast<int32_t>(little32(file, 18)));
  const auto height = static_cast<int64_t>(static_cast<int32_t>(little32(file, 22)));
  if (width < 1 || height == 0) fail(Code::Format, "BMP: the picture is {} x {}", width, height);
  head.info.width = static_cast<uint64_t>(width);
  head.info.height = static_cast<uint64_t>(height < 0 ? -height : height);
  head.is_upside_up = height < 0;
  head.bits = little16(file, 28);
  head.coding = little32(file, 30);
  head.num_colours = little32(file, 46);
  if (head.coding != kFields && head.coding != kOpaqueFields) return;
  // Masks are a part of later heads, and follow the first one.
  const size_t count = dib >= 56 || head.coding == kOpaqueFields ? 4 : 3;
  const size_t at = kFileHeadBytes + 40;
  if (file.size() < at + 4 * count) fail(Code::Format, "BMP: the masks are cut short");
  for (size_t i = 0; i < count; ++i) head.masks[i] = little32(file, at + 4 * i);
  if (dib == 40) head.palette += 4 * count;
}

BmpHead read_bmp_head(Bytes file) {
  if (file.size() < kFileHeadBytes + 12) fail(Code::Format, "BMP: the head is cut short");
  BmpHead head;
  const size_t dib = little32(file, kFileHeadBytes);
  head.pixels = little32(file, 10);
  if ((dib != 12 && dib < 40) || dib > file.size() - kFileHeadBytes) {
    fail(Code::Format, "BMP: a head of {} bytes", dib);
  }
  head.palette = kFileHeadBytes + dib;
  if (dib == 12) {
    read_bmp_core(file, head);
  } else {
    read_bmp_info(file, dib, head);
  }
  if (head.bits != 1 && head.bits != 4 && head.bits != 8 && head.bits != 16 && head.bits != 24 &&
      head.bits != 32) {
    fail(Code::Unsupported, "BMP: pixels of {} bits are not decoded", head.bits);
  }
  const bool fits = head.coding == kPlain || (head.coding == kRuns8 && head.bits == 8) ||
                    (head.coding == kRuns4 && head.bits == 4) ||
                    ((head.coding == kFields || head.coding == kOpaqueFields) &&
                     (head.bits == 16 || head.bits == 32));
  if (!fits) {
    fail(Code::Unsupported, "BMP: coding {} of {} bits is not decoded", head.coding, head.bits);
  }
  if (head.coding == kPlain && head.bits == 16) head.masks = {0x7C00, 0x3E0, 0x1F, 0};
  if (head.coding == kPlain && head.bits == 32) head.masks = {0xFF0000, 0xFF00, 0xFF, 0};
  if (head.pixels > file.size()) fail(Code::Format, "BMP: the pixels lie beyond the file");
  if (head.bits <= 8) {
    const size_t most = size_t{1} << head.bits;
    if (head.num_colours == 0 || head.num_colours > most) head.num_colours = most;
    if (head.palette > file.size()) fail(Code::Format, "BMP: the palette lies beyond the file");
    head.num_colours =
        std::min(head.num_colours, (file.size() - head.palette) / head.palette_entry);
  }
  head.info.channels = head.masks[3] != 0 ? 4 : 3;
  return head;
}

Info inspect_bmp(Bytes file) { return read_bmp_head(file).info; }

bool is_bmp(Bytes file) {
  if (!has_text(file, 0, "BM") || file.size() < kFileHeadBytes + 4) return false;
  const uint32_t dib = little32(file, kFileHeadBytes);
  return dib == 12 || (dib >= 40 && dib <= 256);
}

/// Bits under a mask, as 0..255.
uint8_t field(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift;
  return static_cast<uint8_t>((((pixel & mask) >> shift) * uint64_t{255} + most / 2) / most);
}

class BmpPainter {
 public:
  BmpPainter(Bytes file, const BmpHead& head, Decoded& into)
      : file_(file), head_(head), into_(into), width_(into.info.width), height_(into.info.height) {}

  void plain() {
    const uint64_t stride = (width_ * head_.bits + 31) / 32 * 4;
    const uint64_t used = (width_ * head_.bits + 7) / 8;
    const uint64_t left = file_.size() - head_.pixels;
    if (left < used || (left - used) / stride < height_ - 1) {
      fail(Code::Format, "BMP: the file ends inside the pixels");
    }
    for (uint64_t y = 0; y < height_; ++y) {
      const Bytes row = file_.subspan(head_.pixels + y * stride, used);
      for (uint64_t x = 0; x < width_; ++x) set_from(row, x, y);
    }
  }

  /// Pixels that no run reaches have colour 0. A file that ends inside a run ends there.
  void runs() {
    for (uint64_t y = 0; y < height_; ++y) {
      for (uint64_t x = 0; x < width_; ++x) set_colour(x, y, 0);
    }
    const bool is_half = head_.coding == kRuns4;
    uint64_t x = 0;
    uint64_t y = 0;
    size_t at = head_.pixels;
    while (file_.size() - at >= 2 && y < height_) {
      const uint32_t count = byte_at(file_, at);
      const uint32_t value = byte_at(file_, at + 1);
      at += 2;
      if (count > 0) {
        for (uint32_t i = 0; i < count; ++i, ++x) {
          set_colour(x, y, !is_half ? value : i % 2 == 0 ? value >> 4 : value & 15);
        }
      } else if (value == 0) {
        x = 0;
        ++y;
      } else if (value == 1) {
        return;
      } else if (value == 2) {
        if (file_.size() - at < 2) return;
        x += byte_at(file_, at);
        y += byte_at(file_, at + 1);
        at += 2;
      } else {
        const size_t bytes = is_half ? (value + 1) / 2 : value;
        if (file_.size() - at < bytes) return;
        for (uint32_t i = 0; i < value; ++i, ++x) {
          const uint32_t two = byte_at(file_, at + (is_half ? i / 2 : i));
          set_colour(x, y, !is_half ? two : i % 2 == 0 ? two >> 4 : two & 15);
        }
        at += std::min(bytes + bytes % 2, file_.size() - at);
      }
    }
  }

 private:
  uint8_t* pixel(uint64_t x, uint64_t y) {
    const uint64_t row = head_.is_upside_up ? y : height_ - 1 - y;
    return into_.pixels() + (row * width_ + x) * into_.info.channels;
  }

  void set_colour(uint64_t x, uint64_t y, size_t colour) {
    if (x >= width_ || y >= height_) return;
    uint8_t* to = pixel(x, y);
    for (size_t c = 0; c < 3; ++c) {
      to[c] = colour < head_.num_colours
                  ? static_cast<uint8_t>(
                        byte_at(file_, head_.palette + colour * head_.palette_entry + 2 - c))
                  : 0;
    }
  }

  void set_from(Bytes row, uint64_t x, uint64_t y) {
    if (head_.bits <= 8) {
      const uint64_t bit = x * head_.bits;
      const uint32_t shift = 8 - head_.bits - static_cast<uint32_t>(bit % 8);
      set_colour(x, y, byte_at(row, bit / 8) >> shift & ((1U << head_.bits) - 1));
      return;
    }
    uint8_t* to = pixel(x, y);
    if (head_.bits == 24) {
      for (size_t c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(byte_at(row, 3 * x + 2 - c));
      return;
    }
    const uint32_t value = head_.bits == 16 ? little16(row, 2 * x) : little32(row, 4 * x);
    for (size_t c = 0; c < into_.info.channels; ++c) to[c] = field(value, head_.masks[c]);
  }

  Bytes file_;
  const BmpHead& head_;
  Decoded& into_;
  uint64_t width_;
  uint64_t height_;
};

void decode_bmp(Bytes file, const Limits& /*limits*/, Decoded& into) {
  const BmpHead head = read_bmp_head(file);
  allocate(into);
  BmpPainter painter(file, head, into);
  if (head.coding == kRuns8 || head.coding == kRuns4) {
    painter.runs();
  } else {
    painter.plain();
  }
}

}  // namespace

extern const Format kBmp{"bmp", is_bmp, inspect_bmp, decode_bmp};

}  // namespace tenon::decoding
