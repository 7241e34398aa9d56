#include "chat_plan.h"

#include <array>
#include <ctime>

#include "api_error.h"
#include "chat_messages.h"
#include "echo_repair.h"

namespace tenon_http {
namespace {

/// "2026-01-02T03:04:05", for templates that tell the date.
std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  std::array<char, 32> text{};
  if (::localtime_r(&now, &calendar) == nullptr) return "1970-01-01T00:00:00";
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &calendar);
  return {text.data(), length};
}

std::string conversation_of(const ChatRequest& request, const Json& messages) {
  Json conversation{{"messages", messages}, {"now", local_time()}};
  if (!request.tools.tools.empty()) {
    conversation["tools"] = request.tools.tools;
    conversation["tool_choice"] = request.tools.choice;
    conversation["parallel_tool_calls"] = request.tools.is_parallel;
  }
  if (!request.response_format.is_null()) {
    conversation["response_format"] = request.response_format;
  }
  if (!request.variables.empty()) conversation["variables"] = request.variables;
  return to_text(conversation);
}

std::string conversation_of(const ChatRequest& request) {
  return conversation_of(request, request.messages);
}

bool has_later_system_message(const Json& messages) {
  for (size_t i = 1; i < messages.size(); ++i) {
    if (messages[i]["role"] == "system") return true;
  }
  return false;
}

void leave_out_volatile_lines(Json& messages) {
  if (messages.empty() || messages[0]["role"] != "system") return;
  Json& content = messages[0]["content"];
  std::string kept = without_volatile_lines(content.get<std::string>());
  if (kept.size() == content.get_ref<const std::string&>().size()) return;
  if (kept.empty()) {
    messages.erase(0);
  } else {
    content = std::move(kept);
  }
}

/// The field that a refused grammar comes from: the schema of the answer, or a tool.
std::string grammar_field(const ChatRequest& request) {
  if (request.response_format.is_null()) return request.tools.tools_field;
  if (request.tools.tools.empty()) return request.format_field;
  if (!request.response_format.contains("json_schema")) return request.tools.tools_field;
  try {
    const Json& schema = request.response_format["json_schema"]["schema"];
    (void)tenon::Grammar::json_schema(to_text(schema));
  } catch (const std::exception&) {
    return request.format_field;
  }
  return request.tools.tools_field;
}

void constrain(const tenon::Chat& chat, const ChatRequest& request, const std::string& conversation,
               const ServedModel& model, tenon::Sampler& sampler) {
  if (request.grammar) return sampler.set_grammar(*request.grammar, model.tokenizer());
  try {
    chat.constrain(sampler, conversation);
  } catch (const tenon::Error& error) {
    const bool of_call = error.code() == tenon::Code::Unsupported && request.tools.must_call();
    throw api_error_of(error, of_call ? request.tools.choice_field : grammar_field(request));
  }
}

}  // namespace

Json read_response_format(const Fields& fields) {
  const std::optional<Fields> format = fields.object("response_format");
  if (!format) return nullptr;
  const std::string& type = format->required_text("type");
  if (type == "text") return nullptr;
  if (type == "json_object") return {{"type", "json_object"}};
  if (type != "json_schema") {
    format->refuse("type", R"(must be "text", "json_object" or "json_schema")");
  }
  const std::optional<Fields> named = format->object("json_schema");
  if (!named) format->refuse("json_schema", "is missing");
  const Json& schema = named->required("schema");
  if (!schema.is_object() && !schema.is_boolean()) {
    named->refuse("schema", "must be a JSON Schema: an object, true or false");
  }
  return {{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}};
}

Json read_template_variables(const Fields& fields) {
  Json variables = Json::object();
  if (const std::optional<Fields> given = fields.object("chat_template_kwargs")) {
    variables = given->json();
  }
  const std::string* effort = fields.text("reasoning_effort");
  if (effort != nullptr && !variables.contains("reasoning_effort")) {
    variables["reasoning_effort"] = *effort;
    if (*effort == "none" && !variables.contains("enable_thinking")) {
      variables["enable_thinking"] = false;
    }
  }
  return variables;
}

std::string owner_of(const HttpRequest& request) {
  return request.api_key.empty() ? request.authorization : request.api_key;
}

ChatRequest::Echo read_echo(const Fields& fields, const HttpRequest& request, ServerState& state) {
  const bool is_wanted = fields.boolean("echo_repair").value_or(true);
  if (!is_wanted || state.limits.echo_bytes == 0) return {};
  return {&state.echo, owner_of(request)};
}

Tokens encode_messages(const ServedModel& model, const ChatRequest& request, const Json& messages) {
  return model.chat().encode(conversation_of(request, messages));
}

Tokens encode_prompt(const ServedModel& model, ChatRequest& request) {
  const tenon::Chat& chat = model.chat();
  leave_out_volatile_lines(request.messages);
  try {
    return chat.encode(conversation_of(request));
  } catch (const tenon::Error& error) {
    const bool may_join =
        error.code() == tenon::Code::Template && has_later_system_message(request.messages);
    if (!may_join) throw api_error_of(error, request.messages_field);
  }
  // Many templates take a system message at the beginning only.
  request.messages = with_one_system_message(request.messages);
  try {
    return chat.encode(conversation_of(request));
  } catch (const tenon::Error& error) {
    throw api_error_of(error, request.messages_field);
  }
}

AnswerPlan plan_chat(const ServedModel& model, ChatRequest request) {
  const tenon::Chat& chat = model.chat();
  EchoPrompt echo{encode_prompt(model, request)};
  std::shared_ptr<const EchoTurn> turn;
  if (request.echo.memory != nullptr) {
    ConversationMeaning meaning = meaning_of(model, request);
    echo = repair_echo(model, request, meaning, std::move(echo.tokens));
    turn = std::make_shared<const EchoTurn>(EchoTurn{request.echo.memory, std::move(meaning)});
  }
  const auto prompt = std::make_shared<const Tokens>(std::move(echo.tokens));
  AnswerPlan plan{.model = &model,
                  .stops = request.sampling.stops,
                  .ignore_end = request.sampling.ignore_end,
                  .logprobs = request.logprobs,
                  .num_top = request.num_top,
                  .priority = request.sampling.priority};
  const uint64_t max_tokens =
      room_for_answer(model, prompt->size(), request.max_tokens, request.messages_field);
  // The engine begins no call whose bytes could be more than the tokens that are left. Where a call may
  // come and need not, that would keep the model from calling at all: it is cut instead.
  const bool may_call = !request.tools.tools.empty() && request.tools.choice == "auto" &&
                        request.response_format.is_null();
  const uint64_t engine_tokens =
      may_call ? room_for_answer(model, prompt->size(), std::nullopt, request.messages_field)
               : max_tokens;
  const std::string conversation = conversation_of(request);
  for (size_t i = 0; i < request.num_choices; ++i) {
    ChoicePlan choice{prompt,
                      make_sampler(request.sampling, i),
                      engine_tokens,
                      chat.reply(conversation),
                      may_call ? max_tokens : 0,
                      turn,
                      echo.num_repaired};
    constrain(chat, request, conversation, model, choice.sampler);
    plan.choices.push_back(std::move(choice));
  }
  return plan;
}

}  // namespace tenon_http
