// Model that calls a tool of this program: tool_calling MODEL [QUESTION].
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>

namespace {

constexpr const char* kTools = R"([{"type": "function", "function": {"name": "get_weather",
  "description": "Current weather in a city", "parameters": {"type": "object",
  "properties": {"city": {"type": "string"}}, "required": ["city"]}}}])";

/// Sample tool; a real one would parse the arguments and query a service.
std::string get_weather(const std::string& arguments) {
  std::cout << "calling get_weather(" << arguments << ")\n";
  return R"({\"temperature\": 21, \"condition\": \"sunny\"})";
}

std::string conversation(const std::string& messages) {
  return std::string("{\"messages\": [") + messages + "], \"tools\": " + kTools + "}";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error("usage: tool_calling MODEL [QUESTION]");
  const std::string question = argc > 2 ? argv[2] : "What is the weather in Lima?";
  const tenon::Model model(argv[1]);
  const tenon::Chat chat(model);
  tenon::Session session(model);
  const tenon::GenerateOptions options{.max_tokens = 128, .sampler = {.temperature = 0}};

  std::string tool, arguments;
  const auto read = [&](const tenon::ChatDelta& delta) {
    if (delta.kind == TENON_CHAT_CONTENT) std::cout << delta.text << std::flush;
    if (delta.kind == TENON_CHAT_CALL_BEGIN) tool = delta.text;
    if (delta.kind == TENON_CHAT_ARGUMENTS) arguments += delta.text;
  };
  std::string messages = "{\"role\": \"user\", \"content\": \"" + question + "\"}";
  messages += ", " + chat.answer(session, conversation(messages), read, options);
  if (tool == "get_weather") {
    messages += ", {\"role\": \"tool\", \"content\": \"" + get_weather(arguments) + "\"}";
    (void)chat.answer(session, conversation(messages), read, options);
  }
  std::cout << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tool_calling: " << error.what() << '\n';
  return 1;
}
