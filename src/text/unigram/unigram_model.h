// The Unigram language model (Kudo 2018, arXiv 1804.10959): the segmentation of a text whose pieces
// have the highest sum of scores, found by Viterbi. What comes before and after is the tokenizer's.
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

/// Characters that no piece covers, in a row, become their byte tokens where all of these are
/// there, else one unknown token. A piece that is the unknown token counts as such a character.
/// Immutable once filled.
class UnigramModel {
 public:
  UnigramModel() { bytes_.fill(kUnknownMark); }

  /// Enters a piece that text may become. score: finite and in the range of a float, so that sums
  /// are finite.
  void add_piece(std::string_view text, Token token, double score);
  void set_byte(uint8_t byte, Token token);
  /// What an unknown character costs where `least` is the score of the least likely piece.
  static double unknown_score_below(double least);
  /// score: of an unknown character. token: what a run of them becomes, if anything.
  void set_unknown(double score, std::optional<Token> token = std::nullopt);

  /// To be called when all pieces are there.
  void finish() {
    trie_ = pieces_of_trie_.build();
    pieces_of_trie_ = {};
  }

  /// Whether every character can become tokens.
  [[nodiscard]] bool is_complete() const {
    return num_bytes_ == bytes_.size() || unknown_.has_value();
  }

  /// Appends the tokens of `text`, well-formed UTF-8, to those of `buffer`; it begins `begin`
  /// bytes into the text that the buffer is for. What cannot become tokens becomes none. Linear
  /// time: bytes of the text times those of the longest piece at worst.
  void append_best_path(std::string_view text, size_t begin, TokenBuffer& buffer) const;

 private:
  static constexpr Token kUnknownMark = -1;

  /// A piece as the trie numbers it.
  struct Piece {
    Token token;
    uint32_t size_bytes;
    double score;
  };

  /// A stretch of the text whose path is certain: bytes [begin, end), after `open` bytes of unknown
  /// characters whose tokens are not there yet.
  struct Certain {
    size_t begin;
    size_t end;
    size_t open;
    bool is_last;
  };
  /// Returns the unknown bytes that are open now.
  size_t append_backwards(std::string_view text, Certain stretch, const BackPointers& paths,
                          TokenBuffer& buffer, size_t text_begin) const;
  /// Whether what a number in BackPointers stands for is unknown.
  [[nodiscard]] bool is_unknown(int32_t number) const {
    return number == BackPointers::kNone || piece_at(number).token == unknown_;
  }
  /// Appends what a run of unknown characters becomes, the last token first.
  void append_unknown_backwards(std::string_view run, std::vector<Token>& out) const;
  /// Where the piece (or character that none covers) begins that ends at `end`.
  [[nodiscard]] size_t begin_of(std::string_view text, int32_t number, size_t end) const;
  /// The last place that the paths to all of `open` (not empty) pass; `done` is one.
  [[nodiscard]] size_t common_end(std::string_view text, size_t done, const BackPointers& paths,
                                  std::vector<size_t> open) const;
  [[nodiscard]] const Piece& piece_at(int32_t number) const {
    return pieces_[static_cast<size_t>(number)];
  }

  ByteTrie::Builder pieces_of_trie_;
  ByteTrie trie_;
  std::vector<Piece> pieces_;  // what the values of the trie are indices into
  size_t longest_ = 0;         // piece, in bytes
  double unknown_score_ = 0;
  std::optional<Token> unknown_;
  std::array<Token, 256> bytes_{};
  size_t num_bytes_ = 0;
};

}  // namespace tenon
