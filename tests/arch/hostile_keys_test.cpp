// Every key of every architecture with senseless values: each is refused as an error of the file,
// or harmless; none is reported as a defect of the library.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "arch/architectures.h"
#include "file/open.h"
#include "random_model/random_model.h"
#include "tests/base/processor_time.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

std::vector<MetadataValue> odd_values() {
  std::vector<MetadataValue> values;
  for (const int64_t odd : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1} << 14,
                            int64_t{1} << 20, int64_t{0xffffffff}}) {
    values.push_back(MetadataValue::of(odd));
  }
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), -1.0, 1e-45, 1e300}) {
    values.push_back(MetadataValue::of(odd));
  }
  values.push_back(MetadataValue::of("odd"));
  values.push_back(MetadataValue::of(false));
  return values;
}

void build_with(const std::string& path, const std::string& key, MetadataValue value) {
  SCOPED_TRACE(fmt::format("{} = {}", key, metadata_text(value)));
  OpenOptions options;
  options.overrides.push_back({key, std::move(value)});
  const auto harmless = [](const auto& use) {
    try {
      use();
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::Format || error.code() == Code::Unsupported)
          << error.what();
    }
  };
  std::shared_ptr<const ModelFile> file;
  harmless([&] { file = open_model_file(path, std::move(options)); });
  if (file == nullptr) return;
  harmless([&] { (void)build_program(*file, {}); });
  // Also with tensors that follow the keys, and without tensors.
  harmless([&] { (void)wanted_tensors(file->metadata()); });
}

TEST(HostileKeys, AreNoMistakeOfTheLibrarys) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  size_t next = 0;
  for (const NamedArchitecture& one : architectures()) {
    write_random_model(System::real(), path, "tiny-" + std::string(one.name), "q8_0");
    std::vector<std::string> keys;
    const auto file = open_model_file(path);
    for (const Metadata::Entry& entry : file->metadata().entries()) {
      if (entry.key.starts_with(std::string(one.name) + ".")) keys.push_back(entry.key);
    }
    EXPECT_GT(keys.size(), 10u);
    for (const char* more : {"logit_scale", "embedding_scale", "residual_scale", "attention.scale",
                             "rope.scaling.alpha", "rope.freq_base_swa", "rope.scaling.attn_factor",
                             "attn_logit_softcapping", "final_logit_softcapping", "expert_count",
                             "attention.sliding_window", "expert_shared_count",
                             "leading_dense_block_count", "rope.scaling.original_context_length"}) {
      keys.push_back(fmt::format("{}.{}", one.name, more));
    }
    for (const std::string& key : keys) {
      // Each key with some of the values; all pairs would take most of a minute.
      std::vector<MetadataValue> odd = odd_values();
      for (int i = 0; i < (kSanitized ? 1 : 4); ++i) {
        build_with(path, key, std::move(odd[next++ % odd.size()]));
      }
    }
  }
}

}  // namespace
}  // namespace tenon
