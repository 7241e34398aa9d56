// The decoders through their C interface: golden pictures of Pillow, then every kind of damage.
#include <gmock/gmock.h>
#include <tenon/media.h>

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "tests/media/noise.h"

namespace tenon::media {
namespace {

using testing::HasSubstr;

struct Opened {
  tenon_status status = TENON_OK;
  std::string error;
  tenon_decode_info info{};
  std::vector<uint8_t> pixels;
  std::vector<float> samples;
};

/// Copies the bytes to memory of exactly their size, so that a sanitizer sees reads beyond them.
Opened open_bytes(const std::vector<uint8_t>& bytes,
                  const tenon_decode_options* options = nullptr) {
  Opened opened;
  opened.info.struct_size = sizeof opened.info;
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size() + (bytes.empty() ? 1 : 0)]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  tenon_decoded* decoded = nullptr;
  opened.status = tenon_decode(exact.get(), bytes.size(), options, &decoded);
  if (opened.status != TENON_OK) {
    opened.error = tenon_decode_last_error();
    EXPECT_EQ(decoded, nullptr);
    EXPECT_FALSE(opened.error.empty());
    return opened;
  }
  EXPECT_EQ(tenon_decode_get_info(decoded, &opened.info), TENON_OK);
  if (const uint8_t* pixels = tenon_decode_pixels(decoded)) {
    opened.pixels.assign(pixels, pixels + opened.info.bytes);
  }
  if (const float* samples = tenon_decode_samples(decoded)) {
    opened.samples.assign(samples, samples + opened.info.bytes / sizeof(float));
  }
  tenon_decode_destroy(decoded);
  return opened;
}

struct GoldenPicture {
  std::string name;
  uint64_t width = 0, height = 0, channels = 0, orientation = 0, is_animated = 0;
  uint64_t hash = 0;
};

std::vector<GoldenPicture> golden_pictures() {
  std::vector<GoldenPicture> pictures;
  std::ifstream file(data_folder() / "pictures.txt");
  for (GoldenPicture p; file >> p.name >> p.width >> p.height >> p.channels >> p.orientation >>
                        p.is_animated >> std::hex >> p.hash >> std::dec;) {
    pictures.push_back(p);
  }
  return pictures;
}

TEST(Decode, GivesThePixelsThatPillowGives) {
  const auto pictures = golden_pictures();
  ASSERT_GT(pictures.size(), 20U);
  std::string absent;
  for (const GoldenPicture& golden : pictures) {
    SCOPED_TRACE(golden.name);
    const auto bytes = read_bytes(data_folder() / golden.name);
    tenon_decode_info told{};
    told.struct_size = sizeof told;
    ASSERT_EQ(tenon_decode_inspect(bytes.data(), bytes.size(), nullptr, &told), TENON_OK);
    Opened opened = open_bytes(bytes);
    if (opened.error.find(" need lib") != std::string::npos) {
      absent += golden.name + ": " + opened.error + "; ";
      continue;
    }
    ASSERT_EQ(opened.status, TENON_OK) << opened.error;
    for (const tenon_decode_info& info : {told, opened.info}) {
      EXPECT_EQ(info.kind, TENON_DECODE_PICTURE);
      EXPECT_EQ(info.width, golden.width);
      EXPECT_EQ(info.height, golden.height);
      EXPECT_EQ(info.channels, golden.channels);
      EXPECT_EQ(info.orientation, golden.orientation);
      EXPECT_EQ(info.is_animated, golden.is_animated);
      EXPECT_EQ(info.bytes, golden.width * golden.height * golden.channels);
    }
    ASSERT_EQ(opened.pixels.size(), golden.width * golden.height * golden.channels);
    if (golden.name.ends_with(".jpg")) {
      const auto given = read_bytes(data_folder() / (golden.name + ".raw"));
      ASSERT_EQ(given.size(), opened.pixels.size());
      for (size_t i = 0; i < given.size(); ++i)
        ASSERT_LE(std::abs(given[i] - opened.pixels[i]), 2) << i;
      continue;
    }
    // Colours under no opacity are anybody's.
    for (size_t i = 0; golden.channels == 4 && i < opened.pixels.size(); i += 4) {
      if (opened.pixels[i + 3] == 0)
        std::fill_n(opened.pixels.begin() + static_cast<int64_t>(i), 3, 0);
    }
    EXPECT_EQ(fnv(opened.pixels), golden.hash);
  }
  if (!absent.empty()) GTEST_SKIP() << absent;
}

/// Whole numbers in the file's order of bytes.
void put(std::vector<uint8_t>& bytes, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
void put(std::vector<uint8_t>& bytes, const std::string& text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

std::vector<uint8_t> wav(uint32_t coding, uint32_t bits, uint32_t channels,
                         const std::vector<uint8_t>& data, uint64_t told = UINT64_MAX) {
  std::vector<uint8_t> file;
  put(file, "RIFF");
  put(file, 0xFFFFFFFF, 4);
  put(file, "WAVELIST");
  put(file, 5, 4);
  put(file, "INFOx");
  file.push_back(0);  // chunks begin at even places
  put(file, "fmt ");
  put(file, 16, 4);
  put(file, coding, 2);
  put(file, channels, 2);
  put(file, 8000, 4);
  put(file, 8000 * channels * bits / 8, 4);
  put(file, channels * bits / 8, 2);
  put(file, bits, 2);
  put(file, "data");
  put(file, told == UINT64_MAX ? data.size() : told, 4);
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

TEST(DecodeWav, ReadsWholeAndRealNumbers) {
  using Floats = std::vector<float>;
  EXPECT_EQ(open_bytes(wav(1, 8, 1, {0, 128, 255})).samples, (Floats{-1, 0, 127.0F / 128}));
  EXPECT_EQ(open_bytes(wav(1, 16, 2, {0, 0x80, 1, 0, 0xFF, 0x7F, 0, 0})).samples,
            (Floats{-1, 1.0F / 32768, 32767.0F / 32768, 0}));
  EXPECT_EQ(open_bytes(wav(1, 24, 1, {0, 0, 0x80, 1, 0, 0})).samples, (Floats{-1, 1.0F / 8388608}));
  EXPECT_EQ(open_bytes(wav(1, 32, 1, {0, 0, 0, 0x40})).samples, (Floats{.5F}));
  EXPECT_EQ(open_bytes(wav(3, 32, 1, {0, 0, 0, 0xBF})).samples, (Floats{-.5F}));
  EXPECT_EQ(open_bytes(wav(3, 64, 1, {0, 0, 0, 0, 0, 0, 0xE0, 0x3F})).samples, (Floats{.5F}));
  const Opened stereo = open_bytes(wav(1, 16, 2, std::vector<uint8_t>(40)));
  EXPECT_EQ(stereo.info.channels, 2U);
  EXPECT_EQ(stereo.info.frames, 10U);
  EXPECT_EQ(stereo.info.rate, 8000U);
}

TEST(DecodeWav, BelievesNoSize) {
  EXPECT_EQ(open_bytes(wav(1, 16, 1, {0, 0, 0, 0}, 0xFFFFFFFF)).samples.size(), 2U);
  EXPECT_EQ(open_bytes(wav(1, 16, 1, {0, 0, 0, 0}, 0)).samples.size(), 2U);
  EXPECT_EQ(open_bytes(wav(1, 16, 1, {0, 0, 0, 0}, 3)).samples.size(), 1U);
  EXPECT_EQ(open_bytes(wav(1, 16, 1, {})).samples.size(), 0U);
}

TEST(DecodeWav, AnEmptyRecordingHasNoOtherChunkAsSamples) {
  std::vector<uint8_t> tags;
  put(tags, "LIST");
  put(tags, 4, 4);
  put(tags, "INFO");
  EXPECT_EQ(open_bytes(wav(1, 16, 1, tags, 0)).samples.size(), 0U);
  tags[4] = 9;  // more than the file has: these are samples
  EXPECT_EQ(open_bytes(wav(1, 16, 1, tags, 0)).samples.size(), 6U);
}

TEST(DecodeWav, AnExtensibleOneTellsItsCodingFurtherBehind) {
  std::vector<uint8_t> file = wav(0xFFFE, 16, 1, {});
  file.resize(file.size() - 8);     // the data chunk
  file[file.size() - 16 - 4] = 40;  // size of the format
  put(file, 22, 2);                 // of what follows
  put(file, 16, 2);                 // valid bits
  put(file, 4, 4);                  // places of the channels
  put(file, 1, 2);                  // whole numbers
  file.insert(file.end(), 14, 0);   // the rest of the identifier
  put(file, "data");
  put(file, 2, 4);
  put(file, 0x4000, 2);
  EXPECT_EQ(open_bytes(file).samples, (std::vector<float>{.5F}));
}

TEST(DecodeWav, RefusesBySentence) {
  EXPECT_THAT(open_bytes(wav(7, 8, 1, {0})).error, HasSubstr("coding 7"));
  EXPECT_THAT(open_bytes(wav(1, 16, 0, {0, 0})).error, HasSubstr("no channel"));
  EXPECT_THAT(open_bytes(wav(1, 12, 1, {0, 0})).error, HasSubstr("12 bits"));
  tenon_decode_options options{};
  options.struct_size = sizeof options;
  options.max_samples = 3;
  EXPECT_EQ(open_bytes(wav(1, 8, 1, {0, 0, 0, 0}), &options).status, TENON_ERROR_LIMIT);
}

TEST(DecodeSound, FlacAndMp3GiveTheSine) {
  const Opened flac = open_bytes(read_bytes(data_folder() / "sine.flac"));
  ASSERT_EQ(flac.status, TENON_OK) << flac.error;
  EXPECT_EQ(flac.info.channels, 2U);
  EXPECT_EQ(flac.info.rate, 22050U);
  ASSERT_EQ(flac.info.frames, 4410U);
  for (int i = 0; i < 4410; ++i) {
    const double wave = std::trunc(12000 * std::sin(2 * M_PI * 440 * i / 22050));
    ASSERT_EQ(flac.samples[2 * static_cast<size_t>(i)], static_cast<float>(wave / 32768)) << i;
  }
  const Opened mp3 = open_bytes(read_bytes(data_folder() / "sine.mp3"));
  ASSERT_EQ(mp3.status, TENON_OK) << mp3.error;
  EXPECT_EQ(mp3.info.channels, 1U);
  EXPECT_EQ(mp3.info.rate, 16000U);
  EXPECT_NEAR(static_cast<double>(mp3.info.frames), 6400, 2000);  // silence at both ends
  // The middle is the sine: its power is there, and next to none elsewhere.
  double in_phase = 0;
  double across = 0;
  double power = 0;
  for (size_t i = 2000; i < 5200; ++i) {
    const double x = mp3.samples[i];
    in_phase += x * std::sin(2 * M_PI * 440 * static_cast<double>(i) / 16000);
    across += x * std::cos(2 * M_PI * 440 * static_cast<double>(i) / 16000);
    power += x * x;
  }
  const double of_sine = (in_phase * in_phase + across * across) / 1600;
  EXPECT_NEAR(of_sine / power, 1, 0.01);
  EXPECT_NEAR(std::sqrt(2 * power / 3200), 12000.0 / 32768, 0.03);
}

/// BMP with a head of 40 bytes.
std::vector<uint8_t> bmp(int32_t width, int32_t height, uint32_t bits, uint32_t coding,
                         const std::vector<uint8_t>& after) {
  std::vector<uint8_t> file;
  put(file, "BM");
  put(file, 0, 8);
  const uint32_t colours = bits <= 8 ? 4U << bits : coding == 3 ? 12 : 0;
  put(file, 54 + colours, 4);
  put(file, 40, 4);
  put(file, static_cast<uint32_t>(width), 4);
  put(file, static_cast<uint32_t>(height), 4);
  put(file, 1, 2);
  put(file, bits, 2);
  put(file, coding, 4);
  put(file, 0, 20);
  file.insert(file.end(), after.begin(), after.end());
  return file;
}

TEST(DecodeBmp, ReadsRunsFieldsAndRowsFromTheTop) {
  std::vector<uint8_t> palette;
  for (uint32_t i = 0; i < 256; ++i) put(palette, i * 0x010101, 4);
  auto after = palette;
  // Rows from the bottom: three times 9; a jump of (1, 1); 1 2 3 as they are; the end.
  for (const int byte : {3, 9, 0, 2, 0xFE, 0, 0, 0, 0, 3, 1, 2, 3, 0, 0, 1})
    after.push_back(static_cast<uint8_t>(byte));
  after[palette.size() + 4] = 0;  // jump by nothing
  const Opened runs = open_bytes(bmp(3, 2, 8, 1, after));
  ASSERT_EQ(runs.status, TENON_OK) << runs.error;
  EXPECT_EQ(runs.pixels,
            (std::vector<uint8_t>{1, 1, 1, 2, 2, 2, 3, 3, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9}));
  // 5, 6 and 5 bits by masks.
  std::vector<uint8_t> fields;
  for (const uint32_t mask : {0xF800U, 0x7E0U, 0x1FU}) put(fields, mask, 4);
  put(fields, 0xF800, 2);
  put(fields, 0x07FF, 2);
  EXPECT_EQ(open_bytes(bmp(2, 1, 16, 3, fields)).pixels,
            (std::vector<uint8_t>{255, 0, 0, 0, 255, 255}));
  EXPECT_EQ(open_bytes(bmp(1, -2, 24, 0, {1, 2, 3, 0, 4, 5, 6, 0})).pixels,
            (std::vector<uint8_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(open_bytes(bmp(1, 2, 24, 0, {1, 2, 3, 0, 4, 5, 6, 0})).pixels,
            (std::vector<uint8_t>{6, 5, 4, 3, 2, 1}));
}

TEST(DecodeBmp, RefusesBySentence) {
  EXPECT_THAT(open_bytes(bmp(0, 1, 24, 0, {})).error, HasSubstr("0 x 1"));
  EXPECT_THAT(open_bytes(bmp(-5, 1, 24, 0, {})).error, HasSubstr("-5 x 1"));
  EXPECT_THAT(open_bytes(bmp(2, INT32_MIN, 24, 0, {})).error, HasSubstr("32768"));
  EXPECT_THAT(open_bytes(bmp(2, 2, 24, 0, {1, 2, 3})).error, HasSubstr("ends inside"));
  EXPECT_THAT(open_bytes(bmp(2, 2, 7, 0, {})).error, HasSubstr("7 bits"));
  EXPECT_THAT(open_bytes(bmp(2, 2, 24, 4, {})).error, HasSubstr("coding 4"));
}

/// A GIF whose canvas is 1 x 1; its frame, of one grey, is preceded by control blocks.
std::vector<uint8_t> gif(uint32_t width, uint32_t height,
                         const std::vector<std::vector<uint8_t>>& controls) {
  std::vector<uint8_t> file;
  put(file, "GIF89a");
  put(file, 1, 2);
  put(file, 1, 2);
  put(file, 0, 3);
  for (const std::vector<uint8_t>& control : controls) {
    put(file, 0x04F921, 3);
    file.insert(file.end(), control.begin(), control.end());
    file.push_back(0);
  }
  put(file, 0x2C, 1);
  put(file, 0, 4);
  put(file, width, 2);
  put(file, height, 2);
  put(file, 0, 1);
  put(file, 0x0144'02'02, 4);  // 2 bits; 2 bytes: clear, 0, end
  put(file, 0x3B00, 2);
  return file;
}

TEST(DecodeGif, TheLastControlBlockCounts) {
  const std::vector<uint8_t> clear{1, 0, 0, 0};
  const std::vector<uint8_t> opaque{0, 0, 0, 0};
  EXPECT_EQ(open_bytes(gif(1, 1, {clear})).pixels, (std::vector<uint8_t>{0, 0, 0, 0}));
  EXPECT_EQ(open_bytes(gif(1, 1, {clear, opaque})).pixels, (std::vector<uint8_t>{0, 0, 0}));
  EXPECT_EQ(open_bytes(gif(1, 1, {opaque, clear})).pixels, (std::vector<uint8_t>{0, 0, 0, 0}));
}

TEST(DecodeGif, AFrameLargerThanTheLimitsIsRefused) {
  const Opened opened = open_bytes(gif(65535, 65535, {}));
  EXPECT_EQ(opened.status, TENON_ERROR_LIMIT);
  EXPECT_THAT(opened.error, HasSubstr("65535 x 65535"));
}

TEST(Decode, RefusesBombsByTheirHeads) {
  const auto refused = [](const std::vector<uint8_t>& bytes) {
    const Opened opened = open_bytes(bytes);
    EXPECT_EQ(opened.status, TENON_ERROR_LIMIT) << opened.error;
    EXPECT_THAT(opened.error, HasSubstr("65535"));
  };
  auto png = read_bytes(data_folder() / "rgb.png");
  const auto wide = [](std::vector<uint8_t>& bytes, size_t at) {
    bytes[at] = 0xFF;
    bytes[at + 1] = 0xFF;
  };
  wide(png, 18);
  wide(png, 22);
  refused(png);
  auto gif = read_bytes(data_folder() / "palette.gif");
  wide(gif, 6);
  wide(gif, 8);
  refused(gif);
  auto jpeg = read_bytes(data_folder() / "rgb.jpg");
  for (size_t at = 2; at + 9 < jpeg.size(); ++at) {
    if (jpeg[at] == 0xFF && jpeg[at + 1] == 0xC0) {
      wide(jpeg, at + 5);
      wide(jpeg, at + 7);
      break;
    }
  }
  refused(jpeg);
  refused(bmp(65535, 65535, 1, 0, std::vector<uint8_t>(100)));
  tenon_decode_options options{};
  options.struct_size = sizeof options;
  options.max_pixels = 24 * 16 - 1;
  EXPECT_EQ(open_bytes(read_bytes(data_folder() / "rgb.png"), &options).status, TENON_ERROR_LIMIT);
  options.max_pixels = 24 * 16;
  EXPECT_EQ(open_bytes(read_bytes(data_folder() / "rgb.png"), &options).status, TENON_OK);
  options.max_side = 23;
  EXPECT_EQ(open_bytes(read_bytes(data_folder() / "lossless.webp"), &options).status,
            TENON_ERROR_LIMIT);
}

TEST(Decode, NamesWhatItDoesNotDecode) {
  const auto error = [](const std::string& text) {
    const Opened opened = open_bytes({text.begin(), text.end()});
    EXPECT_NE(opened.status, TENON_OK);
    return opened.error;
  };
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error(std::string("\0\0\0\x20"
                                "ftypheic",
                                12)),
              HasSubstr("HEIC"));
  EXPECT_THAT(error("OggS...."), HasSubstr("Ogg"));
  EXPECT_THAT(error("hello, world"), HasSubstr("no picture or sound"));
}

TEST(Decode, RefusesNullAndStructsOfNoVersion) {
  tenon_decode_info info{};
  const uint8_t byte = 0;
  tenon_decoded* decoded = nullptr;
  EXPECT_EQ(tenon_decode_inspect(&byte, 1, nullptr, &info), TENON_ERROR_ARGUMENT);
  info.struct_size = sizeof info;
  EXPECT_EQ(tenon_decode_inspect(nullptr, 1, nullptr, &info), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_decode(&byte, 1, nullptr, nullptr), TENON_ERROR_ARGUMENT);
  tenon_decode_options options{};
  EXPECT_EQ(tenon_decode(&byte, 1, &options, &decoded), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_decode_get_info(nullptr, &info), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_decode_pixels(nullptr), nullptr);
  EXPECT_EQ(tenon_decode_samples(nullptr), nullptr);
  tenon_decode_destroy(nullptr);
}

/// Names of all files of the folder that decode.
std::vector<std::string> sound_and_pictures() {
  std::vector<std::string> names{"sine.flac", "sine.mp3"};
  for (const GoldenPicture& picture : golden_pictures()) names.push_back(picture.name);
  return names;
}

TEST(DecodeDamaged, CutShortIsASentence) {
  for (const std::string& name : sound_and_pictures()) {
    const auto whole = read_bytes(data_folder() / name);
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 60) {
      const Opened opened = open_bytes({whole.begin(), whole.begin() + static_cast<int64_t>(size)});
      // A cut may fall behind the pixels, and sound in frames ends where it ends.
      const bool has_more_frames = name.starts_with("animated") || name.ends_with(".mp3");
      const bool lacks_pixels = size < whole.size() / 2 && !has_more_frames;
      EXPECT_TRUE(!lacks_pixels || opened.status != TENON_OK) << name << " " << size;
    }
  }
}

TEST(DecodeDamaged, EndsAndStaysBounded) {
  std::mt19937 random(7);
  for (const std::string& name : sound_and_pictures()) {
    const auto whole = read_bytes(data_folder() / name);
    for (int round = 0; round < 60; ++round) {
      auto bytes = whole;
      for (int k = 0; k <= round % 4; ++k) {
        // Heads are hit as often as all the rest.
        const size_t most = random() % 2 == 0 ? std::min<size_t>(bytes.size(), 64) : bytes.size();
        bytes[random() % most] = static_cast<uint8_t>(random());
      }
      tenon_decode_options options{};
      options.struct_size = sizeof options;
      options.max_pixels = 1 << 20;
      options.max_samples = 1 << 20;
      const Opened opened = open_bytes(bytes, &options);
      EXPECT_LE(opened.info.bytes, uint64_t{4} << 20);
      EXPECT_NE(opened.status, TENON_ERROR_INTERNAL) << opened.error;
    }
  }
}

}  // namespace
}  // namespace tenon::media
