// Banned texts in sessions and requests give, in any batch, the answers of an oracle that sees the
// whole text and holds nothing back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "sampler/logprobs.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"
#include "text/tokenizer/stream_decoder.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr Token kEnd = 2;

struct Piece {
  Token token;
  std::string text;
  bool operator==(const Piece&) const = default;
};

class Banned : public testing::Test {
 protected:
  Banned() {
    ModelOptions options;
    options.threads = 1;
    options.slice = 32;
    model_ = load_tiny({}, std::move(options));
  }

  /// Draws printable ASCII only, so that each token has a text of its own.
  static Sampler sampler(int64_t seed) {
    Sampler sampler;
    sampler.set("temperature", seed % 2 == 0 ? 0.0 : 1.0);
    sampler.set("seed", seed);
    sampler.set("mirostat", int64_t{seed % 4 == 3 ? 2 : 0});
    sampler.set("repeat_penalty", 1.2);
    for (Token token = 0; token < 259; ++token) {
      const bool printable = token >= 3 + ' ' && token < 3 + 127;
      if (!printable) sampler.set_logit_bias(token, -std::numeric_limits<float>::infinity());
    }
    return sampler;
  }
  std::string text_of(std::span<const Token> tokens) const {
    StreamDecoder decoder(*model_->tokenizer());
    std::string text;
    for (const Token token : tokens) text += decoder.push(token);
    return text;
  }

  /// Draws, checks the whole text and goes back; returns all tokens at the end.
  std::vector<Token> oracle(std::span<const Token> prompt, const Sampler& from,
                            const std::vector<std::string>& banned, uint64_t count) const {
    Session session(Engine::create(model_));
    session.append(prompt);
    Sampler sampler(from);
    std::map<uint64_t, std::vector<Token>> excluded;
    std::vector<Token> answer;
    while (answer.size() < count) {
      std::vector<Token>& here = excluded[answer.size()];
      const std::span<const float> logits = session.logits();
      std::vector<Token> history(prompt.begin(), prompt.end());
      history.insert(history.end(), answer.begin(), answer.end());
      const Token token =
          sampler.sample(logits, history, history.size() | uint64_t{here.size()} << 32, here);
      answer.push_back(token);
      session.append({&token, 1});
      const std::string text = text_of(answer);
      for (const std::string& one : banned) {
        const size_t at = text.find(one);
        if (at == std::string::npos) continue;
        size_t first = 0;
        while (text_of(std::span(answer).first(first + 1)).size() <= at) ++first;
        excluded[first].push_back(answer[first]);
        excluded.erase(excluded.upper_bound(first), excluded.end());
        sampler.roll_back(answer.size() - first);
        answer.resize(first);
        session.rewind(prompt.size() + first);
        break;
      }
    }
    return answer;
  }

  /// Texts of one to three tokens from the middle of the unbanned answer.
  std::vector<std::string> texts_to_ban(std::span<const Token> prompt, const Sampler& from) {
    const std::vector<Token> free = oracle(prompt, from, {}, 16);
    return {text_of(std::span(free).subspan(2, 1)), text_of(std::span(free).subspan(5, 2)),
            text_of(std::span(free).subspan(9, 3))};
  }
  static EndRules rules(const std::vector<std::string>& texts) {
    EndRules rules;
    if (!texts.empty()) rules.banned = std::make_shared<const BannedTexts>(texts);
    rules.ignore_end = true;
    return rules;
  }
  static std::vector<Token> tokens_of(std::span<const Piece> pieces) {
    std::vector<Token> tokens;
    for (const Piece& piece : pieces) tokens.push_back(piece.token);
    return tokens;
  }

  static std::vector<Piece> finish(Engine& engine, Generation& generation) {
    std::vector<Piece> pieces;
    for (;;) {
      EXPECT_TRUE(engine.wait(generation, UINT64_MAX));
      const Engine::Fetched fetched = engine.fetch(generation);
      if (fetched.failure) std::rethrow_exception(fetched.failure);
      if (fetched.ended) return pieces;
      pieces.push_back({fetched.token, std::string(fetched.text)});
    }
  }

  std::shared_ptr<const Model> model_;
};

constexpr uint64_t kCount = 24;

TEST_F(Banned, AreAvoidedAsByALoopThatSeesAll) {
  for (int64_t seed = 0; seed < 4; ++seed) {
    const std::vector<Token> prompt = make_tokens(10, 7 + static_cast<uint32_t>(seed));
    const std::vector<std::string> banned = texts_to_ban(prompt, sampler(seed));
    const std::vector<Token> expected = oracle(prompt, sampler(seed), banned, kCount + 8);
    ASSERT_NE(expected, oracle(prompt, sampler(seed), {}, kCount + 8));

    EndRules ends = rules(banned);
    Session session(Engine::create(model_));
    session.append(prompt);
    Sampler draws = sampler(seed);
    std::vector<Piece> pieces;
    std::string text;
    while (pieces.size() < kCount) {
      const Session::Piece piece = session.next_piece(draws, ends);
      pieces.push_back({piece.token, std::string(piece.text)});
      text += piece.text;
      EXPECT_EQ(session.position(), prompt.size() + pieces.size());
      EXPECT_EQ(session.tokens().back(), piece.token);
      for (const std::string& one : banned) EXPECT_EQ(text.find(one), std::string::npos) << one;
    }
    EXPECT_EQ(tokens_of(pieces), std::vector<Token>(expected.begin(), expected.begin() + kCount))
        << seed;

    // As a request of known length: its last token begins no banned text.
    Session second(Engine::create(model_));
    second.append(prompt);
    GenerationOptions options;
    options.ends = ends;
    options.max_tokens = kCount + 8;
    const auto generation = second.submit(sampler(seed), options);
    std::vector<Piece> fetched = finish(*second.engine(), *generation);
    ASSERT_EQ(fetched.size(), kCount + 8);
    fetched.resize(kCount);
    EXPECT_EQ(fetched, pieces) << seed;
    EXPECT_EQ(second.position(), prompt.size() + kCount + 8);
  }
}

TEST_F(Banned, GiveTheSameInAnyBatchAndWithLittleMemory) {
  EngineOptions narrow = unbounded_engine();
  narrow.cache_bytes = 5 * Engine::create(model_)->pools()[0]->block_bytes();
  narrow.step_tokens = 16;
  const auto engine = Engine::create(model_, narrow);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  std::vector<std::vector<Piece>> expected;
  for (uint32_t i = 0; i < 5; ++i) {
    const std::vector<Token> prompt = make_tokens(20 + 3 * i, 40 + i);
    GenerationOptions options;
    options.max_tokens = kCount;
    // One request has no bans.
    if (i != 2) options.ends = rules(texts_to_ban(prompt, sampler(i)));
    options.ends.ignore_end = true;
    Session alone(Engine::create(model_));
    alone.append(prompt);
    const auto generation = alone.submit(sampler(i), options);
    expected.push_back(finish(*alone.engine(), *generation));
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(prompt);
    generations.push_back(sessions.back()->submit(sampler(i), options));
  }
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(finish(*engine, *generations[i]), expected[i]) << i;
  EXPECT_GT(engine->metrics().preempted_total, 0u);
}

TEST_F(Banned, LeaveTheLogprobsOfWhatWasDrawn) {
  const std::vector<Token> prompt = make_tokens(10, 3);
  EndRules ends = rules(texts_to_ban(prompt, sampler(1)));
  Session session(Engine::create(model_));
  session.append(prompt);
  GenerationOptions options;
  options.max_tokens = kCount + 8;
  options.logprobs.num_top = 1;
  options.ends = ends;
  const auto generation = session.submit(sampler(1), options);
  const std::vector<Piece> pieces = finish(*session.engine(), *generation);

  Session by_hand(Engine::create(model_));
  by_hand.append(prompt);
  Sampler draws = sampler(1);
  for (uint64_t i = 0; i < kCount; ++i) {
    const Session::Piece piece = by_hand.next_piece(draws, ends);
    ASSERT_EQ(piece.token, pieces[i].token) << i;
    float of_request = 0;
    float by_logits = 0;
    float top = 0;
    Token best = 0;
    generation->logprobs.get(i, of_request, {&best, 1}, {&top, 1});
    ASSERT_TRUE(by_hand.has_drawn_logits());
    logprobs_of(by_hand.drawn_logits(), {&piece.token, 1}, {&by_logits, 1}, {}, {});
    EXPECT_EQ(of_request, by_logits) << i;
    EXPECT_LE(of_request, top);
  }
}

TEST_F(Banned, TokensDrawnAheadAreDroppedByOtherCalls) {
  const std::vector<Token> prompt = make_tokens(10, 9);
  EndRules ends = rules(texts_to_ban(prompt, sampler(3)));
  Session plain(Engine::create(model_));
  Session disturbed(Engine::create(model_));
  plain.append(prompt);
  disturbed.append(prompt);
  Sampler one = sampler(3);
  Sampler other = sampler(3);
  for (uint64_t i = 0; i < kCount; ++i) {
    const Session::Piece piece = plain.next_piece(one, ends);
    const std::string text(piece.text);
    const Session::Piece same = disturbed.next_piece(other, ends);
    ASSERT_EQ(same.token, piece.token) << i;
    EXPECT_EQ(same.text, text);
    EXPECT_EQ(other.memory().mirostat_surprise, one.memory().mirostat_surprise);
    if (i % 3 == 0) (void)disturbed.logits();
    if (i % 3 == 1) (void)disturbed.fork();
    if (i % 3 == 2) other.set("seed", int64_t{3});  // a change, if to the same value
  }
  // A text extended by hand continues the tokens handed out.
  disturbed.append(make_tokens(1));
  EXPECT_EQ(disturbed.position(), prompt.size() + kCount + 1);
}

TEST_F(Banned, CancelledRequestsKeepWhatWentOut) {
  const std::vector<Token> prompt = make_tokens(10, 9);
  // Any character may begin a banned text: all tokens are held.
  std::vector<std::string> texts;
  for (char c = ' '; c < 127; ++c) texts.push_back(std::string(1, c) + "\x01");
  for (char c = ' '; c < 127; ++c) texts.push_back(std::string(" ") + c + "\x01");
  Session session(Engine::create(model_));
  session.append(prompt);
  GenerationOptions options;
  options.ends = rules(texts);
  const auto generation = session.submit(sampler(0), options);
  for (int i = 0; i < 6; ++i) session.engine()->step();
  session.engine()->cancel(*generation);
  std::vector<Token> fetched;
  for (;;) {
    const Engine::Fetched next = session.engine()->fetch(*generation);
    if (next.ended) break;
    fetched.push_back(next.token);
  }
  EXPECT_GT(fetched.size(), 0u);
  EXPECT_LT(fetched.size(), 6u) << "one is held at least";
  EXPECT_EQ(session.position(), prompt.size() + fetched.size());
  session.append(make_tokens(1));
  EXPECT_EQ(generate(session, 2).size(), 2u);
}

TEST_F(Banned, ARequestEndsWhereEverythingIs) {
  const std::vector<Token> prompt = make_tokens(10, 9);
  std::vector<std::string> texts;
  for (char c = ' '; c < 127; ++c) texts.push_back(std::string(1, c));
  Session session(Engine::create(model_));
  session.append(prompt);
  GenerationOptions options;
  options.ends = rules(texts);
  const auto generation = session.submit(sampler(0), options);
  EXPECT_EQ(finish(*session.engine(), *generation).size(), 0u);
  EXPECT_EQ(session.engine()->fetch(*generation).finish, Finish::Banned);
  EXPECT_EQ(session.position(), prompt.size());
  Sampler draws = sampler(0);
  const Session::Piece piece = session.next_piece(draws, options.ends);
  EXPECT_EQ(piece.token, -1);
  EXPECT_EQ(piece.finish, Finish::Banned);
  EXPECT_EQ(session.position(), prompt.size());
}

/// Held text already occupies the context, so a ban is found up to the last position.
TEST_F(Banned, AreFoundUpToTheLastTokenOfTheContext) {
  for (int64_t seed = 0; seed < 2; ++seed) {
    const std::vector<Token> prompt = make_tokens(10, 7 + static_cast<uint32_t>(seed));
    const std::vector<Token> free = oracle(prompt, sampler(seed), {}, 12);
    for (const auto& [first, count] : {std::pair{0, 4}, {1, 2}, {4, 3}, {6, 5}, {8, 4}}) {
      const std::vector<std::string> banned{
          text_of(std::span(free).subspan(static_cast<size_t>(first), static_cast<size_t>(count)))};
      const auto room = static_cast<uint32_t>(first + count);
      EndRules ends = rules(banned);
      Session session(Engine::create(model_),
                      SessionOptions{static_cast<uint32_t>(prompt.size()) + room});
      session.append(prompt);
      Sampler draws = sampler(seed);
      std::vector<Token> tokens;
      while (tokens.size() < room) tokens.push_back(session.next_piece(draws, ends).token);
      EXPECT_EQ(text_of(tokens).find(banned[0]), std::string::npos) << seed << ", " << first;
      EXPECT_EQ(tokens, oracle(prompt, sampler(seed), banned, room)) << seed << ", " << first;

      // A request has as much room.
      Session other(Engine::create(model_),
                    SessionOptions{static_cast<uint32_t>(prompt.size()) + room});
      other.append(prompt);
      GenerationOptions options;
      options.max_tokens = room;
      options.ends = ends;
      const auto generation = other.submit(sampler(seed), options);
      EXPECT_EQ(tokens_of(finish(*other.engine(), *generation)), tokens) << seed << ", " << first;
    }
  }
}

TEST_F(Banned, TheLastTokensOfTheContextAreHandedOut) {
  const std::vector<Token> prompt = make_tokens(10, 9);
  std::vector<std::string> texts;
  for (char c = ' '; c < 127; ++c) texts.push_back(std::string(1, c) + "\x01");
  EndRules ends = rules(texts);
  Session session(Engine::create(model_), SessionOptions{16});
  session.append(prompt);
  Sampler draws = sampler(0);
  for (int i = 0; i < 6; ++i) EXPECT_GE(session.next_piece(draws, ends).token, 0);
  expect_error(Code::Limit, HasSubstr("tokens 17 > context 16"),
               [&] { (void)session.next_piece(draws, ends); });
  EXPECT_EQ(session.position(), 16u);
}

}  // namespace
}  // namespace tenon
