// Structs from programs built against an older or a newer header.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstddef>
#include <cstring>

#include "handles.h"

namespace {

using namespace tenon_test;

TEST(StructSize, ImpossibleSizesAreRefused) {
  for (const uint32_t size : {0u, 4u, 7u, 4097u, UINT32_MAX}) {
    tenon_option_info option{};
    option.struct_size = size;
    expect_failure(tenon_option_get_info(0, &option), TENON_ERROR_ARGUMENT, "struct_size");
    EXPECT_EQ(option.name, nullptr);
  }
}

TEST(StructSize, AnOlderProgramGetsWhatItKnows) {
  tenon_option_info option;
  std::memset(&option, 0x5a, sizeof option);
  option.struct_size = offsetof(tenon_option_info, doc);
  ASSERT_OK(tenon_option_get_info(0, &option));
  EXPECT_EQ(option.struct_size, offsetof(tenon_option_info, doc));
  EXPECT_STREQ(option.name, "backend");
  // No byte after its end is written.
  const auto* bytes = reinterpret_cast<const unsigned char*>(&option);
  for (size_t i = offsetof(tenon_option_info, doc); i < sizeof option; ++i)
    ASSERT_EQ(bytes[i], 0x5a);
}

TEST(StructSize, ANewerProgramKeepsItsNewFields) {
  struct {
    tenon_option_info known;
    uint64_t added[4];
  } newer{};
  newer.known.struct_size = sizeof newer;
  newer.added[3] = 9;
  ASSERT_OK(tenon_option_get_info(0, &newer.known));
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  EXPECT_STREQ(newer.known.name, "backend");
  EXPECT_EQ(newer.added[3], 9u);
}

struct NewerSource {
  tenon_source known;
  uint64_t added;
};

TEST(StructSize, ANewerInputMayNotSetWhatWeDoNotKnow) {
  NewerSource source{};
  source.known.struct_size = sizeof source;
  source.known.kind = TENON_SOURCE_PATH;
  source.known.name = TENON_DEMO_MODEL;
  source.known.name_length = TENON_NUL_TERMINATED;
  const tenon_source* sources[] = {&source.known};
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_bool(options.get(), "vocabulary_only", 1));
  tenon_model* model = nullptr;
  EXPECT_OK(tenon_model_load(sources, 1, options.get(), nullptr, &model));
  tenon_model_destroy(model);

  source.added = 1;
  tenon_model* untouched = nullptr;
  expect_failure(tenon_model_load(sources, 1, options.get(), nullptr, &untouched),
                 TENON_ERROR_UNSUPPORTED, "tenon_source sets a field at byte 72");
  EXPECT_EQ(untouched, nullptr);
}

TEST(StructSize, AnOlderInputIsZeroBeyondItsEnd) {
  tenon_callbacks callbacks;
  std::memset(&callbacks, 0x5a, sizeof callbacks);
  callbacks.struct_size = offsetof(tenon_callbacks, user);
  callbacks.log_level = TENON_LOG_ERROR;
  tenon_source source{};
  source.struct_size = offsetof(tenon_source, fd);
  source.kind = TENON_SOURCE_PATH;
  source.name = TENON_DEMO_MODEL;
  source.name_length = TENON_NUL_TERMINATED;
  const tenon_source* sources[] = {&source};
  tenon_model* model = nullptr;
  EXPECT_OK(tenon_model_load(sources, 1, nullptr, &callbacks, &model));
  tenon_model_destroy(model);
}

}  // namespace
