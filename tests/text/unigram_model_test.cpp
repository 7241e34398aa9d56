// Long texts are cut where all paths agree; results equal those of the whole text.
#include "text/unigram/unigram_model.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tenon {
namespace {

struct Entry {
  std::string text;
  double score;
};

/// The definition, for ASCII: the best sum of scores, a run of unknown characters as one token.
std::vector<Token> best_by_definition(const std::vector<Entry>& pieces, double unknown_score,
                                      const std::string& text) {
  constexpr double kUnreached = -std::numeric_limits<double>::infinity();
  std::vector<double> scores(text.size() + 1, kUnreached);
  std::vector<int> last(text.size() + 1, -1);
  scores[0] = 0;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    bool covered = false;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (text.compare(begin, pieces[i].text.size(), pieces[i].text) != 0) continue;
      const size_t end = begin + pieces[i].text.size();
      covered = covered || end == begin + 1;
      if (scores[begin] + pieces[i].score > scores[end]) {
        scores[end] = scores[begin] + pieces[i].score;
        last[end] = static_cast<int>(i);
      }
    }
    if (!covered && scores[begin] + unknown_score > scores[begin + 1]) {
      scores[begin + 1] = scores[begin] + unknown_score;
      last[begin + 1] = -1;
    }
  }
  std::vector<Token> reversed;
  bool after_unknown = false;
  for (size_t end = text.size(); end > 0;) {
    const bool unknown = last[end] < 0;
    if (!unknown || !after_unknown) reversed.push_back(unknown ? 0 : last[end] + 1);
    end -= unknown ? 1 : pieces[static_cast<size_t>(last[end])].text.size();
    after_unknown = unknown;
  }
  return {reversed.rbegin(), reversed.rend()};
}

/// Random pieces of up to `longest` letters a, b and c, whose scores never tie: the trie meets
/// shorter ones first.
std::vector<Entry> drawn_pieces(std::mt19937& random, size_t longest) {
  std::vector<Entry> pieces;
  for (int i = 0; i < 40; ++i) {
    std::string text;
    const size_t size = 1 + random() % longest;
    while (text.size() < size) text += static_cast<char>('a' + random() % 3);
    bool known = false;
    for (const Entry& other : pieces) known = known || other.text == text;
    if (!known) pieces.push_back({text, -1.0 - static_cast<double>(random() % 100000) / 7919});
  }
  return pieces;
}

void expect_as_defined(const std::vector<Entry>& pieces, const std::string& text) {
  UnigramModel model;
  double least = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    model.add_piece(pieces[i].text, static_cast<Token>(i + 1), pieces[i].score);
    least = std::min(least, pieces[i].score);
  }
  model.set_unknown(UnigramModel::unknown_score_below(least), 0);
  model.finish();
  std::vector<Token> tokens{-7};
  TokenBuffer buffer(*System::real(), tokens, text.size());
  model.append_best_path(text, 0, buffer);
  std::vector<Token> expected = best_by_definition(pieces, least - 10.0, text);
  expected.insert(expected.begin(), -7);
  ASSERT_EQ(tokens, expected);
}

TEST(UnigramModel, CutsLongTextsWhereNothingChanges) {
  std::mt19937 random(5);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    const std::vector<Entry> pieces = drawn_pieces(random, 6);
    std::string text;
    while (text.size() < 100'000) {
      text += static_cast<char>('a' + random() % (round % 2 == 0 ? 3 : 4));
    }
    if (round == 1) text.replace(20'000, 50'000, std::string(50'000, '?'));  // one unknown token
    expect_as_defined(pieces, text);
  }
}

TEST(UnigramModel, RepeatedTextIsCutTheSameWay) {
  std::mt19937 random(6);
  std::vector<Entry> letters;  // paths never meet: each begins with different letters
  for (size_t size = 1; size <= 7; ++size) {
    letters.push_back({std::string(size, 'a'), -9.0 * static_cast<double>(size) - 1.0});
  }
  letters[4].score = -1.0;
  expect_as_defined(letters, std::string(200'000, 'a'));
  for (const size_t period : {1, 2, 3, 5, 11, 13, 17, 40, 15'121}) {
    SCOPED_TRACE(period);
    const std::vector<Entry> pieces = drawn_pieces(random, 4);
    std::string unit;
    while (unit.size() < period) unit += static_cast<char>('a' + random() % 2);
    std::string text;
    while (text.size() < 120'000) text += unit;
    // Different text, then the same again: paths meet after many stored choices.
    for (int i = 0; i < 40'000; ++i) text += static_cast<char>('a' + random() % 4);
    while (text.size() < 250'000) text += unit;
    expect_as_defined(pieces, text);
  }
}

}  // namespace
}  // namespace tenon
