// Bodies of requests as the server reads them before a model is asked: JSON with its bounds, messages,
// tools, blocks, items, formats. Whatever the bytes, the outcome is a request or an ApiError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/api_error.h"
#include "server/chat_messages.h"
#include "server/chat_plan.h"
#include "server/chat_tools.h"
#include "server/message_blocks.h"
#include "server/response_items.h"

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
  Json body;
  try {
    body = parse_json({reinterpret_cast<const char*>(data), size});
  } catch (const ApiError&) {
    return 0;
  }
  try_to(body, [](const Fields& fields) { (void)read_messages(fields); });
  try_to(body, [](const Fields& fields) { (void)read_tools(fields); });
  try_to(body, [](const Fields& fields) { (void)read_response_format(fields); });
  try_to(body, [](const Fields& fields) { (void)read_message_request(fields); });
  try_to(body, [](const Fields& fields) { (void)read_response_request(fields); });
  (void)to_text(body);
  return 0;
}
