// tenon chat: a conversation with a model, in a terminal or through pipes.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "failure.h"
#include "json_files.h"
#include "number_lists.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct ChatFlags {
  std::string model;
  std::string system;
  std::string tools;
  std::string tool_choice;
  std::string json_schema;
  std::string message;
  bool has_message = false;
  bool no_thinking = false;
  uint64_t max_tokens = 0;
  OptionFlags model_options;
  OptionFlags session_options;
  OptionFlags sampler_options;
  OptionFlags chat_options;
};

// Ctrl-C ends the answer: the handler may only call what tenon.h allows in one.
tenon_session* answering = nullptr;

void cancel_answer(int) {
  if (answering != nullptr) (void)tenon_session_cancel(answering);
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

class Conversation {
 public:
  explicit Conversation(const ChatFlags& flags) : flags_(flags) {
    if (!flags.system.empty()) add("system", flags.system);
    if (!flags.tools.empty()) {
      tools_ = read_json(flags.tools);
      if (!tools_.is_array()) throw Failure(flags.tools + ": holds no JSON list of tools");
    }
    if (!flags.json_schema.empty()) {
      format_ = {{"type", "json_schema"},
                 {"json_schema", {{"schema", read_json(flags.json_schema)}}}};
    }
  }

  void add(const char* role, const std::string& content) {
    messages_.push_back({{"role", role}, {"content", content}});
  }
  void add(const std::string& message) { messages_.push_back(Json::parse(message)); }

  /// Forgets the last question and its answer. False when there is none.
  bool undo() {
    for (size_t i = messages_.size(); i-- > 0;) {
      if (messages_[i]["role"] != "user") continue;
      messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i), messages_.end());
      return true;
    }
    return false;
  }

  [[nodiscard]] std::string json() const {
    Json out{{"messages", messages_}, {"now", local_time()}};
    if (!tools_.is_null()) out["tools"] = tools_;
    if (!flags_.tool_choice.empty()) out["tool_choice"] = choice();
    if (!format_.is_null()) out["response_format"] = format_;
    if (flags_.no_thinking) out["enable_thinking"] = false;
    return json_line(out);
  }
  [[nodiscard]] std::string history() const { return json_line(messages_, 2) + "\n"; }

 private:
  /// A word of the interface, or the name of a tool.
  [[nodiscard]] Json choice() const {
    const std::string& word = flags_.tool_choice;
    if (word == "auto" || word == "required" || word == "none") return word;
    return {{"type", "function"}, {"function", {{"name", word}}}};
  }

  const ChatFlags& flags_;
  Json messages_ = Json::array();
  Json tools_;
  Json format_;
};

/// Shows an answer as it comes in; tool calls on lines of their own.
class Display {
 public:
  void show(const tenon::ChatDelta& delta) {
    switch (delta.kind) {
      case TENON_CHAT_CONTENT:
      case TENON_CHAT_REASONING:
        enter(delta.kind);
        print(delta.text);
        break;
      case TENON_CHAT_CALL_BEGIN:
        enter(delta.kind);
        print("[" + std::string(delta.text) + " ");
        break;
      case TENON_CHAT_ARGUMENTS:
        print(delta.text);
        break;
      case TENON_CHAT_CALL_END:
        print("]");
        break;
      case TENON_CHAT_CALL_RETRACT:
        print(" ...]\n");
        last_ = 0;
        break;
      default:
        break;
    }
    flush();
  }
  void end() {
    if (last_ == TENON_CHAT_REASONING) print("\n</think>");
    print("\n");
    flush();
  }

 private:
  void enter(int32_t kind) {
    if (last_ == kind && kind != TENON_CHAT_CALL_BEGIN) return;
    if (last_ == TENON_CHAT_REASONING)
      print("\n</think>\n");
    else if (last_ != 0)
      print("\n");
    if (kind == TENON_CHAT_REASONING) print("<think>\n");
    last_ = kind;
  }
  int32_t last_ = 0;
};

void answer(const tenon::Chat& chat, tenon::Session& session, Conversation& conversation,
            const ChatFlags& flags) {
  const std::string json = conversation.json();
  tenon::ChatReply reply = chat.reply(json);
  tenon::Sampler sampler(tenon::SamplerOptions{.extra = flags.sampler_options.values()});
  chat.constrain(sampler, json);
  tenon::Chat::advance(session, chat.encode(json));
  Display display;
  const auto show = [&display](const tenon::ChatDelta& delta) { display.show(delta); };
  answering = session.get();
  bool all_banned = false;
  try {
    for (const tenon::Piece& piece : session.generate(sampler, flags.max_tokens)) {
      if (piece.token != TENON_NO_TOKEN) reply.push(piece.token, show);
      all_banned = piece.finish == TENON_FINISH_BANNED;
    }
  } catch (const tenon::Error& error) {
    answering = nullptr;
    if (error.code() != tenon::Code::Cancelled) throw;
  }
  answering = nullptr;
  reply.finish(show);
  display.end();
  if (all_banned) warn_all_banned();
  conversation.add(reply.message());
}

/// A line that begins with '/'. False ends the conversation.
bool command(const std::string& line, Conversation& conversation) {
  if (line == "/quit" || line == "/exit") return false;
  if (line == "/undo") {
    print(conversation.undo() ? "The last question is forgotten.\n" : "There is no question.\n");
  } else if (line == "/history") {
    print(conversation.history());
  } else if (line.rfind("/save ", 0) == 0) {
    const std::string path = line.substr(6);
    std::ofstream file(path, std::ios::binary);
    file << conversation.history();
    file.close();
    print(file ? "Saved to " + path + "\n" : "Cannot write " + path + "\n");
  } else {
    print("/undo  /history  /save FILE  /quit\n");
  }
  flush();
  return true;
}

void run(const ChatFlags& flags) {
  Conversation conversation(flags);
  ProgressBar loading("loading");
  const tenon::Log log = warnings();
  const tenon::Model model(
      flags.model,
      {.extra = flags.model_options.values(), .progress = loading.callback(), .log = &log});
  loading.clear();
  const tenon::Chat chat(model, {.extra = flags.chat_options.values()});
  tenon::Session session(model, {.extra = flags.session_options.values()});
  if (flags.has_message) {
    conversation.add("user", flags.message);
    return answer(chat, session, conversation, flags);
  }
  struct sigaction action {};
  action.sa_handler = cancel_answer;  // without SA_RESTART: a read ends, too
  sigaction(SIGINT, &action, nullptr);
  const bool prompts = stdout_is_terminal();
  if (prompts) print("/help tells the commands; Ctrl-C stops an answer, Ctrl-D ends.\n");
  for (;;) {
    if (prompts) print("> ");
    flush();
    std::string line;
    if (!std::getline(std::cin, line)) {
      if (std::feof(stdin) != 0) break;
      std::cin.clear();  // Ctrl-C at the prompt: a new line
      std::clearerr(stdin);
      print("\n");
      continue;
    }
    if (line.empty()) continue;
    if (line[0] == '/') {
      if (!command(line, conversation)) break;
      continue;
    }
    conversation.add("user", line);
    try {
      answer(chat, session, conversation, flags);
    } catch (const tenon::Error& error) {
      // A question too many must not cost the conversation.
      std::fprintf(stderr, "tenon: %s; the question is forgotten\n", error.what());
      (void)conversation.undo();
    }
  }
  if (prompts) print("\n");
  flush();
}

}  // namespace

void add_chat(CLI::App& app) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand("chat", "Talk with a model");
  command->add_option("MODEL", flags->model, "GGUF file")->required();
  command->add_option("--system", flags->system, "What the model is told first");
  command->add_option("--tools", flags->tools, "JSON file with a list of tools");
  command->add_option("--tool-choice", flags->tool_choice,
                      "auto, required, none, or the name of the tool to call");
  command->add_option("--json-schema", flags->json_schema,
                      "JSON Schema file that the answers obey (draft 2020-12)");
  CLI::Option* message =
      command->add_option("--message", flags->message, "Answer this one message and exit");
  command->add_flag("--no-thinking", flags->no_thinking, "Set enable_thinking to false");
  command->add_option("-n,--max-tokens", flags->max_tokens, "Longest answer in tokens")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  flags->sampler_options.add(*command, TENON_SCOPE_SAMPLER, "Sampler");
  flags->session_options.add(*command, TENON_SCOPE_SESSION, "Session");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  flags->chat_options.add(*command, TENON_SCOPE_CHAT, "Chat");
  command->callback([flags, message] {
    flags->has_message = message->count() > 0;
    run(*flags);
  });
}

}  // namespace tenon_program
