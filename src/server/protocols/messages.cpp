// POST /v1/messages and /v1/messages/count_tokens, of Anthropic's interface.
#include <memory>
#include <string>

#include "server/answers/answer_run.h"
#include "server/http/event_stream.h"
#include "server/json/random_id.h"
#include "server/protocols/message_blocks.h"
#include "server/protocols/usage.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

/// max_tokens: limit that the client set.
const char* stop_reason(const AnswerEnd& end, bool has_calls, uint64_t max_tokens) {
  const bool is_short = end.generated_tokens < max_tokens;
  if (end.finish == Finish::Length)
    return is_short ? "model_context_window_exceeded" : "max_tokens";
  if (end.finish == Finish::StopText) return "stop_sequence";
  return has_calls ? "tool_use" : "end_turn";
}

Json stop_sequence(const AnswerEnd& end) {
  return end.finish == Finish::StopText ? Json(end.stop_text) : Json(nullptr);
}

/// Counts cached tokens apart from computed ones.
Json usage_of(uint64_t prompt, uint64_t cached, uint64_t generated) {
  return {{"input_tokens", prompt - cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", cached},
          {"output_tokens", generated}};
}

Json final_usage(const AnswerEnd& end) {
  Json usage = usage_of(end.prompt_tokens, end.cached_tokens, end.generated_tokens);
  usage["reuse"] = reuse_json(end.reuse);
  return usage;
}

class MessageWriter : public AnswerWriter {
 public:
  struct Form {
    const ServedModel& model;
    const ThoughtSigner& signer;
    uint64_t max_tokens = 0;      ///< the client's limit
    bool omits_thoughts = false;  ///< sends only signatures of thoughts
    int64_t seed = 0;             ///< seed of the answer
  };
  explicit MessageWriter(Form form) : form_(form) {}

 protected:
  [[nodiscard]] Json message(Json content, Json reason, Json sequence, Json usage) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", form_.model.name()},
            {"content", std::move(content)},
            {"stop_reason", std::move(reason)},
            {"stop_sequence", std::move(sequence)},
            {"usage", std::move(usage)},
            {"seed", form_.seed}};
  }
  [[nodiscard]] const char* reason(const AnswerEnd& end, bool has_calls) const {
    return stop_reason(end, has_calls, form_.max_tokens);
  }
  static std::string block_id() { return random_id("toolu_"); }
  /// Part of a thought to send.
  [[nodiscard]] std::string_view shown(std::string_view thought) const {
    return form_.omits_thoughts ? std::string_view() : thought;
  }
  [[nodiscard]] std::string signature(std::string_view shown_thought) const {
    return form_.signer.sign(shown_thought);
  }

 private:
  Form form_;
  std::string id_ = random_id("msg_");
};

class WholeMessage : public MessageWriter {
 public:
  using MessageWriter::MessageWriter;

  void begin(Exchange&) override {}
  void delta(Exchange&, size_t, AnswerDelta) override {}
  void end(Exchange&, size_t, AnswerEnd end) override { end_ = std::move(end); }
  [[nodiscard]] size_t bytes_to_print() const override { return end_.message.size(); }
  void complete(Exchange& exchange) override {
    const AnswerEnd& end = end_;
    const Json read = parse_json(end.message);
    Json content = Json::array();
    const auto thoughts = read.find("reasoning_content");
    if (thoughts != read.end() && thoughts->is_string() && *thoughts != "") {
      const std::string_view thought = shown(thoughts->get_ref<const std::string&>());
      content.push_back(
          {{"type", "thinking"}, {"thinking", thought}, {"signature", signature(thought)}});
    }
    const auto text = read.find("content");
    const auto calls = read.find("tool_calls");
    const bool has_calls = calls != read.end() && calls->is_array() && !calls->empty();
    if (text != read.end() && text->is_string() && (*text != "" || !has_calls)) {
      content.push_back({{"type", "text"}, {"text", *text}});
    }
    if (has_calls) {
      for (const Json& call : *calls) {
        const Json& function = call["function"];
        content.push_back({{"type", "tool_use"},
                           {"id", block_id()},
                           {"name", function["name"]},
                           {"input", parse_cut_object(arguments_of(function))}});
      }
    }
    Json whole =
        message(std::move(content), reason(end, has_calls), stop_sequence(end), final_usage(end));
    add_notes(exchange, whole);
    exchange.answer({.body = to_text(whole)});
  }
  void fail(Exchange& exchange, const ApiError& error) override { answer_error(exchange, error); }

 private:
  AnswerEnd end_;

 private:
  static std::string arguments_of(const Json& function) {
    const Json& arguments = function["arguments"];
    return arguments.is_string() ? arguments.get<std::string>() : to_text(arguments);
  }
};

class StreamedMessage : public MessageWriter {
 public:
  using MessageWriter::MessageWriter;

  void begin(Exchange& exchange) override { exchange.begin_stream(kEventStream); }

  void delta(Exchange& exchange, size_t, AnswerDelta delta) override {
    start(exchange, delta.prompt_tokens, delta.cached_tokens);
    switch (delta.kind) {
      case TENON_CHAT_REASONING:
        open(exchange, "thinking", {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
        if (shown(delta.text).empty()) return;
        thought_ += delta.text;
        return change(exchange, {{"type", "thinking_delta"}, {"thinking", delta.text}});
      case TENON_CHAT_CALL_BEGIN:
        close(exchange);
        has_calls_ = true;
        open(exchange, "tool_use",
             {{"type", "tool_use"},
              {"id", block_id()},
              {"name", delta.text},
              {"input", Json::object()}});
        return;
      case TENON_CHAT_ARGUMENTS:
        return change(exchange, {{"type", "input_json_delta"}, {"partial_json", delta.text}});
      case TENON_CHAT_CALL_END:
        return close(exchange);
      case TENON_CHAT_CALL_RETRACT:
        is_broken_ = true;
        return;
      default:
        // A cut call was already sent as a call.
        if (is_broken_ || delta.text.empty()) return;
        open(exchange, "text", {{"type", "text"}, {"text", ""}});
        change(exchange, {{"type", "text_delta"}, {"text", delta.text}});
    }
  }

  void end(Exchange& exchange, size_t, AnswerEnd end) override {
    start(exchange, end.prompt_tokens, end.cached_tokens);
    close(exchange);
    send(exchange, "message_delta",
         {{"delta",
           {{"stop_reason", reason(end, has_calls_)}, {"stop_sequence", stop_sequence(end)}}},
          {"usage", final_usage(end)}});
    send(exchange, "message_stop", Json::object());
  }

  void complete(Exchange& exchange) override { exchange.end_stream(); }

  void fail(Exchange& exchange, const ApiError& error) override {
    exchange.send(event_text("error", error_body(error, ErrorShape::Anthropic)));
    exchange.end_stream();
  }

 private:
  void start(Exchange& exchange, uint64_t prompt, uint64_t cached) {
    if (has_started_) return;
    has_started_ = true;
    Json begun = message(Json::array(), nullptr, nullptr, usage_of(prompt, cached, 0));
    add_notes(exchange, begun);
    send(exchange, "message_start", {{"message", std::move(begun)}});
  }

  /// A block stays open until a block of another kind begins.
  void open(Exchange& exchange, const std::string& kind, Json block) {
    if (kind_ == kind) return;
    close(exchange);
    kind_ = kind;
    send(exchange, "content_block_start", {{"index", index_}, {"content_block", std::move(block)}});
  }
  void change(Exchange& exchange, Json delta) {
    send(exchange, "content_block_delta", {{"index", index_}, {"delta", std::move(delta)}});
  }
  void close(Exchange& exchange) {
    if (kind_.empty()) return;
    if (kind_ == "thinking") {
      change(exchange, {{"type", "signature_delta"}, {"signature", signature(thought_)}});
      thought_.clear();
    }
    kind_.clear();
    send(exchange, "content_block_stop", {{"index", index_++}});
  }

  static void send(Exchange& exchange, const char* type, Json members) {
    Json event{{"type", type}};
    event.update(members);
    exchange.send(event_text(type, to_text(event)));
  }

  std::string kind_;     ///< kind of the open block
  std::string thought_;  ///< thoughts sent in it, to be signed
  size_t index_ = 0;
  bool has_started_ = false;
  bool has_calls_ = false;
  bool is_broken_ = false;
};

}  // namespace

Start handle_messages(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  (void)fields.required_text("model");
  const ServedModel& model = state.model(fields, request);
  model.check_generates();
  ChatRequest chat = read_message_request(fields, state.thoughts);
  (void)fields.required("max_tokens");
  const std::optional<int64_t> max_tokens = fields.integer("max_tokens", 1, INT64_MAX);
  if (!max_tokens) fields.refuse("max_tokens", "must be an integer");
  chat.max_tokens = static_cast<uint64_t>(*max_tokens);
  (void)fields.number("temperature", 0, 1);  // narrower range of this interface
  chat.sampling = read_sampling(fields, model.tokenizer());
  (void)fields.list("stop_sequences");  // unlike OpenAI's, accepts only a list
  for (std::string& stop : read_stops(fields, "stop_sequences")) {
    chat.sampling.stops.push_back(std::move(stop));
  }
  chat.sampling.options.stop = chat.sampling.stops;
  chat.tells_tools = read_generic_tools(fields);
  chat.echo = read_echo(fields, request, state);
  const MessageWriter::Form form{model, state.thoughts, *chat.max_tokens, omits_thoughts(fields),
                                 chat.sampling.seed};
  std::unique_ptr<AnswerWriter> writer;
  if (fields.boolean("stream").value_or(false)) {
    writer = std::make_unique<StreamedMessage>(form);
  } else {
    writer = std::make_unique<WholeMessage>(form);
  }
  return start_answers(plan_chat(model, std::move(chat)), std::move(writer), state);
}

Start handle_batches(const HttpRequest&, ServerState&) {
  throw ApiError(404, "invalid_request_error",
                 "batches of messages are not served here: send each to /v1/messages");
}

Start handle_count_tokens(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  ChatRequest chat = read_message_request(fields, state.thoughts);
  const Tokens tokens = encode_prompt(model, chat);
  return answer_with({.body = to_text({{"input_tokens", tokens.size()}})});
}

}  // namespace tenon_http
