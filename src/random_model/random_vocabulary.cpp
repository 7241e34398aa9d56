#include "random_model/random_vocabulary.h"

#include <string_view>

#include "base/error.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer/vocabulary.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

constexpr uint32_t kBytes = 256;
constexpr uint32_t kSpecials = 2;
// English letters, by frequency.
constexpr std::string_view kLetters = "etaoinshrdlcumwfgypbvkjxqz";
// Words of 27 first letters (including the space) and up to four of 26 letters.
constexpr uint32_t kMaxWords = 27 * (26 + 26 * 26 + 26 * 26 * 26);

std::string spelled(uint8_t byte) {
  std::string letter;
  utf8_append(byte_to_letter(byte), letter);
  return letter;
}

}  // namespace

RandomVocabulary make_random_vocabulary(uint32_t size) {
  if (size < kBytes + kSpecials || size - kBytes - kSpecials > kMaxWords) {
    fail(Code::Argument, "a random vocabulary of {} tokens: not in {}..{}", size,
         kBytes + kSpecials, kBytes + kSpecials + kMaxWords);
  }
  RandomVocabulary out;
  out.tokens.reserve(size);
  for (uint32_t byte = 0; byte < kBytes; ++byte) {
    out.tokens.push_back(spelled(static_cast<uint8_t>(byte)));
  }
  const uint32_t words = size - kBytes - kSpecials;
  out.merges.reserve(words);
  // A queue of words: each is extended by every letter, in the order of creation.
  std::vector<std::string> queue{spelled(' ')};
  for (const char letter : kLetters) queue.emplace_back(1, letter);
  queue.reserve(queue.size() + words);
  for (uint32_t i = 0, made = 0; made < words; ++i) {
    for (size_t l = 0; l < kLetters.size() && made < words; ++l, ++made) {
      out.merges.push_back(queue[i] + " " + kLetters[l]);
      queue.push_back(queue[i] + kLetters[l]);
      out.tokens.push_back(queue.back());
    }
  }
  out.types.assign(out.tokens.size(), static_cast<int32_t>(TokenType::Normal));
  out.begin = static_cast<uint32_t>(out.tokens.size());
  out.end = out.begin + 1;
  for (const char* special : {"<|begin_of_text|>", "<|end_of_text|>"}) {
    out.tokens.emplace_back(special);
    out.types.push_back(static_cast<int32_t>(TokenType::Control));
  }
  return out;
}

}  // namespace tenon
