#include "chat_loop.h"

#include <cstdio>
#include <optional>
#include <string>

#include "chat_commands.h"
#include "host.h"
#include "line_reader.h"
#include "terminal.h"

namespace tenon_program {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

void note_interrupt() {}  // interrupts a read

/// Lines between triple quotes. Returns no value if the input ends first, "" if Ctrl-C ends it.
std::optional<std::string> quoted_lines(const std::string& first, LineReader& reader) {
  std::string text = first.substr(kQuotes.size());
  while (!text.ends_with(kQuotes)) {
    const std::optional<std::string> line = reader.read("... ");
    if (!line) return std::nullopt;
    if (reader.was_interrupted()) return "";
    text += "\n" + *line;
  }
  text.resize(text.size() - kQuotes.size());
  const size_t begin = text.find_first_not_of('\n');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of('\n') + 1 - begin);
}

/// Answers the last question. A failure does not end the conversation.
void answer(Talk& talk) {
  try {
    talk.answer();
  } catch (const tenon::Error& error) {
    if (error.code() == tenon::Code::Cancelled) {
      say(Style::Note, "note: stopped before the answer began; the question is forgotten");
    } else {
      say(Style::Error, std::string(error.what()) + "; the question is forgotten");
    }
    (void)talk.conversation.undo();
  }
}

}  // namespace

void chat_loop(Talk& talk) {
  const OnInterrupt ends_reads(note_interrupt);
  const bool prompts = stdout_is_terminal();
  if (prompts) {
    print("Talking to " + talk.description() +
          ".\n/help lists commands; Ctrl-C stops an answer, Ctrl-D ends.\n");
  }
  LineReader reader;
  for (;;) {
    std::optional<std::string> line = reader.read("> ");
    if (!line) break;
    std::string text = *line;
    if (text.starts_with(kQuotes) && !reader.was_interrupted()) {
      line = quoted_lines(text, reader);
      if (!line) break;
      text = *line;
      reader.remember(text);
    } else {
      reader.remember(text);
      if (text.starts_with("//")) {
        text.erase(0, 1);
      } else if (text.starts_with('/')) {
        const AfterCommand after = run_chat_command(text, talk);
        flush();
        if (after == AfterCommand::End) break;
        if (after == AfterCommand::Answer) answer(talk);
        continue;
      }
    }
    if (text.find_first_not_of(" \t\n") == text.npos) continue;
    talk.conversation.add("user", text);
    answer(talk);
  }
  if (prompts) print("\n");
  flush();
}

}  // namespace tenon_program
