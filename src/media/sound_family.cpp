#include "media/sound_family.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace tenon::media {
namespace {

uint64_t halved(uint64_t count) { return (count + 1) / 2; }
uint64_t frames_of(uint64_t samples) { return (samples + kMelHop - 1) / kMelHop; }

/// The encoder halves the frames that begin inside the clip, the projector takes means of pairs.
uint64_t qwen2_audio_rows(uint64_t samples) {
  const uint64_t frames = frames_of(samples);
  return frames < 3 ? 0 : (halved(frames) - 2) / 2 + 1;
}

/// Two convolutions halve the frames whose window lies in the clip.
uint64_t gemma4_audio_rows(uint64_t samples) {
  return samples <= kMelHop ? 0 : halved(halved(frames_of(samples) - 1));
}

Mel gemma4_family_mel(const std::shared_ptr<System>& system, std::span<const float> samples,
                      uint64_t bins) {
  if (bins != 128) fail(Code::Argument, "there are {} mel bins, not 128", bins);
  return gemma4_mel(system, samples);
}

constexpr std::array<SoundFamily, 2> kSoundFamilies{{
    {"qwen2audio", "qwen2a", 128, "<|AUDIO|>", "", "", qwen2_audio_rows, whisper_mel},
    {"gemma4", "gemma4a", 128, "<|audio|>", "<|audio>", "<audio|>", gemma4_audio_rows,
     gemma4_family_mel},
}};

}  // namespace

const SoundFamily* find_sound_family(std::string_view projector_type) {
  const auto* found =
      std::ranges::find(kSoundFamilies, projector_type, &SoundFamily::projector_type);
  return found == kSoundFamilies.end() ? nullptr : &*found;
}

std::vector<ClipPlan> plan_sound(const SoundFamily& family, uint64_t samples) {
  std::vector<ClipPlan> clips;
  for (uint64_t first = 0; first < samples; first += kMelWindow) {
    const uint64_t count = std::min(kMelWindow, samples - first);
    const uint64_t rows = family.rows(count);
    if (rows > 0) clips.push_back({first, count, rows});
  }
  if (clips.empty()) {
    fail(Code::Argument, "the sound has {} samples at 16 kHz, too few for a row of {}", samples,
         family.name);
  }
  return clips;
}

}  // namespace tenon::media
