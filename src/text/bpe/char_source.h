// Maps words to symbols of characters, and merged symbols to tokens: shared by tokenizers over
// characters.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe/char_symbols.h"
#include "text/bpe/chunked_merge.h"
#include "text/bpe/merge_table.h"
#include "text/tokenizer/token_buffer.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/vocabulary.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {

/// Token of each byte, -1 if missing. Throws Format for a byte with two tokens.
std::array<Token, 256> byte_tokens(const TokenTable& table);
/// Token of each byte. Throws Format for a byte with no or two tokens.
std::array<Token, 256> complete_byte_tokens(const TokenTable& table);

/// Source of a word's characters for merge_word(); spaces become U+2581.
class CharSource {
 public:
  /// prefix: adds a space before the word.
  CharSource(const CharSymbols& symbols, std::string_view word, bool prefix)
      : symbols_(symbols), mark_(symbols.of(kSpaceMarkCode)), word_(word), prefix_(prefix) {}

  bool next(std::vector<Symbol>& into, size_t count) {
    if (at_ == 0 && prefix_) into.push_back(mark_);
    for (; count > 0 && at_ < word_.size(); --count) {
      const CodePoint c = utf8_decode_valid(word_.data() + at_);
      at_ += c.size;
      into.push_back(c.code == ' ' ? mark_ : symbols_.of(c.code));
    }
    return at_ < word_.size();
  }
  void rewind() { at_ = 0; }
  /// Bytes of the word supplied so far.
  [[nodiscard]] size_t at() const { return at_; }

 private:
  const CharSymbols& symbols_;
  Symbol mark_;
  std::string_view word_;
  bool prefix_;
  size_t at_ = 0;
};

/// Data for turning characters into tokens. Immutable; must outlive the call.
struct CharMerging {
  const CharSymbols& symbols;
  const MergeTable& merges;
  /// [256] for characters without a token; -1 drops the byte.
  const std::array<Token, 256>& bytes;
};

/// Appends the tokens of `word`, which begins at byte `begin` of the buffer's text. `scratch` has
/// no meaning between calls.
inline void append_merged_characters(const CharMerging& merging, std::string_view word, bool prefix,
                                     size_t begin, std::vector<Symbol>& scratch,
                                     TokenBuffer& buffer) {
  std::vector<Token>& out = buffer.tokens();
  CharSource source(merging.symbols, word, prefix);
  std::string spelled;
  merge_word(merging.merges, source, word.size(), scratch, out,
             [&](std::span<const Symbol> merged) {
               buffer.reserve(merged.size(), begin + source.at());
               for (const Symbol symbol : merged) {
                 if (symbol >= 0) {
                   out.push_back(symbol);
                   continue;
                 }
                 spelled.clear();
                 utf8_append(static_cast<uint32_t>(~symbol), spelled);
                 for (const char c : spelled) {
                   const Token byte = merging.bytes[static_cast<uint8_t>(c)];
                   if (byte >= 0) out.push_back(byte);
                 }
               }
             });
}

}  // namespace tenon
