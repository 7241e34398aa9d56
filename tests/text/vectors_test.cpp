// Published vocabularies with texts and the ids of their original tokenizers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/text/gguf_vocabulary.h"
#include "text/tokenizer/stream_decoder.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

const fs::path kVectors = fs::path(TENON_SHARED_DIR) / "vectors" / "tokenizers";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> read_texts(const fs::path& path) {
  const std::string all = read_file(path);
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t end = all.find(separator); end != std::string::npos;
       end = all.find(separator, begin)) {
    texts.push_back(all.substr(begin, end - begin));
    begin = end + separator.size();
  }
  // Text after the last separator, if any, is a further text.
  if (begin < all.size()) texts.push_back(all.substr(begin));
  return texts;
}

std::vector<std::vector<Token>> read_ids(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::vector<Token>> lines;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<Token>(words), std::istream_iterator<Token>());
  }
  return lines;
}

std::vector<fs::path> vocabularies(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (!fs::exists(folder)) return paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(TokenizerVectors, EveryTextGivesThePublishedIds) {
  const auto paths = vocabularies(kVectors);
  if (paths.empty()) GTEST_SKIP() << "no vectors at " << kVectors;
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.stem());
    const auto tokenizer = make_tokenizer(read_gguf_vocabulary(path));
    const auto texts = read_texts(fs::path(path).replace_extension(".inp"));
    const auto ids = read_ids(fs::path(path).replace_extension(".out"));
    ASSERT_EQ(texts.size(), ids.size());
    ASSERT_GT(texts.size(), 40u);
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto tokens = tokenizer->encode(texts[i]);
      EXPECT_EQ(tokens, ids[i]) << "text " << i << ": " << texts[i];
      EXPECT_EQ(tokenizer->decode(tokens), texts[i]);
    }
  }
}

TEST(TokenizerVectors, WikitextComesBackFromItsTokens) {
  const auto paths = vocabularies(kVectors);
  const fs::path text_path = fs::path(TENON_SHARED_DIR) / "text" / "wikitext-2-test.txt";
  if (paths.empty() || !fs::exists(text_path)) GTEST_SKIP() << "no vectors at " << kVectors;
  const std::string text = read_file(text_path);
  ASSERT_GT(text.size(), 1'000'000u);
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.stem());
    const auto tokenizer = make_tokenizer(read_gguf_vocabulary(path));
    const auto tokens = tokenizer->encode(text);
    EXPECT_LT(tokens.size(), text.size() / 2);
    EXPECT_TRUE(tokenizer->decode(tokens) == text);

    StreamDecoder decoder(*tokenizer, {.strip_space_prefix = true});
    std::string streamed;
    for (const Token token : tokens) streamed += decoder.push(token);
    streamed += decoder.finish();
    EXPECT_TRUE(streamed == text);
  }
}

}  // namespace
}  // namespace tenon
