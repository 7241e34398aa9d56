// MP3 by libmpg123. The interface (mpg123.h) is declared here as far as it is used.
#include <array>

#include "base/buffer.h"
#include "base/error.h"
#include "base/system_library.h"
#include "decode/bits.h"
#include "decode/formats.h"
#include "decode/sample_list.h"

namespace tenon::decoding {
namespace {

// Numbers of mpg123.h.
constexpr int kAddFlags = 2, kQuiet = 0x20, kForceFloat = 0x400;
constexpr int kDone = -12, kNewFormat = -11, kNeedMore = -10, kOk = 0;
constexpr int kFloat32 = 0x200;

struct LibMpg123 {
  int (*init)() = nullptr;
  void* (*make)(const char*, int*) = nullptr;
  void (*destroy)(void*) = nullptr;
  int (*param)(void*, int, long, double) = nullptr;
  int (*open_feed)(void*) = nullptr;
  int (*feed)(void*, const unsigned char*, size_t) = nullptr;
  int (*read)(void*, void*, size_t, size_t*) = nullptr;
  int (*getformat)(void*, long*, int*, int*) = nullptr;
};

const LibMpg123& libmpg123() {
  static const LibMpg123 loaded = [] {
    const auto system = System::real();
    const SystemLibrary library(*system, {"libmpg123.so.0", "libmpg123.so"},
                                "MP3 sound needs libmpg123 (Debian: libmpg123-0)");
    LibMpg123 made;
    library.find("mpg123_init", made.init);
    library.find("mpg123_new", made.make);
    library.find("mpg123_delete", made.destroy);
    library.find("mpg123_param", made.param);
    library.find("mpg123_open_feed", made.open_feed);
    library.find("mpg123_feed", made.feed);
    library.find("mpg123_read", made.read);
    library.find("mpg123_getformat", made.getformat);
    made.init();
    return made;
  }();
  return loaded;
}

constexpr std::array<uint32_t, 3> kRates{44100, 48000, 32000};

/// A frame's head of layer III stands at that place.
bool is_frame(Bytes file, size_t at) {
  if (at > file.size() || file.size() - at < 4) return false;
  const uint32_t head = big32(file, at);
  return head >> 21 == 0x7FF && (head >> 19 & 3) != 1 && (head >> 17 & 3) == 1 &&
         (head >> 12 & 15) != 15 && (head >> 10 & 3) != 3;
}

/// Bytes of an ID3v2 tag at the beginning.
size_t tag_bytes(Bytes file) {
  if (!has_text(file, 0, "ID3") || file.size() < 10) return 0;
  size_t size = 0;
  for (size_t i = 6; i < 10; ++i) size = size << 7 | (byte_at(file, i) & 0x7F);
  return size + 10;
}

bool is_mp3(Bytes file) { return has_text(file, 0, "ID3") || is_frame(file, 0); }

/// The first frame's head. The number of samples shows when all are decoded.
Info inspect_mp3(Bytes file) {
  constexpr size_t kMostPadding = 65536;
  size_t at = tag_bytes(file);
  for (size_t i = 0; i < kMostPadding && at < file.size() && !is_frame(file, at); ++i) ++at;
  if (!is_frame(file, at)) fail(Code::Format, "MP3: there is no frame of layer III");
  const uint32_t head = big32(file, at);
  Info info;
  info.kind = Kind::Sound;
  const uint32_t version = head >> 19 & 3;  // 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5
  info.rate = kRates[head >> 10 & 3] / (version == 3 ? 1 : version == 2 ? 2 : 4);
  info.channels = (head >> 6 & 3) == 3 ? 1 : 2;
  return info;
}

void decode_mp3(Bytes file, const Limits& limits, Decoded& into) {
  const LibMpg123& api = libmpg123();
  const auto destroy = [&](void* decoder) { api.destroy(decoder); };
  int error = 0;
  const std::unique_ptr<void, decltype(destroy)> decoder(api.make(nullptr, &error), destroy);
  if (decoder == nullptr) throw std::bad_alloc();
  if (api.param(decoder.get(), kAddFlags, kQuiet | kForceFloat, 0) != kOk ||
      api.open_feed(decoder.get()) != kOk) {
    fail(Code::Unsupported, "MP3: libmpg123 decodes no floats");
  }
  SampleList samples("MP3", limits.max_samples);
  constexpr size_t kFeedBytes = 16384;
  constexpr size_t kBlockBytes = 65536;
  const Buffer block(System::real(), kBlockBytes, "MP3 sound");
  const auto* values = reinterpret_cast<const float*>(block.data());
  bool has_format = false;
  Bytes left = file;
  for (;;) {
    size_t done = 0;
    const int result = api.read(decoder.get(), block.data(), kBlockBytes, &done);
    const size_t count = done / sizeof(float);
    if (count > 0) std::copy_n(values, count, samples.extend(count));
    if (result == kNewFormat) {
      long rate = 0;
      int channels = 0;
      int encoding = 0;
      api.getformat(decoder.get(), &rate, &channels, &encoding);
      const bool is_other =
          rate != into.info.rate || channels != static_cast<int>(into.info.channels);
      if (encoding != kFloat32 || (has_format && is_other)) {
        fail(Code::Unsupported, "MP3: rate or channels change inside the file");
      }
      if (rate < 1 || channels < 1) fail(Code::Format, "MP3: the sound has no rate");
      into.info.rate = static_cast<uint32_t>(rate);
      into.info.channels = static_cast<uint32_t>(channels);
      has_format = true;
    } else if (result == kNeedMore) {
      if (left.empty()) break;
      const Bytes part = left.first(std::min(left.size(), kFeedBytes));
      left = left.subspan(part.size());
      if (api.feed(decoder.get(), reinterpret_cast<const unsigned char*>(part.data()),
                   part.size()) != kOk) {
        fail(Code::NoMemory, "MP3: out of memory");
      }
    } else if (result == kDone) {
      break;
    } else if (result != kOk) {
      fail(Code::Format, "MP3: the sound is damaged");
    }
  }
  if (!has_format || samples.size() == 0) fail(Code::Format, "MP3: there is no sound in the file");
  into.info.frames = samples.size() / into.info.channels;
  into.data = samples.take();
}

}  // namespace

extern const Format kMp3{"mp3", is_mp3, inspect_mp3, decode_mp3};

}  // namespace tenon::decoding
