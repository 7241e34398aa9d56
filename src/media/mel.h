// Mel spectrograms, as the feature extractors of Whisper and Gemma 4 compute them, in f64.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/system.h"

namespace tenon::media {

inline constexpr uint32_t kSpeechRate = 16'000;
/// Samples between frames.
inline constexpr uint64_t kMelHop = 160;
/// Thirty seconds: the window of these towers.
inline constexpr uint64_t kMelWindow = uint64_t{30} * kSpeechRate;

/// A spectrogram of one clip.
struct Mel {
  Buffer values;  ///< f32, [bins, frames] (Whisper) or [frames, bins] (Gemma 4)
  uint64_t bins = 0;
  uint64_t frames = 0;
  uint64_t used_frames = 0;  ///< frames of the clip itself; those that follow are padding
  [[nodiscard]] std::span<const float> span() const {
    return {reinterpret_cast<const float*>(values.data()), bins * frames};
  }
};

/// Of up to thirty seconds at 16 kHz, padded with silence to thirty: [bins, 3000]. bins: 80 or 128.
/// Throws Argument for no samples or more, NoMemory.
Mel whisper_mel(const std::shared_ptr<System>& system, std::span<const float> samples,
                uint64_t bins);

/// Of up to thirty seconds at 16 kHz: [frames, 128]. Throws Argument for fewer than 161 samples,
/// which have no frame, or more; NoMemory.
Mel gemma4_mel(const std::shared_ptr<System>& system, std::span<const float> samples);

}  // namespace tenon::media
