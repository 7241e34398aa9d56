// Unigram and WordPiece against ids recorded from the published implementations.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

void set_option(Vocabulary& v, const std::string& name, bool value) {
  if (name == "lowercase") v.lowercase = value;
  if (name == "add_space_prefix") v.add_space_prefix = value;
  if (name == "remove_extra_spaces") v.remove_extra_spaces = value;
}

/// Reads a file of make_unigram.py or make_wordpiece.js; returns how many texts it has.
int expect_recorded(Vocabulary v, const std::string& file) {
  std::ifstream in(std::filesystem::path(TENON_TEST_DATA_DIR) / "text" / file);
  std::unique_ptr<const Tokenizer> tokenizer;
  int texts = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string kind;
    std::string hex;
    fields >> kind;
    if (kind == "o") {
      bool value = false;
      fields >> hex >> value;
      set_option(v, hex, value);
      tokenizer.reset();
    } else if (kind == "c") {
      fields >> hex;
      v.charsmap = from_hex(hex);
    } else if (kind == "t") {
      int type = 0;
      float score = 0;
      fields >> type >> score >> hex;
      v.tokens.push_back(from_hex(hex));
      v.types.push_back(static_cast<TokenType>(type));
      v.scores.push_back(score);
    } else if (kind == "x") {
      fields >> hex;
      std::vector<Token> expected;
      for (Token token; fields >> token;) expected.push_back(token);
      if (tokenizer == nullptr) tokenizer = make_tokenizer(v);
      const std::string text = from_hex(hex);
      EXPECT_EQ(tokenizer->encode(text), expected) << file << ": \"" << text << "\" " << hex;
      ++texts;
    }
  }
  return texts;
}

TEST(RecordedTokens, UnigramAgreesWithSentencePiece) {
  Vocabulary v;
  v.model = "t5";
  v.unknown = 0;
  v.bos = 1;
  v.eos = 2;
  EXPECT_EQ(expect_recorded(v, "unigram.txt"), 120);
}

TEST(RecordedTokens, WordPieceAgreesWithThePublishedTokenizer) {
  Vocabulary v;
  v.model = "bert";
  v.unknown = 1;
  v.bos = 2;
  v.separator = 3;
  EXPECT_EQ(expect_recorded(v, "wordpiece.txt"), 162);
}

}  // namespace
}  // namespace tenon
