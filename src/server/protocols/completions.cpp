// POST /v1/completions: continues texts or tokens as they are, without a chat template.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "server/answers/answer_run.h"
#include "server/answers/chat_plan.h"
#include "server/http/event_stream.h"
#include "server/json/json_text.h"
#include "server/json/random_id.h"
#include "server/protocols/other_fields.h"
#include "server/protocols/prompt_logprobs.h"
#include "server/protocols/sampling_fields.h"
#include "server/protocols/usage.h"
#include "server/routes.h"
#include "server/work/limited_compile.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxPrompts = 2048;
constexpr size_t kMaxAnswers = 2048;
constexpr uint64_t kDefaultMaxTokens = 16;

/// Logprobs in the older interface's form: parallel lists, written as text.
class LogprobLists {
 public:
  explicit LogprobLists(const tenon::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// has_logprob: false for the first token of a prompt.
  void add(const DrawnToken& token, bool has_logprob = true) {
    tokens_.add(to_text(token.text));
    logprobs_.add(has_logprob ? to_text(std::max(static_cast<double>(token.logprob), -9999.0))
                              : "null");
    offsets_.add(std::to_string(offset_));
    // Count characters by their first byte, which is not a UTF-8 continuation.
    offset_ += static_cast<size_t>(std::count_if(token.text.begin(), token.text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    }));
    Json top = has_logprob ? Json::object() : Json(nullptr);
    for (const auto& [id, logprob] : token.top) {
      top[tokenizer_.decode({&id, 1}, true)] = std::max(static_cast<double>(logprob), -9999.0);
    }
    top_.add(to_text(top));
  }

  /// Returns the additions since the last call.
  std::string take() {
    return "{\"tokens\":" + tokens_.take() + ",\"token_logprobs\":" + logprobs_.take() +
           ",\"top_logprobs\":" + top_.take() + ",\"text_offset\":" + offsets_.take() + "}";
  }
  [[nodiscard]] bool is_empty() const { return tokens_.is_empty(); }
  [[nodiscard]] size_t num_bytes() const {
    return tokens_.num_bytes() + logprobs_.num_bytes() + top_.num_bytes() + offsets_.num_bytes();
  }

 private:
  tenon::Tokenizer tokenizer_;
  ListText tokens_;
  ListText logprobs_;
  ListText top_;
  ListText offsets_;
  size_t offset_ = 0;  ///< position in characters
};

/// Prompt repeated before an answer with "echo".
struct Echo {
  std::string text{};
  std::vector<DrawnToken> tokens{};  ///< if "logprobs" is set
};

class CompletionWriter : public AnswerWriter {
 public:
  struct Form {
    const ServedModel* model = nullptr;
    size_t num_prompts = 1;
    size_t num_choices = 1;  ///< per prompt
    int64_t seed = 0;        ///< seed of each prompt's first choice; later choices count up
    bool logprobs = false;
    bool includes_usage = false;
    bool is_streamed = false;
    std::vector<Echo> echoes{};  ///< [prompts]; empty without "echo"
  };

  explicit CompletionWriter(Form form)
      : form_(std::move(form)),
        texts_(form_.num_prompts * form_.num_choices),
        lists_(texts_.size(), LogprobLists(form_.model->tokenizer())),
        reasons_(texts_.size()) {
    if (form_.echoes.empty()) return;
    for (size_t i = 0; i < texts_.size(); ++i) {
      const Echo& echo = form_.echoes[i / form_.num_choices];
      for (size_t k = 0; k < echo.tokens.size(); ++k) lists_[i].add(echo.tokens[k], k > 0);
    }
  }

  void begin(Exchange& exchange) override {
    if (form_.is_streamed) exchange.begin_stream(kEventStream);
    if (form_.echoes.empty()) return;
    for (size_t i = 0; i < texts_.size(); ++i) {
      add_text(exchange, i, form_.echoes[i / form_.num_choices].text);
    }
  }

  void delta(Exchange& exchange, size_t choice, AnswerDelta delta) override {
    for (const DrawnToken& token : delta.tokens) lists_[choice].add(token);
    add_text(exchange, choice, delta.text);
  }

  void end(Exchange& exchange, size_t choice, AnswerEnd end) override {
    usage_.add(end, choice % form_.num_choices == 0);
    for (const DrawnToken& token : end.tokens) lists_[choice].add(token);
    const char* reason = end.finish == Finish::Length ? "length" : "stop";
    if (form_.is_streamed) return send(exchange, choice, "", reason);
    reasons_[choice] = reason;
    bytes_ += texts_[choice].size() + lists_[choice].num_bytes();
  }

  [[nodiscard]] size_t bytes_to_print() const override { return bytes_; }

  void complete(Exchange& exchange) override {
    if (!form_.is_streamed) return exchange.answer({.body = whole_text(exchange)});
    if (form_.includes_usage) {
      Json last = object();
      last["choices"] = Json::array();
      last["usage"] = usage_.json();
      add_notes(exchange, last);
      exchange.send(event_text(to_text(last)));
    }
    exchange.send(event_text("[DONE]"));
    exchange.end_stream();
  }

  void fail(Exchange& exchange, const ApiError& error) override {
    if (!form_.is_streamed) return answer_error(exchange, error);
    exchange.send(event_text(error_body(error, ErrorShape::OpenAi)));
    exchange.end_stream();
  }

  /// Writes the prompts alone, if no token is requested.
  void echo_only(Exchange& exchange, const std::vector<size_t>& prompt_tokens) {
    begin(exchange);
    for (size_t i = 0; i < texts_.size(); ++i) {
      end(exchange, i,
          {.finish = Finish::Length, .prompt_tokens = prompt_tokens[i / form_.num_choices]});
    }
    complete(exchange);
  }

 private:
  void add_text(Exchange& exchange, size_t choice, std::string_view text) {
    if (form_.is_streamed) {
      if (!text.empty()) send(exchange, choice, std::string(text), nullptr);
      return;
    }
    texts_[choice] += text;
  }

  [[nodiscard]] Json object() const {
    return {{"id", id_},
            {"object", "text_completion"},
            {"created", created_},
            {"model", form_.model->name()},
            {"system_fingerprint", form_.model->fingerprint()},
            {"seed", form_.seed}};
  }

  [[nodiscard]] std::string whole_text(const Exchange& exchange) {
    std::string text = open_text(object());
    text.reserve(text.size() + bytes_ + bytes_ / 4 + 1024);
    text += ",\"choices\":[";
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (i > 0) text += ',';
      text += choice_text(i, texts_[i], reasons_[i]);
      texts_[i] = {};
    }
    text += ']';
    Json rest{{"usage", usage_.json()}};
    add_notes(exchange, rest);
    append_members(text, rest);
    return text += '}';
  }

  std::string choice_text(size_t choice, const std::string& text, const char* reason) {
    const bool has_lists = form_.logprobs && (!form_.is_streamed || !lists_[choice].is_empty());
    std::string whole =
        open_text({{"index", choice},
                   {"text", text},
                   {"finish_reason", reason == nullptr ? Json(nullptr) : Json(reason)}});
    return whole.append(",\"logprobs\":").append(has_lists ? lists_[choice].take() : "null") + "}";
  }

  void send(Exchange& exchange, size_t choice, const std::string& text, const char* reason) {
    std::string chunk = open_text(object());
    chunk.append(",\"choices\":[").append(choice_text(choice, text, reason)).append("]");
    if (form_.includes_usage) chunk += ",\"usage\":null";
    exchange.send(event_text(chunk + "}"));
  }

  Form form_;
  std::string id_ = random_id("cmpl-");
  int64_t created_ = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  std::vector<std::string> texts_;
  std::vector<LogprobLists> lists_;
  std::vector<const char*> reasons_;
  size_t bytes_ = 0;  ///< estimated bytes to print
  Usage usage_;
};

/// Reads a text, a list of token ids, or a list of either.
std::vector<Tokens> read_prompts(const Fields& fields, const ServedModel& model) {
  const Json& prompt = fields.required("prompt");
  const bool adds_special = fields.boolean("add_special_tokens").value_or(true);
  const auto encode = [&](const Json& text) {
    return model.tokenizer().encode(text.get_ref<const std::string&>(),
                                    {.add_special = adds_special});
  };
  if (prompt.is_string()) return {encode(prompt)};
  if (!prompt.is_array() || prompt.empty()) {
    fields.refuse("prompt", "must be a text, token ids, or a list of such that is not empty");
  }
  if (prompt[0].is_number()) return {read_token_ids(prompt, "prompt", model.tokenizer())};
  if (prompt.size() > kMaxPrompts) fields.refuse("prompt", "has more than 2048 items");
  std::vector<Tokens> prompts;
  for (size_t i = 0; i < prompt.size(); ++i) {
    WorkLimit::look(WorkLimit::kLongWork);
    if (prompt[i].is_string()) {
      prompts.push_back(encode(prompt[i]));
    } else if (prompt[i].is_array()) {
      prompts.push_back(read_token_ids(prompt[i], item_path("prompt", i), model.tokenizer()));
    } else {
      fields.refuse("prompt", "must hold texts or lists of token ids");
    }
  }
  return prompts;
}

std::optional<tenon::Grammar> read_grammar(const Fields& fields, std::vector<std::string>& notes) {
  std::optional<tenon::Grammar> grammar = read_structured_outputs(fields);
  const Json format = read_response_format(fields, notes);
  if (format.is_null()) return grammar;
  if (grammar) fields.refuse("response_format", "cannot be kept beside structured outputs");
  const std::string schema = format["type"] == "json_object"
                                 ? R"({"type":"object"})"
                                 : to_text(format["json_schema"]["schema"]);
  try {
    return tenon::Grammar::compile(TENON_GRAMMAR_JSON_SCHEMA, schema, under_work_limit());
  } catch (const tenon::Error& error) {
    throw api_error_of(error, schema_field(fields));
  }
}

void refuse_unserved(const Fields& fields) {
  const std::string* suffix = fields.text("suffix");
  if (suffix != nullptr && !suffix->empty()) {
    fields.refuse("suffix", "is not served: the text cannot be filled in between");
  }
  const int64_t choices = fields.integer("n", 1, 128).value_or(1);
  if (fields.integer("best_of", 1, 128).value_or(choices) != choices) {
    fields.refuse("best_of", "must equal n");
  }
}

}  // namespace

Start handle_completions(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  model.check_generates();
  refuse_unserved(fields);
  model.reserve();

  std::vector<Tokens> prompts = read_prompts(fields, model);
  const Sampling sampling = read_sampling(fields, model.tokenizer());
  std::vector<std::string> notes;
  const std::optional<tenon::Grammar> grammar = read_grammar(fields, notes);
  check_other_fields(fields, kCompletionFields, notes);
  const auto num_choices =
      static_cast<size_t>(fields.integer("n", 1, state.limits.max_choices).value_or(1));
  if (prompts.size() * num_choices > kMaxAnswers) {
    fields.refuse("n", "asks for more than 2048 answers in all");
  }
  // Clients of other servers send false for none.
  const Json* logprobs = fields.find("logprobs");
  const bool has_logprobs = logprobs != nullptr && *logprobs != false;
  const std::optional<int64_t> top =
      has_logprobs ? fields.integer("logprobs", 0, 20) : std::nullopt;
  const bool echoes = fields.boolean("echo").value_or(false);
  const int64_t limit = fields.integer("max_tokens", -1, INT64_MAX).value_or(kDefaultMaxTokens);
  // -1 means no limit
  const uint64_t max_tokens = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
  if (max_tokens == 0 && !echoes) fields.refuse("max_tokens", "must be at least 1 without echo");
  const bool includes_usage = read_stream_options(fields);

  AnswerPlan plan{.model = &model,
                  .stops = sampling.stops,
                  .stop_tokens = sampling.stop_tokens,
                  .bans_tokens = sampling.bans_tokens(),
                  .ignore_end = sampling.ignore_end,
                  .logprobs = top.has_value(),
                  .num_top = static_cast<uint32_t>(top.value_or(0)),
                  .priority = sampling.priority,
                  .speculation = sampling.speculation,
                  .draft_max = sampling.draft_max,
                  .notes = std::move(notes)};
  CompletionWriter::Form form{.model = &model,
                              .num_prompts = prompts.size(),
                              .num_choices = num_choices,
                              .seed = sampling.seed,
                              .logprobs = plan.logprobs,
                              .includes_usage = includes_usage,
                              .is_streamed = fields.boolean("stream").value_or(false)};
  std::vector<size_t> sizes;
  for (Tokens& prompt : prompts) {
    const uint64_t room = room_for_answer(model, prompt.size(), max_tokens, "prompt");
    sizes.push_back(prompt.size());
    if (echoes) {
      Echo& echo = form.echoes.emplace_back();
      echo.text = model.tokenizer().decode(prompt);
      if (plan.logprobs) {
        echo.tokens = prompt_logprobs(model, prompt, plan.num_top, request);
      }
    }
    const auto shared = std::make_shared<const Tokens>(std::move(prompt));
    for (size_t i = 0; i < num_choices; ++i) {
      WorkLimit::look(16);
      ChoicePlan choice{shared, make_sampler(sampling, i), room};
      if (grammar) choice.sampler.set_grammar(*grammar, model.tokenizer());
      plan.choices.push_back(std::move(choice));
    }
  }
  auto writer = std::make_unique<CompletionWriter>(std::move(form));
  if (max_tokens > 0) return start_answers(std::move(plan), std::move(writer), state);
  return [held = std::shared_ptr<CompletionWriter>(std::move(writer)),
          sizes](const std::shared_ptr<Exchange>& exchange) { held->echo_only(*exchange, sizes); };
}

}  // namespace tenon_http
