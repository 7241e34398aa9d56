// Chat with history: chat MODEL, then one question per line.
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>

namespace {

/// `text` as a JSON string.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: chat MODEL");
  const tenon::Model model(argv[1]);
  const tenon::Chat chat(model);
  tenon::Session session(model);
  const auto show = [](const tenon::ChatDelta& delta) {
    if (delta.kind == TENON_CHAT_CONTENT) std::cout << delta.text << std::flush;
  };
  std::string messages;
  for (std::string line; std::getline(std::cin, line);) {
    if (!messages.empty()) messages += ", ";
    messages += "{\"role\": \"user\", \"content\": " + quoted(line) + "}";
    messages += ", " + chat.answer(session, "{\"messages\": [" + messages + "]}", show,
                                   {.sampler = {.temperature = 0}});
    std::cout << '\n';
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "chat: " << error.what() << '\n';
  return 1;
}
