// POST /tokenize: a text or a conversation to token ids. POST /detokenize: the reverse. Both also
// under /v1.
#include <array>
#include <string>
#include <vector>

#include "server/answers/chat_plan.h"
#include "server/json/json_text.h"
#include "server/protocols/chat_messages.h"
#include "server/protocols/other_fields.h"
#include "server/routes.h"
#include "server/work/work_limit.h"

namespace tenon_http {
namespace {

/// Fields of other servers that this server does not support.
constexpr auto kTokenizeFields = std::to_array<OtherField>({
    {"with_pieces", OtherField::Kind::RefusedTrue, "is not served: say return_token_strs"},
    {"chat_template", OtherField::Kind::Refused, "the model's own template is used"},
});

Tokens tokens_of_chat(const Fields& fields, const ServedModel& model) {
  for (const char* text : {"prompt", "content"}) {
    if (fields.has(text)) fields.refuse(text, "cannot stand beside messages");
  }
  std::vector<std::string> notes;
  ChatRequest chat{.messages = read_messages(fields, notes),
                   .tools = read_tools(fields),
                   .variables = read_template_variables(fields)};
  read_continuation(fields, chat);
  return encode_prompt(model, chat);
}

/// vLLM's field "prompt", llama-server's "content".
const std::string& text_field(const Fields& fields) {
  return fields.has("prompt") || !fields.has("content") ? fields.required_text("prompt")
                                                        : fields.required_text("content");
}

/// [tokens] text of each token; parts of a character become U+FFFD.
std::string token_texts(const Tokens& tokens, const tenon::Tokenizer& tokenizer) {
  ListText list;
  for (const tenon::Token token : tokens) {
    WorkLimit::look();
    list.add(to_text(tokenizer.decode({&token, 1}, true)));
  }
  return list.take();
}

std::string token_list(const Tokens& tokens) {
  ListText list;
  for (const tenon::Token token : tokens) {
    WorkLimit::look();
    list.add(std::to_string(token));
  }
  return list.take();
}

}  // namespace

Start handle_tokenize(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  std::vector<std::string> notes;
  check_other_fields(fields, kTokenizeFields, notes);
  const bool wants_texts = fields.boolean("return_token_strs").value_or(false);  // vLLM's field
  // llama-server's name for the field.
  const std::optional<bool> older = fields.boolean("add_special");
  const bool adds_special = fields.boolean("add_special_tokens").value_or(older.value_or(true));
  const bool parses_special = fields.boolean("parse_special").value_or(false);
  const Tokens tokens =
      fields.has("messages")
          ? tokens_of_chat(fields, model)
          : model.tokenizer().encode(
                text_field(fields), {.add_special = adds_special, .parse_special = parses_special});
  std::string answer = open_text({{"count", tokens.size()}, {"max_model_len", model.context()}});
  answer.append(",\"tokens\":").append(token_list(tokens));
  if (wants_texts) {
    answer.append(",\"token_strs\":").append(token_texts(tokens, model.tokenizer()));
  }
  return answer_with({.body = std::move(answer += '}')});
}

Start handle_detokenize(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  const Json* list = fields.list("tokens");
  if (list == nullptr) fields.refuse("tokens", "is missing");
  const std::string text =
      model.tokenizer().decode(read_token_ids(*list, "tokens", model.tokenizer()), true);
  return answer_with({.body = to_text({{"prompt", text}, {"content", text}})});
}

}  // namespace tenon_http
