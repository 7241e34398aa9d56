// Resizing of RGB bytes as Pillow up to version 12 does it, bit for bit: separable, with
// antialiasing, horizontally first, rounded to bytes between the passes.
#pragma once

#include <cstdint>
#include <memory>

#include "media/pixels.h"

namespace tenon::media {

enum class Filter : uint8_t { Bilinear, Bicubic, Lanczos };

/// Code that computes the passes; all of it gives the same bytes.
enum class Kernels : uint8_t { Best, Portable };

/// The picture at another size. An equal size is a copy. Throws Limit, NoMemory.
RgbPicture resize(const std::shared_ptr<System>& system, RgbView picture, Size size, Filter filter,
                  Kernels kernels = Kernels::Best);

}  // namespace tenon::media
