// A conversation and its rules to answers to be generated: prompt, samplers under their grammars, readers
// of the answers. The same for every interface that chats.
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

/// A chat as an interface understood it.
struct ChatRequest {
  Json messages = Json::array();  ///< of a conversation
  std::string messages_field = "messages";
  // `= T()` and not `{}` for aggregates: GCC 12 destroys a part of an aggregate twice if a later
  // initialiser throws.
  ToolUse tools = ToolUse();
  Json response_format = nullptr;  ///< as tenon.h, 14, has it
  std::string format_field = "response_format";
  Json variables = Json::object();  ///< for the template
  /// Whether the answer continues the last message, an assistant's.
  bool continues = false;
  bool adds_generation_prompt = true;
  bool tells_tools = true;  ///< as text, for templates without tools
  Sampling sampling = Sampling();
  std::optional<tenon::Grammar> grammar{};  ///< what the whole answer must be
  size_t num_choices = 1;
  std::optional<uint64_t> max_tokens{};
  bool logprobs = false;
  uint32_t num_top = 0;
  /// Where its answers are remembered, and for whom.
  struct Echo {
    EchoMemory* memory = nullptr;  ///< null: nowhere
    std::string owner{};
  };
  Echo echo = Echo();
  /// Where the context does not hold all of it, the oldest messages but those of the system go.
  bool truncates = false;
  std::vector<std::string> notes{};  ///< for the client: what was skipped or left out
};

/// "response_format" as a conversation takes it; null for text. Throws ApiError naming the field.
///   notes  gets what a schema with "strict": false has and is not kept
Json read_response_format(const Fields& fields, std::vector<std::string>& notes);

/// Name of the schema's field within "response_format".
std::string schema_field(const Fields& fields);

/// Value of "response_format", or of "format" in the responses' "text". The schema stands in
/// "json_schema" or beside "type", also with "json_object". Throws ApiError for a constraint that
/// is not supported.
Json read_format(const Fields& format, std::vector<std::string>& notes);

/// The schema of an answer, "schema" of `format`, as a conversation takes it. Throws ApiError.
Json schema_format(const Fields& format, std::vector<std::string>& notes);

/// What every interface lets a client say to the template: "chat_template_kwargs" and
/// "reasoning_effort".
Json read_template_variables(const Fields& fields);

/// Reads "continue_final_message" and "add_generation_prompt", after the messages. Throws ApiError
/// naming the field.
void read_continuation(const Fields& fields, ChatRequest& request);

/// Whether the last message is an assistant's text that an answer may continue.
bool ends_in_text(const Json& messages);

/// How much the model may think, by OpenAI's and Anthropic's names. Throws ApiError for another one.
void read_effort(const Fields& fields, std::string_view name, Json& variables);

/// Whose a request is: what one client was told is not another's.
std::string owner_of(const HttpRequest& request);

/// Reads "generic_tools": tools are described as text if the template knows none. Default true.
bool read_generic_tools(const Fields& fields);

/// Where its answers are remembered: nowhere with "echo_repair": false, or when the server does not.
ChatRequest::Echo read_echo(const Fields& fields, const HttpRequest& request, ServerState& state);

/// The tokens of the prompt. Throws ApiError naming messages_field.
Tokens encode_prompt(const ServedModel& model, ChatRequest& request);

/// The tokens of other messages under the same rules. Throws tenon::Error.
Tokens encode_messages(const ServedModel& model, const ChatRequest& request, const Json& messages);

/// Throws ApiError: for a schema that cannot be kept exactly, naming its field, with the JSON pointer.
AnswerPlan plan_chat(const ServedModel& model, ChatRequest request);

}  // namespace tenon_http
