// POST /v1/decisions: how likely the possible answers to questions about one input are. Nothing is
// generated: answers are scored as whole texts, in forks of what the questions begin with.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat_messages.h"
#include "chat_plan.h"
#include "decision_questions.h"
#include "random_id.h"
#include "response_items.h"
#include "routes.h"

namespace tenon_http {
namespace {

/// A question as the model gets it.
struct Asked {
  Tokens prompt;
  std::vector<Tokens> answers;
};

/// What is asked about, by the field that it comes in.
struct Input {
  enum class Form : uint8_t { Items, Messages, Prompt };
  Form form = Form::Items;
  std::string field = "input";
  ChatRequest chat{};    ///< of Items and Messages
  std::string prompt{};  ///< continued as it is
};

Input read_decision_input(const Fields& fields) {
  Input input;
  int given = 0;
  for (const char* field : {"input", "messages", "prompt"}) given += fields.has(field) ? 1 : 0;
  if (given == 0) fields.refuse("input", "is missing");
  if (given > 1)
    fields.refuse("input", "only one of input, messages and prompt can be asked about");
  if (fields.has("prompt")) {
    input.form = Input::Form::Prompt;
    input.field = "prompt";
    input.prompt = fields.required_text("prompt");
    if (input.prompt.empty()) fields.refuse("prompt", "must not be empty");
    return input;
  }
  if (fields.has("messages")) {
    input.form = Input::Form::Messages;
    input.chat.messages = read_messages(fields);
  } else {
    ResponseRequest request;
    read_response_input(fields, request);
    input.chat = std::move(request.chat);
  }
  input.field = input.chat.messages_field;
  input.chat.variables = read_template_variables(fields);
  // An answer is a label, without thoughts before it.
  if (!input.chat.variables.contains("enable_thinking")) {
    input.chat.variables["enable_thinking"] = false;
  }
  return input;
}

/// A label is a whole answer when the turn ends after it: "no" is not the beginning of "not at all".
std::vector<Tokens> whole_answers(const Question& question, const tenon::Tokenizer& tokenizer,
                                  bool ends) {
  std::optional<tenon::Token> end = tokenizer.special(TENON_SPECIAL_END_OF_TURN);
  if (!end) end = tokenizer.special(TENON_SPECIAL_END);
  std::vector<Tokens> answers;
  for (const std::string& label : question.labels) {
    Tokens& tokens = answers.emplace_back(tokenizer.encode(label));
    if (ends && end) tokens.push_back(*end);
  }
  return answers;
}

Asked ask(const ServedModel& model, const Input& input, const Question& question) {
  const tenon::Tokenizer tokenizer = model.tokenizer();
  if (input.form == Input::Form::Prompt) {
    return {tokenizer.encode(input.prompt + question.instructions, {.add_special = true}),
            whole_answers(question, tokenizer, false)};
  }
  ChatRequest chat{.messages = input.chat.messages,
                   .messages_field = input.field,
                   .variables = input.chat.variables};
  Json& messages = chat.messages;
  const std::string text = question_text(question);
  // Many templates take the roles in turns only.
  if (!messages.empty() && messages.back()["role"] == "user") {
    messages.back()["content"] = messages.back()["content"].get<std::string>() + "\n\n" + text;
  } else {
    messages.push_back({{"role", "user"}, {"content", text}});
  }
  return {encode_prompt(model, chat), whole_answers(question, tokenizer, true)};
}

void check_room(const ServedModel& model, const Asked& asked, const std::string& field) {
  size_t longest = 0;
  for (const Tokens& answer : asked.answers) longest = std::max(longest, answer.size());
  (void)room_for_answer(model, asked.prompt.size(), std::nullopt, field);
  if (asked.prompt.size() + longest <= model.context()) return;
  throw invalid_request("the prompt has " + std::to_string(asked.prompt.size()) +
                            " tokens; with an answer of " + std::to_string(longest) +
                            " the context of " + std::to_string(model.context()) +
                            " does not hold it",
                        field)
      .with_code("context_length_exceeded");
}

size_t common_tokens(const std::vector<Asked>& all) {
  size_t common = all.front().prompt.size();
  for (const Asked& asked : all) {
    const auto [mine, others] = std::mismatch(all.front().prompt.begin(), all.front().prompt.end(),
                                              asked.prompt.begin(), asked.prompt.end());
    common = std::min(common, static_cast<size_t>(mine - all.front().prompt.begin()));
  }
  return common;
}

/// Scores all questions one after another; each in a fork of what they have in common.
class Decider {
 public:
  Decider(const ServedModel& model, Interest& interest, double seconds)
      : model_(model), interest_(interest), seconds_(seconds) {}

  /// [questions] [answers] sums of logprobs. Throws tenon::Error, Cancelled when the client has gone.
  std::vector<std::vector<double>> run(const std::vector<Asked>& all) {
    const size_t common = common_tokens(all);
    const auto text = watched(model_.open_session());
    text->append(std::span(all.front().prompt).first(common));
    compute(*text, common);
    std::vector<std::vector<double>> logprobs;
    for (const Asked& asked : all) {
      const auto fork = watched(text->fork());
      fork->append(std::span(asked.prompt).subspan(common));
      if (asked.prompt.size() > common) compute(*fork, asked.prompt.size() - common);
      std::vector<double>& sums = logprobs.emplace_back();
      for (const auto& score : fork->score(asked.answers, seconds_left())) {
        sums.push_back(score.logprob);
      }
    }
    return logprobs;
  }

  [[nodiscard]] Json usage() const {
    return {
        {"input_tokens", prompt_tokens_},
        {"input_tokens_details", {{"cached_tokens", cached_tokens_}, {"cache_write_tokens", 0}}},
        {"output_tokens", 0},
        {"output_tokens_details", {{"reasoning_tokens", 0}}},
        {"total_tokens", prompt_tokens_}};
  }

 private:
  std::shared_ptr<tenon::Session> watched(tenon::Session session) {
    auto shared = std::make_shared<tenon::Session>(std::move(session));
    interest_.on_end([weak = std::weak_ptr(shared)] {
      if (const auto running = weak.lock()) running->cancel();
    });
    return shared;
  }

  /// Computes the tokens that were appended: to score nothing is a prefill with a deadline.
  void compute(tenon::Session& session, size_t num_tokens) {
    (void)session.score(std::vector<Tokens>{}, seconds_left());
    prompt_tokens_ += num_tokens;
    cached_tokens_ += num_tokens - std::min<uint64_t>(num_tokens, session.stats().prefill_tokens);
  }

  [[nodiscard]] double seconds_left() const {
    if (seconds_ == 0) return 0;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    return std::max(seconds_ - elapsed.count(), 1e-9);  // 0 would be none
  }

  const ServedModel& model_;
  Interest& interest_;
  double seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  uint64_t prompt_tokens_ = 0;
  uint64_t cached_tokens_ = 0;
};

}  // namespace

Start handle_decisions(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields.text("model"), request);
  model.check_generates();
  if (fields.boolean("stream").value_or(false)) fields.refuse("stream", "is not served here");
  const Input input = read_decision_input(fields);
  const std::vector<Question> questions = read_questions(fields, input.form != Input::Form::Prompt);
  std::vector<Asked> all;
  for (const Question& question : questions) {
    all.push_back(ask(model, input, question));
    check_room(model, all.back(), input.field);
  }
  Decider decider(model, *request.interest, state.limits.request_seconds);
  const std::vector<std::vector<double>> logprobs = decider.run(all);
  Json answers = Json::array();
  for (size_t i = 0; i < questions.size(); ++i) {
    answers.push_back(answer_json(questions[i], logprobs[i]));
  }
  return answer_with({.body = to_text({{"id", random_id("dec_")},
                                       {"object", "decision"},
                                       {"model", model.name()},
                                       {"answers", std::move(answers)},
                                       {"usage", decider.usage()}})});
}

}  // namespace tenon_http
