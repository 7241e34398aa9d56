#include "media/sound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "base/error.h"

namespace tenon::media {
namespace {

/// Zeros of the sinc at each side of the window.
constexpr uint64_t kZeros = 32;
constexpr double kBeta = 8.6;
/// Points of the table between two zeros; read linearly in between, within -100 dB.
constexpr uint64_t kPoints = 1024;
/// Weights that are kept rather than computed for each sample.
constexpr uint64_t kMaxKeptWeights = uint64_t{1} << 20;

/// Modified Bessel function of order 0, by its series.
double bessel(double x) {
  double sum = 1;
  double term = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= (x / 2 / k) * (x / 2 / k);
    sum += term;
  }
  return sum;
}

/// The windowed sinc at 0..kZeros, and a zero beyond.
class SincTable {
 public:
  SincTable() : values_(kZeros * kPoints + 2) {
    for (size_t i = 0; i < kZeros * kPoints; ++i) {
      const double t = static_cast<double>(i) / kPoints;
      const double x = t * std::numbers::pi;
      const double part = t / kZeros;
      const double window = bessel(kBeta * std::sqrt(1 - part * part)) / bessel(kBeta);
      values_[i] = (i == 0 ? 1 : std::sin(x) / x) * window;
    }
  }
  [[nodiscard]] double at(double t) const {
    t = std::abs(t) * kPoints;
    if (t >= static_cast<double>(kZeros * kPoints)) return 0;
    const auto i = static_cast<size_t>(t);
    return values_[i] + (values_[i + 1] - values_[i]) * (t - static_cast<double>(i));
  }

 private:
  std::vector<double> values_;
};

/// Output n lies at input n * step / phases; its weights depend on n % phases alone.
class SoundResampler {
 public:
  SoundResampler(uint32_t from, uint32_t to)
      : step_(from / std::gcd(from, to)),
        phases_(to / std::gcd(from, to)),
        cut_(std::min(1.0, static_cast<double>(to) / from)),
        reach_(static_cast<int64_t>(std::ceil(static_cast<double>(kZeros) / cut_))) {
    if (phases_ * taps() <= kMaxKeptWeights) {
      kept_.resize(phases_ * taps());
      for (uint64_t phase = 0; phase < phases_; ++phase) fill(phase, kept_.data() + phase * taps());
    } else {
      kept_.resize(taps());
    }
  }

  /// Writes outputs for all of `to`.
  void run(std::span<const float> from, std::span<float> to) {
    const bool is_kept = kept_.size() == phases_ * taps();
    const auto count = static_cast<int64_t>(from.size());
    for (uint64_t n = 0; n < to.size(); ++n) {
      const uint64_t phase = n % phases_ * step_ % phases_;
      const float* weights = kept_.data();
      if (is_kept) {
        weights += phase * taps();
      } else {
        fill(phase, kept_.data());
      }
      const int64_t first =
          static_cast<int64_t>(n / phases_ * step_ + n % phases_ * step_ / phases_) - reach_ + 1;
      const int64_t begin = std::max<int64_t>(0, -first);
      const int64_t end = std::min<int64_t>(static_cast<int64_t>(taps()), count - first);
      // Several sums, so that they need not wait for each other; always in the same order.
      std::array<double, 4> sums{};
      int64_t k = begin;
      for (; k + 4 <= end; k += 4) {
        for (int64_t i = 0; i < 4; ++i) {
          sums[static_cast<size_t>(i)] +=
              static_cast<double>(weights[k + i]) *
              static_cast<double>(from[static_cast<size_t>(first + k + i)]);
        }
      }
      for (; k < end; ++k)
        sums[0] += static_cast<double>(weights[k]) *
                   static_cast<double>(from[static_cast<size_t>(first + k)]);
      to[n] = static_cast<float>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
  }

 private:
  [[nodiscard]] uint64_t taps() const { return static_cast<uint64_t>(2 * reach_); }

  /// Weights of inputs from reach_ - 1 before to reach_ after a place that is phase / phases_
  /// beyond an input. Their sum is 1.
  void fill(uint64_t phase, float* weights) const {
    const double offset = static_cast<double>(phase) / static_cast<double>(phases_);
    double sum = 0;
    const auto value = [&](uint64_t k) {
      return table_.at((static_cast<double>(k) - static_cast<double>(reach_ - 1) - offset) * cut_);
    };
    for (uint64_t k = 0; k < taps(); ++k) sum += value(k);
    for (uint64_t k = 0; k < taps(); ++k) weights[k] = static_cast<float>(value(k) / sum);
  }

  uint64_t step_;
  uint64_t phases_;
  double cut_;
  int64_t reach_;
  SincTable table_;
  std::vector<float> kept_;
};

void check_sound(const SoundView& view, uint32_t rate) {
  if (view.data == nullptr) fail(Code::Argument, "the sound's data is NULL");
  if (view.frames == 0) fail(Code::Argument, "the sound has no samples");
  if (view.channels < 1 || view.channels > kMaxChannels) {
    fail(Code::Argument, "the sound has {} channels, not 1..{}", view.channels, kMaxChannels);
  }
  for (const uint32_t each : {view.rate, rate}) {
    if (each < kMinRate || each > kMaxRate) {
      fail(Code::Argument, "the rate is {} samples per second, not {}..{}", each, kMinRate,
           kMaxRate);
    }
  }
  if (view.frames > kMaxSoundSamples) {
    fail(Code::Limit, "the sound has {} samples, the limit is {}", view.frames, kMaxSoundSamples);
  }
}

}  // namespace

MonoSound to_mono(const std::shared_ptr<System>& system, const SoundView& view, uint32_t rate) {
  check_sound(view, rate);
  const uint64_t count = (view.frames * rate + view.rate - 1) / view.rate;
  if (count > kMaxSoundSamples) {
    fail(Code::Limit, "the sound has {} samples at {} per second, the limit is {}", count, rate,
         kMaxSoundSamples);
  }
  MonoSound mixed(system, view.frames);
  const std::span<float> samples = mixed.samples();
  for (uint64_t i = 0; i < view.frames; ++i) {
    double sum = 0;
    for (uint32_t c = 0; c < view.channels; ++c) {
      sum += static_cast<double>(view.data[i * view.channels + c]);
    }
    samples[i] = static_cast<float>(sum / view.channels);
    if (!std::isfinite(samples[i])) {
      fail(Code::Argument, "sample {} of the sound is no finite number", i);
    }
  }
  if (view.rate == rate) return mixed;
  MonoSound resampled(system, count);
  SoundResampler(view.rate, rate).run(samples, resampled.samples());
  return resampled;
}

}  // namespace tenon::media
