// Adapters against what PEFT computed with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "arch/adapter/adapter.h"
#include "arch/adapter/merged_model.h"
#include "engine/session.h"
#include "file/open.h"
#include "model/model.h"
#include "model/open_model.h"
#include "tests/base/expect_error.h"
#include "tests/model/shared_folders.h"

namespace tenon::folders {
namespace {

using testing::HasSubstr;

std::string shared_adapter(const std::string& name) {
  return TENON_SHARED_DIR "/formats/adapters/" + name;
}

/// "llama3/dora" -> the folder of llama3.
std::string base_of(const std::string& adapter) {
  return shared_folder(adapter.substr(0, adapter.find('/')));
}

std::vector<float> adapted_logits(const std::string& base, const std::vector<Token>& prompt,
                                  std::vector<std::string> adapters) {
  ModelOptions options = exact_options();
  options.merged_adapters = std::move(adapters);
  Session session(Engine::create(Model::load(base, std::move(options))));
  return evaluate_all(session, prompt);
}

/// The largest difference over the largest expected value.
double adapted_error(const std::string& expected_path, const std::string& tensor,
                     const std::vector<float>& got) {
  const Expected expected = read_expected(expected_path, tensor);
  const uint64_t rows = expected.values.size() / expected.columns;
  const uint64_t columns = got.size() / rows;
  if (columns > expected.columns || got.size() != rows * columns) return INFINITY;
  double error = 0;
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = expected.values[i / columns * expected.columns + i % columns];
    error = std::max(error, std::fabs(got[i] - want));
    largest = std::max(largest, std::fabs(want));
  }
  return std::isfinite(error) ? error / largest : INFINITY;
}

std::vector<Token> prompt_of(const std::string& adapter) {
  return read_json(shared_adapter(adapter) + "/expected.json").at("prompt_ids");
}

class AdapterFolder : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << path_ << " is absent";
  }
  [[nodiscard]] double error_of(const std::string& file, const std::string& scale) const {
    return adapted_error(
        path_ + "/expected_logits.st", "scale_" + scale,
        adapted_logits(base_of(GetParam()), prompt_of(GetParam()), {file + ":" + scale}));
  }
  const std::string path_ = shared_adapter(GetParam());
};

TEST_P(AdapterFolder, HasTheLogitsOfPeft) {
  EXPECT_LE(error_of(path_, "1"), 2e-4);
  EXPECT_LE(error_of(path_, "0.5"), 2e-4);
}

TEST_P(AdapterFolder, HasTheSameLogitsAsGguf) {
  const std::string file = path_ + "/adapter.gguf";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no form in GGUF";
  EXPECT_LE(error_of(file, "1"), 2e-4);
  EXPECT_LE(error_of(file, "0.5"), 2e-4);
}

TEST_P(AdapterFolder, OfScaleZeroIsTheBase) {
  const std::vector<Token> prompt = prompt_of(GetParam());
  EXPECT_EQ(adapted_logits(base_of(GetParam()), prompt, {path_ + ":0"}),
            adapted_logits(base_of(GetParam()), prompt, {}));
}

std::string adapter_test_name(const testing::TestParamInfo<const char*>& adapter) {
  std::string name = adapter.param;
  std::ranges::replace(name, '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shared, AdapterFolder,
                         testing::Values("llama3/all_linear", "llama3/rslora_patterns",
                                         "llama3/dora", "llama3/embed_and_head",
                                         "llama3/modules_to_save", "llama3/lora_bias",
                                         "qwen3/all_linear_regex", "qwen3/tokens",
                                         "qwen3_moe/experts", "gpt_oss/experts"),
                         adapter_test_name);

class Adapters : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(adapter_)) GTEST_SKIP() << adapter_ << " is absent";
  }
  /// A copy of the adapter, to change.
  void copy(const std::string& name = "llama3/all_linear") {
    std::filesystem::remove_all(temp_.path("adapter"));
    std::filesystem::copy(shared_adapter(name), temp_.path("adapter"));
  }
  [[nodiscard]] std::string read(const std::string& file) const {
    std::ifstream in(temp_.path("adapter/" + file), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& file, const std::string& text) const {
    temp_.write("adapter/" + file, text);
  }
  void set_key(const std::string& key, const nlohmann::json& value) const {
    nlohmann::json config = nlohmann::json::parse(read("adapter_config.json"));
    config[key] = value;
    write("adapter_config.json", config.dump());
  }
  std::shared_ptr<const Adapter> open(const std::string& file = "") const {
    return read_adapter(temp_.path("adapter" + file), *base_, System::real());
  }
  const std::string adapter_ = shared_adapter("llama3/all_linear");
  const std::shared_ptr<const ModelFile> base_ =
      std::filesystem::exists(adapter_) ? open_model(shared_folder("llama3"), {}) : nullptr;
  TempFolder temp_;
};

TEST_F(Adapters, AddUp) {
  const std::string folder = shared_adapter("llama3/");
  const auto error = [&](const std::string& sum, const std::vector<std::string>& parts) {
    const std::string file = folder + sum;
    const auto source = ByteSource::from_path(file, System::real());
    const auto tensors = TensorFolder::open_files(std::span(&source, 1), file, System::real());
    return adapted_error(file, tensors->tensors().front().name,
                         adapted_logits(shared_folder("llama3"), prompt_of("llama3/all_linear"),
                                        {folder + parts[0], folder + parts[1]}));
  };
  EXPECT_LE(error("sum_all_linear_1.0_rslora_patterns_1.0.st", {"all_linear", "rslora_patterns"}),
            2e-4);
  EXPECT_LE(
      error("sum_all_linear_0.5_rslora_patterns_1.5.st", {"all_linear:0.5", "rslora_patterns:1.5"}),
      2e-4);
  EXPECT_LE(error("sum_all_linear_1.0_embed_and_head_0.5.st", {"all_linear", "embed_and_head:0.5"}),
            2e-4);
}

// The converter of llama.cpp wrote adapter.gguf: it reorders the rows of q and k.
TEST_F(Adapters, FitGgufFilesOfModelsAsTheConverterSays) {
  Metadata metadata("model.gguf");
  for (const Metadata::Entry& entry : base_->metadata().entries()) {
    const MetadataValue& value = entry.value;
    if (entry.key == "llama.rope.halves" || value.type == ValueType::Array) continue;
    MetadataValue copy;
    copy.type = value.type;
    copy.integer = value.integer;
    copy.real = value.real;
    copy.text = value.text;
    metadata.add(entry.key, std::move(copy));
  }
  const ModelFile gguf(std::move(metadata), {base_->tensors().begin(), base_->tensors().end()},
                       {base_->sources().begin(), base_->sources().end()},
                       std::vector<uint64_t>(base_->sources().size(), 0));
  const auto read = [](const std::string& path, const ModelFile& model) {
    std::map<std::string, std::vector<float>> rows;
    for (const LowRankChange& one : read_adapter(path, model, System::real())->changes) {
      rows.emplace(one.tensor, one.b);
    }
    return rows;
  };
  const auto expected = read(adapter_ + "/adapter.gguf", gguf);
  EXPECT_EQ(expected, read(adapter_, gguf));
  EXPECT_EQ(read(adapter_ + "/adapter.gguf", *base_), read(adapter_, *base_));
  EXPECT_NE(expected, read(adapter_, *base_)) << "the order differs";
}

TEST_F(Adapters, OfAnotherModelAreRefused) {
  expect_error(Code::Format, HasSubstr("experts"), [&] {
    (void)read_adapter(shared_adapter("qwen3_moe/experts"), *base_, System::real());
  });
  expect_error(Code::Unsupported, HasSubstr("qwen3moe"), [&] {
    (void)read_adapter(shared_adapter("qwen3_moe/experts/adapter.gguf"), *base_, System::real());
  });
  const auto qwen = open_model(shared_folder("qwen3"), {});
  expect_error(Code::Unsupported, HasSubstr("llama"),
               [&] { (void)read_adapter(adapter_ + "/adapter.gguf", *qwen, System::real()); });
}

TEST_F(Adapters, AreRefusedForWhatIsNotComputed) {
  struct Change {
    const char* key;
    nlohmann::json value;
    Code code;
  };
  const Change changes[] = {
      {"peft_type", "LOHA", Code::Unsupported},
      {"r", 5, Code::Format},
      {"r", "four", Code::Format},
      {"r", 0, Code::Format},
      {"lora_alpha", nullptr, Code::Format},
      {"rank_pattern", {{"q_proj", 2}}, Code::Format},
      {"rank_pattern", {{"(", 2}}, Code::Format},
      {"alpha_pattern", {{"q_proj", "two"}}, Code::Format},
      {"use_dora", true, Code::Format},
      {"lora_bias", true, Code::Format},
      {"use_rslora", 1, Code::Format},
      {"bias", "some", Code::Unsupported},
      {"init_lora_weights", "pissa", Code::Unsupported},
      {"layer_replication", {{0, 4}}, Code::Unsupported},
      {"use_qalora", true, Code::Unsupported},
      {"corda_config", {{"a", 1}}, Code::Unsupported},
      {"target_modules", {"q_proj", "no_proj"}, Code::Format},
      {"alora_invocation_tokens", {-1}, Code::Format},
      {"something_new", 1, Code::Unsupported},
  };
  for (const Change& change : changes) {
    copy();
    set_key(change.key, change.value);
    SCOPED_TRACE(change.key);
    expect_error(change.code, HasSubstr("adapter"), [&] { (void)open(); });
  }
}

TEST_F(Adapters, ScaleByEveryKeyThatSaysSo) {
  copy();
  const float plain = open()->changes.front().scale;
  set_key("use_rslora", true);
  EXPECT_FLOAT_EQ(open()->changes.front().scale, plain * 2);  // rank 4
  set_key("lora_alpha", 16);
  EXPECT_FLOAT_EQ(open()->changes.front().scale, plain * 4);
  set_key("alpha_pattern", {{"down_proj", 1}});
  EXPECT_FLOAT_EQ(open()->changes.front().scale, 0.5f);
  EXPECT_EQ(open()->changes.front().tensor, "blk.0.ffn_down.weight");
}

TEST_F(Adapters, MissingPartsAreNamed) {
  copy();
  std::filesystem::rename(temp_.path("adapter/adapter_model.safetensors"),
                          temp_.path("adapter/adapter_model.bin"));
  expect_error(Code::Unsupported, HasSubstr("pickle"), [&] { (void)open(); });
  copy();
  std::string weights = read("adapter_model.safetensors");
  const size_t at = weights.find("lora_A");
  weights.replace(at, 6, "lora_C");
  write("adapter_model.safetensors", weights);
  expect_error(Code::Unsupported, HasSubstr("lora_C"), [&] { (void)open(); });
}

TEST_F(Adapters, DamagedByTruncationAreRefused) {
  copy();
  for (const char* file : {"adapter_model.safetensors", "adapter.gguf", "adapter_config.json"}) {
    const std::string whole = read(file);
    for (size_t i = 0; i < 20; ++i) {
      write(file, whole.substr(0, whole.size() * i / 20));
      EXPECT_THROW(open(file == std::string("adapter.gguf") ? "/adapter.gguf" : ""), Error)
          << file << " " << i;
    }
    write(file, whole);
  }
}

// Each gives an adapter or an error.
TEST_F(Adapters, DamagedByWrongBytesDoNoHarm) {
  copy();
  uint64_t state = 1;
  uint32_t refused = 0;
  for (const char* file : {"adapter_model.safetensors", "adapter.gguf", "adapter_config.json"}) {
    const std::string whole = read(file);
    for (int i = 0; i < 60; ++i) {
      std::string bytes = whole;
      for (int k = 0; k < 2; ++k) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[(state >> 33) % std::min<size_t>(bytes.size(), 2500)] =
            static_cast<char>(state >> 25);
      }
      write(file, bytes);
      try {
        (void)open(file == std::string("adapter.gguf") ? "/adapter.gguf" : "");
      } catch (const Error& error) {
        ++refused;
        EXPECT_NE(error.code(), Code::Internal) << error.what();
      }
    }
    write(file, whole);
  }
  EXPECT_GE(refused, 100u);
}

TEST_F(Adapters, OfAnInvocationAreNotMerged) {
  const auto adapter = read_adapter(shared_adapter("llama3/alora"), *base_, System::real());
  EXPECT_EQ(adapter->invocation, (std::vector<int32_t>{296, 334}));
  const ScaledAdapter one{adapter, 1.0f};
  expect_error(Code::Unsupported, HasSubstr("aLoRA"), [&] {
    (void)merge_adapters(base_, {&one, 1});
  });
}

TEST_F(Adapters, ChangeTheFingerprint) {
  const auto fingerprint = [](std::vector<std::string> adapters) {
    ModelOptions options = exact_options();
    options.merged_adapters = std::move(adapters);
    return Model::load(shared_folder("llama3"), std::move(options))->fingerprint();
  };
  EXPECT_EQ(fingerprint({}), fingerprint({adapter_ + ":0"}));
  EXPECT_NE(fingerprint({}), fingerprint({adapter_}));
  EXPECT_NE(fingerprint({adapter_ + ":0.5"}), fingerprint({adapter_}));
}

TEST_F(Adapters, BadEntriesOfTheOptionAreRefused) {
  const auto load = [](const std::string& entry) {
    ModelOptions options = exact_options();
    options.merged_adapters = {entry};
    return Model::load(shared_folder("llama3"), std::move(options));
  };
  expect_error(Code::Argument, HasSubstr("merged_adapters"), [&] { (void)load(":2"); });
  expect_error(Code::Io, HasSubstr("/no/such/adapter"), [&] { (void)load("/no/such/adapter"); });
}

}  // namespace
}  // namespace tenon::folders
