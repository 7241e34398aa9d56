// Orientation out of an EXIF block: IFD0's tag 0x0112.
#include <algorithm>

#include "decode/bits.h"
#include "decode/formats.h"

namespace tenon::decoding {
namespace {

constexpr size_t kMaxExifBytes = 65536;
constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShort = 3;
constexpr size_t kEntryBytes = 12;

}  // namespace

uint32_t exif_orientation(Bytes tiff) {
  if (has_text(tiff, 0, "Exif") && tiff.size() > 6) tiff = tiff.subspan(6);
  tiff = tiff.first(std::min(tiff.size(), kMaxExifBytes));
  const bool is_little = has_text(tiff, 0, "II");
  if (tiff.size() < 8 || (!is_little && !has_text(tiff, 0, "MM"))) return 1;
  const auto short_at = [&](size_t at) { return is_little ? little16(tiff, at) : big16(tiff, at); };
  const size_t directory = is_little ? little32(tiff, 4) : big32(tiff, 4);
  if (short_at(2) != 42 || directory > tiff.size() - 2) return 1;
  const size_t begin = directory + 2;
  const size_t count = std::min<size_t>(short_at(directory), (tiff.size() - begin) / kEntryBytes);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = begin + i * kEntryBytes;
    if (short_at(entry) != kOrientationTag || short_at(entry + 2) != kShort) continue;
    const uint32_t value = short_at(entry + 8);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

}  // namespace tenon::decoding
