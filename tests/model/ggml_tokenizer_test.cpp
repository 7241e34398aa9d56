// Converted folders in the words of other programs: the same tokens by tokenizer.ggml.* keys.
#include "model/ggml_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "file/folder_keys.h"
#include "file/open.h"
#include "model/gguf_order.h"
#include "model/open_model.h"
#include "model/tokenizer_file.h"
#include "model/vocabulary_reader.h"
#include "quantize/quantize.h"
#include "tests/base/temp_folder.h"
#include "tests/model/shared_folders.h"
#include "text/tokenizer_json/ggml_vocabulary.h"

namespace tenon::folders {
namespace {

using testing::HasSubstr;

class GgmlTokenizer : public testing::Test {
 protected:
  /// The folder as a file.
  std::shared_ptr<const ModelFile> converted(const std::string& folder) {
    const auto system = System::real();
    const auto source = open_in_gguf_order(shared_folder(folder), system);
    QuantizeOptions options;
    options.add_keys = [&](GgufOutput& out) { add_ggml_tokenizer(out, *source, system); };
    const std::string path = temp_.path(folder + ".gguf");
    write_quantized(system, *source, path, options);
    return open_model(path, {system, {}});
  }

 private:
  TempFolder temp_;
};

TEST_F(GgmlTokenizer, MakesTheTokensOfEachFolder) {
  const std::string all = TENON_SHARED_DIR "/formats/folders";
  if (!std::filesystem::exists(all)) GTEST_SKIP() << all << " is absent";
  std::set<std::string> with_keys;
  std::set<std::string> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(all)) {
    const std::string folder = entry.path().filename().string();
    if (!std::filesystem::exists(entry.path() / "expected_tokens.json")) continue;
    if (folder == "qwen2_dynamic") continue;  // refused for its rope
    SCOPED_TRACE(folder);
    const auto file = converted(folder);
    const Metadata& keys = file->metadata();
    ASSERT_TRUE(has_json_tokenizer(keys));
    const auto own = read_tokenizer(*file, System::real());
    if (!keys.contains("tokenizer.ggml.model")) {
      const std::string reason(keys.get_string(kOnlyTokenizerJsonKey));
      // The second keeps spaces at the end of a text, which those who read the keys take away.
      EXPECT_TRUE(folder == "bert" || folder == "xlmr_reranker") << reason;
      EXPECT_THAT(reason, HasSubstr(folder == "bert" ? "WordPiece" : "becomes other tokens"));
      continue;
    }
    with_keys.insert(folder);
    Vocabulary vocabulary = read_vocabulary(keys);
    kinds.insert(vocabulary.model + " " + vocabulary.pre);
    EXPECT_EQ(vocabulary.tokens.size(), file->find("token_embd.weight")->shape[0]);
    const bool is_sentence_piece = vocabulary.model == "llama";
    const auto by_keys = make_tokenizer(std::move(vocabulary), System::real());
    const std::string_view json = keys.get_string(kTokenizerJsonKey);
    const bool composes = json.find("\"NFC\"") != json.npos;
    // Readers of keys take spaces after </s> away from models of Phi-3's name.
    const bool is_metaspace = is_sentence_piece && (json.find("\"Metaspace\"") != json.npos ||
                                                    folder.starts_with("phi3"));
    for (const auto& text : read_json(entry.path().string() + "/expected_tokens.json")) {
      const auto words = text.at("text").get<std::string>();
      const auto ids = text.at("ids").get<std::vector<Token>>();
      const auto with_special = text.at("ids_with_special").get<std::vector<Token>>();
      EXPECT_EQ(own->encode(words, {.parse_special = true}), ids) << words;
      // Keys do not say that texts are composed, and where spaces are not added.
      if (composes && words.find("\u0301") != std::string::npos) continue;
      const bool is_odd = words.starts_with(' ') || words.find('>') != std::string::npos;
      if (is_metaspace && is_odd) continue;
      EXPECT_EQ(by_keys->encode(words, {.parse_special = true}), ids) << words;
      EXPECT_EQ(by_keys->encode(words, {.add_special = true, .parse_special = true}), with_special)
          << words;
    }
  }
  EXPECT_GE(with_keys.size(), 30u);
  EXPECT_EQ(kinds, (std::set<std::string>{"gpt2 gpt-2", "gpt2 gpt-4o", "gpt2 llama-bpe",
                                          "gpt2 qwen2", "llama default"}));
}

TEST_F(GgmlTokenizer, IsOfFilesWithTheSameLogits) {
  for (const char* folder :
       {"llama3", "mistral", "smollm3", "granitemoehybrid", "qwen3", "mixtral", "qwen3_moe"}) {
    if (!std::filesystem::exists(shared_folder(folder))) GTEST_SKIP() << folder << " is absent";
    const auto file = converted(folder);
    const std::string name(file->metadata().get_string("general.architecture"));
    EXPECT_EQ(file->metadata().get_or<bool>(name + ".rope.halves", false),
              std::string(folder).starts_with("qwen3"));
    EXPECT_EQ(file->find("blk.0.ffn_up.0.weight"), nullptr);
    const std::string expected = shared_folder(folder) + "/expected_logits.st";
    const std::vector<Token> prompt =
        read_json(shared_folder(folder) + "/expected.json").at("prompt_ids");
    Session session(Engine::create(Model::load(file->sources()[0]->name(), exact_options())));
    const std::vector<float> got = evaluate_all(session, prompt);
    const Expected want = read_expected(expected, "logits");
    const uint64_t columns = got.size() / prompt.size();
    double error = 0;
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double value = want.values[i / columns * want.columns + i % columns];
      error = std::max(error, std::fabs(got[i] - value));
      largest = std::max(largest, std::fabs(value));
    }
    EXPECT_LE(error, 2e-4 * largest) << folder;
  }
}

TEST(GgmlVocabulary, SaysWhatItCannotSay) {
  const auto reason = [](const nlohmann::json& document) {
    return ggml_vocabulary(document.dump(), "t.json", System::real(), {}).reason;
  };
  nlohmann::json bytes{
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}}};
  EXPECT_THAT(
      reason({{"model", {{"type", "WordLevel"}, {"vocab", {{"a", 0}}}, {"unk_token", "a"}}}}),
      HasSubstr("WordLevel"));
  nlohmann::json other = bytes;
  other["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_THAT(reason(other), HasSubstr("space"));
  other = bytes;
  other["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"}, {"pattern", {{"Regex", "x+"}}}, {"behavior", "Isolated"}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  EXPECT_THAT(reason(other), HasSubstr("tokenizer.ggml.pre"));
  other = bytes;
  other["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(reason(other), HasSubstr("Lowercase"));
  other = bytes;
  other["model"]["ignore_merges"] = true;
  EXPECT_THAT(reason(other), HasSubstr("tokenizer.ggml.pre"));
}

}  // namespace
}  // namespace tenon::folders
