// tenon_picture: what is refused, and the same text by each way of appending it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tenon/tenon.hpp>
#include <vector>

#include "handles.h"

namespace {

using namespace tenon_test;

const std::filesystem::path kVectors = TENON_SHARED_DIR "/multimodal/vectors";

std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

class PictureApi : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kVectors)) GTEST_SKIP() << kVectors << " is absent";
    rgb_ = file_bytes(kVectors / "inputs/rgb-64x48.png.rgb");
  }
  static tenon::Model model(const char* projector = "smolvlm/mmproj.gguf") {
    tenon::ModelOptions options;
    if (*projector != 0) options.extra = {{"projector", (kVectors / projector).string()}};
    return tenon::Model((kVectors / "smolvlm/text.gguf").string(), options);
  }
  [[nodiscard]] tenon::Picture picture() const {
    return {.pixels = rgb_, .width = 64, .height = 48};
  }
  static std::vector<float> logits(tenon::Session& session) {
    const auto row = session.logits();
    return {row.begin(), row.end()};
  }
  std::vector<std::byte> rgb_;
};

TEST_F(PictureApi, TakesPixelsInEveryForm) {
  const tenon::Model opened = model();
  tenon::Session session(opened);
  session.append(picture());
  EXPECT_EQ(session.position(), opened.picture_tokens(64, 48));
  EXPECT_EQ(std::ranges::count(session.tokens(), TENON_PICTURE_TOKEN), 20);  // 5 tiles of 4 rows
  const std::vector<float> expected = logits(session);

  // Rows with gaps, opacity, 16 bits, floats, upside down.
  std::vector<std::byte> gaps(48 * 200);
  std::vector<std::byte> opaque;
  std::vector<uint16_t> wide;
  std::vector<float> floats;
  std::vector<std::byte> turned;
  for (size_t i = 0; i < rgb_.size(); ++i) {
    gaps[i / 192 * 200 + i % 192] = rgb_[i];
    opaque.push_back(rgb_[i]);
    if (i % 3 == 2) opaque.push_back(std::byte{255});
    const auto value = std::to_integer<uint16_t>(rgb_[i]);
    wide.push_back(static_cast<uint16_t>(value * 257));
    floats.push_back(static_cast<float>(value) / 255.0f);
    const size_t pixel = rgb_.size() / 3 - 1 - i / 3;
    turned.push_back(rgb_[3 * pixel + i % 3]);
  }
  std::vector<tenon::Picture> forms(5, picture());
  forms[0].pixels = gaps;
  forms[0].stride = 200;
  forms[1].pixels = opaque;
  forms[1].channels = 4;
  forms[2].pixels = std::as_bytes(std::span(wide));
  forms[2].type = TENON_PIXELS_U16;
  forms[3].pixels = std::as_bytes(std::span(floats));
  forms[3].type = TENON_PIXELS_F32;
  forms[4].pixels = turned;
  forms[4].orientation = 3;
  for (const tenon::Picture& form : forms) {
    tenon::Session other(opened);
    other.append(form);
    EXPECT_EQ(logits(other), expected);
  }
}

TEST_F(PictureApi, TakesTokensWithPlaces) {
  const tenon::Model opened = model();
  tenon::Session parts(opened);
  parts.append("Look: ");
  parts.append(picture());
  parts.append(" then?");
  const auto tokens = opened.tokenizer().encode("Look: <image> then?", {.parse_special = true});
  tenon::Session whole(opened);
  const std::vector<tenon::Picture> one = {picture()};
  whole.append(tokens, one, opened.picture_place());
  EXPECT_EQ(whole.position(), parts.position());
  EXPECT_EQ(logits(whole), logits(parts));
  // Too few pictures, and one that fails after the text before it.
  EXPECT_THROW(whole.append(tokens, {}, opened.picture_place()), tenon::Error);
  std::vector<tenon::Picture> wrong = one;
  wrong[0].channels = 5;
  EXPECT_THROW(whole.append(tokens, wrong, opened.picture_place()), tenon::Error);
  EXPECT_EQ(whole.position(), parts.position());
}

TEST_F(PictureApi, SaysWhatIsWrongWithAPicture) {
  const tenon::Model opened = model();
  tenon::Session session(opened);
  const auto refused = [&](auto change, tenon_status status, const char* text) {
    tenon_picture raw = picture().raw();
    change(raw);
    expect_failure(tenon_session_append_picture(session.get(), &raw, rgb_.data(), rgb_.size()),
                   status, text);
    EXPECT_EQ(session.position(), 0u);
  };
  refused([](tenon_picture& raw) { raw.channels = 5; }, TENON_ERROR_ARGUMENT, "channels");
  refused([](tenon_picture& raw) { raw.stride = 191; }, TENON_ERROR_ARGUMENT, "191");
  refused([](tenon_picture& raw) { raw.pixel_type = 3; }, TENON_ERROR_ARGUMENT, "pixel_type");
  refused([](tenon_picture& raw) { raw.orientation = 9; }, TENON_ERROR_ARGUMENT, "orientation");
  refused([](tenon_picture& raw) { raw.background = 0xffffff; }, TENON_ERROR_ARGUMENT,
          "background");
  refused([](tenon_picture& raw) { raw.reserved = 1; }, TENON_ERROR_ARGUMENT, "reserved");
  refused([](tenon_picture& raw) { raw.width = 0; }, TENON_ERROR_LIMIT, "0 x 48");
  refused([](tenon_picture& raw) { raw.width = 32769; }, TENON_ERROR_LIMIT, "32768");
  refused([](tenon_picture& raw) { raw.height = UINT64_MAX; }, TENON_ERROR_LIMIT, "32768");
  refused([](tenon_picture& raw) { raw.struct_size = 4; }, TENON_ERROR_ARGUMENT, "struct_size");
  const tenon_picture raw = picture().raw();
  expect_failure(tenon_session_append_picture(session.get(), &raw, rgb_.data(), 9215),
                 TENON_ERROR_ARGUMENT, "9216");
  expect_failure(tenon_session_append_picture(session.get(), &raw, nullptr, 9216),
                 TENON_ERROR_ARGUMENT, "NULL");
  expect_failure(tenon_session_append_picture(session.get(), nullptr, rgb_.data(), 9216),
                 TENON_ERROR_ARGUMENT, "NULL");
  session.append(picture());
  const std::string path = testing::TempDir() + "picture_api.snapshot";
  expect_failure(tenon_session_save(session.get(), path.c_str()), TENON_ERROR_UNSUPPORTED,
                 "pictures");
}

TEST_F(PictureApi, NeedsItsOwnTower) {
  const tenon::Model without = model("");
  tenon::Session session(without);
  const tenon_picture raw = picture().raw();
  expect_failure(tenon_session_append_picture(session.get(), &raw, rgb_.data(), rgb_.size()),
                 TENON_ERROR_STATE, "projector");
  uint64_t tokens = 0;
  expect_failure(tenon_model_picture_tokens(without.get(), 64, 48, &tokens), TENON_ERROR_STATE,
                 "projector");
  const auto opened_with = [](const char* projector) {
    try {
      (void)model(projector);
      return std::string("opened");
    } catch (const tenon::Error& error) {
      return std::string(error.what());
    }
  };
  using testing::HasSubstr;
  EXPECT_THAT(opened_with("qwen3vl/mmproj.gguf"), HasSubstr("qwen3vl_merger"));
  EXPECT_THAT(opened_with("gemma3/mmproj.gguf"), HasSubstr("gemma3"));
  EXPECT_THAT(opened_with("internvl/mmproj.gguf"), HasSubstr("<IMG_CONTEXT>"));
  EXPECT_THAT(opened_with("smolvlm/text.gguf"), HasSubstr("no projector"));
  EXPECT_THAT(opened_with("absent.gguf"), HasSubstr("absent.gguf"));
}

}  // namespace
