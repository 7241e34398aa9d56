#include "text/unigram_model.h"

#include <algorithm>
#include <limits>

#include "text/utf8_codec.h"

namespace tenon {
namespace {

// What a character that no piece covers costs beyond the least likely piece (SentencePiece's
// kUnkPenalty).
constexpr double kUnknownPenalty = 10.0;

}  // namespace

void UnigramModel::add_piece(std::string_view text, Token token, double score) {
  trie_.insert(text, static_cast<int32_t>(pieces_.size()));
  pieces_.push_back({token, static_cast<uint32_t>(text.size()), score});
  longest_ = std::max(longest_, text.size());
}

void UnigramModel::set_byte(uint8_t byte, Token token) {
  num_bytes_ += bytes_[byte] == kUnknownMark ? 1 : 0;
  bytes_[byte] = token;
}

double UnigramModel::unknown_score_below(double least) { return least - kUnknownPenalty; }

void UnigramModel::set_unknown(double score, std::optional<Token> token) {
  unknown_score_ = score;
  unknown_ = token;
}

// Viterbi. Scores are kept for as many positions as a piece is long, the choice at each position in
// one number, and that only until all ways that may still win agree on what lies before.
void UnigramModel::append_best_path(std::string_view text, std::vector<Token>& out) const {
  constexpr double kUnreached = -std::numeric_limits<double>::infinity();
  constexpr size_t kStride = 16384;  // bytes between looks for agreement
  const size_t ring = longest_ + 5;  // a character of four bytes may be unknown
  std::vector<double> scores(ring, kUnreached);
  size_t done = 0;            // bytes whose tokens are in `out`
  std::vector<int32_t> last;  // [text - done] the piece that ends there
  size_t look_at = kStride;
  scores[0] = 0.0;
  for (size_t begin = 0; begin < text.size();) {
    if (begin >= look_at) {
      std::vector<size_t> open;  // where ways end that may still win
      for (size_t end = begin; end < begin + ring && end <= text.size(); ++end) {
        if (scores[end % ring] != kUnreached) open.push_back(end - done);
      }
      const size_t agreed = common_end(text.substr(done), last, std::move(open));
      append_backwards(text.substr(done, agreed), last, out);
      last.erase(last.begin(), last.begin() + static_cast<ptrdiff_t>(agreed));
      done += agreed;
      look_at = begin + std::max(kStride, begin - done);
    }
    const size_t left = text.size() - done;
    const size_t needed = std::min(begin - done + ring, left) + 1;
    if (last.size() < needed) {
      last.resize(std::min(std::max(kStride + 2 * ring, 2 * needed), left + 1), kUnknownMark);
    }
    const size_t char_end = begin + utf8_decode_valid(text.data() + begin).size;
    const double score = scores[begin % ring];
    bool covered = false;
    uint32_t node = ByteTrie::kRoot;
    for (size_t end = begin; end < text.size();) {
      node = trie_.child(node, static_cast<uint8_t>(text[end++]));
      if (node == ByteTrie::kNone) break;
      const int32_t number = trie_.value(node);
      if (number == ByteTrie::kNoValue) continue;
      covered = covered || end == char_end;
      const double challenge = score + pieces_[static_cast<size_t>(number)].score;
      if (challenge > scores[end % ring]) {
        scores[end % ring] = challenge;
        last[end - done] = number;
      }
    }
    if (!covered && score + unknown_score_ > scores[char_end % ring]) {
      scores[char_end % ring] = score + unknown_score_;
      last[char_end - done] = kUnknownMark;
    }
    for (; begin < char_end; ++begin) scores[begin % ring] = kUnreached;
  }
  append_backwards(text.substr(done), last, out);
}

size_t UnigramModel::begin_of_last(std::string_view text, const std::vector<int32_t>& last,
                                   size_t end) const {
  if (last[end] != kUnknownMark) return end - pieces_[static_cast<size_t>(last[end])].size_bytes;
  --end;
  while ((static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return end;
}

size_t UnigramModel::common_end(std::string_view text, const std::vector<int32_t>& last,
                                std::vector<size_t> open) const {
  std::make_heap(open.begin(), open.end());
  for (;;) {  // the furthest way goes back by a piece until all have met
    const size_t furthest = open.front();
    while (!open.empty() && open.front() == furthest) {
      std::pop_heap(open.begin(), open.end());
      open.pop_back();
    }
    // A run of unknown characters is one token, so it is not cut.
    const bool met = open.empty() && (furthest == 0 || !is_unknown(last[furthest]));
    if (met || furthest == 0) return furthest;
    open.push_back(begin_of_last(text, last, furthest));
    std::push_heap(open.begin(), open.end());
  }
}

void UnigramModel::append_backwards(std::string_view text, const std::vector<int32_t>& last,
                                    std::vector<Token>& out) const {
  const size_t before = out.size();
  size_t run_end = 0;  // of unknown characters that are not in `out` yet; 0: there are none
  for (size_t end = text.size(); end > 0;) {
    const int32_t number = last[end];
    const size_t begin = begin_of_last(text, last, end);
    if (is_unknown(number)) {
      if (run_end == 0) run_end = end;
      end = begin;
      continue;
    }
    if (run_end > 0) append_unknown_backwards(text.substr(end, run_end - end), out);
    run_end = 0;
    out.push_back(pieces_[static_cast<size_t>(number)].token);
    end = begin;
  }
  if (run_end > 0) append_unknown_backwards(text.substr(0, run_end), out);
  std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
}

void UnigramModel::append_unknown_backwards(std::string_view run, std::vector<Token>& out) const {
  const int32_t whole = run.size() <= longest_ ? trie_.find(run) : ByteTrie::kNoValue;
  if (whole != ByteTrie::kNoValue) return out.push_back(pieces_[static_cast<size_t>(whole)].token);
  const size_t before = out.size();
  for (size_t i = run.size(); i-- > 0;) {
    out.push_back(bytes_[static_cast<uint8_t>(run[i])]);
    if (out.back() != kUnknownMark) continue;
    out.resize(before);  // a byte has no token
    if (unknown_) out.push_back(*unknown_);
    return;
  }
}

}  // namespace tenon
