// The Unigram language model (Kudo 2018, arXiv 1804.10959): the segmentation of a text with the
// highest sum of scores, found by Viterbi. Tokenizers do the rest.
//
//   pieces a -1, b -1, ab -1.5: "ab" becomes [ab] (-1.5), not [a, b] (-2)
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/token_buffer.h"
#include "text/tokenizer/vocabulary.h"
#include "text/unigram/back_pointers.h"

namespace tenon {

/// A run of characters outside all pieces becomes byte tokens if all of these exist, else one
/// unknown token. A piece that is the unknown token counts as such a character. Immutable once
/// filled.
class UnigramModel {
 public:
  UnigramModel() { bytes_.fill(kUnknownMark); }

  /// Adds a piece. score: finite and within the range of a float, so that sums are finite.
  void add_piece(std::string_view text, Token token, double score);
  void set_byte(uint8_t byte, Token token);
  /// Score of an unknown character, if `least` is that of the least likely piece.
  static double unknown_score_below(double least);
  /// Sets the score of an unknown character. token: the token of a run of them, if any.
  void set_unknown(double score, std::optional<Token> token = std::nullopt);

  /// Completes the model; call once after the last piece.
  void finish() {
    trie_ = pieces_of_trie_.build();
    pieces_of_trie_ = {};
  }

  /// True if every character can become tokens.
  [[nodiscard]] bool is_complete() const {
    return num_bytes_ == bytes_.size() || unknown_.has_value();
  }

  /// Appends the tokens of `text`, well-formed UTF-8, to those of `buffer`. The text starts at byte
  /// `begin` of the buffer's text. Parts that cannot become tokens are dropped. Linear time: at
  /// worst bytes of the text times those of the longest piece.
  void append_best_path(std::string_view text, size_t begin, TokenBuffer& buffer) const;

 private:
  static constexpr Token kUnknownMark = -1;

  /// A piece, by its number in the trie.
  struct Piece {
    Token token;
    uint32_t size_bytes;
    double score;
  };

  /// A stretch with a final path: bytes [begin, end), after `open` bytes of unknown characters
  /// without tokens yet.
  struct Certain {
    size_t begin;
    size_t end;
    size_t open;
    bool is_last;
  };
  /// Returns the number of open unknown bytes.
  size_t append_backwards(std::string_view text, Certain stretch, const BackPointers& paths,
                          TokenBuffer& buffer, size_t text_begin) const;
  /// True if a number in BackPointers means unknown text.
  [[nodiscard]] bool is_unknown(int32_t number) const {
    return number == BackPointers::kNone || piece_at(number).token == unknown_;
  }
  /// Appends the tokens of a run of unknown characters, last token first.
  void append_unknown_backwards(std::string_view run, std::vector<Token>& out) const;
  /// Start of the piece (or character outside all pieces) that ends at `end`.
  [[nodiscard]] size_t begin_of(std::string_view text, int32_t number, size_t end) const;
  /// The last position on the paths to all of `open` (not empty); `done` is on all paths.
  [[nodiscard]] size_t common_end(std::string_view text, size_t done, const BackPointers& paths,
                                  std::vector<size_t> open) const;
  [[nodiscard]] const Piece& piece_at(int32_t number) const {
    return pieces_[static_cast<size_t>(number)];
  }

  ByteTrie::Builder pieces_of_trie_;
  ByteTrie trie_;
  std::vector<Piece> pieces_;  // indexed by the trie's values
  size_t longest_ = 0;         // bytes of the longest piece
  double unknown_score_ = 0;
  std::optional<Token> unknown_;
  std::array<Token, 256> bytes_{};
  size_t num_bytes_ = 0;
};

}  // namespace tenon
