#include "text/unigram/unigram_model.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

// Cost of a character outside all pieces, below the least likely piece (SentencePiece's
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

// Viterbi. Keeps scores for the length of the longest piece, and choices until all paths that may
// win agree on the text before.
void UnigramModel::append_best_path(std::string_view text, size_t text_begin,
                                    TokenBuffer& buffer) const {
  constexpr double kUnreached = -std::numeric_limits<double>::infinity();
  // An unknown character has up to four bytes.
  const size_t ring = std::bit_ceil(std::min(longest_, text.size()) + 5);
  std::vector<double> ring_scores(ring, kUnreached);
  const auto score_at = [&](size_t end) -> double& { return ring_scores[end & (ring - 1)]; };
  size_t done = 0;  // bytes whose tokens are appended
  BackPointers paths;
  size_t open_unknown = 0;  // unknown bytes before `done` that have no tokens yet
  const auto append = [&](size_t end, bool is_last) {
    open_unknown =
        append_backwards(text, {done, end, open_unknown, is_last}, paths, buffer, text_begin);
    done = end;
  };
  size_t look_at = BackPointers::kBlock;      // next check for agreement
  size_t put_away_at = BackPointers::kBlock;  // next time to store old choices
  BackPointers::Window ends = paths.window(std::min(ring, text.size()), text.size());
  score_at(0) = 0.0;
  for (size_t begin = 0; begin < text.size();) {
    if (begin >= put_away_at) {
      if (begin >= look_at) {
        std::vector<size_t> open;  // ends of paths that may still win
        for (size_t end = begin; end < begin + ring && end <= text.size(); ++end) {
          if (score_at(end) != kUnreached) open.push_back(end);
        }
        append(common_end(text, done, paths, std::move(open)), false);
        paths.forget(done);
        look_at = begin + std::max(BackPointers::kBlock, 3 * (begin - done));
      }
      paths.put_away(begin);
      put_away_at = begin + BackPointers::kBlock;
      ends.end = 0;
    }
    if (begin + ring > ends.end && ends.end < text.size()) {
      ends = paths.window(std::min(begin + ring, text.size()), text.size());
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
      const double challenge = score + piece_at(number).score;
      if (challenge > score_at(end)) {
        score_at(end) = challenge;
        ends.choose(end, number);
      }
    }
    if (!covered && score + unknown_score_ > score_at(char_end)) {
      score_at(char_end) = score + unknown_score_;
      ends.choose(char_end, BackPointers::kNone);
    }
    for (; begin < char_end; ++begin) score_at(begin) = kUnreached;
  }
  append(text.size(), true);
}

size_t UnigramModel::begin_of(std::string_view text, int32_t number, size_t end) const {
  if (number != BackPointers::kNone) return end - piece_at(number).size_bytes;
  --end;
  while (utf8_continues(text[end])) --end;
  return end;
}

size_t UnigramModel::common_end(std::string_view text, size_t done, const BackPointers& paths,
                                std::vector<size_t> open) const {
  std::make_heap(open.begin(), open.end());
  for (;;) {  // step the furthest path back by a piece until all paths meet
    const size_t furthest = open.front();
    while (!open.empty() && open.front() == furthest) {
      std::pop_heap(open.begin(), open.end());
      open.pop_back();
    }
    if (open.empty() || furthest == done) return furthest;
    open.push_back(begin_of(text, paths.piece(furthest), furthest));
    std::push_heap(open.begin(), open.end());
  }
}

size_t UnigramModel::append_backwards(std::string_view text, Certain stretch,
                                      const BackPointers& paths, TokenBuffer& buffer,
                                      size_t text_begin) const {
  std::vector<Token>& out = buffer.tokens();
  // A token has at least one byte.
  buffer.reserve(stretch.end - stretch.begin, text_begin + stretch.begin);
  const size_t before = out.size();
  size_t run_end = stretch.end;     // end of a run of unknown characters, which become one token
  bool is_open = !stretch.is_last;  // the run may continue after the stretch
  size_t still_open = 0;
  const auto end_run = [&](size_t begin) {
    const size_t run = run_end - begin;
    if (is_open) {
      still_open = run;
    } else if (run > 0) {
      buffer.reserve(run, text_begin + stretch.begin);
      append_unknown_backwards(text.substr(begin, run), out);
    }
    is_open = false;
  };
  for (size_t end = stretch.end; end > stretch.begin;) {
    const int32_t number = paths.piece(end);
    const size_t begin = begin_of(text, number, end);
    if (!is_unknown(number)) {
      end_run(end);
      run_end = begin;
      out.push_back(piece_at(number).token);
    }
    end = begin;
  }
  end_run(stretch.begin - stretch.open);
  std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
  return still_open;
}

void UnigramModel::append_unknown_backwards(std::string_view run, std::vector<Token>& out) const {
  const int32_t whole = run.size() <= longest_ ? trie_.find(run) : ByteTrie::kNoValue;
  if (whole != ByteTrie::kNoValue) return out.push_back(piece_at(whole).token);
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
