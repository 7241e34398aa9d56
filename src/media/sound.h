// Sound in memory: as a host gives it, and as one channel at the rate that a tower hears.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/system.h"

namespace tenon::media {

inline constexpr uint32_t kMinRate = 1000;
inline constexpr uint32_t kMaxRate = 768'000;
inline constexpr uint32_t kMaxChannels = 64;
/// Samples of a channel after resampling: five hours at 16 kHz.
inline constexpr uint64_t kMaxSoundSamples = uint64_t{288} * 1'000'000;

/// Interleaved samples of somebody else, f32 [frames, channels], nominally -1..1.
struct SoundView {
  const float* data = nullptr;
  uint64_t frames = 0;
  uint32_t channels = 1;
  uint32_t rate = 0;  ///< frames per second
};

/// Owns samples of one channel.
class MonoSound {
 public:
  MonoSound() = default;
  /// Uninitialised. Throws NoMemory.
  MonoSound(const std::shared_ptr<System>& system, uint64_t count)
      : bytes_(system, count * sizeof(float), "sound of one channel") {}
  [[nodiscard]] std::span<float> samples() const {
    return {reinterpret_cast<float*>(bytes_.data()), bytes_.size() / sizeof(float)};
  }

 private:
  Buffer bytes_;
};

/// The mean of the channels at another rate. Resampled by a windowed sinc: Kaiser's window (beta
/// 8.6) over 32 zeros of the sinc at each side, cut off at half the lower rate. Its error is below
/// -60 dB up to 0.45 of the lower rate, away from the ends; beyond the ends is silence. The result
/// has frames * rate / view.rate samples, rounded up; an equal rate is only mixed.
/// Throws Argument for null, no frames, channels or rates out of range, and a sample that is NaN or
/// infinite; Limit beyond kMaxSoundSamples; NoMemory.
MonoSound to_mono(const std::shared_ptr<System>& system, const SoundView& view, uint32_t rate);

}  // namespace tenon::media
