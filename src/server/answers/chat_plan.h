// Turns a conversation and its rules into a plan: prompt, samplers with grammars, parsers of the
// answers. Common to all interfaces that chat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tenon/grammar.hpp>

#include "server/answers/answer_plan.h"
#include "server/protocols/chat_tools.h"
#include "server/protocols/sampling_fields.h"
#include "server/router.h"

namespace tenon_http {

/// Chat request as an interface parsed it.
struct ChatRequest {
  Json messages = Json::array();  ///< messages of a conversation
  std::string messages_field = "messages";
  // `= T()` instead of `{}` for aggregates: GCC 12 destroys a part of an aggregate twice if a later
  // initialiser throws.
  ToolUse tools = ToolUse();
  Json response_format = nullptr;  ///< JSON as in section 14 of tenon.h; null for text
  std::string format_field = "response_format";
  Json variables = Json::object();  ///< variables of the template
  /// True if the answer continues the last message, an assistant's.
  bool continues = false;
  bool adds_generation_prompt = true;
  bool tells_tools = true;  ///< describes tools as text if the template has none
  Sampling sampling = Sampling();
  std::optional<tenon::Grammar> grammar{};  ///< constraint on the whole answer
  size_t num_choices = 1;
  std::optional<uint64_t> max_tokens{};
  bool logprobs = false;
  uint32_t num_top = 0;
  std::string prediction{};  ///< the likely answer
  /// Memory for the answers, and the client that owns them.
  struct Echo {
    EchoMemory* memory = nullptr;  ///< null disables remembering
    std::string owner{};
  };
  Echo echo = Echo();
  /// Drops the oldest messages, except the system's, if the context is too small.
  bool truncates = false;
  std::vector<std::string> notes{};  ///< notes for the client on skipped or dropped parts
};

/// Reads "response_format" for a conversation; null for text. Throws ApiError naming the field.
///   notes  receives the dropped parts of a schema with "strict": false
Json read_response_format(const Fields& fields, std::vector<std::string>& notes);

/// Name of the schema's field within "response_format".
std::string schema_field(const Fields& fields);

/// Reads the value of "response_format", or of "format" in the "text" of responses. The schema is
/// in "json_schema" or beside "type", also with "json_object". Throws ApiError for an unsupported
/// constraint.
Json read_format(const Fields& format, std::vector<std::string>& notes);

/// Reads "schema" of `format` for a conversation. Throws ApiError.
Json schema_format(const Fields& format, std::vector<std::string>& notes);

/// Reads the template's variables in every interface: "chat_template_kwargs" and
/// "reasoning_effort".
Json read_template_variables(const Fields& fields);

/// Reads "continue_final_message" and "add_generation_prompt"; call after reading the messages.
/// Throws ApiError naming the field.
void read_continuation(const Fields& fields, ChatRequest& request);

/// True if the last message is an assistant's text that an answer may continue.
bool ends_in_text(const Json& messages);

/// Reads the reasoning effort under OpenAI's and Anthropic's names. Throws ApiError for another
/// name.
void read_effort(const Fields& fields, std::string_view name, Json& variables);

/// Owner of a request's data; clients never see each other's.
std::string owner_of(const HttpRequest& request);

/// Reads "generic_tools", which describes tools as text if the template has none. Default true.
bool read_generic_tools(const Fields& fields);

/// Reads "echo_repair". Returns no memory if the field is false or the server does not remember.
ChatRequest::Echo read_echo(const Fields& fields, const HttpRequest& request, ServerState& state);

/// Tokens of the prompt. Throws ApiError naming messages_field.
Tokens encode_prompt(const ServedModel& model, ChatRequest& request);

/// Tokens of other messages under the request's rules. Throws tenon::Error.
Tokens encode_messages(const ServedModel& model, const ChatRequest& request, const Json& messages);

/// Throws ApiError for an unsupported schema, naming its field with the JSON pointer.
AnswerPlan plan_chat(const ServedModel& model, ChatRequest request);

}  // namespace tenon_http
