#include "answering.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "display.h"
#include "failure.h"
#include "format_text.h"
#include "host.h"
#include "hub_access.h"
#include "input_files.h"
#include "number_lists.h"
#include "stopwatch.h"
#include "terminal.h"

namespace tenon_program {
namespace {

// Session that Ctrl-C cancels. The handler may only call what tenon.h allows in signal handlers.
std::atomic<tenon_session*> answering{nullptr};

void cancel_answer() {
  tenon_session* const session = answering.load();
  if (session != nullptr) (void)tenon_session_cancel(session);
}

/// Lets Ctrl-C cancel the running answer during the object's lifetime.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(tenon_session* session) { answering = session; }
  ~CancelOnInterrupt() { answering = nullptr; }
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  OnInterrupt cancelling_{cancel_answer};
};

/// --template: a template's text, a file (PATH or @PATH), or the name of a known template.
tenon::ChatOptions chat_options(const AnswerFlags& flags) {
  tenon::ChatOptions options{.extra = flags.chat_options.values()};
  const std::string& given = flags.chat_template;
  if (given.empty()) return options;
  if (given.find("{{") != given.npos || given.find("{%") != given.npos) {
    options.chat_template = given;
  } else if (std::error_code ignored; std::filesystem::exists(path_of(given), ignored)) {
    options.chat_template = read_file(given);
  } else if (given.starts_with("@")) {
    options.chat_template = read_file(given.substr(1));
  } else if (given.find('/') != given.npos) {
    throw Failure("--template " + printable(given, 200) + ": there is no such file");
  } else {
    options.chat_template = given;
  }
  return options;
}

double rate(uint64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

}  // namespace

void AnswerFlags::add(CLI::App& command) {
  command.add_option("--system,--sys,--system-prompt", system, "What the model is told first");
  command
      .add_option("-n,--max-tokens,--n-predict,--predict,--num-predict", max_tokens,
                  "Longest answer in tokens (default: until the model ends)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command.add_option("--tools", tools, "JSON file with a list of tools");
  command.add_option("--tool-choice", tool_choice,
                     "auto, required, none, or the name of the tool to call");
  CLI::Option_group* grammar = command.add_option_group("Grammar", "what the answer must be");
  grammar->add_option("--json-schema", json_schema,
                      "JSON Schema file that the answers obey (draft 2020-12)");
  grammar->add_option("--gbnf,--grammar-file", gbnf, "GBNF file that the answers obey");
  grammar->add_option("--regex", regex, "Regular expression that the answers match");
  grammar->require_option(0, 1);
  command.add_flag("--no-thinking", no_thinking, "Set enable_thinking to false");
  command.add_flag("--timings,--verbose", timings,
                   "Print timings to standard error behind each answer");
  sampler_options.add(command, TENON_SCOPE_SAMPLER, "Sampler");
  session_options.add(command, TENON_SCOPE_SESSION, "Session");
  command.add_option("--store", store, option_doc("store"))->type_name("FOLDER");
  command.add_option("--store-bytes", store_bytes, option_doc("store_bytes"))->type_name("N");
  add_offline(command, offline);
  model_options.add(command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  command
      .add_option(
          "--template,--chat-template,--chat-template-file", chat_template,
          "Chat template in place of the model's: its text, a file with it, or a name such as "
          "chatml")
      ->group("Chat");
  chat_options.add(command, TENON_SCOPE_CHAT, "Chat", {"template"});
}

Talk::Talk(const AnswerFlags& flags, bool asks)
    : sampler_options(flags.sampler_options.values()),
      max_tokens(flags.max_tokens),
      timings(flags.timings),
      flags_(flags),
      log_(warnings()),
      pictures_(flags.images) {
  conversation.set_system(flags.system);
  if (!flags.tools.empty()) conversation.set_tools(flags.tools);
  conversation.set_schema(flags.json_schema);
  conversation.set_tool_choice(flags.tool_choice);
  conversation.set_thinking(!flags.no_thinking);
  const tenon::ChatOptions options = tenon_program::chat_options(flags);
  const auto start = Clock::now();
  ProgressBar loading("loading");
  tenon::ExtraOptions model_options = flags.model_options.values();
  const auto names_tower = [](const auto& option) { return option.first == "projector"; };
  if (!pictures_.empty() && std::ranges::none_of(model_options, names_tower)) {
    model_options.emplace_back("projector", projector_beside(flags.model));
  }
  model_.emplace(
      flags.model,
      tenon::ModelOptions{.extra = model_options, .progress = loading.callback(), .log = &log_});
  loading.clear();
  load_seconds_ = seconds_since(start);
  const bool given = !flags.chat_template.empty() || !flags.chat_options.values().empty();
  const bool has_one = given || model_->info().chat_template_length > 0;
  if (asks && has_one) chat_.emplace(*model_, options);
  const tenon::SessionOptions session{.extra = flags.session_options.values()};
  if (flags.store.empty()) {
    session_.emplace(*model_, session);
    return;
  }
  tenon::ExtraOptions stored{{"store", flags.store}};
  if (!flags.store_bytes.empty()) stored.emplace_back("store_bytes", flags.store_bytes);
  engine_.emplace(*model_, tenon::EngineOptions{.extra = stored});
  session_.emplace(engine_->open_session(session));
}

std::string Talk::description() const {
  const tenon_model_info info = model_->info();
  std::string name = printable({info.name, info.name_length}, 64);
  if (name.empty()) name = text_of(path_of(flags_.model).stem());
  return name + ", " + printable({info.architecture, info.architecture_length}, 32) + ", " +
         rounded_count(static_cast<double>(info.parameters)) + " parameters (" +
         size_text(info.tensor_bytes) + "), a context of " + counted(session_->context(), "token");
}

std::vector<tenon::Token> Talk::fitting_prompt() {
  const uint64_t context = session_->context();
  // Room for an answer: a quarter of the context, or max_tokens if smaller.
  uint64_t room = context / 4;
  if (max_tokens != 0) room = std::min(room, max_tokens);
  size_t dropped = 0;
  for (;;) {
    std::vector<tenon::Token> tokens = chat_->encode(conversation.json());
    const bool fits = tokens.size() + room <= context;
    if (fits || !conversation.drop_oldest()) {
      if (dropped > 0) {
        say(Style::Note, "note: the context of " + counted(context, "token") +
                             " is full; forgotten: the oldest " + counted(dropped, "question") +
                             " and what was answered");
      }
      return tokens;
    }
    ++dropped;
  }
}

void Talk::generate(tenon::Sampler& sampler, tenon::ChatReply& reply) {
  Display display;
  const auto show = [&display](const tenon::ChatDelta& delta) { display.show(delta); };
  int32_t finish = TENON_FINISH_NONE;
  uint64_t tokens = 0;
  {
    const CancelOnInterrupt cancel(session_->get());
    try {
      for (const tenon::Piece& piece : session_->generate(sampler, max_tokens)) {
        if (piece.token != TENON_NO_TOKEN) reply.push(piece.token, show);
        finish = piece.finish;
        ++tokens;
      }
    } catch (const tenon::Error& error) {
      if (error.code() != tenon::Code::Cancelled) throw;
      finish = TENON_FINISH_END;
    }
  }
  reply.finish(show);
  display.end();
  say_why_it_ended(*session_, finish, tokens, max_tokens);
}

void Talk::answer() {
  std::vector<tenon::Token> tokens = fitting_prompt();
  const std::string json = conversation.json();
  tenon::ChatReply reply = chat_->reply(json);
  tenon::Sampler sampler(tenon::SamplerOptions{.extra = sampler_options});
  if (!flags_.gbnf.empty() || !flags_.regex.empty()) {
    set_grammar(sampler, *model_, "", flags_.gbnf, flags_.regex);
  } else {
    chat_->constrain(sampler, json);
  }
  const tenon_session_stats before = session_->stats();
  if (pictures_.empty()) {
    tenon::Chat::advance(*session_, tokens);
  } else {
    session_->rewind(0);
    session_->append(tokens, pictures_.views(), model_->picture_place());
  }
  ProgressBar reading("reading");
  {
    const CancelOnInterrupt cancel(session_->get());
    session_->prefill(reading.callback());
  }
  reading.clear();
  generate(sampler, reply);
  conversation.add(reply.message());
  if (!timings) return;
  tenon_session_stats stats = session_->stats();
  stats.prefill_tokens -= before.prefill_tokens;
  stats.decode_tokens -= before.decode_tokens;
  stats.prefill_seconds -= before.prefill_seconds;
  stats.decode_seconds -= before.decode_seconds;
  print_timings(load_seconds_, stats);
}

void say_why_it_ended(const tenon::Session& session, int32_t finish, uint64_t tokens,
                      uint64_t max_tokens) {
  if (finish == TENON_FINISH_BANNED) return warn_all_banned();
  const bool is_short = max_tokens == 0 || tokens < max_tokens;
  if (finish == TENON_FINISH_END || finish == TENON_FINISH_STOP || !is_short) return;
  say(Style::Note, "note: it ends where the context of " + counted(session.context(), "token") +
                       " is full (--context N)");
}

void set_grammar(tenon::Sampler& sampler, const tenon::Model& model, const std::string& json_schema,
                 const std::string& gbnf, const std::string& regex) {
  const auto set = [&](const tenon::Grammar& grammar) {
    sampler.set_grammar(grammar, model.tokenizer());
  };
  if (!json_schema.empty()) set(tenon::Grammar::json_schema(read_file(json_schema)));
  if (!gbnf.empty()) set(tenon::Grammar::gbnf(read_file(gbnf)));
  if (!regex.empty()) set(tenon::Grammar::regular_expression(regex));
}

void print_timings(double load_seconds, const tenon_session_stats& stats) {
  begin_error_line();
  std::fprintf(stderr, "load     %8.3f s\n", load_seconds);
  std::fprintf(stderr, "prefill  %8.3f s  %6llu tokens  %9.2f tokens/s\n", stats.prefill_seconds,
               static_cast<unsigned long long>(stats.prefill_tokens),
               rate(stats.prefill_tokens, stats.prefill_seconds));
  std::fprintf(stderr, "decode   %8.3f s  %6llu tokens  %9.2f tokens/s\n", stats.decode_seconds,
               static_cast<unsigned long long>(stats.decode_tokens),
               rate(stats.decode_tokens, stats.decode_seconds));
}

std::function<void()> add_model_and_text(CLI::App& command, std::string& model, std::string& text,
                                         const char* name, const char* what) {
  auto named = std::make_shared<std::string>();
  auto prompt = std::make_shared<std::string>();
  CLI::Option* first = command.add_option("MODEL", model, "GGUF file");
  CLI::Option* second = command.add_option(name, text, what);
  CLI::Option* by_flag =
      command.add_option("-m,--model", *named, "GGUF file, in place of the first word")
          ->type_name("FILE");
  CLI::Option* asked =
      command.add_option("-p,--prompt", *prompt, "The text, in place of the last word")
          ->type_name("TEXT");
  return [=, &model, &text] {
    size_t words = first->count() + second->count();
    if (by_flag->count() > 0) {
      if (words == 2) throw Ending(2, "--model is given, and a MODEL as well; leave one out");
      if (words == 1) text = model;
      model = *named;
    } else if (words-- == 0) {
      throw Ending(2, "MODEL is missing: the path of a GGUF file; see --help of the command");
    }
    if (asked->count() == 0) return;
    if (words > 0) throw Ending(2, "--prompt is given, and a text as well; leave one out");
    text = *prompt;
  };
}

std::string standard_input(bool has_text) {
  const InputKind kind = kind_of_input();
  if (kind == InputKind::Terminal || (has_text && kind != InputKind::FileOrPipe)) return "";
  constexpr int kPatienceMs = 2000;
  if (!wait_for_input(kPatienceMs)) {
    say(Style::Note, "note: waiting for standard input (</dev/null where there is none)");
  }
  return read_file("-");
}

}  // namespace tenon_program
