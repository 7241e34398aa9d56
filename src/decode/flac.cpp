// FLAC by libFLAC. The interface (FLAC/stream_decoder.h) is declared here as far as it is used.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "base/system_library.h"
#include "decode/bits.h"
#include "decode/formats.h"
#include "decode/sample_list.h"

namespace tenon::decoding {
namespace {

/// Beginning of FLAC__Frame.
struct FlacFrame {
  uint32_t blocksize;
  uint32_t sample_rate;
  uint32_t channels;
  int channel_assignment;
  uint32_t bits_per_sample;
};

using FlacRead = int (*)(const void*, unsigned char*, size_t*, void*);
using FlacWrite = int (*)(const void*, const FlacFrame*, const int32_t* const*, void*);
using FlacMetadata = void (*)(const void*, const void*, void*);
using FlacError = void (*)(const void*, int, void*);

struct LibFlac {
  void* (*make)() = nullptr;
  void (*destroy)(void*) = nullptr;
  int (*init_stream)(void*, FlacRead, void*, void*, void*, void*, FlacWrite, FlacMetadata,
                     FlacError, void*) = nullptr;
  int (*process)(void*) = nullptr;
  int (*state)(const void*) = nullptr;
};

const LibFlac& libflac() {
  static const LibFlac loaded = [] {
    const auto system = System::real();
    const SystemLibrary library(*system, {"libFLAC.so.12", "libFLAC.so.14", "libFLAC.so.8"},
                                "FLAC sound needs libFLAC (Debian: libflac12)");
    LibFlac made;
    library.find("FLAC__stream_decoder_new", made.make);
    library.find("FLAC__stream_decoder_delete", made.destroy);
    library.find("FLAC__stream_decoder_init_stream", made.init_stream);
    library.find("FLAC__stream_decoder_process_until_end_of_stream", made.process);
    library.find("FLAC__stream_decoder_get_state", made.state);
    return made;
  }();
  return loaded;
}

/// No exception passes the C code: a failure is kept and the decoder told to stop.
struct FlacJob {
  Bytes left;
  SampleList* samples;
  Info info;
  std::exception_ptr thrown = nullptr;
  bool is_damaged = false;
};

int read_flac(const void* /*decoder*/, unsigned char* buffer, size_t* bytes, void* user) {
  auto& job = *static_cast<FlacJob*>(user);
  constexpr int kContinue = 0, kEnd = 1;
  const size_t count = std::min(*bytes, job.left.size());
  if (count > 0) std::memcpy(buffer, job.left.data(), count);
  job.left = job.left.subspan(count);
  *bytes = count;
  return count > 0 ? kContinue : kEnd;
}

int write_flac(const void* /*decoder*/, const FlacFrame* frame, const int32_t* const* channels,
               void* user) {
  auto& job = *static_cast<FlacJob*>(user);
  constexpr int kContinue = 0, kAbort = 1;
  if (frame->channels != job.info.channels || frame->sample_rate != job.info.rate ||
      frame->bits_per_sample < 1 || frame->bits_per_sample > 32) {
    job.is_damaged = true;
    return kAbort;
  }
  try {
    const auto scale = static_cast<float>(uint64_t{1} << (frame->bits_per_sample - 1));
    float* to = job.samples->extend(uint64_t{frame->blocksize} * frame->channels);
    for (uint32_t i = 0; i < frame->blocksize; ++i) {
      for (uint32_t c = 0; c < frame->channels; ++c) {
        *to++ = static_cast<float>(channels[c][i]) / scale;
      }
    }
    return kContinue;
  } catch (...) {
    job.thrown = std::current_exception();
    return kAbort;
  }
}

void skip_flac_metadata(const void* /*decoder*/, const void* /*metadata*/, void* /*user*/) {}

void note_flac_error(const void* /*decoder*/, int /*status*/, void* user) {
  // Tags may follow the last frame.
  auto& job = *static_cast<FlacJob*>(user);
  const uint64_t told = job.info.values();
  if (told == 0 || job.samples->size() < told) job.is_damaged = true;
}

/// The first block of metadata is STREAMINFO: 4 bytes of mark, 4 of block head, then its fields.
Info inspect_flac(Bytes file) {
  if (file.size() < 8 + 34 || (byte_at(file, 4) & 0x7F) != 0) {
    fail(Code::Format, "FLAC: the head is cut short or missing");
  }
  Info info;
  info.kind = Kind::Sound;
  const uint32_t packed = big32(file, 18);  // 20 bits of rate, 3 of channels, 5 of bits, 4 of count
  info.rate = packed >> 12;
  info.channels = (packed >> 9 & 7) + 1;
  info.frames = uint64_t{packed & 15} << 32 | big32(file, 22);
  return info;
}

bool is_flac(Bytes file) { return has_text(file, 0, "fLaC"); }

void decode_flac(Bytes file, const Limits& limits, Decoded& into) {
  const LibFlac& api = libflac();
  SampleList samples("FLAC", limits.max_samples);
  samples.reserve(into.info.values(), file.size());
  FlacJob job{file, &samples, into.info};
  const auto destroy = [&](void* decoder) { api.destroy(decoder); };
  const std::unique_ptr<void, decltype(destroy)> decoder(api.make(), destroy);
  if (decoder == nullptr) throw std::bad_alloc();
  const bool is_ready =
      api.init_stream(decoder.get(), read_flac, nullptr, nullptr, nullptr, nullptr, write_flac,
                      skip_flac_metadata, note_flac_error, &job) == 0;
  const bool is_done = is_ready && api.process(decoder.get()) != 0;
  if (job.thrown != nullptr) std::rethrow_exception(job.thrown);
  constexpr int kOutOfMemory = 8;
  if (!is_done && api.state(decoder.get()) == kOutOfMemory) throw std::bad_alloc();
  if (!is_done || job.is_damaged) fail(Code::Format, "FLAC: the sound is damaged or cut short");
  const uint64_t frames = samples.size() / into.info.channels;
  if (into.info.frames != 0 && frames != into.info.frames) {
    fail(Code::Format, "FLAC: the head tells {} samples, the file holds {}", into.info.frames,
         frames);
  }
  into.info.frames = frames;
  into.data = samples.take();
}

}  // namespace

extern const Format kFlac{"flac", is_flac, inspect_flac, decode_flac};

}  // namespace tenon::decoding
