// Linear time: tokenizers, their texts, and functions over their tokens.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handles.h"
#include "linear_time.h"

namespace {

using namespace tenon_test;

void load_tokenizer(const std::string& bytes,
                    const std::function<void(tenon_tokenizer*)>& use = {}) {
  tenon_source source = sized<tenon_source>();
  source.kind = TENON_SOURCE_MEMORY;
  source.data = bytes.data();
  source.size = bytes.size();
  tenon_tokenizer* made = nullptr;
  expect_answer(tenon_tokenizer_load(&source, &made));
  const TokenizerPtr tokenizer(made);
  if (use && made != nullptr) use(made);
}

/// tokenizer.json of byte-pair encoding whose vocabulary also has `tokens`.
std::string bpe(const std::string& tokens, const std::string& merges = "",
                const std::string& added = "") {
  return R"({"added_tokens": [)" + added +
         R"(], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,)"
         R"( "model": {"type": "BPE", "vocab": {"a": 0, "b": 1)" +
         tokens + R"(}, "merges": [)" + merges + "]}}";
}

std::string unigram(size_t n) {
  std::string out = R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": null, )"
                    R"("post_processor": null, "decoder": null, "model": {"type": "Unigram", )"
                    R"("unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0])";
  for (size_t i = 0; i < n; ++i) out += ", [\"t" + std::to_string(i) + "\", -2.0]";
  return out + "]}}";
}

/// Merges each "b#" from "b" and "#" as a chain: ab, abb, abbb.
std::string chain_of_tokens(size_t n) {
  std::string out, word = "a";
  for (size_t i = 0; i < n; ++i) out += ", \"" + (word += 'b') + "\": " + std::to_string(i + 2);
  return out;
}
std::string chain_of_merges(size_t n) {
  std::string out, word = "a";
  for (size_t i = 0; i < n; ++i) {
    out += (i == 0 ? "[\"" : ", [\"") + word + "\", \"b\"]";
    word += 'b';
  }
  return out;
}

TEST(LinearTime, TokenizerFiles) {
  const auto added = [](size_t i, const std::string& content) {
    return R"({"id": )" + std::to_string(i) + R"(, "content": ")" + content +
           R"(", "special": true, "single_word": false, "lstrip": false, "rstrip": false, )"
           R"("normalized": false})";
  };
  const auto many_added = [added](size_t n, const std::string& prefix) {
    std::string out;
    for (size_t i = 0; i < n; ++i) {
      out += (i == 0 ? "" : ", ") + added(i + 2, prefix + std::to_string(1'000'000 + i) + ">");
    }
    return out;
  };
  const auto encode = [](const std::string& text) {
    return [text](tenon_tokenizer* tokenizer) {
      size_t count = 0;
      expect_answer(tenon_tokenizer_encode(tokenizer, text.data(), text.size(), TENON_PARSE_SPECIAL,
                                           nullptr, 0, &count));
    };
  };
  expect_linear({
      {"tokens", 20'000,
       [](size_t n) {
         std::string tokens;
         for (size_t i = 0; i < n; ++i) {
           tokens += ", \"t" + std::to_string(i) + "\": " + std::to_string(i + 2);
         }
         load_tokenizer(bpe(tokens));
       }},
      {"merges", 200,
       [&](size_t n) {
         load_tokenizer(bpe(chain_of_tokens(n / 10), chain_of_merges(n / 10)),
                        encode(repeated("a" + repeated("b", 50), n)));
       }},
      {"added tokens", 2'000, [&](size_t n) { load_tokenizer(bpe("", "", many_added(n, "<t"))); }},
      {"a text of added tokens", 2'000,
       [&](size_t n) {
         load_tokenizer(bpe("", "", many_added(n, "<t")), encode(numbered("<t#>", n, "")));
       }},
      {"beginnings of added tokens", 2'000,
       [&](size_t n) {
         load_tokenizer(bpe("", "", many_added(n, "<t")), encode(repeated("<t1000", n)));
       }},
      {"a long word", 50'000,
       [&](size_t n) { load_tokenizer(bpe(""), encode(repeated("ab", n))); }},
      {"Unigram", 10'000, [&](size_t n) { load_tokenizer(unigram(n), encode(repeated("t1", n))); }},
      {"a long word of Unigram", 50'000,
       [&](size_t n) { load_tokenizer(unigram(10), encode(repeated("a", n))); }},
      {"unknown members", 20'000,
       [](size_t n) { load_tokenizer("{" + numbered(R"("x#": 1)", n) + "}"); }},
      {"nesting", 50'000, [](size_t n) { load_tokenizer("{\"model\": " + repeated("[", n)); }},
  });
}

TEST(LinearTime, TextsAndTokens) {
  const auto model = tenon_test::open_demo();
  const tenon_tokenizer* tokenizer = nullptr;
  ASSERT_OK(tenon_model_tokenizer(model.get(), &tokenizer));
  const auto encode = [&](std::string_view unit) {
    return [=](size_t n) {
      const std::string text = repeated(unit, n / unit.size());
      size_t count = 0;
      expect_answer(tenon_tokenizer_encode(tokenizer, text.data(), text.size(), TENON_PARSE_SPECIAL,
                                           nullptr, 0, &count));
    };
  };
  expect_linear({
      {"one letter", 50'000, encode("a")},
      {"words", 50'000, encode("hello, world! ")},
      {"spaces", 50'000, encode(" ")},
      {"marks", 50'000, encode("\u0301")},
      {"no UTF-8", 50'000, encode("\xFF")},
      {"beginnings of tokens", 50'000, encode("<|im_start")},
      {"detokenize", 100'000,
       [&](size_t n) {
         const std::vector<tenon_token> tokens(n, 300);
         size_t length = 0;
         expect_answer(tenon_tokenizer_decode(tokenizer, tokens.data(), n, TENON_RENDER_SPECIAL,
                                              nullptr, 0, &length));
       }},
      {"DRY breakers", 20,
       [&](size_t n) {
         tenon_sampler* made = nullptr;
         ASSERT_OK(tenon_sampler_create(nullptr, &made));
         const SamplerPtr sampler(made);
         for (size_t i = 0; i < n; ++i) {
           const char letter = static_cast<char>('a' + i % 26);
           expect_answer(tenon_sampler_add_dry_breaker(made, tokenizer, &letter, 1));
         }
       }},
      {"a grammar's text", 2'000,
       [&](size_t n) {
         tenon_grammar* made = nullptr;
         ASSERT_OK(tenon_grammar_create(TENON_GRAMMAR_JSON_SCHEMA, "{}", 2, &made));
         const GrammarPtr grammar(made);
         tenon_matcher* matcher = nullptr;
         ASSERT_OK(tenon_matcher_create(made, tokenizer, &matcher));
         const std::string text = "[" + repeated("1,", n);
         for (const char& c : text) {
           int32_t accepted = 0;
           expect_answer(tenon_matcher_accept_text(matcher, &c, 1, &accepted));
         }
         tenon_matcher_destroy(matcher);
       }},
  });
}

}  // namespace
