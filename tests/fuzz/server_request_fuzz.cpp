// Bodies of requests as the server reads them before a model is asked: JSON with its bounds, messages,
// tools, blocks, items, formats and questions. Whatever the bytes, the outcome is a request or an
// error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/answers/chat_plan.h"
#include "server/api_error.h"
#include "server/compat/echo_memory.h"
#include "server/compat/thought_signer.h"
#include "server/protocols/chat_messages.h"
#include "server/protocols/chat_tools.h"
#include "server/protocols/custom_tools.h"
#include "server/protocols/decision_questions.h"
#include "server/protocols/message_blocks.h"
#include "server/protocols/response_items.h"

namespace {

using namespace tenon_http;

template <typename Read>
void try_to(const Json& body, Read read) {
  try {
    read(Fields(body));
  } catch (const ApiError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)CustomInput().push(text);
  Json body;
  try {
    body = parse_json(text);
  } catch (const ApiError&) {
    return 0;
  }
  try_to(body, [](const Fields& fields) {
    std::vector<std::string> notes;
    (void)ConversationMeaning(Json::object(), read_messages(fields, notes));
  });
  try_to(body, [](const Fields& fields) { (void)read_questions(fields, false); });
  try_to(body, [](const Fields& fields) { (void)read_tools(fields); });
  try_to(body, [](const Fields& fields) {
    std::vector<std::string> notes;
    (void)read_response_format(fields, notes);
  });
  try_to(body,
         [](const Fields& fields) { (void)read_message_request(fields, ThoughtSigner("secret")); });
  try_to(body, [](const Fields& fields) { (void)read_response_request(fields); });
  (void)to_text(body);
  return 0;
}
