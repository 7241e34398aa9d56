#include "echo_repair.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tenon_http {
namespace {

/// Where Claude Code says whom to bill.
constexpr auto kVolatileLines = std::to_array<std::string_view>({"x-anthropic-billing-header:"});

size_t count_of(const Tokens& tokens, tenon::Token token) {
  return static_cast<size_t>(std::count(tokens.begin(), tokens.end(), token));
}

/// What `rendered` has after the occurrence number `count` of a token; nothing when there are fewer.
std::optional<Tokens> after_occurrence(const Tokens& rendered, tenon::Token token, size_t count) {
  auto at = rendered.begin();
  for (size_t i = 0; i < count; ++i) {
    at = std::find(at, rendered.end(), token);
    if (at == rendered.end()) return std::nullopt;
    ++at;
  }
  return Tokens(at, rendered.end());
}

/// What is rendered after the turn of the assistant that message `turn` is.
std::optional<Tokens> rest_after(const ServedModel& model, const ChatRequest& request, size_t turn,
                                 const Tokens& rendered, const Tokens& remembered) {
  const tenon::Token end = remembered.back();
  Json before = Json::array();
  for (size_t i = 0; i < turn; ++i) before.push_back(request.messages[i]);
  const size_t count = count_of(encode_messages(model, request, before), end) + 1;
  if (count_of(remembered, end) != count) return std::nullopt;
  std::optional<Tokens> rest = after_occurrence(rendered, end, count);
  // If the mark is that of the turn, what the turn says is not in the rest.
  Json other = request.messages;
  other[turn]["content"] = "?" + other[turn].value("content", std::string());
  if (rest != after_occurrence(encode_messages(model, request, other), end, count)) {
    return std::nullopt;
  }
  return rest;
}

}  // namespace

std::string without_volatile_lines(const std::string& system) {
  std::string_view text = system;
  const auto is_volatile = [&] {
    return std::any_of(kVolatileLines.begin(), kVolatileLines.end(),
                       [&](std::string_view line) { return text.starts_with(line); });
  };
  while (is_volatile()) {
    const size_t end = text.find('\n');
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    while (text.starts_with('\n')) text.remove_prefix(1);
  }
  return std::string(text);
}

ConversationMeaning meaning_of(const ServedModel& model, const ChatRequest& request) {
  // "auto" and "required" show the model the same tools.
  const bool shows_all = request.tools.choice == "auto" || request.tools.choice == "required";
  return {{{"owner", request.echo.owner},
           {"model", model.name()},
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
    std::optional<Tokens> rest;
    try {
      rest = rest_after(model, request, turn, rendered, *remembered);
    } catch (const tenon::Error&) {  // the template does not take the beginning alone
    }
    // Thoughts that the client dropped must not push the answer out of the context.
    if (!rest || remembered->size() + rest->size() > model.context() / 8 * 7) continue;
    EchoPrompt prompt{*remembered, 0};
    prompt.tokens.insert(prompt.tokens.end(), rest->begin(), rest->end());
    for (size_t i = 0; i <= turn; ++i) {
      prompt.num_repaired += request.messages[i]["role"] == "assistant" ? 1 : 0;
    }
    return prompt;
  }
  return {std::move(rendered), 0};
}

}  // namespace tenon_http
