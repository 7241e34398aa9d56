// Resizing, blending and turning against Pillow 12, whose hashes lie in tests/data/media.
#include "media/resample.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "media/pixels.h"
#include "tests/media/noise.h"

namespace tenon::media {
namespace {

using testing::HasSubstr;
using testing::Property;
using testing::ThrowsMessage;

std::shared_ptr<System> real_system() { return System::real(); }

std::span<const uint8_t> bytes_of(const RgbPicture& picture) {
  return {picture.row(0), picture.size().pixels() * 3};
}

/// Lines of resizes.txt that begin with `word`, without it; of any word if that is empty.
std::vector<std::vector<std::string>> golden_lines(std::string_view word) {
  std::vector<std::vector<std::string>> lines;
  std::ifstream file(data_folder() / "resizes.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    if (words.front() == word) lines.push_back(words);
  }
  return lines;
}

uint64_t number(const std::string& text) { return std::stoull(text); }

class ResizeLikePillow : public testing::TestWithParam<std::tuple<std::string, Kernels>> {};

TEST_P(ResizeLikePillow, HasTheSameBytes) {
  const auto& [name, kernels] = GetParam();
  const Filter filter = name == "bilinear"  ? Filter::Bilinear
                        : name == "bicubic" ? Filter::Bicubic
                                            : Filter::Lanczos;
  const auto lines = golden_lines(name);
  ASSERT_GT(lines.size(), 10U);
  for (const auto& line : lines) {
    const Size from{number(line[1]), number(line[2])};
    const Size to{number(line[3]), number(line[4])};
    const auto bytes = noise(from.pixels() * 3);
    const RgbPicture resized =
        resize(real_system(), {bytes.data(), from, from.width * 3}, to, filter, kernels);
    EXPECT_EQ(resized.size(), to);
    EXPECT_EQ(fnv(bytes_of(resized)), std::stoull(line[5], nullptr, 16))
        << testing::PrintToString(line);
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, ResizeLikePillow,
                         testing::Combine(testing::Values("bilinear", "bicubic", "lanczos"),
                                          testing::Values(Kernels::Best, Kernels::Portable)));

TEST(Resize, ReadsRowsWithGaps) {
  const Size from{31, 23};
  const uint64_t stride = from.width * 3 + 11;
  const auto tight = noise(from.pixels() * 3);
  // The last row has no gap: a byte beyond it would be read outside.
  std::vector<uint8_t> gaps(stride * (from.height - 1) + from.width * 3, 0xEE);
  for (uint64_t y = 0; y < from.height; ++y) {
    std::copy_n(tight.begin() + static_cast<int64_t>(y * from.width * 3), from.width * 3,
                gaps.begin() + static_cast<int64_t>(y * stride));
  }
  const auto resized = [&](const std::vector<uint8_t>& bytes, uint64_t step) {
    const RgbPicture picture =
        resize(real_system(), {bytes.data(), from, step}, {12, 40}, Filter::Lanczos);
    const auto result = bytes_of(picture);
    return std::vector<uint8_t>(result.begin(), result.end());
  };
  EXPECT_EQ(resized(gaps, stride), resized(tight, from.width * 3));
}

TEST(Resize, RefusesSizesBeforeItAllocates) {
  const auto bytes = noise(3);
  const RgbView one{bytes.data(), {1, 1}, 3};
  for (const Size size :
       {Size{0, 1}, Size{1, 0}, Size{32769, 1}, Size{20000, 20000}, Size{UINT64_MAX, UINT64_MAX}}) {
    EXPECT_THAT([&] { resize(real_system(), one, size, Filter::Bicubic); },
                testing::Throws<Error>(Property(&Error::code, Code::Limit)));
  }
}

/// Refuses the allocation with that number.
class FullSystem {
 public:
  explicit FullSystem(int allowed) : left_(allowed) {
    HostAllocator allocator;
    allocator.user = this;
    allocator.allocate = [](void* user, size_t size, size_t alignment) -> void* {
      auto& self = *static_cast<FullSystem*>(user);
      return self.left_-- > 0
                 ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                 : nullptr;
    };
    allocator.release = [](void*, void* memory, size_t, size_t) { std::free(memory); };
    system_ = System::with_allocator(allocator);
  }
  [[nodiscard]] const std::shared_ptr<System>& get() const { return system_; }

 private:
  int left_;
  std::shared_ptr<System> system_;
};

TEST(Resize, FullMemoryIsAnError) {
  const auto bytes = noise(40 * 30 * 3);
  const RgbView picture{bytes.data(), {40, 30}, 120};
  int allowed = 0;
  for (;; ++allowed) {
    FullSystem full(allowed);
    try {
      resize(full.get(), picture, {20, 50}, Filter::Bicubic);
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::NoMemory);
    }
    ASSERT_LT(allowed, 40);
  }
  EXPECT_GT(allowed, 6);
}

TEST(Pixels, BlendAsPillowDoes) {
  std::vector<uint8_t> rgba;
  for (int a = 0; a < 256; ++a) {
    for (int v = 0; v < 256; ++v) {
      for (const int value : {v, 255 - v, v / 2, a}) rgba.push_back(static_cast<uint8_t>(value));
    }
  }
  PixelView view;
  view.channels = 4;
  view.size = {256, 256};
  view.data = rgba.data();
  const auto lines = golden_lines("blend");
  ASSERT_EQ(lines.size(), 2U);
  for (const auto& line : lines) {
    const Colour background{static_cast<uint8_t>(number(line[1])),
                            static_cast<uint8_t>(number(line[2])),
                            static_cast<uint8_t>(number(line[3]))};
    const RgbPicture over = to_upright_rgb(real_system(), view, 1, background);
    EXPECT_EQ(fnv(bytes_of(over)), std::stoull(line[4], nullptr, 16));
  }
}

TEST(Pixels, TurnUprightAsPillowDoes) {
  const auto bytes = noise(37 * 71 * 3);
  PixelView view;
  view.size = {37, 71};
  view.data = bytes.data();
  const auto lines = golden_lines("turn");
  ASSERT_EQ(lines.size(), 8U);
  for (const auto& line : lines) {
    const auto orientation = static_cast<uint32_t>(number(line[1]));
    const RgbPicture upright = to_upright_rgb(real_system(), view, orientation);
    EXPECT_EQ(upright.size(), (Size{number(line[2]), number(line[3])}));
    EXPECT_EQ(fnv(bytes_of(upright)), std::stoull(line[4], nullptr, 16)) << orientation;
  }
}

TEST(Pixels, RoundDeepAndRealValues) {
  const std::vector<uint16_t> deep{0, 128, 129, 32767, 65406, 65407, 65535};
  PixelView view;
  view.type = PixelType::U16;
  view.channels = 1;
  view.size = {deep.size(), 1};
  view.data = deep.data();
  const RgbPicture grey = to_upright_rgb(real_system(), view);
  for (size_t i = 0; i < deep.size(); ++i) {
    EXPECT_EQ(grey.row(0)[3 * i + 1], (uint32_t{deep[i]} * 255 + 32767) / 65535) << i;
  }
  const std::vector<float> real{-1, 0, .5F, 1, 7, std::numeric_limits<float>::quiet_NaN()};
  view.type = PixelType::F32;
  view.size = {real.size(), 1};
  view.data = real.data();
  const RgbPicture bytes = to_upright_rgb(real_system(), view);
  const std::vector<int> expected{0, 0, 128, 255, 255, 0};
  for (size_t i = 0; i < real.size(); ++i) EXPECT_EQ(bytes.row(0)[3 * i], expected[i]) << i;
}

TEST(Pixels, RefusesWhatIsNoPicture) {
  const auto bytes = noise(64);
  PixelView view;
  view.size = {4, 4};
  view.data = bytes.data();
  const auto with = [&](auto change) {
    PixelView changed = view;
    change(changed);
    return [changed] { to_upright_rgb(real_system(), changed); };
  };
  EXPECT_THAT(with([](PixelView& v) { v.data = nullptr; }),
              ThrowsMessage<Error>(HasSubstr("NULL")));
  EXPECT_THAT(with([](PixelView& v) { v.channels = 0; }),
              ThrowsMessage<Error>(HasSubstr("channels")));
  EXPECT_THAT(with([](PixelView& v) { v.channels = 5; }),
              ThrowsMessage<Error>(HasSubstr("channels")));
  EXPECT_THAT(with([](PixelView& v) { v.stride = 11; }), ThrowsMessage<Error>(HasSubstr("stride")));
  EXPECT_THAT(with([](PixelView& v) { v.stride = UINT64_MAX; }),
              ThrowsMessage<Error>(HasSubstr("overflows")));
  EXPECT_THAT(with([](PixelView& v) { v.size.width = 0; }),
              ThrowsMessage<Error>(HasSubstr("1..32768")));
  EXPECT_THAT(with([](PixelView& v) {
                v.size = {32768, 32768};
              }),
              ThrowsMessage<Error>(HasSubstr("limit")));
  EXPECT_THAT([&] { to_upright_rgb(real_system(), view, 9); },
              ThrowsMessage<Error>(HasSubstr("orientation")));
}

}  // namespace
}  // namespace tenon::media
