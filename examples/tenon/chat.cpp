// tenon chat: a conversation with a model, in a terminal or through pipes.
#include <memory>
#include <string>

#include "answering.h"
#include "chat_loop.h"
#include "commands.h"
#include "failure.h"
#include "hub_access.h"

namespace tenon_program {
namespace {

struct ChatFlags : AnswerFlags {
  std::string message;
  bool has_message = false;
};

void run(const ChatFlags& flags) {
  Talk talk(flags, true);
  if (!talk.has_template()) {
    throw Failure(flags.model +
                  ": has no chat template; give one by --template (chatml, or a file), or "
                  "`tenon complete` continues a text");
  }
  if (!flags.has_message) return chat_loop(talk);
  talk.conversation.add("user", flags.message);
  talk.answer();
}

}  // namespace

void add_chat(CLI::App& app) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand(
      "chat",
      "Talk with a model. Lines are questions, those that begin with a slash commands (/help). "
      "Where "
      "the context is full, the oldest questions are forgotten with their answers, until a quarter "
      "of it is free.");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  CLI::Option* message = command->add_option("--message,-p,--prompt", flags->message,
                                             "Answer this one message and exit");
  flags->add(*command);
  command->callback([flags, message] {
    flags->has_message = message->count() > 0;
    flags->model = model_path(flags->model, flags->offline);
    run(*flags);
  });
}

}  // namespace tenon_program
