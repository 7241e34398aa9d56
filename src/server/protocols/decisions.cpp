// POST /v1/decisions: probabilities of the possible answers to questions about one input. Generates
// nothing: scores answers as whole texts, in forks of the questions' common prefix.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/answers/chat_plan.h"
#include "server/answers/compute_steps.h"
#include "server/json/random_id.h"
#include "server/protocols/chat_messages.h"
#include "server/protocols/decision_questions.h"
#include "server/protocols/response_items.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

/// Question as tokens for the model.
struct Asked {
  Tokens prompt;
  std::vector<Tokens> answers;
};

/// Subject of the questions, by the field that holds it.
struct Input {
  enum class Form : uint8_t { Items, Messages, Prompt };
  Form form = Form::Items;
  std::string field = "input";
  ChatRequest chat = ChatRequest();  ///< chat of Items and Messages; `= T()` as in ChatRequest
  std::string prompt{};              ///< continued without a template
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
    input.chat.messages = read_messages(fields, input.chat.notes);
  } else {
    ResponseRequest request;
    read_response_input(fields, request);
    input.chat = std::move(request.chat);
  }
  input.field = input.chat.messages_field;
  input.chat.variables = read_template_variables(fields);
  // The answer is a label, without preceding reasoning.
  if (!input.chat.variables.contains("enable_thinking")) {
    input.chat.variables["enable_thinking"] = false;
  }
  return input;
}

/// Appends the end of the turn to each label: "no" must not match the beginning of "not at all".
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
  // Many templates require alternating roles.
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

/// Asks all questions in turn, each in a fork of their common prefix.
class Decider {
 public:
  struct Request {
    const ServedModel* model = nullptr;
    std::shared_ptr<Interest> interest{};
    Share share = Share();
    double seconds = 0;  ///< 0 means no deadline
    Input input = Input();
    std::vector<Question> questions{};
  };
  explicit Decider(Request request) : request_(std::move(request)) {}

  /// Runs one step: parses a question, computes the common prefix or scores an answer. Returns the
  /// answer after the last step. Throws ApiError; tenon::Error, with code Cancelled if the client
  /// has gone.
  std::optional<HttpAnswer> step() {
    const std::vector<Question>& questions = request_.questions;
    if (all_.size() < questions.size()) {
      all_.push_back(ask(*request_.model, request_.input, questions[all_.size()]));
      check_room(*request_.model, all_.back(), request_.input.field);
      return std::nullopt;
    }
    if (text_ == nullptr) {
      common_ = common_tokens(all_);
      text_ = watched(request_.model->open_session(request_.share));
      text_->append(std::span(all_.front().prompt).first(common_));
      compute(*text_, common_);
      return std::nullopt;
    }
    score(all_[logprobs_.size()]);
    if (logprobs_.size() < questions.size()) return std::nullopt;
    Json answers = Json::array();
    for (size_t i = 0; i < questions.size(); ++i) {
      answers.push_back(answer_json(questions[i], logprobs_[i]));
    }
    return HttpAnswer{.body = to_text({{"id", random_id("dec_")},
                                       {"object", "decision"},
                                       {"model", request_.model->name()},
                                       {"answers", std::move(answers)},
                                       {"usage", usage()}})};
  }

 private:
  void score(const Asked& asked) {
    const auto fork = watched(text_->fork());
    fork->append(std::span(asked.prompt).subspan(common_));
    if (asked.prompt.size() > common_) compute(*fork, asked.prompt.size() - common_);
    std::vector<double> sums;
    for (const auto& score : fork->score(asked.answers, seconds_left())) {
      sums.push_back(score.logprob);
    }
    logprobs_.push_back(std::move(sums));
  }

  [[nodiscard]] Json usage() const {
    return {
        {"input_tokens", prompt_tokens_},
        {"input_tokens_details", {{"cached_tokens", cached_tokens_}, {"cache_write_tokens", 0}}},
        {"output_tokens", 0},
        {"output_tokens_details", {{"reasoning_tokens", 0}}},
        {"total_tokens", prompt_tokens_}};
  }

  std::shared_ptr<tenon::Session> watched(tenon::Session session) {
    auto shared = std::make_shared<tenon::Session>(std::move(session));
    request_.interest->on_end([weak = std::weak_ptr(shared)] {
      if (const auto running = weak.lock()) running->cancel();
    });
    return shared;
  }

  /// Computes the appended tokens. Scoring an empty text is a prefill with a deadline.
  void compute(tenon::Session& session, size_t num_tokens) {
    (void)session.score(std::vector<Tokens>{}, seconds_left());
    prompt_tokens_ += num_tokens;
    cached_tokens_ += num_tokens - std::min<uint64_t>(num_tokens, session.stats().prefill_tokens);
  }

  [[nodiscard]] double seconds_left() const {
    if (request_.seconds == 0) return 0;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    return std::max(request_.seconds - elapsed.count(), 1e-9);  // 0 would mean no deadline
  }

  Request request_;
  std::vector<Asked> all_;                       ///< questions parsed so far
  size_t common_ = 0;                            ///< length in tokens of the prompts' common prefix
  std::shared_ptr<tenon::Session> text_;         ///< the common prefix, computed
  std::vector<std::vector<double>> logprobs_{};  ///< [questions answered] [answers] summed logprobs
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  uint64_t prompt_tokens_ = 0;
  uint64_t cached_tokens_ = 0;
};

}  // namespace

Start handle_decisions(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  model.check_generates();
  if (fields.boolean("stream").value_or(false)) fields.refuse("stream", "is not served here");
  Decider::Request asked{.model = &model,
                         .interest = request.interest,
                         .share = share_of(request),
                         .seconds = state.limits.request_seconds,
                         .input = read_decision_input(fields)};
  asked.questions = read_questions(fields, asked.input.form != Input::Form::Prompt);
  const auto decider = std::make_shared<Decider>(std::move(asked));
  return compute_in_steps([decider] { return decider->step(); }, state);
}

}  // namespace tenon_http
