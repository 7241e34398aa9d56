// tenon run: answers a question. tenon complete: continues a text.

#include <memory>
#include <string>

#include "answering.h"
#include "chat_loop.h"
#include "commands.h"
#include "failure.h"
#include "host.h"
#include "hub_access.h"
#include "input_files.h"
#include "number_lists.h"
#include "terminal.h"

namespace tenon_program {
namespace {

/// Flags of `tenon complete`.
struct ContinueFlags {
  bool no_special = false;
  bool parse_special = false;
};

void continue_text(Talk& talk, const AnswerFlags& flags, const std::string& prompt,
                   const ContinueFlags& how) {
  tenon::Session& session = talk.session();
  const tenon::EncodeOptions encode{.add_special = !how.no_special,
                                    .parse_special = how.parse_special};
  if (talk.model().info().source_tokens > 0) {
    session.set_source(prompt, encode);
    if (session.position() == 0) {
      throw Failure(flags.model + ": does not say which token answers begin with");
    }
  } else {
    if (!talk.pictures().empty()) session.append("", encode);
    for (const tenon::Picture& picture : talk.pictures()) session.append(picture);
    const bool begins = talk.pictures().empty();
    session.append(prompt, {.add_special = begins && encode.add_special,
                            .parse_special = encode.parse_special});
  }
  if (session.position() == 0) {
    throw Failure("the prompt is empty and the model has no begin token; give it some text");
  }
  ProgressBar reading("reading");
  session.prefill(reading.callback());
  reading.clear();
  tenon::Sampler sampler(tenon::SamplerOptions{.extra = flags.sampler_options.values()});
  set_grammar(sampler, talk.model(), flags.json_schema, flags.gbnf, flags.regex);
  int32_t finish = TENON_FINISH_NONE;
  uint64_t tokens = 0;
  bool is_empty = true;
  for (const tenon::Piece& piece : session.generate(sampler, flags.max_tokens)) {
    finish = piece.finish;
    ++tokens;
    if (piece.text.empty()) continue;
    is_empty = false;
    print(piece.text);
    flush();
  }
  // Write exactly the text to a file or a pipe; on a terminal, end the line for the prompt.
  if (stdout_is_terminal()) print("\n");
  flush();
  if (!is_empty || finish != TENON_FINISH_END) {
    say_why_it_ended(session, finish, tokens, flags.max_tokens);
  } else {
    say(Style::Note,
        "note: the model ended at once; `tenon run` asks it a question, `tenon chat` talks");
  }
  if (flags.timings) print_timings(talk.load_seconds(), session.stats());
}

/// Joins both texts by an empty line; either may be empty.
std::string with_text_before(const std::string& before, const std::string& text) {
  return before.empty() || text.empty() ? before + text : before + "\n\n" + text;
}

struct RunFlags : AnswerFlags {
  std::string prompt;
  std::string file;
  ContinueFlags how;
};

void run(const RunFlags& flags) {
  const bool has_text = !flags.prompt.empty();
  const std::string before = flags.file.empty() ? standard_input(has_text) : read_file(flags.file);
  const std::string question = with_text_before(before, flags.prompt);
  Talk talk(flags, true);
  if (question.empty()) {
    if (flags.file.empty() && talk.pictures().empty() && is_terminal(Stream::Input) &&
        talk.has_template()) {
      return chat_loop(talk);
    }
    if (talk.has_template()) throw Failure("there is no question; give one, or tenon chat MODEL");
  }
  if (talk.has_template()) {
    if (talk.pictures().empty()) {
      talk.conversation.add("user", question);
    } else {
      talk.conversation.add_with_pictures(question, talk.pictures().size());
    }
    return talk.answer();
  }
  if (talk.model().info().source_tokens == 0) {
    say(Style::Note, "note: the file has no chat template, so the text is continued (--template)");
    if (!flags.system.empty() || !flags.tools.empty()) {
      throw Failure("--system and --tools need a chat template; give one by --template");
    }
  }
  continue_text(talk, flags, question, flags.how);
}

void complete(const RunFlags& flags) {
  const bool has_text = !flags.prompt.empty();
  Talk talk(flags, false);
  const std::string text = has_text             ? flags.prompt
                           : flags.file.empty() ? standard_input(false)
                                                : read_file(flags.file);
  continue_text(talk, flags, text, flags.how);
}

void add_images(CLI::App& command, AnswerFlags& flags) {
  command
      .add_option("--image", flags.images,
                  "A picture before the text (PNG, JPEG, WebP, GIF, BMP); may be repeated. The "
                  "model's tower is --mmproj, or the file mmproj*.gguf beside the model")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
}

}  // namespace

void add_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand(
      "run",
      "Answer a question, asked by the model's chat template, and stream the answer to standard "
      "output. What comes through standard input, or from --file, goes before the question. A "
      "model "
      "without a template continues the text instead; without a question, at a terminal, a chat "
      "begins.");
  const auto resolve = add_model_and_text(*command, flags->model, flags->prompt, "QUESTION",
                                          "What is asked (default: standard input)");
  command
      ->add_option("-f,--file", flags->file,
                   "Read a text from a file (-: standard input), which goes before the question")
      ->type_name("FILE");
  add_images(*command, *flags);
  flags->add(*command);
  command->callback([flags, resolve] {
    resolve();
    flags->model = model_path(flags->model, flags->offline);
    run(*flags);
  });
}

void add_complete(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand(
      "complete",
      "Continue a text, as it is, and stream what follows to standard output. `tenon run` asks a "
      "question by the model's chat template.");
  const auto resolve = add_model_and_text(*command, flags->model, flags->prompt, "TEXT",
                                          "Text to continue (default: standard input)");
  command->add_option("-f,--file", flags->file, "Read the text from a file (-: standard input)")
      ->excludes(command->get_option("TEXT"))
      ->excludes(command->get_option("--prompt"));
  command
      ->add_option("-n,--max-tokens,--n-predict,--predict,--num-predict", flags->max_tokens,
                   "Generate at most N tokens (default: until the model ends or the context is "
                   "full)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  add_images(*command, *flags);
  add_offline(*command, flags->offline);
  command->add_flag("--no-special", flags->how.no_special, "Do not add the model's begin token");
  command->add_flag("--parse-special", flags->how.parse_special,
                    "Read spelled control tokens (such as <|im_start|>) as control tokens");
  CLI::Option_group* grammar = command->add_option_group("Grammar", "what the text must be");
  grammar->add_option("--json-schema", flags->json_schema, "A document of this JSON Schema (file)");
  grammar->add_option("--gbnf,--grammar-file", flags->gbnf, "A text of this GBNF grammar (file)");
  grammar->add_option("--regex", flags->regex, "A match of this regular expression");
  grammar->require_option(0, 1);
  command->add_flag("--timings,--verbose", flags->timings, "Print timings to standard error");
  flags->sampler_options.add(*command, TENON_SCOPE_SAMPLER, "Sampler");
  flags->session_options.add(*command, TENON_SCOPE_SESSION, "Session");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  command->callback([flags, resolve] {
    resolve();
    flags->model = model_path(flags->model, flags->offline);
    complete(*flags);
  });
}

}  // namespace tenon_program
