// Adapters against what PEFT computed with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "arch/adapter/adapter.h"
#include "arch/adapter/adapter_places.h"
#include "arch/adapter/gguf_adapter_output.h"
#include "arch/adapter/merged_model.h"
#include "engine/session.h"
#include "file/open.h"
#include "model/adapter_bank.h"
#include "model/gguf_order.h"
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

TEST_P(AdapterFolder, IsWrittenAsGguf) {
  const TempFolder temp;
  const std::string file = temp.path("adapter.gguf");
  const auto model = open_in_gguf_order(base_of(GetParam()), System::real());
  const auto adapter = read_adapter(path_, *model, System::real());
  const bool can_say = adapter->biases.empty() && adapter->replaced.empty() &&
                       std::ranges::all_of(adapter->changes, [](const LowRankChange& one) {
                         return one.magnitudes.empty();
                       });
  if (!can_say) {
    expect_error(Code::Unsupported, HasSubstr("no GGUF file of an adapter says"),
                 [&] { write_gguf_adapter(System::real(), *adapter, *model, file); });
    EXPECT_FALSE(std::filesystem::exists(file));
    return;
  }
  write_gguf_adapter(System::real(), *adapter, *model, file);
  EXPECT_LE(error_of(file, "1"), 2e-4);
  EXPECT_LE(error_of(file, "0.5"), 2e-4);
  // As the converter of llama.cpp writes it, where that keeps the factors.
  const std::string given = path_ + "/adapter.gguf";
  if (!std::filesystem::exists(given)) return;
  const auto ours = open_model_file(file, {System::real(), {}});
  const auto theirs = open_model_file(given, {System::real(), {}});
  for (const TensorInfo& tensor : theirs->tensors()) {
    const TensorInfo* same = ours->find(tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    EXPECT_EQ(same->shape, tensor.shape) << tensor.name;
  }
  EXPECT_EQ(ours->tensors().size(), theirs->tensors().size());
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
    const auto adapter = read_adapter(path, model, System::real());
    for (const LowRankChange& one : adapter->changes) {
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
  // The first entry counts that matches the path or its end after a dot.
  set_key("alpha_pattern", {{"own_proj", 3}, {"mlp.down.proj", 2}});
  EXPECT_FLOAT_EQ(open()->changes.front().scale, 1.0f);
  set_key("alpha_pattern", {{"(mlp|none)\\.down_.*", 4}, {"down_proj", 2}});
  EXPECT_FLOAT_EQ(open()->changes.front().scale, 2.0f);
}

TEST_F(Adapters, AreRefusedForScalesBeyondFloats) {
  copy();
  set_key("lora_alpha", 1e300);
  expect_error(Code::Format, HasSubstr("beyond the numbers of 32 bits"), [&] { (void)open(); });
}

// A number of experts whose product with the parts of a stack is 0 in 64 bits.
TEST(AdapterPlacesOf, AHostileNumberOfExpertsIsRefused) {
  Metadata metadata("model");
  metadata.add("general.architecture", MetadataValue::of("qwen3moe"));
  metadata.add("qwen3moe.expert_count", MetadataValue::of(uint64_t{1} << 63));
  TensorInfo stack;
  stack.name = "blk.0.ffn_gate_up_exps.weight";
  stack.rank = 3;
  stack.shape.fill(1);
  stack.shape[0] = 2;
  stack.shape[1] = 8;
  stack.shape[2] = 8;
  stack.bytes = stack.num_values() * sizeof(float);
  static const std::vector<std::byte> zeros(stack.bytes);
  const ModelFile file(
      std::move(metadata), {stack},
      std::vector<std::shared_ptr<const ByteSource>>{ByteSource::from_memory(zeros, "model")},
      std::vector<uint64_t>{0});
  expect_error(Code::Format, HasSubstr("expert_count is 9223372036854775808"),
               [&] { (void)AdapterPlaces(file).of_tensor("blk.0.ffn_gate.0.weight", 4); });
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
  EXPECT_GE(refused, 90u);
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

// ---- A bank of adapters, one for each session ----------------------------------------------------

class BankOfAdapters : public Adapters {
 protected:
  void SetUp() override {
    Adapters::SetUp();
    if (IsSkipped()) return;
    ModelOptions options = exact_options();
    options.adapter_slots = 3;
    options.adapter_rank = 12;
    model_ = Model::load(shared_folder("llama3"), std::move(options));
    engine_ = Engine::create(model_);
  }
  [[nodiscard]] ScaledAdapter adapter(const std::string& name, float scale = 1.0f) const {
    return {read_adapter(shared_adapter("llama3/" + name), model_->file(), System::real()), scale};
  }
  [[nodiscard]] std::unique_ptr<Session> session(const std::vector<ScaledAdapter>& adapters) const {
    auto made = std::make_unique<Session>(engine_);
    made->set_adapters(adapters);
    return made;
  }
  /// Each with one of several sums.
  [[nodiscard]] std::vector<std::vector<ScaledAdapter>> sums() const {
    return {{},
            {adapter("all_linear")},
            {adapter("rslora_patterns", 0.5f)},
            {adapter("all_linear"), adapter("rslora_patterns")},
            {adapter("all_linear", 0.0f)}};
  }
  std::shared_ptr<const Model> model_;
  std::shared_ptr<Engine> engine_;
};

TEST_F(BankOfAdapters, HasTheLogitsOfPeft) {
  const std::vector<Token> prompt = prompt_of("llama3/all_linear");
  for (const char* name : {"all_linear", "rslora_patterns"}) {
    const std::string file = shared_adapter("llama3/" + std::string(name)) + "/expected_logits.st";
    EXPECT_LE(adapted_error(file, "scale_1", evaluate_all(*session({adapter(name)}), prompt)),
              2e-4);
    EXPECT_LE(
        adapted_error(file, "scale_0.5", evaluate_all(*session({adapter(name, 0.5f)}), prompt)),
        2e-4);
  }
  const std::string sum = shared_adapter("llama3/sum_all_linear_0.5_rslora_patterns_1.5.st");
  const auto source = ByteSource::from_path(sum, System::real());
  const auto tensors = TensorFolder::open_files(std::span(&source, 1), sum, System::real());
  EXPECT_LE(
      adapted_error(
          sum, tensors->tensors().front().name,
          evaluate_all(*session({adapter("rslora_patterns", 1.5f), adapter("all_linear", 0.5f)}),
                       prompt)),
      2e-4);
}

TEST_F(BankOfAdapters, WithoutAnAdapterIsTheBaseBitForBit) {
  const std::vector<Token> prompt = prompt_of("llama3/all_linear");
  const std::vector<float> base = adapted_logits(shared_folder("llama3"), prompt, {});
  EXPECT_TRUE(same_bits(evaluate_all(*session({}), prompt), base));
  EXPECT_TRUE(same_bits(evaluate_all(*session({adapter("all_linear", 0.0f)}), prompt), base));
}

struct Answered {
  std::vector<Token> tokens;
  std::vector<float> logits;  ///< after the last token, whose cache was made in the steps
  bool operator==(const Answered&) const = default;
};

std::vector<Answered> answers_of(Engine& engine,
                                 const std::vector<std::unique_ptr<Session>>& sessions,
                                 const std::vector<Token>& prompt) {
  std::vector<std::shared_ptr<Generation>> going;
  for (size_t i = 0; i < sessions.size(); ++i) {
    sessions[i]->append(std::span(prompt).first(prompt.size() - 3 * i));
    going.push_back(sessions[i]->submit(greedy_sampler(), limits(12)));
  }
  std::vector<Answered> answers(sessions.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    for (bool ended = false; !ended;) {
      engine.wait(*going[i], UINT64_MAX);
      const Engine::Fetched fetched = engine.fetch(*going[i]);
      if (fetched.has_token) answers[i].tokens.push_back(fetched.token);
      ended = fetched.ended;
      EXPECT_FALSE(fetched.failure);
    }
    answers[i].logits = last_logits(*sessions[i]);
  }
  return answers;
}

TEST_F(BankOfAdapters, GivesTheSameBitsAloneAndInCompany) {
  const std::vector<Token> prompt = prompt_of("llama3/all_linear");
  std::vector<std::unique_ptr<Session>> together;
  for (const auto& sum : sums()) together.push_back(session(sum));
  const std::vector<Answered> in_company = answers_of(*engine_, together, prompt);
  for (size_t i = 0; i < together.size(); ++i) {
    // Another engine, in which no cache is shared.
    engine_ = Engine::create(model_);
    std::vector<std::unique_ptr<Session>> alone;
    alone.push_back(session(sums()[i]));
    const std::vector<Token> own(prompt.begin(), prompt.end() - static_cast<int64_t>(3 * i));
    const Answered answer = answers_of(*engine_, alone, own)[0];
    EXPECT_EQ(answer.tokens, in_company[i].tokens) << i;
    EXPECT_TRUE(same_bits(answer.logits, in_company[i].logits)) << i;
  }
  EXPECT_FALSE(same_bits(in_company[0].logits, in_company[1].logits));
}

TEST_F(BankOfAdapters, SharesPrefixesOnlyAmongEqualSums) {
  const std::vector<Token> prompt = prompt_of("llama3/all_linear");
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  engine_ = Engine::create(model_, options);
  const auto reused = [&](const std::vector<ScaledAdapter>& sum) {
    const auto own = session(sum);
    own->append(prompt);
    const auto going = own->submit(greedy_sampler(), limits(1));
    for (bool ended = false; !ended;) {
      engine_->wait(*going, UINT64_MAX);
      ended = engine_->fetch(*going).ended;
    }
    return engine_->report(*going).reused_tokens;
  };
  EXPECT_EQ(reused({}), 0u);
  EXPECT_EQ(reused({adapter("all_linear")}), 0u);
  EXPECT_EQ(reused({adapter("all_linear", 0.5f)}), 0u);
  EXPECT_EQ(reused({adapter("all_linear", 0.5f)}), 64u);
  EXPECT_EQ(reused({adapter("all_linear")}), 64u);
  EXPECT_EQ(reused({adapter("all_linear", 0.0f)}), 64u);
}

TEST_F(BankOfAdapters, GivesSlotsBackAndLoadsOthersWhileRequestsRun) {
  const std::vector<Token> prompt = prompt_of("llama3/all_linear");
  std::vector<std::unique_ptr<Session>> steady;
  steady.push_back(session({adapter("all_linear")}));
  const std::vector<Answered> expected = answers_of(*engine_, steady, prompt);
  engine_ = Engine::create(model_);
  steady.clear();
  steady.push_back(session({adapter("all_linear")}));
  steady[0]->append(prompt);
  const auto going = steady[0]->submit(greedy_sampler(), limits(12));
  std::vector<Token> tokens;
  for (int i = 1; tokens.size() < 12; ++i) {
    engine_->wait(*going, UINT64_MAX);
    const Engine::Fetched fetched = engine_->fetch(*going);
    if (fetched.has_token) tokens.push_back(fetched.token);
    // More sums than slots, one after another.
    const auto other = session({adapter("rslora_patterns", static_cast<float>(i))});
    other->append(std::span(prompt).first(5));
    other->prefill();
    EXPECT_EQ(model_->adapter_bank()->num_used(), 2u);
  }
  EXPECT_EQ(tokens, expected[0].tokens);
}

TEST_F(BankOfAdapters, IsBusyWhenAllSlotsAreInUse) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (const float scale : {1.0f, 2.0f, 3.0f}) {
    sessions.push_back(session({adapter("all_linear", scale)}));
  }
  sessions.push_back(session({adapter("all_linear", 2.0f)}));
  expect_error(Code::Busy, HasSubstr("3 adapter slots"),
               [&] { (void)session({adapter("all_linear", 4.0f)}); });
  sessions.erase(sessions.begin());
  EXPECT_NO_THROW((void)session({adapter("all_linear", 4.0f)}));
}

TEST_F(BankOfAdapters, LosesTheLeastRecentlyTakenSum) {
  const auto take = [&](float scale) {
    return model_->adapter_bank()->take(std::vector{adapter("all_linear", scale)});
  };
  auto first = take(1);
  const uint32_t slot_of_second = take(2)->slot;
  (void)take(3);
  const uint32_t slot_of_first = first->slot;
  first = take(1);
  EXPECT_EQ(first->slot, slot_of_first);
  first.reset();
  EXPECT_EQ(take(4)->slot, slot_of_second);
}

TEST_F(BankOfAdapters, AreNoneOfTheDraftModel) {
  ModelOptions options = exact_options();
  options.adapter_slots = 3;
  options.adapter_rank = 12;
  options.draft_model = shared_folder("llama3");
  options.merged_adapters = {shared_adapter("llama3/all_linear")};
  const auto model = Model::load(shared_folder("llama3"), options);
  EXPECT_NE(model->adapter_bank(), nullptr);
  EXPECT_EQ(model->draft()->adapter_bank(), nullptr);
  EXPECT_EQ(model->draft()->file().fingerprint(), model_->file().fingerprint())
      << "nothing is merged";
}

TEST_F(BankOfAdapters, KeepsTheAdaptersOfForksAndSnapshots) {
  const std::vector<Token> prompt = prompt_of("llama3/all_linear");
  const auto one = session({adapter("all_linear")});
  one->append(prompt);
  const std::vector<float> expected = last_logits(*one);
  EXPECT_TRUE(same_bits(last_logits(*one->fork()), expected));
  std::string bytes;
  one->save([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  const auto saved = ByteSource::from_memory(std::as_bytes(std::span(bytes)), "saved");
  const auto other = session({adapter("all_linear")});
  other->restore(*saved);
  EXPECT_TRUE(same_bits(last_logits(*other), expected));
  expect_error(Code::Format, HasSubstr("other adapters"), [&] { session({})->restore(*saved); });
}

TEST_F(BankOfAdapters, RefusesWhatASessionCannotChange) {
  const std::pair<const char*, const char*> refusals[] = {{"dora", "rescales"},
                                                          {"embed_and_head", "takes an adapter"},
                                                          {"modules_to_save", "replaces"},
                                                          {"lora_bias", "adds to"},
                                                          {"alora", "invocation"}};
  for (const auto& [name, why] : refusals) {
    SCOPED_TRACE(name);
    expect_error(Code::Unsupported, HasSubstr(why), [&] { (void)session({adapter(name)}); });
  }
  expect_error(Code::Limit, HasSubstr("adapter_rank 12"), [&] {
    (void)session({adapter("all_linear"), adapter("all_linear", 2), adapter("rslora_patterns")});
  });
  const auto begun = session({});
  begun->append(std::vector<Token>{1, 2});
  expect_error(Code::State, HasSubstr("first token"),
               [&] { begun->set_adapters(std::vector{adapter("all_linear")}); });
  begun->rewind(0);
  EXPECT_NO_THROW(begun->set_adapters(std::vector{adapter("all_linear")}));
  Session plain(Engine::create(Model::load(shared_folder("llama3"), exact_options())));
  expect_error(Code::State, HasSubstr("adapter_slots"),
               [&] { plain.set_adapters(std::vector{adapter("all_linear")}); });
}

}  // namespace
}  // namespace tenon::folders
