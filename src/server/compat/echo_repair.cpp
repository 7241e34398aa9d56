#include "server/compat/echo_repair.h"

#include <algorithm>

#include "server/compat/volatile_lines.h"

namespace tenon_http {
namespace {

size_t count_of(const Tokens& tokens, tenon::Token token) {
  return static_cast<size_t>(std::count(tokens.begin(), tokens.end(), token));
}

/// Tokens of `rendered` after occurrence number `count` of `token`; empty if `token` occurs less
/// often.
std::optional<Tokens> after_occurrence(const Tokens& rendered, tenon::Token token, size_t count) {
  auto at = rendered.begin();
  for (size_t i = 0; i < count; ++i) {
    at = std::find(at, rendered.end(), token);
    if (at == rendered.end()) return std::nullopt;
    ++at;
  }
  return Tokens(at, rendered.end());
}

/// Rendered tokens after the assistant's turn, message number `turn`.
///   messages  the request's messages or their replacement; `rendered` is their prompt
std::optional<Tokens> rest_after(const ServedModel& model, const ChatRequest& request,
                                 Json messages, size_t turn, const Tokens& rendered,
                                 const Tokens& remembered) {
  const tenon::Token end = remembered.back();
  Json before = Json::array();
  for (size_t i = 0; i < turn; ++i) before.push_back(messages[i]);
  const size_t count = count_of(encode_messages(model, request, before), end) + 1;
  if (count_of(remembered, end) != count) return std::nullopt;
  std::optional<Tokens> rest = after_occurrence(rendered, end, count);
  // Changing the turn's text must not change the rest, if the mark found is the turn's own.
  messages[turn]["content"] = "?" + messages[turn].value("content", std::string());
  if (rest != after_occurrence(encode_messages(model, request, messages), end, count)) {
    return std::nullopt;
  }
  return rest;
}

/// Variant of rest_after() for a conversation that began on another day: the user's next words
/// state the new date.
std::optional<Tokens> rest_with_dates(const ServedModel& model, const ChatRequest& request,
                                      size_t turn, const std::string& dates,
                                      const Tokens& remembered) {
  Json messages = request.messages;
  if (dates.empty() || !tell_dates(messages, turn, dates)) return std::nullopt;
  const Tokens rendered = encode_messages(model, request, messages);
  return rest_after(model, request, std::move(messages), turn, rendered, remembered);
}

}  // namespace

ConversationMeaning meaning_of(const ServedModel& model, const ChatRequest& request) {
  // "auto" and "required" show the model the same tools.
  const bool shows_all = request.tools.choice == "auto" || request.tools.choice == "required";
  return {{{"owner", request.echo.owner},
           {"model", model.name()},
           {"adapters", model.adapters()},
           {"tools", request.tools.tools},
           {"choice", shows_all ? Json(nullptr) : request.tools.choice},
           {"variables", request.variables}},
          request.messages};
}

EchoPrompt repair_echo(const ServedModel& model, const ChatRequest& request,
                       const ConversationMeaning& meaning, Tokens rendered) {
  EchoMemory& memory = *request.echo.memory;
  for (size_t turn = request.messages.size(); turn-- > 0;) {
    if (request.messages[turn]["role"] != "assistant") continue;
    const auto remembered = memory.find(meaning, turn);
    if (remembered == nullptr) continue;
    const Tokens& known = remembered->tokens;
    std::optional<Tokens> rest;
    try {
      rest = meaning.dates_up_to(turn) == remembered->dates
                 ? rest_after(model, request, request.messages, turn, rendered, known)
                 : rest_with_dates(model, request, turn, meaning.dates_up_to(turn), known);
    } catch (const tenon::Error&) {  // the template refuses the beginning alone
    }
    // Thoughts that the client dropped must not push the answer out of the context.
    if (!rest || known.size() + rest->size() > model.context() / 8 * 7) continue;
    EchoPrompt prompt{known, 0};
    prompt.tokens.insert(prompt.tokens.end(), rest->begin(), rest->end());
    for (size_t i = 0; i <= turn; ++i) {
      prompt.num_repaired += request.messages[i]["role"] == "assistant" ? 1 : 0;
    }
    return prompt;
  }
  return {std::move(rendered), 0};
}

}  // namespace tenon_http
