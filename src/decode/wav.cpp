// WAV, by a reader of ours: whole numbers of 8 to 32 bits and floats of 32 and 64.
#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"
#include "decode/bits.h"
#include "decode/formats.h"

namespace tenon::decoding {
namespace {

constexpr uint32_t kWhole = 1, kReal = 3, kExtensible = 0xFFFE;

struct WavHead {
  Info info;
  uint32_t coding = 0;
  uint32_t bits = 0;
  Bytes data;
};

void read_wav_format(Bytes chunk, WavHead& head) {
  if (chunk.size() < 16) fail(Code::Format, "WAV: the format is cut short");
  head.coding = little16(chunk, 0);
  head.info.channels = little16(chunk, 2);
  head.info.rate = little32(chunk, 4);
  head.bits = little16(chunk, 14);
  // The kind of an extensible one is the beginning of an identifier.
  if (head.coding == kExtensible && chunk.size() >= 26) head.coding = little16(chunk, 24);
  const bool is_whole =
      head.coding == kWhole && head.bits % 8 == 0 && head.bits >= 8 && head.bits <= 32;
  const bool is_real = head.coding == kReal && (head.bits == 32 || head.bits == 64);
  if (!is_whole && !is_real) {
    fail(Code::Unsupported, "WAV: coding {} of {} bits is not decoded", head.coding, head.bits);
  }
  if (head.info.channels == 0) fail(Code::Format, "WAV: there is no channel");
}

/// Whether one of the known chunks begins at the offset and ends within the file.
bool is_wav_chunk(Bytes file, size_t at) {
  constexpr std::array<const char*, 8> kNames{"LIST", "fact", "bext", "cue ",
                                              "smpl", "id3 ", "JUNK", "PEAK"};
  return std::ranges::any_of(kNames, [&](const char* name) { return has_text(file, at, name); }) &&
         little32(file, at + 4) <= file.size() - at - 8;
}

/// Sizes in files lie in both directions: what is there counts.
WavHead read_wav_head(Bytes file) {
  WavHead head;
  bool has_format = false;
  for (size_t at = 12; file.size() - std::min(at, file.size()) >= 8;) {
    const size_t told = little32(file, at + 4);
    const size_t length = std::min(told, file.size() - at - 8);
    const Bytes chunk = file.subspan(at + 8, length);
    if (has_text(file, at, "fmt ")) {
      read_wav_format(chunk, head);
      has_format = true;
    } else if (has_text(file, at, "data")) {
      // A stream that was never finished tells 0; an empty recording may have other chunks behind.
      const bool has_next = told == 0 && file.size() - at >= 16 && is_wav_chunk(file, at + 8);
      head.data = told == 0 && !has_next ? file.subspan(at + 8) : chunk;
      break;
    }
    at += 8 + told + told % 2;
  }
  if (!has_format) fail(Code::Format, "WAV: no format before the samples");
  head.info.kind = Kind::Sound;
  head.info.frames = head.data.size() / (head.bits / 8 * head.info.channels);
  return head;
}

Info inspect_wav(Bytes file) { return read_wav_head(file).info; }

bool is_wav(Bytes file) { return has_text(file, 0, "RIFF") && has_text(file, 8, "WAVE"); }

float sample_at(const WavHead& head, size_t at) {
  const Bytes& data = head.data;
  if (head.coding == kReal) {
    if (head.bits == 32) return std::bit_cast<float>(little32(data, at));
    const uint64_t bits = little32(data, at) | uint64_t{little32(data, at + 4)} << 32;
    return static_cast<float>(std::bit_cast<double>(bits));
  }
  if (head.bits == 8) return (static_cast<float>(byte_at(data, at)) - 128) / 128;
  // The number's bytes at the top of 32 bits, whatever their count.
  uint32_t bits = 0;
  for (uint32_t i = 0; i < head.bits / 8; ++i) {
    bits |= byte_at(data, at + i) << (32 - head.bits + 8 * i);
  }
  return static_cast<float>(static_cast<int32_t>(bits)) / 2147483648.0F;
}

void decode_wav(Bytes file, const Limits& /*limits*/, Decoded& into) {
  const WavHead head = read_wav_head(file);
  allocate(into);
  const uint64_t values = into.info.values();
  for (uint64_t i = 0; i < values; ++i) into.samples()[i] = sample_at(head, i * (head.bits / 8));
}

}  // namespace

extern const Format kWav{"wav", is_wav, inspect_wav, decode_wav};

}  // namespace tenon::decoding
