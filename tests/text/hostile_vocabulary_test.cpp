// Vocabularies of dishonest files: each is refused with a message naming the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/text/small_vocabularies.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

struct Fault {
  std::string name;
  std::function<Vocabulary()> make;
  Code code;
  std::string message;  // part of it
};

Vocabulary bpe_with(const std::function<void(Vocabulary&)>& change) {
  Vocabulary v = small_bpe();
  change(v);
  return v;
}

Vocabulary spm_with(const std::function<void(Vocabulary&)>& change) {
  Vocabulary v = small_spm();
  change(v);
  return v;
}

const char* const kTokens = "tokenizer.ggml.tokens";
const char* const kMerges = "tokenizer.ggml.merges";

std::vector<Fault> faults() {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  using V = Vocabulary;
  return {
      {"no model", [] { return V{}; }, Code::Unsupported, "tokenizer.ggml.model"},
      {"strange model", [] { return bpe_with([](V& v) { v.model = "bert\n"; }); },
       Code::Unsupported, "bert"},
      {"strange pre", [] { return bpe_with([](V& v) { v.pre = "xyz"; }); }, Code::Unsupported,
       "\"xyz\""},
      {"empty", [] { return bpe_with([](V& v) { v.tokens.clear(); }); }, Code::Format, kTokens},
      {"huge token", [] { return bpe_with([](V& v) { v.tokens[9] = std::string(1 << 20, 'x'); }); },
       Code::Limit, "1048576"},
      {"types short", [] { return bpe_with([](V& v) { v.types.pop_back(); }); }, Code::Format,
       "tokenizer.ggml.token_type"},
      {"types long", [] { return spm_with([](V& v) { v.types.push_back(TokenType::Normal); }); },
       Code::Format, "tokenizer.ggml.token_type"},
      {"type 0", [] { return bpe_with([](V& v) { v.types[3] = TokenType{0}; }); }, Code::Format,
       "type 0"},
      {"type 7", [] { return spm_with([](V& v) { v.types[3] = TokenType{7}; }); }, Code::Format,
       "type 7"},
      {"scores short", [] { return spm_with([](V& v) { v.scores.pop_back(); }); }, Code::Format,
       "tokenizer.ggml.scores"},
      {"scores absent", [] { return spm_with([](V& v) { v.scores.clear(); }); }, Code::Format,
       "tokenizer.ggml.scores"},
      {"score NaN", [] { return spm_with([=](V& v) { v.scores[300 - 40] = kNan; }); }, Code::Format,
       "token 260"},
      {"extra end", [] { return spm_with([](V& v) { v.extra_end_tokens = {-5}; }); }, Code::Format,
       "-5"},
      {"byte token missing",
       [] {
         return spm_with([](V& v) {
           v.tokens[3 + 0x41] = "x41";
           v.types[3 + 0x41] = TokenType::Normal;
         });
       },
       Code::Format, "<0x41>"},
      {"byte token negative", [] { return spm_with([](V& v) { v.tokens[3 + 0x41] = "<0x-1>"; }); },
       Code::Format, "<0x-1>"},
      {"byte token long", [] { return spm_with([](V& v) { v.tokens[3 + 0x41] = "<0x041>"; }); },
       Code::Format, "<0x041>"},
      {"byte token empty", [] { return spm_with([](V& v) { v.tokens[3 + 0x41] = ""; }); },
       Code::Format, kTokens},
      {"byte token twice", [] { return spm_with([](V& v) { v.tokens[3 + 0x4A] = "<0x4b>"; }); },
       Code::Format, "are both"},
      {"no bytes at all",
       [] {
         Vocabulary v;
         v.model = "gpt2";
         add_token(v, "hello");
         return v;
       },
       Code::Format, kTokens},
      {"merge of unknown left", [] { return bpe_with([](V& v) { v.merges[2] = "hx ll"; }); },
       Code::Format, "merge 2"},
      {"merge of unknown right", [] { return bpe_with([](V& v) { v.merges[2] = "he lx"; }); },
       Code::Format, "\"lx\""},
      {"merge of unknown result", [] { return bpe_with([](V& v) { v.merges[2] = "he o"; }); },
       Code::Format, "\"heo\""},
      {"merge twice", [] { return bpe_with([](V& v) { v.merges.push_back("h e"); }); },
       Code::Format, "twice"},
      {"merge empty", [] { return bpe_with([](V& v) { v.merges[0] = ""; }); }, Code::Format,
       kMerges},
      {"merge of one", [] { return bpe_with([](V& v) { v.merges[0] = "he"; }); }, Code::Format,
       kMerges},
      {"merge with itself and nothing", [] { return bpe_with([](V& v) { v.merges[0] = "he "; }); },
       Code::Format, kMerges},
      {"merge of nothing and itself", [] { return bpe_with([](V& v) { v.merges[0] = " he"; }); },
       Code::Format, kMerges},
      {"merge of three", [] { return bpe_with([](V& v) { v.merges[0] = "h e l"; }); }, Code::Format,
       kMerges},
      {"a million merges", [] { return bpe_with([](V& v) { v.merges.assign(1'000'000, "h e"); }); },
       Code::Format, "merge 1 "},
  };
}

TEST(HostileVocabulary, IsRefusedByKey) {
  ASSERT_NO_THROW(make_tokenizer(small_bpe()));
  ASSERT_NO_THROW(make_tokenizer(small_spm()));
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(fault.name);
    try {
      make_tokenizer(fault.make());
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), fault.code) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(fault.message));
      EXPECT_LT(std::string(error.what()).size(), 500u);
    }
  }
}

// Published files have these, so they are accepted.
TEST(HostileVocabulary, OdditiesOfPublishedFilesAreAccepted) {
  EXPECT_NO_THROW(make_tokenizer(bpe_with([](Vocabulary& v) {
    v.tokens[1] = "";  // holes
    v.tokens[2] = "";
    v.scores.clear();
    v.types.clear();
  })));
  EXPECT_NO_THROW(make_tokenizer(spm_with([](Vocabulary& v) {
    v.types[3 + 0x41] = TokenType::Normal;  // a byte token with the wrong type
    v.tokens.back() = "\xFF\xFE";           // not UTF-8
  })));
}

TEST(HostileVocabulary, HundredsOfThousandsOfMergesLoad) {
  // Every word of up to four of these letters is a token, every split of a word a merge.
  const std::string letters = "abcdefghijklmnopqr";
  std::vector<std::string> words;
  for (const char c : letters) words.emplace_back(1, c);
  Vocabulary v = small_bpe({});
  for (size_t i = 0; i < words.size() && words[i].size() < 4; ++i) {
    for (const char c : letters) {
      const std::string word = words[i] + c;
      words.push_back(word);
      add_token(v, word);
      for (size_t left = 1; left < word.size(); ++left) {
        v.merges.push_back(word.substr(0, left) + " " + word.substr(left));
      }
    }
  }
  EXPECT_GT(v.merges.size(), 300'000u);
  const auto tokenizer = make_tokenizer(std::move(v));
  const std::string text = "abcdefghijklmnopqrpomnlkjihgfedcba";
  const auto tokens = tokenizer->encode(text);
  EXPECT_EQ(tokenizer->decode(tokens), text);
  EXPECT_LT(tokens.size(), text.size());
}

TEST(HostileVocabulary, LongRepetitivePiecesLoadInLinearTime) {
  Vocabulary v = small_spm({});
  for (size_t size = 1; size <= 2000; ++size) {
    add_token(v, std::string(size, 'a'), TokenType::Normal, -static_cast<float>(size));
  }
  v.add_space_prefix = false;
  const auto tokenizer = make_tokenizer(std::move(v));
  const std::string text(100'000, 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

}  // namespace
}  // namespace tenon
