#include "server/answers/chat_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "server/answers/left_out.h"
#include "server/api_error.h"
#include "server/compat/echo_repair.h"
#include "server/compat/lenient_schema.h"
#include "server/compat/volatile_lines.h"
#include "server/operations/api_keys.h"
#include "server/protocols/chat_messages.h"
#include "server/work/limited_compile.h"

namespace tenon_http {
namespace {

/// Local time as "2026-01-02T03:04:05", for templates that state the date.
std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  std::array<char, 32> text{};
  if (::localtime_r(&now, &calendar) == nullptr) return "1970-01-01T00:00:00";
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &calendar);
  return {text.data(), length};
}

std::string conversation_of(const ChatRequest& request, const Json& messages, const Json& tools) {
  Json conversation{{"messages", with_parts(messages)}, {"now", local_time()}};
  if (request.continues) conversation["continue_final_message"] = true;
  if (!request.adds_generation_prompt) conversation["add_generation_prompt"] = false;
  if (!tools.empty()) {
    conversation["tools"] = tools;
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
  return conversation_of(request, request.messages, request.tools.tools);
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

/// Field that caused a refused grammar: the answer's schema, or a tool.
std::string grammar_field(const ChatRequest& request) {
  if (request.response_format.is_null()) return request.tools.tools_field;
  if (request.tools.tools.empty()) return request.format_field;
  if (!request.response_format.contains("json_schema")) return request.tools.tools_field;
  try {
    const Json& schema = request.response_format["json_schema"]["schema"];
    (void)tenon::Grammar::compile(TENON_GRAMMAR_JSON_SCHEMA, to_text(schema), under_work_limit());
  } catch (const std::exception&) {
    return request.format_field;
  }
  return request.tools.tools_field;
}

/// Whether calls of one tool alone compile. The chat keeps the parts of the schema for the grammar
/// of all tools, while a lenient compilation begins with nothing.
bool compiles_alone(const tenon::Chat& chat, const ChatRequest& request, const Json& tool) {
  const Json conversation{{"messages", Json::array({{{"role", "user"}, {"content", ""}}})},
                          {"tools", Json::array({tool})},
                          {"tool_choice", request.tools.must_call() ? "required" : "auto"}};
  try {
    (void)chat.compile(to_text(conversation), under_work_limit());
    return true;
  } catch (const tenon::Error&) {
    return false;
  }
}

/// Compiles the constraint of a conversation without the unsupported parts of lenient tools, and
/// notes each part. Returns false if the rest is refused as well. Examines single tools only after
/// the whole was refused.
///   too_large  the tools together are too large; drops all constraints of lenient tools
bool compile_leniently(const tenon::Chat& chat, ChatRequest& request, bool too_large,
                       const tenon::CompileOptions& options,
                       std::optional<tenon::Grammar>& grammar) {
  // First drop unsupported parts of each tool, then all constraints of each.
  for (const bool all : {false, true}) {
    if (too_large && !all) continue;
    std::vector<std::string> notes;
    const std::optional<Json> kept =
        lenient_tools(request.tools, all, notes,
                      [&](const Json& tool) { return compiles_alone(chat, request, tool); });
    if (!kept) continue;
    try {
      grammar = chat.compile(conversation_of(request, request.messages, *kept), options);
    } catch (const tenon::Error&) {
      continue;
    }
    request.notes.insert(request.notes.end(), notes.begin(), notes.end());
    return true;
  }
  return false;
}

/// Constraint that the conversation implies; empty without one, or if request.grammar is set.
/// Throws ApiError naming the field.
std::optional<tenon::Grammar> constraint_of(const tenon::Chat& chat, ChatRequest& request,
                                            const std::string& conversation,
                                            const ServedModel& model) {
  if (request.grammar) return std::nullopt;
  const tenon::Tokenizer tokenizer = model.tokenizer();
  const tenon::CompileOptions options = under_work_limit(&tokenizer);
  try {
    return chat.compile(conversation, options);
  } catch (const tenon::Error& error) {
    const std::vector<std::string>& fields = request.tools.lenient_fields;
    const bool is_lenient = std::any_of(fields.begin(), fields.end(),
                                        [](const std::string& field) { return !field.empty(); });
    const bool too_large = error.code() == tenon::Code::Limit;
    std::optional<tenon::Grammar> grammar;
    if (is_lenient && (too_large || error.code() == tenon::Code::Grammar) &&
        compile_leniently(chat, request, too_large, options, grammar)) {
      return grammar;
    }
    const bool of_call = error.code() == tenon::Code::Unsupported && request.tools.must_call();
    throw api_error_of(error, of_call ? request.tools.choice_field : grammar_field(request));
  }
}

/// Messages without the oldest `count`, except the system's. The rest begins with a user's message.
Json without_oldest(const Json& messages, size_t count) {
  Json rest = Json::array();
  bool has_begun = false;
  for (const Json& message : messages) {
    if (message["role"] == "system") {
      rest.push_back(message);
      continue;
    }
    if (count > 0) {
      --count;
      continue;
    }
    has_begun = has_begun || message["role"] == "user";
    if (has_begun) rest.push_back(message);
  }
  return has_begun ? rest : Json::array();
}

/// Drops as few of the oldest messages as needed for the prompt to fill three quarters of the
/// context. Returns the new prompt, or `rendered` if that is impossible.
Tokens truncate_messages(const ServedModel& model, ChatRequest& request, Tokens rendered) {
  Json all = request.messages;
  // Nothing is left once the user's last message is dropped.
  size_t fits = 0;
  for (const Json& message : all) fits += message["role"] == "system" ? 0 : 1;
  Tokens tokens;
  size_t too_many = 0;
  while (fits - too_many > 1) {
    const size_t count = (too_many + fits) / 2;
    request.messages = without_oldest(all, count);
    Tokens shorter = request.messages.empty() ? Tokens() : encode_prompt(model, request);
    if (shorter.size() > model.context() / 4 * 3) {
      too_many = count;
    } else {
      fits = count;
      if (!shorter.empty()) tokens = std::move(shorter);
    }
  }
  request.messages = tokens.empty() ? Json() : without_oldest(all, fits);
  if (request.messages.empty()) {
    request.messages = std::move(all);
    return rendered;
  }
  request.notes.push_back("truncation: the " +
                          std::to_string(all.size() - request.messages.size()) +
                          " oldest messages were left out, as the context does not hold them");
  return tokens;
}

}  // namespace

Json read_response_format(const Fields& fields, std::vector<std::string>& notes) {
  const std::optional<Fields> format = fields.object("response_format");
  return format ? read_format(*format, notes) : Json(nullptr);
}

std::string schema_field(const Fields& fields) {
  const std::optional<Fields> format = fields.object("response_format");
  const bool is_named = !format || format->has("json_schema") || !format->has("schema");
  return is_named ? "response_format.json_schema.schema" : "response_format.schema";
}

Json read_format(const Fields& format, std::vector<std::string>& notes) {
  // Constraints of other servers are refused, not ignored.
  for (const char* unkept :
       {"grammar", "regex", "pattern", "value", "choice", "ebnf", "structures"}) {
    if (format.has(unkept)) {
      format.refuse(unkept, "is not kept here: say type \"json_schema\", or structured_outputs");
    }
  }
  const std::string& type = format.required_text("type");
  const std::optional<Fields> named = format.object("json_schema");
  if (named && format.has("schema")) {
    format.refuse("schema", "cannot stand beside json_schema: only one schema is kept");
  }
  if (type == "text") {
    for (const char* schema : {"json_schema", "schema"}) {
      if (format.has(schema)) format.refuse(schema, "cannot be kept with the type \"text\"");
    }
    return nullptr;
  }
  if (type != "json_object" && type != "json_schema") {
    format.refuse("type", R"(must be "text", "json_object" or "json_schema")");
  }
  if (named) return schema_format(*named, notes);
  if (format.has("schema")) return schema_format(format, notes);
  if (type == "json_object") return {{"type", "json_object"}};
  format.refuse("json_schema", "is missing");
}

Json schema_format(const Fields& format, std::vector<std::string>& notes) {
  for (const char* unused : {"name", "description"}) (void)format.text(unused);
  Json schema = format.required("schema");
  if (!schema.is_object() && !schema.is_boolean()) {
    format.refuse("schema", "must be a JSON Schema: an object, true or false");
  }
  if (!format.boolean("strict").value_or(true)) {
    schema = lenient_schema(std::move(schema), format.path_of("schema"), notes);
  }
  return {{"type", "json_schema"}, {"json_schema", {{"schema", std::move(schema)}}}};
}

Json read_template_variables(const Fields& fields) {
  Json variables = Json::object();
  if (const std::optional<Fields> given = fields.object("chat_template_kwargs")) {
    variables = given->json();
  }
  if (!variables.contains("reasoning_effort")) read_effort(fields, "reasoning_effort", variables);
  return variables;
}

bool ends_in_text(const Json& messages) {
  if (messages.empty() || messages.back()["role"] != "assistant") return false;
  const auto calls = messages.back().find("tool_calls");
  return calls == messages.back().end() || calls->empty();
}

void read_continuation(const Fields& fields, ChatRequest& request) {
  request.continues = fields.boolean("continue_final_message").value_or(false);
  const std::optional<bool> adds = fields.boolean("add_generation_prompt");
  if (request.continues && adds.value_or(false)) {
    fields.refuse("add_generation_prompt", "cannot be true beside continue_final_message");
  }
  if (request.continues && !ends_in_text(request.messages)) {
    fields.refuse("continue_final_message",
                  "the last message must be the assistant's, and have no tool_calls");
  }
  request.adds_generation_prompt = request.continues || adds.value_or(true);
}

void read_effort(const Fields& fields, std::string_view name, Json& variables) {
  static constexpr auto kEfforts =
      std::to_array<std::string_view>({"none", "minimal", "low", "medium", "high", "xhigh", "max"});
  const std::string* effort = fields.text(name);
  if (effort == nullptr) return;
  if (std::find(kEfforts.begin(), kEfforts.end(), *effort) == kEfforts.end()) {
    fields.refuse(name, "must be one of none, minimal, low, medium, high, xhigh and max");
  }
  variables["reasoning_effort"] = *effort;
  if (*effort == "none" && !variables.contains("enable_thinking")) {
    variables["enable_thinking"] = false;
  }
}

std::string owner_of(const HttpRequest& request) {
  const ApiClient* client = request.record->client;
  return client == nullptr ? std::string(key_of(request)) : client->name;
}

bool read_generic_tools(const Fields& fields) {
  return fields.boolean("generic_tools").value_or(true);
}

ChatRequest::Echo read_echo(const Fields& fields, const HttpRequest& request, ServerState& state) {
  const bool is_wanted = fields.boolean("echo_repair").value_or(true);
  if (!is_wanted || state.limits.echo_bytes == 0) return {};
  return {&state.echo, owner_of(request)};
}

Tokens encode_messages(const ServedModel& model, const ChatRequest& request, const Json& messages) {
  return model.chat(request.tells_tools)
      .encode(conversation_of(request, messages, request.tools.tools));
}

Tokens encode_prompt(const ServedModel& model, ChatRequest& request) {
  WorkLimit::look(WorkLimit::kLongWork);
  const tenon::Chat& chat = model.chat(request.tells_tools);
  leave_out_volatile_lines(request.messages);
  try {
    return chat.encode(conversation_of(request));
  } catch (const tenon::Error& error) {
    const bool may_join =
        error.code() == tenon::Code::Template && has_later_system_message(request.messages);
    if (!may_join) throw api_error_of(error, request.messages_field);
  }
  // Many templates accept a system message only at the beginning.
  request.messages = with_one_system_message(request.messages);
  try {
    return chat.encode(conversation_of(request));
  } catch (const tenon::Error& error) {
    throw api_error_of(error, request.messages_field);
  }
}

AnswerPlan plan_chat(const ServedModel& model, ChatRequest request) {
  const tenon::Chat& chat = model.chat(request.tells_tools);
  model.reserve();
  EchoPrompt echo{encode_prompt(model, request)};
  if (request.truncates && echo.tokens.size() >= model.context()) {
    echo.tokens = truncate_messages(model, request, std::move(echo.tokens));
  }
  std::shared_ptr<const EchoTurn> turn;
  // A continued turn is not complete yet.
  const bool is_new_turn = !request.continues && request.adds_generation_prompt;
  if (request.echo.memory != nullptr && is_new_turn) {
    ConversationMeaning meaning = meaning_of(model, request);
    echo = repair_echo(model, request, meaning, std::move(echo.tokens));
    turn = std::make_shared<const EchoTurn>(EchoTurn{request.echo.memory, std::move(meaning)});
  }
  const auto prompt = std::make_shared<const Tokens>(std::move(echo.tokens));
  AnswerPlan plan{.model = &model,
                  .stops = request.sampling.stops,
                  .stop_tokens = request.sampling.stop_tokens,
                  .bans_tokens = request.sampling.bans_tokens(),
                  .ignore_end = request.sampling.ignore_end,
                  .logprobs = request.logprobs,
                  .num_top = request.num_top,
                  .priority = request.sampling.priority,
                  .speculation = request.sampling.speculation,
                  .draft_max = request.sampling.draft_max};
  const uint64_t max_tokens =
      room_for_answer(model, prompt->size(), request.max_tokens, request.messages_field);
  if (!request.prediction.empty()) {
    plan.prediction = model.tokenizer().encode(request.prediction);
    // An answer holds no more than that.
    plan.prediction.resize(std::min<uint64_t>(plan.prediction.size(), max_tokens));
    plan.prediction.shrink_to_fit();
  }
  // The engine begins a call only if its bytes fit in the remaining tokens. An optional call would
  // never begin under that rule, so it is cut instead.
  const bool may_call = !request.tools.tools.empty() && request.tools.choice == "auto" &&
                        request.response_format.is_null();
  const uint64_t engine_tokens =
      may_call ? room_for_answer(model, prompt->size(), std::nullopt, request.messages_field)
               : max_tokens;
  const std::string conversation = conversation_of(request);
  std::optional<tenon::Grammar> constraint;
  for (size_t i = 0; i < request.num_choices; ++i) {
    WorkLimit::look(WorkLimit::kLongWork);
    ChoicePlan choice{prompt,
                      make_sampler(request.sampling, i),
                      engine_tokens,
                      chat.reply(conversation),
                      may_call ? max_tokens : 0,
                      turn,
                      echo.num_repaired};
    if (i == 0) constraint = constraint_of(chat, request, conversation, model);
    const std::optional<tenon::Grammar>& grammar = request.grammar ? request.grammar : constraint;
    if (grammar) choice.sampler.set_grammar(*grammar, model.tokenizer());
    plan.choices.push_back(std::move(choice));
  }
  plan.notes = std::move(request.notes);
  for (std::string& note : parts_left_out(model, request)) plan.notes.push_back(std::move(note));
  return plan;
}

}  // namespace tenon_http
