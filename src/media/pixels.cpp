#include "media/pixels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/error.h"

namespace tenon::media {
namespace {

uint64_t value_bytes(PixelType type) {
  return type == PixelType::U8 ? 1 : type == PixelType::U16 ? 2 : 4;
}

uint8_t byte_of(uint8_t value) { return value; }
uint8_t byte_of(uint16_t value) {
  return static_cast<uint8_t>((uint32_t{value} * 255 + 32767) / 65535);
}
uint8_t byte_of(float value) {
  if (!(value > 0)) return 0;  // NaN, too
  return static_cast<uint8_t>(std::min(value, 1.0F) * 255.0F + 0.5F);
}

/// `value` over `under` at an opacity of 0..255, with Pillow's seven bits and its division by 255.
uint8_t blend(uint8_t value, uint8_t under, uint8_t opacity) {
  const uint32_t sum = 128U * (value * opacity + under * (255U - opacity)) + (0x80U << 7);
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> 7);
}

template <typename Value>
void row_to_rgb(const std::byte* row, uint32_t channels, uint64_t width, Colour background,
                uint8_t* rgb) {
  const bool is_grey = channels < 3;
  const bool has_opacity = channels % 2 == 0;
  std::array<Value, 4> pixel{};
  for (uint64_t x = 0; x < width; ++x) {
    std::memcpy(pixel.data(), row + x * channels * sizeof(Value), channels * sizeof(Value));
    for (uint32_t c = 0; c < 3; ++c) {
      uint8_t value = byte_of(pixel[is_grey ? 0 : c]);
      if (has_opacity) value = blend(value, background[c], byte_of(pixel[channels - 1]));
      rgb[3 * x + c] = value;
    }
  }
}

void any_row_to_rgb(const PixelView& view, const std::byte* row, Colour background, uint8_t* rgb) {
  const uint64_t width = view.size.width;
  if (view.type == PixelType::U8) {
    if (view.channels == 3) {
      std::memcpy(rgb, row, 3 * width);
    } else {
      row_to_rgb<uint8_t>(row, view.channels, width, background, rgb);
    }
  } else if (view.type == PixelType::U16) {
    row_to_rgb<uint16_t>(row, view.channels, width, background, rgb);
  } else {
    row_to_rgb<float>(row, view.channels, width, background, rgb);
  }
}

/// Where pixel (x, y) of a picture of that size lies when it is turned upright.
struct Turn {
  bool swaps;    ///< columns become rows
  bool mirrors;  ///< the result runs against x of the source
  bool flips;    ///< the result runs against y of the source
};

constexpr std::array<Turn, 9> kTurns{{{},
                                      {false, false, false},
                                      {false, true, false},
                                      {false, true, true},
                                      {false, false, true},
                                      {true, false, false},
                                      {true, false, true},
                                      {true, true, true},
                                      {true, true, false}}};

/// Source rows that are turned at a time, so that the columns they become are written in runs.
constexpr uint64_t kRowsAtATime = 32;

void place_rows(const Turn& turn, Size size, const uint8_t* rows, uint64_t first, uint64_t count,
                RgbPicture& into) {
  if (!turn.swaps) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint8_t* from = rows + i * size.width * 3;
      uint8_t* to = into.row(turn.flips ? size.height - 1 - (first + i) : first + i);
      if (!turn.mirrors) {
        std::memcpy(to, from, size.width * 3);
        continue;
      }
      for (uint64_t x = 0; x < size.width; ++x) {
        std::memcpy(to + 3 * (size.width - 1 - x), from + 3 * x, 3);
      }
    }
    return;
  }
  for (uint64_t x = 0; x < size.width; ++x) {
    uint8_t* to = into.row(turn.mirrors ? size.width - 1 - x : x);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t y = first + i;
      std::memcpy(to + 3 * (turn.flips ? size.height - 1 - y : y), rows + (i * size.width + x) * 3,
                  3);
    }
  }
}

}  // namespace

void check_picture_size(Size size) {
  if (size.width < 1 || size.height < 1 || size.width > kMaxSide || size.height > kMaxSide) {
    fail(Code::Limit, "the picture is {} x {}; a side has 1..{} pixels", size.width, size.height,
         kMaxSide);
  }
  if (size.pixels() > kMaxPixels) {
    fail(Code::Limit, "the picture has {} x {} = {} pixels, the limit is {}", size.width,
         size.height, size.pixels(), kMaxPixels);
  }
}

uint64_t check_pixels(const PixelView& view) {
  check_picture_size(view.size);
  if (view.channels < 1 || view.channels > 4) {
    fail(Code::Argument, "a pixel has {} channels, not 1..4", view.channels);
  }
  if (view.data == nullptr) fail(Code::Argument, "the picture's data is NULL");
  const uint64_t row = view.size.width * view.channels * value_bytes(view.type);
  if (view.stride != 0 && view.stride < row) {
    fail(Code::Argument, "the stride is {} bytes, a row of {} pixels has {}", view.stride,
         view.size.width, row);
  }
  const uint64_t stride = view.stride == 0 ? row : view.stride;
  return checked_add(checked_mul(stride, view.size.height - 1, "rows", Code::Argument), row, "rows",
                     Code::Argument);
}

RgbPicture::RgbPicture(const std::shared_ptr<System>& system, Size size) : size_(size) {
  check_picture_size(size);
  bytes_ = Buffer(system, size.pixels() * 3, "a picture's RGB bytes");
}

std::optional<RgbView> as_rgb(const PixelView& view) {
  check_pixels(view);
  if (view.type != PixelType::U8 || view.channels != 3) return std::nullopt;
  return RgbView{static_cast<const uint8_t*>(view.data), view.size,
                 view.stride == 0 ? view.size.width * 3 : view.stride};
}

RgbPicture to_upright_rgb(const std::shared_ptr<System>& system, const PixelView& view,
                          uint32_t orientation, Colour background) {
  check_pixels(view);
  if (orientation < 1 || orientation > 8) {
    fail(Code::Argument, "the orientation is {}, not 1..8", orientation);
  }
  const Turn turn = kTurns[orientation];
  const Size size = view.size;
  RgbPicture upright(system, turn.swaps ? Size{size.height, size.width} : size);
  const uint64_t stride =
      view.stride != 0 ? view.stride : size.width * view.channels * value_bytes(view.type);
  const auto* data = static_cast<const std::byte*>(view.data);
  if (orientation == 1) {
    for (uint64_t y = 0; y < size.height; ++y) {
      any_row_to_rgb(view, data + y * stride, background, upright.row(y));
    }
    return upright;
  }
  const Buffer rows(system, std::min(kRowsAtATime, size.height) * size.width * 3,
                    "a picture's rows");
  auto* rgb = reinterpret_cast<uint8_t*>(rows.data());
  for (uint64_t first = 0; first < size.height; first += kRowsAtATime) {
    const uint64_t count = std::min(kRowsAtATime, size.height - first);
    for (uint64_t i = 0; i < count; ++i) {
      any_row_to_rgb(view, data + (first + i) * stride, background, rgb + i * size.width * 3);
    }
    place_rows(turn, size, rgb, first, count, upright);
  }
  return upright;
}

}  // namespace tenon::media
