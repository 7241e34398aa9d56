// Words as the symbols of their characters, and merged symbols as tokens: what tokenizers over
// characters have in common besides their merges.
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

/// The token of each byte, -1 where there is none. Throws Error(Format) where a byte has two.
std::array<Token, 256> byte_tokens(const TokenTable& table);
/// The same, and throws Error(Format) where a byte has none.
std::array<Token, 256> complete_byte_tokens(const TokenTable& table);

/// The characters of a word, piece by piece, as merge_word() wants them; a space is U+2581.
class CharSource {
 public:
  /// prefix: a space stands before the word.
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
  /// Bytes of the word that were given.
  [[nodiscard]] size_t at() const { return at_; }

 private:
  const CharSymbols& symbols_;
  Symbol mark_;
  std::string_view word_;
  bool prefix_;
  size_t at_ = 0;
};

/// What turns the characters of a word into tokens. Immutable; all of it must outlive the call.
struct CharMerging {
  const CharSymbols& symbols;
  const MergeTable& merges;
  /// [256] for characters that are no token; -1: the byte becomes nothing
  const std::array<Token, 256>& bytes;
};

/// Appends the tokens of `word`, which begins `begin` bytes into the text that `buffer` is for.
/// `scratch` is just that.
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
