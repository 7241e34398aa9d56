#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/temp_folder.h"
#include "handles.h"
#include "loading.h"

namespace {

using namespace tenon_test;

std::string demo_bytes() {
  std::ifstream file(TENON_DEMO_MODEL, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Model, EverySourceGivesTheSameModel) {
  const std::string expected = answer_of_path();
  EXPECT_GT(expected.size(), 10u);
  const std::string bytes = demo_bytes();

  tenon_source memory = make_source(TENON_SOURCE_MEMORY);
  memory.data = bytes.data();
  memory.size = bytes.size();
  EXPECT_EQ(answer_of(memory), expected);

  tenon_source reader = make_source(TENON_SOURCE_READER);
  reader.size = bytes.size();
  reader.user = const_cast<std::string*>(&bytes);
  reader.read = [](void* user, uint64_t offset, void* buffer, uint64_t size) {
    const auto& all = *static_cast<const std::string*>(user);
    // Short reads are allowed.
    const uint64_t count = std::min<uint64_t>({size, all.size() - offset, 4099});
    std::memcpy(buffer, all.data() + offset, count);
    return static_cast<int64_t>(count);
  };
  EXPECT_EQ(answer_of(reader), expected);

  // The model is inside another file, whose descriptor is closed once the model is open.
  const tenon::TempFolder folder;
  const std::string path = folder.write("padded", "garbage" + bytes + "garbage");
  const int fd = tenon::open_descriptor(path);
  ASSERT_GE(fd, 0);
  tenon_source descriptor = make_source(TENON_SOURCE_FD);
  descriptor.fd = fd;
  descriptor.offset = 7;
  descriptor.size = bytes.size();
  EXPECT_EQ(answer_of(descriptor), expected);
  tenon::close_descriptor(fd);
}

TEST(Model, BadSourcesAreRefused) {
  const auto refuse = [](const tenon_source* source, tenon_status status, const char* text) {
    const tenon_source* sources[] = {source};
    tenon_model* model = nullptr;
    expect_failure(tenon_model_load(sources, 1, nullptr, nullptr, &model), status, text);
    EXPECT_EQ(model, nullptr);
  };
  refuse(nullptr, TENON_ERROR_ARGUMENT, "tenon_source is NULL");
  tenon_source source = make_source(0);
  refuse(&source, TENON_ERROR_ARGUMENT, "kind is 0");
  source = make_source(TENON_SOURCE_READER);
  source.size = 100;
  refuse(&source, TENON_ERROR_ARGUMENT, "read is NULL");
  source = make_source(TENON_SOURCE_MEMORY);
  source.size = 100;
  refuse(&source, TENON_ERROR_ARGUMENT, "data is NULL");
  source.size = 0;
  refuse(&source, TENON_ERROR_FORMAT, "ends at byte 0");
  source = make_source(TENON_SOURCE_FD);
  source.fd = -1;
  refuse(&source, TENON_ERROR_ARGUMENT, "-1 is no file descriptor");
  source = make_source(TENON_SOURCE_PATH);
  refuse(&source, TENON_ERROR_ARGUMENT, "path");
  source.name = "/nowhere\0model.gguf";
  source.name_length = 19;
  refuse(&source, TENON_ERROR_ARGUMENT, "NUL");
  tenon_model* model = nullptr;
  expect_failure(tenon_model_load(nullptr, 0, nullptr, nullptr, &model), TENON_ERROR_ARGUMENT,
                 "num_sources is 0");
  expect_failure(tenon_model_load(nullptr, 2, nullptr, nullptr, &model), TENON_ERROR_ARGUMENT,
                 "sources is NULL");
}

TEST(Model, CountsAreCheckedBeforeTheyAreUsed) {
  tenon_source source = sized<tenon_source>();
  const tenon_source* const sources[] = {&source};
  tenon_model* model = nullptr;
  expect_failure(tenon_model_load(sources, size_t{1} << 40, nullptr, nullptr, &model),
                 TENON_ERROR_ARGUMENT, "num_sources is 1099511627776");
}

TEST(Model, AReaderThatFailsOrThrowsIsAnIoError) {
  for (const bool throws : {false, true}) {
    tenon_source source = make_source(TENON_SOURCE_READER);
    source.size = 4096;
    source.read = throws
        ? [](void*, uint64_t, void*, uint64_t) -> int64_t { throw std::runtime_error("host"); }
    : [](void*, uint64_t, void*, uint64_t) -> int64_t { return -5; };
    const tenon_source* sources[] = {&source};
    tenon_model* model = nullptr;
    expect_failure(tenon_model_load(sources, 1, nullptr, nullptr, &model), TENON_ERROR_IO,
                   "reader");
    EXPECT_EQ(model, nullptr);
  }
}

TEST(Model, TellsWhatItIs) {
  const ModelPtr model = open_demo();
  auto info = sized<tenon_model_info>();
  ASSERT_OK(tenon_model_get_info(model.get(), &info));
  EXPECT_EQ(std::string(info.architecture, info.architecture_length), "llama");
  EXPECT_EQ(std::string(info.backend, info.backend_length), "cpu");
  EXPECT_NE(std::string(info.chat_template, info.chat_template_length).find("im_start"),
            std::string::npos);
  EXPECT_EQ(info.has_weights, 1u);
  EXPECT_EQ(info.layers, 4u);
  EXPECT_EQ(info.width, 256u);
  EXPECT_EQ(info.heads, 8u);
  EXPECT_EQ(info.kv_heads, 4u);
  EXPECT_EQ(info.key_dim, 32u);
  EXPECT_EQ(info.value_dim, 32u);
  EXPECT_EQ(info.feed_forward, 512u);
  EXPECT_EQ(info.experts, 0u);
  EXPECT_EQ(info.vocabulary, 1024u);
  EXPECT_EQ(info.trained_context, 1024u);
  EXPECT_NEAR(static_cast<double>(info.parameters), 2.62e6, 0.02e6);
  EXPECT_LT(info.tensor_bytes, 2825920u);
}

TEST(Model, TellsHowItRuns) {
  const ModelPtr model = open_demo();
  auto how = sized<tenon_execution>();
  ASSERT_OK(tenon_model_execution(model.get(), &how));
  EXPECT_GE(how.threads, 1u);
  EXPECT_NE(std::string(how.device, how.device_length).find("kernels"), std::string::npos);
  auto info = sized<tenon_model_info>();
  EXPECT_OK(tenon_model_get_info(model.get(), &info));
  EXPECT_GT(how.token_multiplications, info.parameters / 2);
  EXPECT_LE(how.token_multiplications + how.output_multiplications, info.parameters);
  EXPECT_LE(how.step_bytes, info.tensor_bytes);
  EXPECT_GT(how.step_bytes, info.tensor_bytes / 2);
  EXPECT_LE(how.huge_page_bytes, uint64_t{1} << 30);
}

TEST(Model, MemoryGrowsWithTheContextAlone) {
  const ModelPtr model = open_demo();
  const auto memory_at = [&](uint64_t context) {
    auto memory = sized<tenon_memory>();
    EXPECT_OK(tenon_model_memory(model.get(), context, &memory));
    return memory;
  };
  const tenon_memory small = memory_at(256);
  const tenon_memory large = memory_at(1024);
  EXPECT_EQ(small.context, 256u);
  EXPECT_EQ(memory_at(0).context, 1024u);
  EXPECT_EQ(small.weights_bytes, large.weights_bytes);
  // Keys and values of 4 layers, 4 heads of 32, 2 bytes each.
  EXPECT_GE(large.kv_bytes, 1024u * 4 * 4 * 32 * 2 * 2);
  EXPECT_LE(large.kv_bytes, 2u * 1024 * 4 * 4 * 32 * 2 * 2);
  EXPECT_EQ(large.kv_bytes, 4 * small.kv_bytes);
  // A token reads the whole cache, since both contexts are whole blocks.
  EXPECT_EQ(small.token_cache_bytes, small.kv_bytes);
  EXPECT_EQ(large.token_cache_bytes, large.kv_bytes);
}

TEST(Model, MetadataByIndexAndByKey) {
  const ModelPtr model = open_demo();
  const auto value_of = [&](const char* key, uint64_t element) {
    size_t index = 0;
    EXPECT_OK(tenon_model_find_metadata(model.get(), key, TENON_NUL_TERMINATED, &index));
    auto value = sized<tenon_value>();
    EXPECT_OK(tenon_model_metadata_value(model.get(), index, element, &value));
    return value;
  };
  const tenon_value architecture = value_of("general.architecture", 0);
  EXPECT_EQ(architecture.type, TENON_VALUE_STRING);
  EXPECT_EQ(std::string(architecture.text, architecture.length), "llama");
  EXPECT_EQ(value_of("llama.block_count", 0).integer, 4);
  EXPECT_DOUBLE_EQ(value_of("llama.block_count", 0).number, 4.0);
  EXPECT_NEAR(value_of("llama.attention.layer_norm_rms_epsilon", 0).number, 1e-5, 1e-4);
  const tenon_value token = value_of("tokenizer.ggml.tokens", 0);
  EXPECT_EQ(token.type, TENON_VALUE_STRING);
  EXPECT_GT(token.length, 0u);
  EXPECT_EQ(value_of("tokenizer.ggml.token_type", 3).type, TENON_VALUE_INT32);

  const size_t count = tenon_model_metadata_count(model.get());
  ASSERT_GT(count, 10u);
  for (size_t i = 0; i < count; ++i) {
    auto entry = sized<tenon_metadata>();
    ASSERT_OK(tenon_model_metadata(model.get(), i, &entry));
    size_t found = 0;
    EXPECT_OK(tenon_model_find_metadata(model.get(), entry.key, entry.key_length, &found));
    EXPECT_EQ(found, i);
    auto value = sized<tenon_value>();
    if (entry.num_elements > 0) {
      EXPECT_OK(tenon_model_metadata_value(model.get(), i, entry.num_elements - 1, &value));
      EXPECT_EQ(value.type, entry.element_type);
    }
    expect_failure(tenon_model_metadata_value(model.get(), i, entry.num_elements, &value),
                   TENON_ERROR_ARGUMENT, "has no element");
  }
  auto entry = sized<tenon_metadata>();
  expect_failure(tenon_model_metadata(model.get(), count, &entry), TENON_ERROR_ARGUMENT,
                 "does not exist");
  size_t index = 77;
  expect_failure(tenon_model_find_metadata(model.get(), "llama.nothing", 13, &index),
                 TENON_ERROR_ARGUMENT, "no metadata key \"llama.nothing\"");
  EXPECT_EQ(index, 77u);
}

TEST(Model, TensorsByIndexAndByName) {
  const ModelPtr model = open_demo();
  size_t index = 0;
  ASSERT_OK(
      tenon_model_find_tensor(model.get(), "token_embd.weight", TENON_NUL_TERMINATED, &index));
  auto tensor = sized<tenon_tensor>();
  ASSERT_OK(tenon_model_tensor(model.get(), index, &tensor));
  EXPECT_STREQ(tensor.format, "q8_0");
  EXPECT_EQ(tensor.num_dimensions, 2u);
  EXPECT_THAT(tensor.shape, testing::ElementsAre(1024, 256, 1, 1));
  EXPECT_EQ(tensor.size_bytes, 1024u * 256 / 32 * 34);
  EXPECT_EQ(tensor.source, 0u);
  const size_t count = tenon_model_tensor_count(model.get());
  EXPECT_GT(count, 30u);
  expect_failure(tenon_model_tensor(model.get(), count, &tensor), TENON_ERROR_ARGUMENT,
                 "does not exist");
  expect_failure(tenon_model_find_tensor(model.get(), "none", 4, &index), TENON_ERROR_ARGUMENT,
                 "no tensor \"none\"");
}

TEST(Model, OverridesReplaceMetadata) {
  const OptionsPtr options = make_options();
  const std::string_view text = "general.name=str:something else";
  ASSERT_OK(tenon_options_add_string(options.get(), "override", text.data(), text.size()));
  ASSERT_OK(tenon_options_set_bool(options.get(), "vocabulary_only", 1));
  tenon_model* raw = nullptr;
  ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &raw));
  const ModelPtr model(raw);
  auto info = sized<tenon_model_info>();
  ASSERT_OK(tenon_model_get_info(model.get(), &info));
  EXPECT_EQ(std::string(info.name, info.name_length), "something else");
}

TEST(Model, InspectedModelTellsMemoryButDoesNotRun) {
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_bool(options.get(), "inspect", 1));
  tenon_model* raw = nullptr;
  ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &raw));
  const ModelPtr model(raw);
  auto memory = sized<tenon_memory>();
  EXPECT_OK(tenon_model_memory(model.get(), 512, &memory));
  EXPECT_GT(memory.weights_bytes, 2000000u);
  auto how = sized<tenon_execution>();
  EXPECT_STREQ(tenon_status_name(tenon_model_execution(model.get(), &how)), "STATE");
  tenon_session* session = nullptr;
  EXPECT_STREQ(tenon_status_name(tenon_session_create(model.get(), nullptr, &session)), "STATE");
  EXPECT_EQ(session, nullptr);
}

TEST(Model, VocabularyOnlyTokenizesButDoesNotRun) {
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_bool(options.get(), "vocabulary_only", 1));
  tenon_model* raw = nullptr;
  ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &raw));
  const ModelPtr model(raw);
  const tenon_tokenizer* tokenizer = nullptr;
  ASSERT_OK(tenon_model_tokenizer(model.get(), &tokenizer));
  EXPECT_EQ(tenon_tokenizer_count(tokenizer), 1024u);
  tenon_session* session = nullptr;
  EXPECT_STREQ(tenon_status_name(tenon_session_create(model.get(), nullptr, &session)), "STATE");
  auto memory = sized<tenon_memory>();
  EXPECT_STREQ(tenon_status_name(tenon_model_memory(model.get(), 0, &memory)), "STATE");
}

TEST(Model, MissingFileSaysItsPath) {
  tenon_model* model = nullptr;
  expect_failure(tenon_model_open("/nowhere/model.gguf", nullptr, &model), TENON_ERROR_IO,
                 "/nowhere/model.gguf");
  expect_failure(tenon_model_open("", nullptr, &model), TENON_ERROR_ARGUMENT, "path");
  EXPECT_EQ(model, nullptr);
}

TEST(Model, UnknownBackendIsNamed) {
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_string(options.get(), "backend", "gpu9000", 7));
  tenon_model* model = nullptr;
  const tenon_status status = tenon_model_open(TENON_DEMO_MODEL, options.get(), &model);
  EXPECT_NE(status, TENON_OK);
  EXPECT_NE(std::string(tenon_last_error()).find("gpu9000"), std::string::npos)
      << tenon_last_error();
  EXPECT_EQ(model, nullptr);
}

}  // namespace
