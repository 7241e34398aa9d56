// tokenizer.json: ids of the published library, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/text/gguf_vocabulary.h"
#include "text/tokenizer_json/json_tokenizer.h"

namespace tenon {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json read_json(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return json::parse(in);
}

std::unique_ptr<const Tokenizer> make(const json& document) {
  return make_json_tokenizer(document.dump(), "t.json");
}

TEST(TokenizerJson, GivesTheIdsAndTextsOfThePublishedLibrary) {
  const json cases = read_json(fs::path(TENON_TEST_DATA_DIR) / "text" / "tokenizer_json.json");
  ASSERT_GE(cases.size(), 25u);
  for (const json& entry : cases) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    const auto tokenizer = make(entry["tokenizer"]);
    for (const json& recorded : entry["recorded"]) {
      const auto text = recorded["text"].get<std::string>();
      const auto plain = recorded["plain"].get<std::vector<Token>>();
      EXPECT_EQ(tokenizer->encode(text, {.parse_special = true}), plain) << text;
      EXPECT_EQ(tokenizer->encode(text, {.add_special = true, .parse_special = true}),
                recorded["whole"].get<std::vector<Token>>())
          << text;
      if (recorded["decoded"].is_null()) continue;
      EXPECT_EQ(tokenizer->decode(plain), recorded["decoded"].get<std::string>()) << text;
    }
  }
}

/// The tokenizer.json of a byte-level vocabulary in a model file.
json from_gguf(const Vocabulary& v) {
  json vocab = json::object();
  for (size_t i = 0; i < v.tokens.size(); ++i) vocab[v.tokens[i]] = i;
  return {{"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", v.merges}}}};
}

TEST(TokenizerJson, AgreesWithTheSameVocabularyInAModelFile) {
  const fs::path path = fs::path(TENON_SHARED_DIR) / "vectors" / "tokenizers" / "gpt-2.gguf";
  if (!fs::exists(path)) GTEST_SKIP() << "no vectors at " << path;
  const Vocabulary v = read_gguf_vocabulary(path);
  const auto of_file = make_tokenizer(v);
  const auto of_json = make(from_gguf(v));
  std::ifstream in(fs::path(path).replace_extension(".inp"), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto tokens = of_json->encode(text);
  EXPECT_EQ(tokens, of_file->encode(text));
  EXPECT_EQ(of_json->decode(tokens), text);
}

json small() {
  return json::parse(R"({"added_tokens": [
      {"id": 4, "content": "</s>", "special": true, "normalized": false},
      {"id": 5, "content": "<call>", "special": false, "normalized": false}],
    "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
    "decoder": null,
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<unk>": 3}, "unk_token": "<unk>",
              "merges": ["a b"]}})");
}

TEST(TokenizerJson, TypedTextBecomesNeitherSpecialTokensNorMarks) {
  const auto tokenizer = make(small());
  using Tokens = std::vector<Token>;
  EXPECT_EQ(tokenizer->encode("ab</s>", {.parse_special = true}), (Tokens{2, 4}));
  EXPECT_EQ(tokenizer->encode("ab<call>", {.parse_special = true}), (Tokens{2, 5}));
  EXPECT_THAT(tokenizer->encode("ab</s><call>"), ::testing::Each(::testing::Le(3)));
  EXPECT_EQ(tokenizer->eos(), 4);
  EXPECT_TRUE(tokenizer->is_end(4));
  EXPECT_TRUE(tokenizer->is_control(4));
  EXPECT_EQ(tokenizer->type(5), TokenType::UserDefined);
}

TEST(TokenizerJson, ASpecialTokenOfNormalizedTextIsCutOutByPart) {
  json document = small();
  document["added_tokens"][0]["normalized"] = true;
  document["normalizer"] = {{"type", "Lowercase"}};
  const auto tokenizer = make(document);
  const std::vector<TextPart> parts = {{"AB</S>", true}, {"ab</s>", false}};
  const auto tokens = tokenizer->encode(parts, false);
  EXPECT_EQ(std::vector<Token>(tokens.begin(), tokens.begin() + 3), (std::vector<Token>{2, 4, 2}));
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 4), 1);
}

struct Refusal {
  const char* name;
  std::function<void(json&)> change;
  Code code;
  const char* message;
};

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> list = {
      {"no model", [](json& j) { j.erase("model"); }, Code::Format, "t.json.model"},
      {"no vocabulary", [](json& j) { j["model"].erase("vocab"); }, Code::Format,
       "t.json.model.vocab: expected an object, found nothing"},
      {"empty vocabulary",
       [](json& j) {
         j["model"]["vocab"] = json::object();
         j["model"]["merges"] = json::array();
         j["model"].erase("unk_token");
         j["added_tokens"] = json::array();
       },
       Code::Format, "empty"},
      {"id huge", [](json& j) { j["model"]["vocab"]["x"] = uint64_t{1} << 40; }, Code::Limit,
       "1099511627776"},
      {"id negative", [](json& j) { j["model"]["vocab"]["x"] = -1; }, Code::Format, "\"x\""},
      {"id twice", [](json& j) { j["model"]["vocab"]["x"] = 0; }, Code::Format, "both have the id"},
      {"model type", [](json& j) { j["model"]["type"] = "BPE2"; }, Code::Unsupported, "\"BPE2\""},
      {"dropout", [](json& j) { j["model"]["dropout"] = 0.5; }, Code::Unsupported, "dropout"},
      {"merge of one", [](json& j) { j["model"]["merges"][0] = "ab"; }, Code::Format, "merges[0]"},
      {"merge of three", [](json& j) { j["model"]["merges"][0] = "a b c"; }, Code::Format,
       "merges[0]"},
      {"merge of unknown", [](json& j) { j["model"]["merges"][0] = "a c"; }, Code::Format,
       "\"c\" is not in the vocabulary"},
      {"merge of numbers",
       [](json& j) {
         j["model"]["merges"][0] = {1, 2};
       },
       Code::Format, "merges[0]"},
      {"unknown token", [](json& j) { j["model"]["unk_token"] = "?"; }, Code::Format, "unk_token"},
      {"normalizer",
       [](json& j) {
         j["normalizer"] = {{"type", "Rot13"}};
       },
       Code::Unsupported, "normalizer \"Rot13\""},
      {"normalizer in a list",
       [](json& j) {
         j["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "Rot13"}}}}};
       },
       Code::Unsupported, "normalizers[0].type"},
      {"charsmap",
       [](json& j) {
         j["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "!"}};
       },
       Code::Format, "precompiled_charsmap"},
      {"charsmap cut",
       [](json& j) {
         j["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}};
       },
       Code::Format, "precompiled_charsmap"},
      {"pre-tokenizer",
       [](json& j) {
         j["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
       },
       Code::Unsupported, "UnicodeScripts"},
      {"pattern",
       [](json& j) {
         j["pre_tokenizer"] = {
             {"type", "Split"}, {"pattern", {{"Regex", "("}}}, {"behavior", "Isolated"}};
       },
       Code::Format, "pattern"},
      {"pattern not regular",
       [](json& j) {
         j["pre_tokenizer"] = {
             {"type", "Split"}, {"pattern", {{"Regex", "(a)\\1"}}}, {"behavior", "Isolated"}};
       },
       Code::Unsupported, "back reference"},
      {"behavior",
       [](json& j) {
         j["pre_tokenizer"] = {
             {"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Eaten"}};
       },
       Code::Format, "behavior"},
      {"processor",
       [](json& j) {
         j["post_processor"] = {{"type", "Bow"}};
       },
       Code::Unsupported, "post-processor \"Bow\""},
      {"template without the text",
       [](json& j) {
         j["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", json::array()},
                                {"special_tokens", json::object()}};
       },
       Code::Unsupported, "template"},
      {"template of an unknown id",
       [](json& j) {
         j["post_processor"] = {{"type", "BertProcessing"}, {"cls", {"x", 99}}, {"sep", {"y", 0}}};
       },
       Code::Format, "99"},
      {"decoder",
       [](json& j) {
         j["decoder"] = {{"type", "CTC"}};
       },
       Code::Unsupported, "CTC"},
      {"added token without content", [](json& j) { j["added_tokens"][0].erase("content"); },
       Code::Format, "added_tokens[0].content"},
      {"flag of another type", [](json& j) { j["added_tokens"][0]["lstrip"] = 1; }, Code::Format,
       "lstrip: expected true or false"},
      {"no scores",
       [](json& j) {
         j["model"] = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", {"a", "b"}}};
       },
       Code::Format, "vocab[0]"},
      {"token too long", [](json& j) { j["model"]["vocab"][std::string(4097, 'x')] = 6; },
       Code::Limit, "4097"},
      {"added token too long",
       [](json& j) { j["added_tokens"][0]["content"] = std::string(4097, 'x'); }, Code::Limit,
       "added_tokens[0].content"},
      {"prefix too long",
       [](json& j) { j["model"]["continuing_subword_prefix"] = std::string(257, '#'); },
       Code::Limit, "continuing_subword_prefix"},
      {"content too long",
       [](json& j) {
         j["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(257, 'x')}};
       },
       Code::Limit, "prepend"},
      {"token that a decoder lets grow",
       [](json& j) {
         const json twice = {
             {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
         j["decoder"] = {{"type", "Sequence"}, {"decoders", std::vector<json>(40, twice)}};
       },
       Code::Limit, "decoder: \"a\""},
      {"too many decoders",
       [](json& j) {
         j["decoder"] = {{"type", "Sequence"},
                         {"decoders", std::vector<json>(65, {{"type", "ByteFallback"}})}};
       },
       Code::Limit, "64 steps"},
      {"spaces between bytes",
       [](json& j) {
         j["decoder"] = json::parse(R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"},
             {"type": "WordPiece", "prefix": "##", "cleanup": false}]})");
       },
       Code::Unsupported, "decoders[1].type: after ByteFallback"},
      {"scores whose sums are infinite",
       [](json& j) {
         j["model"] = json::parse(R"({"type": "Unigram", "unk_id": 0, "vocab": [["a", -1e300]]})");
       },
       Code::Format, "vocab[0]"},
      {"unknown id outside",
       [](json& j) {
         j["model"] = json::parse(R"({"type": "Unigram", "unk_id": 7, "vocab": [["a", -1.5]]})");
       },
       Code::Format, "unk_id"},
  };
  return list;
}

TEST(TokenizerJson, RefusesByName) {
  ASSERT_NO_THROW(make(small()));
  for (const Refusal& refusal : refusals()) {
    SCOPED_TRACE(refusal.name);
    json document = small();
    refusal.change(document);
    try {
      make(document);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), refusal.code) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(refusal.message));
      EXPECT_THAT(error.what(), ::testing::StartsWith("t.json"));
    }
  }
}

Code code_of_encoding(const json& document, const std::string& text) {
  const auto tokenizer = make(document);
  try {
    (void)tokenizer->encode(text);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::Ok;
}

TEST(TokenizerJson, TextsGrowWithinLimits) {
  // Each stage doubles the text beyond ASCII.
  json document = small();
  const json letters = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto with_letters = [&](size_t times) {
    document["pre_tokenizer"] = {{"type", "Sequence"},
                                 {"pretokenizers", std::vector<json>(times, letters)}};
    return document;
  };
  EXPECT_EQ(code_of_encoding(with_letters(3), std::string(50'000, '\x01')), Code::Ok);
  EXPECT_EQ(code_of_encoding(with_letters(25), std::string(50'000, '\x01')), Code::Limit);
  // Each pair of stages adds a mark before every character and cuts it off.
  std::vector<json> marks;
  for (const char* mark : {"#", "$", "#", "$", "#", "$", "#", "$", "#", "$", "#", "$"}) {
    marks.push_back({{"type", "Metaspace"}, {"replacement", mark}, {"split", false}});
    marks.push_back({{"type", "Split"}, {"pattern", {{"Regex", "."}}}, {"behavior", "Isolated"}});
  }
  document["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", marks}};
  EXPECT_EQ(code_of_encoding(document, std::string(50'000, 'a')), Code::Limit);
  // Each normalizer doubles the text.
  document = small();
  const json twice = {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", "aa"}};
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::vector<json>(5, twice)}};
  EXPECT_EQ(code_of_encoding(document, std::string(50'000, 'a')), Code::Ok);
  document["normalizer"]["normalizers"] = std::vector<json>(30, twice);
  EXPECT_EQ(code_of_encoding(document, std::string(50'000, 'a')), Code::Limit);
}

TEST(TokenizerJson, ALongWordMayBecomeNothing) {
  json document = small();
  document["model"].erase("unk_token");
  document["pre_tokenizer"] = nullptr;
  const auto tokenizer = make(document);
  for (const size_t size : {1, 16'384, 16'385, 100'000}) {
    EXPECT_TRUE(tokenizer->encode(std::string(size, 'x')).empty()) << size;
  }
}

// Long words are merged in pieces; unknown characters may span several pieces.
TEST(TokenizerJson, ALongWordBecomesWhatItsPartsDo) {
  for (const bool fuses : {false, true}) {
    json document = small();
    document["pre_tokenizer"] = nullptr;
    document["model"] = json::parse(R"({"type": "BPE", "unk_token": "<unk>",
        "vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"]})");
    document["model"]["fuse_unk"] = fuses;
    const auto tokenizer = make(document);
    std::string text;
    std::vector<Token> expected;
    std::mt19937 random(7);
    while (text.size() < 200'000) {
      const size_t run = random() % 8 == 0 ? random() % 40'000 : random() % 3;
      text += std::string(run, 'x');
      expected.insert(expected.end(), fuses ? std::min<size_t>(run, 1) : run, 0);
      const bool merges = random() % 2 == 0;
      text += merges ? "ab" : "ba";
      if (merges) {
        expected.push_back(3);
      } else {
        // An "x" after each "a" keeps it from merging with a "b".
        expected.insert(expected.end(), {2, 1, 0});
        text += "x";
        if (fuses) {
          text += "b";
          expected.push_back(2);
        }
      }
    }
    EXPECT_EQ(tokenizer->encode(text), expected) << fuses;
  }
}

TEST(TokenizerJson, StepsOverCharactersLeaveBytesAlone) {
  json document = small();
  document["model"] = json::parse(R"({"type": "BPE", "byte_fallback": true, "merges": [],
      "vocab": {"<0xF0>": 0, "<0x41>": 1, "a": 2, "<0xE2>": 3}})");
  document["decoder"] = json::parse(R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"},
      {"type": "Replace", "pattern": {"Regex": "."}, "content": "x"}]})");
  EXPECT_EQ(make(document)->decode(std::vector<Token>{0, 1, 2}), "\xF0xx");
  // The first decoder turns letters into bytes; the second ignores bytes that are no characters.
  const std::string letters = std::string(29, 'a') + "\u00F0";
  document["model"]["vocab"] = {{letters, 0}, {"a", 1}};
  document["decoder"] = json::parse(R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"},
      {"type": "ByteLevel"}]})");
  EXPECT_EQ(make(document)->decode(std::vector<Token>{0}), std::string(29, 'a') + "\xF0");
}

TEST(TokenizerJson, LettersOfAddedTokensAreBytesWhereWordsBecomeThem) {
  // U+91CC has the bytes E9 87 8C; U+00E9 is the letter of E9.
  json document = json::parse(R"({"normalizer": null, "post_processor": null,
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
      "decoder": {"type": "ByteLevel"},
      "added_tokens": [{"id": 0, "content": "\u00e9", "special": false, "normalized": false},
                       {"id": 3, "content": "\u00f8", "special": false, "normalized": false}],
      "model": {"type": "BPE", "merges": [],
                "vocab": {"\u00e9": 0, "\u0129": 1, "\u012e": 2}}})");
  const auto of_words = make(document);
  const auto tokens = of_words->encode("\u91CC");
  EXPECT_EQ(tokens, (std::vector<Token>{0, 1, 2}));
  EXPECT_EQ(of_words->decode(tokens), "\u91CC");
  EXPECT_EQ(of_words->decode(of_words->encode("\u00F8")), "\u00F8");
  document["added_tokens"][0]["special"] = true;
  EXPECT_EQ(make(document)->decode(std::vector<Token>{0}, {.render_special = true}), "\u00E9");
}

TEST(TokenizerJson, ATextStartsAfterWhatItsCharsMapTakesAway) {
  // The table drops each "a". Other steps drop the start, too.
  json document = json::parse(R"({"added_tokens": [], "post_processor": null, "decoder": null,
      "normalizer": {"type": "Precompiled", "precompiled_charsmap": "DAAAAACAAQBhDQAAAAAAgAA="},
      "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"},
      "model": {"type": "BPE", "merges": [], "vocab": {"_": 0, "b": 1}}})");
  EXPECT_EQ(make(document)->encode("aab b"), (std::vector<Token>{0, 1, 0, 1}));
  EXPECT_EQ(make(document)->encode("b"), (std::vector<Token>{0, 1}));
  document["normalizer"] = {{"type", "BertNormalizer"},
                            {"clean_text", true},
                            {"handle_chinese_chars", false},
                            {"lowercase", false}};
  EXPECT_EQ(make(document)->encode("\x07"
                                   "b b"),
            (std::vector<Token>{1, 0, 1}));
}

TEST(TokenizerJson, TheFirstTokenKeepsAPrefixThatIsAllOfIt) {
  json document = small();
  document["decoder"] = {{"type", "WordPiece"}, {"prefix", "ab"}, {"cleanup", false}};
  EXPECT_EQ(make(document)->decode(std::vector<Token>{2, 0, 2, 1}), "ab a b");
}

Code code_of(const std::string& text) {
  try {
    make_json_tokenizer(text, "t.json");
  } catch (const Error& error) {
    return error.code();
  }
  return Code::Ok;
}

TEST(TokenizerJson, RefusesWhatIsNoJsonAndWhatIsTooDeep) {
  const std::string whole = small().dump();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(code_of(whole.substr(0, size)), Code::Format) << size;
  }
  EXPECT_EQ(code_of(std::string(100'000, '[')), Code::Limit);
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_EQ(code_of(deep), Code::Limit);
  EXPECT_EQ(code_of("[]"), Code::Format);
  EXPECT_EQ(code_of("{\"model\": \"\xFF\"}"), Code::Format);
}

TEST(TokenizerJson, IsToldFromAModelFile) {
  EXPECT_TRUE(looks_like_json(" \n{"));
  EXPECT_FALSE(looks_like_json("GGUF"));
  EXPECT_FALSE(looks_like_json(""));
}

}  // namespace
}  // namespace tenon
