#include "text/template/jinja_wordwrap.h"

#include <algorithm>
#include <string_view>

#include "text/template/jinja_characters.h"
#include "text/template/jinja_value.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

bool is_word(uint32_t code) { return is_alpha(code) || is_numeric(code) || code == '_'; }
bool is_letter(uint32_t code) { return is_word(code) && !is_decimal(code); }
/// True for characters of words, and those allowed at their ends.
bool is_word_part(uint32_t code) {
  return is_word(code) ||
         (code < 0x80 &&
          std::string_view("!\"'&.,?").find(static_cast<char>(code)) != std::string_view::npos);
}
/// True for spaces that separate words; other spaces stay inside words.
bool parts_words(uint32_t code) { return code == ' ' || (code >= '\t' && code <= '\r'); }

/// Splits a line into unbreakable pieces: white space, words, parts of hyphenated words, dashes.
class Pieces {
 public:
  /// Characters [begin, end).
  struct Piece {
    size_t begin, end;
    [[nodiscard]] size_t size() const { return end - begin; }
  };

  Pieces(std::string_view text, bool breaks_hyphens, Budget& budget)
      : budget_(budget), breaks_hyphens_(breaks_hyphens) {
    // Charge the arrays, which are many times the text.
    charge_.charge(&budget, text.size() * (sizeof(uint32_t) + sizeof(size_t)));
    for (size_t at = 0; at < text.size();) {
      budget.spend();
      const CodePoint c = utf8_decode_valid(text.data() + at);
      codes_.push_back(c.code);
      offsets_.push_back(at);
      at += c.size;
    }
    offsets_.push_back(text.size());
    for (size_t at = 0; at < codes_.size();) {
      const size_t end = end_of_piece(at);
      budget.spend();
      charge_.charge(&budget, 2 * sizeof(Piece));
      pieces_.push_back({at, end});
      at = end;
    }
  }

  [[nodiscard]] const std::vector<Piece>& all() const { return pieces_; }
  [[nodiscard]] size_t offset(size_t character) const { return offsets_[character]; }
  [[nodiscard]] bool is_blank(const Piece& piece) const {
    return std::all_of(codes_.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                       codes_.begin() + static_cast<std::ptrdiff_t>(piece.end), is_space);
  }
  /// Position at which to cut a piece that is too long, if `room` characters fit.
  [[nodiscard]] size_t cut(const Piece& piece, size_t room) const {
    size_t hyphen = breaks_hyphens_ && piece.size() > room ? piece.begin + room : piece.begin;
    while (hyphen > piece.begin && codes_[hyphen - 1] != '-') --hyphen;
    const bool behind_text = hyphen > piece.begin + 1 &&
                             std::any_of(codes_.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                                         codes_.begin() + static_cast<std::ptrdiff_t>(hyphen - 1),
                                         [](uint32_t code) { return code != '-'; });
    return behind_text ? hyphen : std::min(piece.begin + room, piece.end);
  }

 private:
  [[nodiscard]] uint32_t code(size_t at) const { return at < codes_.size() ? codes_[at] : 0; }
  [[nodiscard]] bool letter_at(size_t at) const {
    return at < codes_.size() && is_letter(codes_[at]);
  }
  /// End of a run of at least two dashes before a word; `at` if there is none.
  [[nodiscard]] size_t end_of_dash(size_t at) const {
    if (at == 0 || !is_word_part(codes_[at - 1])) return at;
    size_t end = at;
    while (code(end) == '-') ++end;
    const bool word_follows = end < codes_.size() && is_word(codes_[end]);
    return end - at >= 2 && word_follows ? end : at;
  }
  /// True if a word may be broken after the hyphen at `at`.
  [[nodiscard]] bool breaks_at(size_t at) const {
    if (code(at) != '-') return false;
    const bool behind_letters = at >= 2 && letter_at(at - 1) && letter_at(at - 2);
    const bool behind_hyphen =
        at >= 3 && is_word_part(codes_[at - 1]) && codes_[at - 2] == '-' && letter_at(at - 3);
    const size_t next = at + (code(at + 2) == '-' ? 3 : 2);
    return (behind_letters || behind_hyphen) && letter_at(at + 1) && letter_at(next);
  }
  [[nodiscard]] size_t end_of_piece(size_t at) const {
    size_t end = at;
    while (end < codes_.size() && parts_words(codes_[end])) ++end;
    budget_.spend(end - at);
    if (end > at) return end;
    if (breaks_hyphens_ && end_of_dash(at) > at) return end_of_dash(at);
    for (++end; end < codes_.size() && !parts_words(codes_[end]); ++end) {
      budget_.spend();
      if (!breaks_hyphens_) continue;
      if (breaks_at(end)) return end + 1;
      if (end_of_dash(end) > end) return end;
    }
    return end;
  }

  Budget& budget_;
  bool breaks_hyphens_;
  Object charge_;
  std::vector<uint32_t> codes_;
  std::vector<size_t> offsets_;  // [codes + 1] in bytes
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Text> wrapped(const Text& line, const WrapStyle& style, Budget& budget) {
  const Pieces pieces(line.view(), style.breaks_hyphens, budget);
  std::vector<Pieces::Piece> left(pieces.all().rbegin(), pieces.all().rend());  // in reverse order
  std::vector<Text> out;
  while (!left.empty()) {
    budget.spend(4);
    if (!out.empty() && pieces.is_blank(left.back())) left.pop_back();
    std::vector<Pieces::Piece> now;
    size_t size = 0;
    while (!left.empty() && size + left.back().size() <= style.width) {
      size += left.back().size();
      now.push_back(left.back());
      left.pop_back();
    }
    if (!left.empty() && left.back().size() > style.width) {
      Pieces::Piece& long_one = left.back();
      if (style.breaks_words) {
        const size_t cut = pieces.cut(long_one, style.width - size);
        now.push_back({long_one.begin, cut});
        long_one.begin = cut;
      } else if (now.empty()) {
        now.push_back(long_one);
        left.pop_back();
      }
    }
    if (!now.empty() && pieces.is_blank(now.back())) now.pop_back();
    if (now.empty()) continue;
    const size_t begin = pieces.offset(now.front().begin), end = pieces.offset(now.back().end);
    out.push_back(line.slice(begin, end));
  }
  return out;
}

}  // namespace tenon::jinja
