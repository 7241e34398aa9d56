#include "text/unigram_model.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "text/huge_pages.h"
#include "text/utf8_codec.h"

namespace tenon {
namespace {

// What a character that no piece covers costs beyond the least likely piece (SentencePiece's
// kUnkPenalty).
constexpr double kUnknownPenalty = 10.0;

}  // namespace

void UnigramModel::add_piece(std::string_view text, Token token, double score) {
  pieces_of_trie_.insert(text, static_cast<int32_t>(pieces_.size()));
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
void UnigramModel::append_best_path(std::string_view text, size_t text_begin,
                                    TokenRoom& room) const {
  constexpr double kUnreached = -std::numeric_limits<double>::infinity();
  constexpr size_t kStride = 16384;  // bytes between looks for agreement
  // A character of four bytes may be unknown.
  const size_t ring = std::bit_ceil(std::min(longest_, text.size()) + 5);
  std::vector<double> ring_scores(ring, kUnreached);
  const auto score_at = [&](size_t end) -> double& { return ring_scores[end & (ring - 1)]; };
  size_t done = 0;            // bytes whose tokens are appended
  std::vector<int32_t> last;  // [text - done] the piece that ends there
  size_t open_unknown = 0;    // bytes before `done` whose tokens are not there yet
  const auto append = [&](size_t size, bool is_last) {
    const Certain stretch{done, size, open_unknown, is_last};
    open_unknown = append_backwards(text, stretch, last, room, text_begin);
    done += size;
  };
  size_t look_at = kStride;
  score_at(0) = 0.0;
  for (size_t begin = 0; begin < text.size();) {
    if (begin >= look_at) {
      std::vector<size_t> open;  // where ways end that may still win
      for (size_t end = begin; end < begin + ring && end <= text.size(); ++end) {
        if (score_at(end) != kUnreached) open.push_back(end - done);
      }
      const size_t agreed = common_end(text.substr(done), last, std::move(open));
      append(agreed, false);
      last.erase(last.begin(), last.begin() + static_cast<ptrdiff_t>(agreed));
      look_at = begin + std::max(kStride, begin - done);
    }
    const size_t left = text.size() - done;
    const size_t needed = std::min(begin - done + ring, left) + 1;
    if (last.size() < needed) {
      const size_t room_for = std::min(std::max(kStride + 2 * ring, 2 * needed), left + 1);
      last.reserve(room_for);
      ask_for_huge_pages(last.data(), last.capacity() * sizeof last[0]);
      last.resize(room_for, kUnknownMark);
    }
    const size_t char_end = begin + utf8_decode_valid(text.data() + begin).size;
    const double score = score_at(begin);
    bool covered = false;
    uint32_t node = ByteTrie::kRoot;
    for (size_t end = begin; end < text.size();) {
      node = trie_.child(node, static_cast<uint8_t>(text[end++]));
      if (node == ByteTrie::kNone) break;
      const int32_t number = trie_.value(node);
      if (number == ByteTrie::kNoValue) continue;
      covered = covered || end == char_end;
      const double challenge = score + pieces_[static_cast<size_t>(number)].score;
      if (challenge > score_at(end)) {
        score_at(end) = challenge;
        last[end - done] = number;
      }
    }
    if (!covered && score + unknown_score_ > score_at(char_end)) {
      score_at(char_end) = score + unknown_score_;
      last[char_end - done] = kUnknownMark;
    }
    for (; begin < char_end; ++begin) score_at(begin) = kUnreached;
  }
  append(text.size() - done, true);
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
    if (open.empty() || furthest == 0) return furthest;
    open.push_back(begin_of_last(text, last, furthest));
    std::push_heap(open.begin(), open.end());
  }
}

size_t UnigramModel::append_backwards(std::string_view text, Certain stretch,
                                      const std::vector<int32_t>& last, TokenRoom& room,
                                      size_t text_begin) const {
  std::vector<Token>& out = room.tokens();
  room.need(stretch.size, text_begin + stretch.begin);  // a token has a byte at least
  const std::string_view certain = text.substr(stretch.begin, stretch.size);
  const size_t before = out.size();
  size_t run_end = certain.size();  // of unknown characters, which are one token
  bool is_open = !stretch.is_last;  // the run may go on behind the stretch
  size_t still_open = 0;
  const auto end_run = [&](size_t begin, size_t open) {
    const size_t run = open + run_end - begin;
    if (is_open) {
      still_open = run;
    } else if (run > 0) {
      room.need(run, text_begin + stretch.begin);
      append_unknown_backwards(text.substr(stretch.begin + begin - open, run), out);
    }
    is_open = false;
  };
  for (size_t end = certain.size(); end > 0;) {
    const int32_t number = last[end];
    const size_t begin = begin_of_last(certain, last, end);
    if (!is_unknown(number)) {
      end_run(end, 0);
      run_end = begin;
      out.push_back(pieces_[static_cast<size_t>(number)].token);
    }
    end = begin;
  }
  end_run(0, stretch.open);
  std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
  return still_open;
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
