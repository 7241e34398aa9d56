// Pictures in memory: as a host gives them, and as upright RGB bytes, with which all families
// begin.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/system.h"

namespace tenon::media {

inline constexpr uint64_t kMaxSide = 32768;
/// The limit above which Pillow refuses a picture as a bomb.
inline constexpr uint64_t kMaxPixels = 178'956'970;

struct Size {
  uint64_t width = 0;
  uint64_t height = 0;
  [[nodiscard]] uint64_t pixels() const { return width * height; }
  bool operator==(const Size&) const = default;
};

/// Throws Limit for a side of 0 or beyond kMaxSide, and beyond kMaxPixels.
void check_picture_size(Size size);

/// One value of a pixel. U16: 0..65535. F32: 0..1, outside clamped, NaN read as 0.
enum class PixelType : uint8_t { U8, U16, F32 };

/// Interleaved pixels of somebody else, from the top left in rows.
struct PixelView {
  PixelType type = PixelType::U8;
  uint32_t channels = 3;  ///< 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity
  Size size;
  uint64_t stride = 0;  ///< bytes from row to row; 0: rows without a gap
  const void* data = nullptr;
};

/// Bytes that the view spans. Throws Limit for its size, Argument for channels, stride and null.
uint64_t check_pixels(const PixelView& view);

/// Upright RGB bytes of somebody else.
struct RgbView {
  const uint8_t* data = nullptr;
  Size size;
  uint64_t stride = 0;  ///< bytes from row to row, at least 3 * width
};

/// Owns upright RGB bytes without gaps between rows.
class RgbPicture {
 public:
  RgbPicture() = default;
  /// Uninitialised. Throws Limit, NoMemory.
  RgbPicture(const std::shared_ptr<System>& system, Size size);

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] uint8_t* row(uint64_t y) const {
    return reinterpret_cast<uint8_t*>(bytes_.data()) + y * size_.width * 3;
  }
  [[nodiscard]] RgbView view() const { return {row(0), size_, size_.width * 3}; }

 private:
  Buffer bytes_;
  Size size_;
};

using Colour = std::array<uint8_t, 3>;
inline constexpr Colour kWhite{255, 255, 255};

/// The view itself where it is RGB bytes already; else nothing.
std::optional<RgbView> as_rgb(const PixelView& view);

/// Lays the picture over `background`, turns it upright and makes RGB bytes of it. Opacity is
/// blended as Pillow's alpha_composite does; 16 bits become (v * 255 + 32767) / 65535.
///   orientation  1..8 as in EXIF: 6 is turned by 90 degrees clockwise
/// Throws as check_pixels, Argument for an orientation, NoMemory.
RgbPicture to_upright_rgb(const std::shared_ptr<System>& system, const PixelView& view,
                          uint32_t orientation = 1, Colour background = kWhite);

}  // namespace tenon::media
