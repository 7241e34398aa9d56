#include "decode/decode.h"

#include <array>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "decode/bits.h"

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

/// Those with weak marks come last.
constexpr std::array<const Format*, 8> kFormats{&kPng, &kJpeg, &kWebp, &kGif,
                                                &kWav, &kFlac, &kBmp,  &kMp3};

/// Formats that are recognised only to be named.
struct KnownMark {
  size_t offset;
  const char* mark;
  const char* name;
};
constexpr std::array<KnownMark, 12> kOthers{{
    {4, "ftypavif", "AVIF pictures"},
    {4, "ftypheic", "HEIC pictures"},
    {4, "ftypmif1", "HEIF pictures"},
    {4, "ftypheix", "HEIC pictures"},
    {4, "ftyp", "MP4 files"},
    {0, "OggS", "Ogg sound"},
    {0, "II*", "TIFF pictures"},
    {0, "MM", "TIFF pictures"},
    {0, "\x1A\x45\xDF\xA3", "Matroska and WebM files"},
    {0, "%PDF", "PDF documents"},
    {0, "<svg", "SVG pictures"},
    {0, "RIFX", "big-endian WAV sound"},
}};

constexpr const char* kKnown = "PNG, JPEG, WebP, GIF, BMP, WAV, FLAC and MP3";

const Format& format_of(Bytes file) {
  if (file.empty()) fail(Code::Format, "the file is empty");
  for (const Format* format : kFormats) {
    if (format->matches(file)) return *format;
  }
  for (const KnownMark& other : kOthers) {
    if (has_text(file, other.offset, other.mark)) {
      fail(Code::Unsupported, "{} are not decoded, only {}", other.name, kKnown);
    }
  }
  fail(Code::Unsupported, "the file begins like no picture or sound; {} are decoded", kKnown);
}

Info checked_info(const Format& format, Bytes file, const Limits& limits) {
  Info info = format.inspect(file);
  info.format = format.name;
  check(info, limits);
  return info;
}

}  // namespace

bool has_text(Bytes file, size_t offset, const char* text) {
  const size_t length = std::strlen(text);
  return file.size() >= offset + length && std::memcmp(file.data() + offset, text, length) == 0;
}

void check(const Info& info, const Limits& limits) {
  if (info.kind == Kind::Picture) {
    if (info.width < 1 || info.height < 1) {
      fail(Code::Format, "the picture is {} x {}", info.width, info.height);
    }
    if (info.width > limits.max_side || info.height > limits.max_side) {
      fail(Code::Limit, "the picture is {} x {}; a side has at most {} pixels", info.width,
           info.height, limits.max_side);
    }
    if (info.width * info.height > limits.max_pixels) {
      fail(Code::Limit, "the picture has {} x {} = {} pixels, the limit is {}", info.width,
           info.height, info.width * info.height, limits.max_pixels);
    }
    return;
  }
  if (info.rate < 1 || info.rate > 768'000) {
    fail(Code::Format, "the sound has {} samples a second", info.rate);
  }
  if (info.channels < 1 || info.channels > 64) {
    fail(Code::Format, "the sound has {} channels", info.channels);
  }
  if (info.frames > limits.max_samples / info.channels) {
    fail(Code::Limit, "the sound has {} samples in {} channels, the limit is {} in all",
         info.frames, info.channels, limits.max_samples);
  }
}

void allocate(Decoded& into) {
  const bool is_picture = into.info.kind == Kind::Picture;
  into.data = Buffer(System::real(), into.info.values() * (is_picture ? 1 : sizeof(float)),
                     is_picture ? "a decoded picture" : "decoded sound");
}

Info inspect(Bytes file, const Limits& limits) {
  return checked_info(format_of(file), file, limits);
}

Decoded decode(Bytes file, const Limits& limits) {
  const Format& format = format_of(file);
  Decoded into;
  into.info = checked_info(format, file, limits);
  format.decode(file, limits, into);
  return into;
}

}  // namespace tenon::decoding
