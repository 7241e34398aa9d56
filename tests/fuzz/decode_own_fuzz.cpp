// Fuzz target: any bytes to each reader of ours, whatever they begin with: GIF, BMP, WAV, EXIF, and
// the heads of all formats.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "decode/decode.h"

namespace tenon::decoding {

extern const Format kPng;
extern const Format kJpeg;
extern const Format kWebp;
extern const Format kGif;
extern const Format kBmp;
extern const Format kWav;
extern const Format kFlac;
extern const Format kMp3;

namespace {

void try_format(const Format& format, bool is_ours, Bytes file, const Limits& limits) {
  try {
    Decoded into;
    into.info = format.inspect(file);
    check(into.info, limits);
    if (into.info.orientation < 1 || into.info.orientation > 8) std::abort();
    if (is_ours) format.decode(file, limits, into);
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace
}  // namespace tenon::decoding

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::decoding;
  const Bytes file = std::as_bytes(std::span(data, size));
  Limits limits;
  limits.max_pixels = 1 << 16;
  for (const Format* format : {&kGif, &kBmp, &kWav}) try_format(*format, true, file, limits);
  for (const Format* format : {&kPng, &kJpeg, &kWebp, &kFlac, &kMp3}) {
    try_format(*format, false, file, limits);
  }
  if (exif_orientation(file) > 8) std::abort();
  return 0;
}
