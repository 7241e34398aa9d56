#include "media/mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"

namespace tenon::media {
namespace {

struct Complex {
  double re = 0;
  double im = 0;
};
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }

/// Discrete Fourier transforms of one size, by its prime factors.
class Fourier {
 public:
  explicit Fourier(size_t size) : size_(size), turns_(size), in_(size), out_(size), parts_(size) {
    for (size_t i = 0; i < size; ++i) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
      turns_[i] = {std::cos(angle), std::sin(angle)};
    }
  }

  /// Real input of the size; squares of the magnitudes of the first size / 2 + 1 results.
  void power(std::span<const double> samples, std::span<double> squares) {
    for (size_t i = 0; i < size_; ++i) in_[i] = {samples[i], 0};
    transform(size_, 1, in_.data(), out_.data());
    for (size_t i = 0; i < squares.size(); ++i) {
      squares[i] = out_[i].re * out_[i].re + out_[i].im * out_[i].im;
    }
  }

 private:
  void transform(size_t n, size_t stride, const Complex* in, Complex* out) {
    if (n == 1) {
      *out = *in;
      return;
    }
    size_t factor = 2;
    while (n % factor != 0) ++factor;
    const size_t part = n / factor;
    for (size_t i = 0; i < factor; ++i) {
      transform(part, stride * factor, in + i * stride, out + i * part);
    }
    for (size_t k = 0; k < part; ++k) {
      for (size_t i = 0; i < factor; ++i) parts_[i] = out[i * part + k] * turns_[i * k * stride];
      for (size_t q = 0; q < factor; ++q) {
        Complex sum;
        for (size_t i = 0; i < factor; ++i) {
          sum = sum + parts_[i] * turns_[i * q * part * stride % size_];
        }
        out[k + q * part] = sum;
      }
    }
  }

  size_t size_;
  std::vector<Complex> turns_;
  std::vector<Complex> in_;
  std::vector<Complex> out_;
  std::vector<Complex> parts_;
};

enum class MelScale { Slaney, Htk };

double to_mel(double hertz, MelScale scale) {
  if (scale == MelScale::Htk) return 2595 * std::log10(1 + hertz / 700);
  if (hertz < 1000) return hertz * 3 / 200;
  return 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
}

double to_hertz(double mel, MelScale scale) {
  if (scale == MelScale::Htk) return 700 * (std::pow(10, mel / 2595) - 1);
  if (mel < 15) return mel * 200 / 3;
  return 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

/// Triangles over the frequencies of a transform, up to half the rate. Slaney's have equal areas.
class MelFilters {
 public:
  MelFilters(uint64_t bins, size_t points, MelScale scale) {
    const double top = to_mel(kSpeechRate / 2.0, scale);
    const auto edge = [&](uint64_t i) {
      return to_hertz(top * static_cast<double>(i) / static_cast<double>(bins + 1), scale);
    };
    for (uint64_t bin = 0; bin < bins; ++bin) {
      const double a = edge(bin);
      const double b = edge(bin + 1);
      const double c = edge(bin + 2);
      Filter filter;
      for (size_t i = 0; i <= points / 2; ++i) {
        const double f = static_cast<double>(i) * kSpeechRate / static_cast<double>(points);
        const double height = std::min((f - a) / (b - a), (c - f) / (c - b));
        if (height <= 0) continue;
        if (filter.weights.empty()) filter.first = i;
        filter.weights.push_back(scale == MelScale::Slaney ? height * 2 / (c - a) : height);
      }
      filters_.push_back(std::move(filter));
    }
  }

  [[nodiscard]] double apply(uint64_t bin, std::span<const double> spectrum) const {
    const Filter& filter = filters_[bin];
    double sum = 0;
    for (size_t i = 0; i < filter.weights.size(); ++i) {
      sum += filter.weights[i] * spectrum[filter.first + i];
    }
    return sum;
  }

 private:
  struct Filter {
    size_t first = 0;
    std::vector<double> weights;
  };
  std::vector<Filter> filters_;
};

/// Hann's window, periodic.
std::vector<double> hann(size_t size) {
  std::vector<double> window(size);
  for (size_t i = 0; i < size; ++i) {
    window[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                     static_cast<double>(size));
  }
  return window;
}

void check_clip(std::span<const float> samples, uint64_t least) {
  if (samples.size() < least || samples.size() > kMelWindow) {
    fail(Code::Argument, "the clip has {} samples, not {}..{}", samples.size(), least, kMelWindow);
  }
}

constexpr size_t kWhisperPoints = 400;
constexpr uint64_t kWhisperFrames = kMelWindow / kMelHop;
constexpr size_t kGemmaWindow = 320;
constexpr size_t kGemmaPoints = 512;
constexpr uint64_t kGemmaBins = 128;

/// The sample at a place of the window of thirty seconds, which is reflected at its ends.
double reflected(std::span<const float> samples, int64_t at) {
  constexpr auto kEnd = static_cast<int64_t>(kMelWindow);
  if (at < 0) at = -at;
  if (at >= kEnd) at = 2 * (kEnd - 1) - at;
  const auto i = static_cast<size_t>(at);
  return i < samples.size() ? static_cast<double>(samples[i]) : 0;
}

}  // namespace

Mel whisper_mel(const std::shared_ptr<System>& system, std::span<const float> samples,
                uint64_t bins) {
  check_clip(samples, 1);
  if (bins != 80 && bins != 128) fail(Code::Argument, "there are {} mel bins, not 80 or 128", bins);
  Mel mel;
  mel.bins = bins;
  mel.frames = kWhisperFrames;
  mel.used_frames = (samples.size() + kMelHop - 1) / kMelHop;
  mel.values = Buffer(system, bins * mel.frames * sizeof(float), "a mel spectrogram");
  auto* values = reinterpret_cast<float*>(mel.values.data());
  const MelFilters filters(bins, kWhisperPoints, MelScale::Slaney);
  const std::vector<double> window = hann(kWhisperPoints);
  Fourier fourier(kWhisperPoints);
  std::vector<double> frame(kWhisperPoints);
  std::vector<double> spectrum(kWhisperPoints / 2 + 1);
  constexpr double kFloor = -10;  // log10(1e-10)
  double most = kFloor;
  std::vector<double> logs(bins * mel.frames, kFloor);
  for (uint64_t i = 0; i < mel.frames; ++i) {
    const int64_t first =
        static_cast<int64_t>(i * kMelHop) - static_cast<int64_t>(kWhisperPoints / 2);
    // The last frames reach a reflection; all between the clip and them are silence.
    const bool is_silent =
        first >= static_cast<int64_t>(samples.size()) &&
        first + static_cast<int64_t>(kWhisperPoints) <= static_cast<int64_t>(kMelWindow);
    if (is_silent) continue;
    for (size_t k = 0; k < kWhisperPoints; ++k) {
      frame[k] = reflected(samples, first + static_cast<int64_t>(k)) * window[k];
    }
    fourier.power(frame, spectrum);
    for (uint64_t bin = 0; bin < bins; ++bin) {
      const double value = std::log10(std::max(filters.apply(bin, spectrum), 1e-10));
      logs[bin * mel.frames + i] = value;
      most = std::max(most, value);
    }
  }
  for (size_t i = 0; i < logs.size(); ++i) {
    values[i] = static_cast<float>((std::max(logs[i], most - 8) + 4) / 4);
  }
  return mel;
}

Mel gemma4_mel(const std::shared_ptr<System>& system, std::span<const float> samples) {
  check_clip(samples, kMelHop + 1);
  constexpr uint64_t kBlock = 128;
  const uint64_t padded = kMelHop + (samples.size() + kBlock - 1) / kBlock * kBlock;
  Mel mel;
  mel.bins = kGemmaBins;
  mel.frames = (padded - (kGemmaWindow + 1)) / kMelHop + 1;
  mel.used_frames = std::min(mel.frames, (samples.size() + kMelHop - 1) / kMelHop - 1);
  mel.values = Buffer(system, mel.bins * mel.frames * sizeof(float), "a mel spectrogram");
  auto* values = reinterpret_cast<float*>(mel.values.data());
  const MelFilters filters(kGemmaBins, kGemmaPoints, MelScale::Htk);
  const std::vector<double> window = hann(kGemmaWindow);
  Fourier fourier(kGemmaPoints);
  std::vector<double> frame(kGemmaPoints, 0.0);  // zeros behind the window
  std::vector<double> spectrum(kGemmaPoints / 2 + 1);
  for (uint64_t i = 0; i < mel.frames; ++i) {
    for (size_t k = 0; k < kGemmaWindow; ++k) {
      const uint64_t at = i * kMelHop + k;  // kMelHop zeros stand before the clip
      const bool is_inside = at >= kMelHop && at - kMelHop < samples.size();
      frame[k] = is_inside ? static_cast<double>(samples[at - kMelHop]) * window[k] : 0;
    }
    fourier.power(frame, spectrum);
    for (double& value : spectrum) value = std::sqrt(value);
    for (uint64_t bin = 0; bin < kGemmaBins; ++bin) {
      values[i * kGemmaBins + bin] =
          static_cast<float>(std::log(filters.apply(bin, spectrum) + 1e-3));
    }
  }
  return mel;
}

}  // namespace tenon::media
