// C++ headers over the C interface.
#include <gtest/gtest.h>

#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/temp_folder.h"

namespace {

template <typename T>
constexpr bool kMoveOnly =
    std::is_nothrow_move_constructible_v<T> && !std::is_copy_constructible_v<T>;
static_assert(kMoveOnly<tenon::Model>);
static_assert(kMoveOnly<tenon::Session>);
static_assert(kMoveOnly<tenon::Sampler>);
static_assert(kMoveOnly<tenon::Options>);
static_assert(std::ranges::input_range<tenon::Generation>);
static_assert(std::is_convertible_v<tenon::Piece, std::string_view>);

const tenon::Model& demo() {
  static const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  return model;
}

const tenon::GenerateOptions kGreedy{.max_tokens = 16, .sampler = {.temperature = 0.0}};

std::string text_of(tenon::Generation generation) {
  std::ostringstream out;
  for (const auto& piece : generation) out << piece;
  return out.str();
}

TEST(Cpp, StreamsText) {
  tenon::Session session(demo(), {.context = 64});
  const std::string text = text_of(session.generate("Once upon a time", kGreedy));
  EXPECT_GT(text.size(), 10u);
  tenon::Session again(demo(), {.context = 64});
  EXPECT_EQ(text_of(again.generate("Once upon a time", kGreedy)), text);
}

TEST(Cpp, PiecesTellTokenAndEnd) {
  tenon::Session session(demo(), {.context = 64});
  std::vector<tenon::Piece> pieces;
  for (const auto& piece : session.generate("Once upon a time", kGreedy)) pieces.push_back(piece);
  ASSERT_EQ(pieces.size(), 16u);
  EXPECT_EQ(pieces.back().finish, TENON_FINISH_MAX_TOKENS);
  EXPECT_EQ(pieces.front().finish, TENON_FINISH_NONE);
  EXPECT_EQ(session.tokens().back(), pieces.back().token);
}

TEST(Cpp, BreakingTheLoopKeepsTheSession) {
  tenon::Session session(demo(), {.context = 64});
  for (const auto& piece : session.generate("Once upon a time", kGreedy)) {
    (void)piece;
    break;
  }
  const std::string rest =
      text_of(session.generate({.max_tokens = 15, .sampler = {.temperature = 0.0}}));
  tenon::Session whole(demo(), {.context = 64});
  const std::string all = text_of(whole.generate("Once upon a time", kGreedy));
  EXPECT_TRUE(all.ends_with(rest)) << all << "|" << rest;
}

TEST(Cpp, ErrorsCarryCodeAndMessage) {
  try {
    const tenon::Model model("/nowhere/model.gguf");
    FAIL();
  } catch (const tenon::Error& error) {
    EXPECT_EQ(error.code(), tenon::Code::Io);
    EXPECT_STREQ(error.code_name(), "IO");
    EXPECT_NE(std::string(error.what()).find("/nowhere/model.gguf"), std::string::npos);
  }
  EXPECT_THROW(tenon::Sampler({.temperature = -1.0}), tenon::Error);
  EXPECT_THROW(tenon::Sampler({.extra = {{"tempo", "1"}}}), tenon::Error);
  EXPECT_THROW(tenon::Session(demo(), {.context = -1}), tenon::Error);
}

TEST(Cpp, OptionsReachTheLibrary) {
  tenon::Session session(demo(), {.context = 100});
  EXPECT_EQ(session.context(), 100u);
  tenon::Session extra(demo(), {.extra = {{"context", "77"}}});
  EXPECT_EQ(extra.context(), 77u);
  EXPECT_GT(tenon::option_list().size(), 10u);
}

TEST(Cpp, SessionsThatDoNotSayHaveTheContextOfTheModel) {
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 1, .default_context = 96});
  EXPECT_EQ(tenon::Session(model).context(), 96u);
  EXPECT_EQ(tenon::Session(model, {.context = 100}).context(), 100u);
  EXPECT_EQ(model.memory().context, 96u);
  EXPECT_THROW(tenon::Model(TENON_DEMO_MODEL, {.default_context = -1}), tenon::Error);
}

TEST(Cpp, TablesStayInTheFileWhereTheHostSaysSo) {
  const tenon::TempFolder folder;
  const std::string path = folder.path("model.gguf");
  tenon::write_random_model(path, "tiny-gemma3n", "q8_0");
  const tenon::Model held(path, {.threads = 2, .rows_on_demand = "off"});
  const tenon::Model fetched(path,
                             {.threads = 2, .rows_on_demand = "on", .row_cache_bytes = 20000});
  // A cache replaces a table of 512 rows of 272 bytes.
  EXPECT_LT(fetched.memory().weights_bytes + 100000, held.memory().weights_bytes);
  tenon::Session expected(held, {.context = 64});
  tenon::Session session(fetched, {.context = 64});
  EXPECT_EQ(text_of(session.generate("Once upon a time", kGreedy)),
            text_of(expected.generate("Once upon a time", kGreedy)));
  EXPECT_THROW(tenon::Model(path, {.rows_on_demand = "perhaps"}), tenon::Error);
  EXPECT_THROW(tenon::Model(path, {.row_cache_bytes = -1}), tenon::Error);
}

TEST(Cpp, TokenizerRoundTrip) {
  const tenon::Tokenizer tokenizer = demo().tokenizer();
  const std::string text = "Once upon a time, 🦊";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.encode("<|im_end|>", {.parse_special = true}).size(), 1u);
  const auto end = tokenizer.find("<|im_end|>");
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(tokenizer.is_end(*end));
  EXPECT_TRUE(tokenizer.is_control(*end));
  EXPECT_FALSE(tokenizer.find("no such token").has_value());
  const tenon::TokenizerFile alone(TENON_DEMO_MODEL);
  EXPECT_EQ(alone.tokenizer().encode(text), tokenizer.encode(text));
  EXPECT_EQ(tokenizer.size(), 1024u);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("")), "");
}

TEST(Cpp, EvaluateForkRewindLogits) {
  tenon::Session session(demo(), {.context = 64});
  const std::vector<tenon::Token> tokens{10, 20, 30};
  size_t rows = 0;
  session.evaluate(tokens, [&](uint64_t row, std::span<const float> logits) {
    EXPECT_EQ(row, rows++);
    EXPECT_EQ(logits.size(), 1024u);
    return true;
  });
  EXPECT_EQ(rows, 3u);
  tenon::Session fork = session.fork();
  const std::vector<float> a(session.logits().begin(), session.logits().end());
  const std::vector<float> b(fork.logits().begin(), fork.logits().end());
  EXPECT_EQ(a, b);
  fork.rewind(1);
  EXPECT_EQ(fork.position(), 1u);
  EXPECT_EQ(session.position(), 3u);
}

TEST(Cpp, ExceptionsOfCallbacksComeThrough) {
  tenon::Session session(demo(), {.context = 64});
  const std::vector<tenon::Token> tokens{10, 20, 30};
  EXPECT_THROW(session.evaluate(tokens,
                                [](uint64_t, std::span<const float>) -> bool {
                                  throw std::domain_error("mine");
                                }),
               std::domain_error);
  session.append("Once");
  EXPECT_THROW(session.prefill([](double) -> bool { throw std::domain_error("mine"); }),
               std::domain_error);
  EXPECT_THROW(tenon::Model(TENON_DEMO_MODEL,
                            {.progress = [](double) -> bool { throw std::domain_error("mine"); }}),
               std::domain_error);
  EXPECT_NO_THROW(session.prefill());
}

TEST(Cpp, ModelTellsWhatItIs) {
  EXPECT_EQ(demo().info().layers, 4u);
  EXPECT_EQ(demo().metadata_value("general.architecture").text, "llama");
  EXPECT_GT(demo().num_tensors(), 30u);
  EXPECT_GT(demo().num_metadata(), 10u);
  EXPECT_EQ(demo().memory(128).context, 128u);
}

TEST(Cpp, SourcesAndBackends) {
  const tenon::Model model(tenon::Source::path(TENON_DEMO_MODEL), {.vocabulary_only = true});
  EXPECT_EQ(model.tokenizer().size(), 1024u);
  EXPECT_GE(tenon::backends().size(), 2u);
}

TEST(Cpp, CancelEndsAGeneration) {
  tenon::Session session(demo(), {.context = 512});
  size_t pieces = 0;
  try {
    for (const auto& piece : session.generate("Once upon a time", {.max_tokens = 400})) {
      (void)piece;
      ++pieces;
      std::thread([&] { session.cancel(); }).join();
    }
    FAIL();
  } catch (const tenon::Error& error) {
    EXPECT_EQ(error.code(), tenon::Code::Cancelled);
  }
  EXPECT_EQ(pieces, 1u);
}

}  // namespace
