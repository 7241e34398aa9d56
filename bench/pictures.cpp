// A photograph of 12 megapixels to the tiles of a family: resize and normalisation on one thread.
//
//   build-bench/bin/bench_pictures --benchmark_filter=tiles
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "media/mel.h"
#include "media/picture_family.h"
#include "media/picture_tiles.h"
#include "media/sound.h"

namespace tenon::media {
namespace {

constexpr Size kPhotograph{4000, 3000};

std::vector<uint8_t> photograph() {
  std::vector<uint8_t> bytes(kPhotograph.pixels() * 3);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

void resize_only(benchmark::State& state, Filter filter, Kernels kernels) {
  const auto bytes = photograph();
  const RgbView picture{bytes.data(), kPhotograph, kPhotograph.width * 3};
  for (auto _ : state) {
    const RgbPicture made = resize(System::real(), picture, {1152, 864}, filter, kernels);
    benchmark::DoNotOptimize(made.row(0));
  }
}

void tiles(benchmark::State& state, const PictureFamily& family, uint64_t max_rows) {
  const auto bytes = photograph();
  const RgbView picture{bytes.data(), kPhotograph, kPhotograph.width * 3};
  PictureRules rules = picture_rules(family, {});
  if (max_rows != 0) family.bound_rows(rules, max_rows);
  const PicturePlan plan = plan_picture(family, kPhotograph, rules);
  for (auto _ : state) {
    const PictureTiles made(System::real(), picture, plan, rules);
    benchmark::DoNotOptimize(made.values().data());
  }
  state.counters["megapixels"] = static_cast<double>(plan.num_values()) / 3e6;
}

void turn(benchmark::State& state, uint32_t orientation) {
  const auto bytes = photograph();
  PixelView view;
  view.size = kPhotograph;
  view.data = bytes.data();
  for (auto _ : state) {
    const RgbPicture made = to_upright_rgb(System::real(), view, orientation);
    benchmark::DoNotOptimize(made.row(0));
  }
}

/// Thirty seconds at 44.1 kHz in two channels.
void resample_sound(benchmark::State& state) {
  const std::vector<float> samples(size_t{2} * 30 * 44100, 0.25F);
  for (auto _ : state) {
    const MonoSound sound =
        to_mono(System::real(), {samples.data(), samples.size() / 2, 2, 44100}, kSpeechRate);
    benchmark::DoNotOptimize(sound.samples().data());
  }
}

void mel_of_whisper(benchmark::State& state) {
  const std::vector<float> samples(kMelWindow, 0.25F);
  for (auto _ : state) {
    const Mel mel = whisper_mel(System::real(), samples, 128);
    benchmark::DoNotOptimize(mel.values.data());
  }
}

void register_all() {
  constexpr uint64_t kRowsOfAMegapixel = 1024;
  const auto unit = benchmark::kMillisecond;
  for (const auto& [name, filter] : {std::pair{"bilinear", Filter::Bilinear},
                                     {"bicubic", Filter::Bicubic},
                                     {"lanczos", Filter::Lanczos}}) {
    for (const auto& [code, kernels] :
         {std::pair{"best", Kernels::Best}, {"portable", Kernels::Portable}}) {
      benchmark::RegisterBenchmark((std::string("resize/") + name + "/" + code).c_str(),
                                   resize_only, filter, kernels)
          ->Unit(unit);
    }
  }
  for (const PictureFamily* family : picture_families()) {
    const uint64_t most = family->has_grid_positions ? kRowsOfAMegapixel : 0;
    benchmark::RegisterBenchmark((std::string("tiles/") + std::string(family->name)).c_str(),
                                 [family, most](benchmark::State& s) { tiles(s, *family, most); })
        ->Unit(unit);
  }
  for (const uint32_t orientation : {3U, 6U}) {
    benchmark::RegisterBenchmark(("turn/" + std::to_string(orientation)).c_str(), turn, orientation)
        ->Unit(unit);
  }
  benchmark::RegisterBenchmark("sound/resample", resample_sound)->Unit(unit);
  benchmark::RegisterBenchmark("sound/mel", mel_of_whisper)->Unit(unit);
}

}  // namespace
}  // namespace tenon::media

int main(int argc, char** argv) {
  tenon::media::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
