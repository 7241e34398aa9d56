// Resampling beside sines that are known, and spectrograms beside those of the feature extractors.
#include "media/sound.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "json/json_tree.h"
#include "media/mel.h"
#include "media/sound_family.h"
#include "tests/media/noise.h"

namespace tenon::media {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::filesystem::path kVectors =
    std::filesystem::path(TENON_SHARED_DIR) / "multimodal/vectors";

std::vector<float> sine(double hertz, uint32_t rate, uint64_t count) {
  std::vector<float> wave(count);
  for (size_t i = 0; i < count; ++i) {
    wave[i] = static_cast<float>(0.7 * std::sin(2 * M_PI * hertz * static_cast<double>(i) / rate));
  }
  return wave;
}

/// Largest distance in dB below the sine's height, away from the ends.
double error_db(double hertz, uint32_t from, uint32_t to) {
  const auto wave = sine(hertz, from, from / 2);
  const MonoSound sound = to_mono(System::real(), {wave.data(), wave.size(), 1, from}, to);
  const auto ideal = sine(hertz, to, sound.samples().size());
  double worst = 0;
  for (size_t i = ideal.size() / 4; i < ideal.size() * 3 / 4; ++i) {
    worst = std::max(
        worst, std::abs(static_cast<double>(sound.samples()[i]) - static_cast<double>(ideal[i])));
  }
  return 20 * std::log10(worst / 0.7 + 1e-12);
}

TEST(Resample, KeepsSinesBelowNineTenthsOfTheBand) {
  for (const uint32_t from :
       {8000U, 11025U, 22050U, 24000U, 44100U, 48000U, 44101U, 96000U, 192000U}) {
    for (const double part : {0.01, 0.2, 0.449}) {
      EXPECT_LT(error_db(part * std::min(from, kSpeechRate), from, kSpeechRate), -60)
          << from << " " << part;
    }
  }
}

TEST(Resample, SilencesWhatTheLowerRateCannotHold) {
  const auto wave = sine(9000, 48000, 24000);
  const MonoSound sound =
      to_mono(System::real(), {wave.data(), wave.size(), 1, 48000}, kSpeechRate);
  for (size_t i = 2000; i < 6000; ++i) ASSERT_LT(std::abs(sound.samples()[i]), 0.7e-3) << i;
}

TEST(Resample, RoundsTheLengthUpAndKeepsAnEqualRate) {
  const std::vector<float> both{1, 3, -1, 1, .5F, .25F};
  const MonoSound same = to_mono(System::real(), {both.data(), 3, 2, 16000}, 16000);
  EXPECT_THAT(same.samples(), testing::ElementsAre(2, 0, .375F));
  const MonoSound less = to_mono(System::real(), {both.data(), 4, 1, 48000}, 16000);
  EXPECT_EQ(less.samples().size(), 2U);
}

TEST(Resample, RefusesWhatIsNoSound) {
  const std::vector<float> wave{0, 1, std::numeric_limits<float>::quiet_NaN(), INFINITY};
  const auto with = [&](SoundView view) {
    return [view] { to_mono(System::real(), view, 16000); };
  };
  EXPECT_THAT(with({nullptr, 4, 1, 16000}), ThrowsMessage<Error>(HasSubstr("NULL")));
  EXPECT_THAT(with({wave.data(), 0, 1, 16000}), ThrowsMessage<Error>(HasSubstr("no samples")));
  EXPECT_THAT(with({wave.data(), 2, 0, 16000}), ThrowsMessage<Error>(HasSubstr("0 channels")));
  EXPECT_THAT(with({wave.data(), 2, 1, 0}), ThrowsMessage<Error>(HasSubstr("rate")));
  EXPECT_THAT(with({wave.data(), 2, 1, UINT32_MAX}), ThrowsMessage<Error>(HasSubstr("rate")));
  EXPECT_THAT(with({wave.data(), UINT64_MAX, 1, 16000}), ThrowsMessage<Error>(HasSubstr("limit")));
  EXPECT_THAT(with({wave.data(), 3, 1, 16000}), ThrowsMessage<Error>(HasSubstr("sample 2")));
  EXPECT_THAT(with({wave.data() + 3, 1, 1, 8000}), ThrowsMessage<Error>(HasSubstr("sample 0")));
}

TEST(PlanSound, CutsClipsAndRefusesNone) {
  const SoundFamily* qwen = find_sound_family("qwen2a");
  const SoundFamily* gemma = find_sound_family("gemma4a");
  ASSERT_TRUE(qwen != nullptr && gemma != nullptr);
  EXPECT_EQ(find_sound_family("unheard_of"), nullptr);
  for (const uint64_t samples : {0U, 1U, 160U}) {
    EXPECT_THAT([&] { plan_sound(*qwen, samples); }, ThrowsMessage<Error>(HasSubstr("too few")));
    EXPECT_THAT([&] { plan_sound(*gemma, samples); }, ThrowsMessage<Error>(HasSubstr("too few")));
  }
  EXPECT_EQ(plan_sound(*gemma, 161).at(0).rows, 1U);
  EXPECT_EQ(plan_sound(*qwen, kMelWindow).at(0).rows, 750U);
  const auto clips = plan_sound(*qwen, 2 * kMelWindow + 320);  // the rest has no row
  ASSERT_EQ(clips.size(), 2U);
  EXPECT_EQ(clips[1].first, kMelWindow);
  EXPECT_EQ(plan_sound(*qwen, 2 * kMelWindow + 480).size(), 3U);
}

std::vector<float> floats_of(const std::filesystem::path& path) {
  const auto bytes = read_bytes(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

TEST(Mel, WhisperEndsAndSilence) {
  EXPECT_THROW(whisper_mel(System::real(), {}, 128), Error);
  const std::vector<float> wave(kMelWindow + 1, 0.1F);
  EXPECT_THROW(whisper_mel(System::real(), wave, 128), Error);
  EXPECT_THROW(whisper_mel(System::real(), std::span(wave).first(99), 79), Error);
  EXPECT_THROW(gemma4_mel(System::real(), std::span(wave).first(160)), Error);
  const std::vector<float> silence(1600);
  const Mel mel = whisper_mel(System::real(), silence, 80);
  for (const float value : mel.span()) ASSERT_EQ(value, -1.5F);
  // A clip that fills the window is reflected at its end.
  const Mel whole = whisper_mel(System::real(), std::span(wave).first(kMelWindow), 128);
  EXPECT_EQ(whole.used_frames, 3000U);
  for (uint64_t bin = 0; bin < 128; ++bin) {
    EXPECT_NEAR(whole.span()[bin * 3000 + 2999], whole.span()[bin * 3000 + 1500], 1e-5);
  }
}

class GivenSounds : public testing::TestWithParam<const char*> {};

TEST_P(GivenSounds, HaveTheSameSpectrograms) {
  const std::filesystem::path folder = kVectors / GetParam();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const auto bytes = read_bytes(folder / "cases.json");
  const JsonNode all =
      parse_json_tree({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "cases.json");
  const bool is_gemma = folder.filename() == "gemma4";
  const SoundFamily& family = *find_sound_family(is_gemma ? "gemma4a" : "qwen2a");
  int clips = 0;
  for (size_t i = 0; i < all.find("cases")->items.size(); ++i) {
    const JsonNode& test = all.find("cases")->items[i];
    const std::string& input = test.find("inputs")->items.back().text;
    if (!input.ends_with(".wav")) continue;
    SCOPED_TRACE(input);
    ++clips;
    const auto samples = floats_of(kVectors / "inputs" / (input + ".16k.f32"));
    const Mel mel = family.mel(System::real(), samples, 128);
    const auto given = floats_of(folder / ("case" + std::to_string(i) + ".input.f32"));
    double worst = 0;
    if (is_gemma) {
      const auto& shape = test.find("tiles")->items.back().items;
      ASSERT_EQ(mel.frames, shape[0].count);
      uint64_t used = 0;
      for (const JsonNode& bit : test.find("audio_mask")->items) used += bit.count;
      EXPECT_EQ(mel.used_frames, used);
      const float* rows = given.data() + given.size() - mel.frames * mel.bins;
      for (size_t k = 0; k < mel.used_frames * mel.bins; ++k) {
        worst = std::max<double>(worst, std::abs(mel.span()[k] - rows[k]));
      }
    } else {
      const uint64_t frames = given.size() / 128;
      const auto rest = static_cast<float>(test.find("mel")->find("the_rest")->number);
      for (uint64_t bin = 0; bin < 128; ++bin) {
        for (uint64_t k = 0; k < 3000; ++k) {
          const float expected = k < frames ? given[bin * frames + k] : rest;
          worst = std::max<double>(worst, std::abs(mel.span()[bin * 3000 + k] - expected));
        }
      }
      EXPECT_EQ(plan_sound(family, samples.size()).at(0).rows, test.find("rows")->items[0].count);
    }
    EXPECT_LE(worst, 5e-4);
  }
  EXPECT_GE(clips, 2);
}

INSTANTIATE_TEST_SUITE_P(Families, GivenSounds, testing::Values("qwen2audio", "gemma4"));

}  // namespace
}  // namespace tenon::media
