// tenon_chat_answer and tenon_chat_begin: one turn of a conversation in a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "code_of.h"

namespace {

using tenon_test::code_of;
using testing::HasSubstr;
using testing::Not;

const std::string kQuestion =
    R"({"messages": [{"role": "user", "content": "What is the capital of Norway?"}]})";

std::string conversation(size_t num_turns, const std::string& last) {
  std::string messages = R"({"role": "system", "content": "Be brief."})";
  for (size_t i = 0; i < num_turns; ++i) {
    messages += R"(, {"role": "user", "content": "Question )" + std::to_string(i) +
                R"( of many."}, {"role": "assistant", "content": "Answer )" + std::to_string(i) +
                R"( of many."})";
  }
  return R"({"messages": [)" + messages + R"(, {"role": "user", "content": ")" + last + R"("}]})";
}

class CAnswer : public testing::Test {
 protected:
  std::string text_of(tenon::Session& session) const {
    const auto tokens = session.tokens();
    return model_.tokenizer().decode(tokens, true);
  }

  const tenon::Model model_{TENON_DEMO_MODEL, {.threads = 1}};
  const tenon::Chat chat_{model_};
  const tenon::GenerateOptions greedy_{.max_tokens = 24, .sampler = {.temperature = 0.0}};
};

TEST_F(CAnswer, OneCallIsATurn) {
  tenon::Session session(model_);
  std::string streamed;
  struct Into {
    std::string* text;
  } into{&streamed};
  const tenon::Sampler sampler({.temperature = 0.0});
  const char* message = nullptr;
  size_t length = 0;
  int32_t finish = TENON_FINISH_NONE;
  ASSERT_EQ(
      tenon_chat_answer(
          chat_.get(), session.get(), kQuestion.c_str(), TENON_NUL_TERMINATED, sampler.get(), 24, 0,
          [](void* user, const tenon_chat_delta* delta) {
            if (delta->kind == TENON_CHAT_CONTENT) {
              static_cast<Into*>(user)->text->append(delta->text, delta->length);
            }
          },
          &into, &message, &length, &finish),
      TENON_OK)
      << tenon_last_error();
  EXPECT_THAT(streamed, HasSubstr("Oslo"));
  EXPECT_THAT(std::string(message, length), HasSubstr("Oslo"));
  EXPECT_EQ(finish, TENON_FINISH_END);
  // The C++ header gives the same answer.
  tenon::Session other(model_);
  const std::string same = chat_.answer(other, kQuestion, {}, greedy_);
  EXPECT_EQ(std::string(message, length), same);
  EXPECT_EQ(text_of(other), text_of(session));
  tenon::Session third(model_);
  tenon::Sampler draws({.temperature = 0.0});
  tenon::ChatReply reply = chat_.begin(third, kQuestion, draws);
  tenon::Request request = tenon::submit(third, {.sampler = &draws, .max_tokens = 24});
  while (const auto piece = request.next()) reply.push(*piece);
  reply.finish();
  EXPECT_EQ(reply.message(), same);
}

TEST_F(CAnswer, TheSessionIsKeptInStep) {
  tenon::Session session(model_);
  const std::string first = chat_.answer(session, kQuestion, {}, greedy_);
  const uint64_t computed = session.stats().prefill_tokens;
  const std::string next = R"({"messages": [{"role": "user", "content": )"
                           R"("What is the capital of Norway?"}, )" +
                           first + R"(, {"role": "user", "content": "And of Italy?"}]})";
  const std::string second = chat_.answer(session, next, {}, greedy_);
  tenon::Session fresh(model_);
  EXPECT_EQ(chat_.answer(fresh, next, {}, greedy_), second);
  // Computes only the new turn and the end of the old turn.
  EXPECT_LT(session.stats().prefill_tokens - computed, fresh.stats().prefill_tokens);
}

TEST_F(CAnswer, OldestTurnsAreDroppedOnRequest) {
  tenon::Session session(model_, {.context = 160});
  tenon::GenerateOptions dropping = greedy_;
  dropping.max_tokens = 16;
  EXPECT_EQ(code_of([&] { chat_.answer(session, conversation(40, "Hi"), {}, dropping); }),
            tenon::Code::Limit);
  dropping.drop_oldest = true;
  uint64_t num_changes = 0;
  std::string begins;
  for (size_t turns = 0; turns < 24; ++turns) {
    chat_.answer(session, conversation(turns, "What is new?"), {}, dropping);
    const std::string text = text_of(session);
    EXPECT_THAT(text, HasSubstr("Be brief."));
    EXPECT_THAT(text, HasSubstr("What is new?"));
    if (turns > 0) {
      EXPECT_THAT(text, HasSubstr("Answer " + std::to_string(turns - 1) + " "));
    }
    EXPECT_LE(session.position(), 160u);
    const std::string now = text.substr(0, text.find("Answer"));
    num_changes += now != begins ? 1 : 0;
    begins = now;
  }
  EXPECT_THAT(text_of(session), Not(HasSubstr("Answer 0 ")));
  // The beginning stays for several turns, so that it is computed once.
  EXPECT_LT(num_changes, 18u);
  // A conversation that fits keeps all turns, whatever was dropped before.
  chat_.answer(session, conversation(1, "Hi"), {}, dropping);
  EXPECT_THAT(text_of(session), HasSubstr("Answer 0 "));
  // The last turn is never dropped.
  const std::string endless(2000, 'x');
  EXPECT_EQ(code_of([&] { chat_.answer(session, conversation(3, endless), {}, dropping); }),
            tenon::Code::Limit);
}

TEST_F(CAnswer, StopsAreNoPartOfTheMessage) {
  tenon::Session session(model_);
  tenon::GenerateOptions stopping = greedy_;
  const std::string whole = chat_.answer(session, kQuestion, {}, greedy_);
  ASSERT_THAT(whole, HasSubstr("Oslo"));
  stopping.sampler.stop = {"slo"};
  tenon::Session other(model_);
  std::string streamed;
  const std::string cut = chat_.answer(
      other, kQuestion, [&](const tenon::ChatDelta& delta) { streamed += delta.text; }, stopping);
  EXPECT_THAT(cut, Not(HasSubstr("slo")));
  EXPECT_EQ(streamed.find("slo"), std::string::npos);
}

TEST_F(CAnswer, SchemasAreObeyed) {
  tenon::Session session(model_);
  const std::string message = chat_.answer(
      session,
      R"({"messages": [{"role": "user", "content": "Anna is 30."}], "response_format": )"
      R"({"type": "json_schema", "json_schema": {"schema": {"enum": ["yes", "no"]}}}})",
      {}, greedy_);
  EXPECT_TRUE(message.find(R"(\"yes\")") != message.npos ||
              message.find(R"(\"no\")") != message.npos)
      << message;
}

TEST_F(CAnswer, IsRefusedWithoutAPlaceForIt) {
  tenon::Session session(model_);
  const tenon::Chat without({.chat_template = "{{ messages }}"});
  EXPECT_EQ(code_of([&] { without.answer(session, kQuestion); }), tenon::Code::State);
  const tenon::Model other(TENON_DEMO_MODEL, {.vocabulary_only = true});
  const tenon::Chat of_other(other);
  EXPECT_EQ(code_of([&] { of_other.answer(session, kQuestion); }), tenon::Code::State);
  EXPECT_EQ(code_of([&] { chat_.answer(session, "[]"); }), tenon::Code::Argument);
  EXPECT_EQ(session.position(), 0u);
  tenon_chat_reply* reply = nullptr;
  const tenon::Sampler sampler;
  EXPECT_EQ(tenon_chat_begin(chat_.get(), session.get(), kQuestion.c_str(), kQuestion.size(),
                             sampler.get(), 0, 1u, &reply),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(reply, nullptr);
}

TEST(CSystemError, IsToldOfFiles) {
  tenon_model* model = nullptr;
  EXPECT_EQ(tenon_model_open("/nowhere/model.gguf", nullptr, &model), TENON_ERROR_IO);
  EXPECT_EQ(tenon_last_system_error(), ENOENT);
  EXPECT_EQ(tenon_model_open(nullptr, nullptr, &model), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_last_system_error(), 0);
}

}  // namespace
