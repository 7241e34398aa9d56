#include "command_table.h"

#include <algorithm>

#include "commands.h"
#include "format_text.h"

namespace tenon_program {
namespace {

constexpr const char* kUse = "Use a model";
constexpr const char* kModels = "Get models";
constexpr const char* kLook = "Look at a model";
constexpr const char* kMeasure = "Measure";
constexpr const char* kSetup = "Setup";

#ifdef TENON_HAS_SERVER
constexpr auto kServe = add_serve;
#else
constexpr void (*kServe)(CLI::App&) = nullptr;
#endif

#ifdef TENON_HAS_HUB
constexpr auto kPull = add_pull;
constexpr auto kList = add_model_list;
constexpr auto kRemove = add_rm;
#else
constexpr void (*kPull)(CLI::App&) = nullptr;
constexpr auto kList = kPull;
constexpr auto kRemove = kPull;
#endif
constexpr const char* kNoHub = "this build is without libtenon-hub (TENON_HUB=OFF)";

std::vector<Command> make_table() {
  return {
      {"run",
       kUse,
       "Answer a question",
       add_run,
       "",
       {"--prompt", "--file", "--system", "--max-tokens", "--temperature", "--seed",
        "--json-schema", "--context", "--threads", "--gpu-layers", "--timings"},
       {{"tenon run model.gguf \"What is the capital of Norway?\"", "answer a question"},
        {"tenon run hf:owner/name:Q4_K_M \"Hi\"", "get the model first if it is not here"},
        {"tenon run model.gguf \"Summarize this\" < report.txt", "with a text before it"}}},
      {"chat",
       kUse,
       "Talk with a model",
       add_chat,
       "",
       {"--system", "--tools", "--max-tokens", "--temperature", "--seed", "--json-schema",
        "--context", "--threads", "--gpu-layers", "--no-thinking"},
       {{"tenon chat model.gguf --system \"Answer in one line.\"", "talk; /help lists commands"}}},
      {"complete",
       kUse,
       "Continue a text",
       add_complete,
       "",
       {"--prompt", "--file", "--max-tokens", "--temperature", "--top-p", "--seed", "--stop",
        "--gbnf", "--context", "--threads", "--gpu-layers"},
       {{"tenon complete model.gguf \"Once upon a time\" -n 64", "continue a text"}}},
      {"serve",
       kUse,
       "Serve models over HTTP, to clients of OpenAI's interfaces",
       kServe,
       "this build is without the server: install libboost-dev (Debian; elsewhere Boost's "
       "headers), "
       "then run `cmake --preset release` and `cmake --build build` again",
       {"--host", "--port", "--api-key", "--name", "--context", "--threads", "--gpu-layers",
        "--memory-bytes", "--tls-certificate", "--log"},
       {{"tenon serve model.gguf", "with a page at http://127.0.0.1:8080"},
        {"tenon serve model.gguf --host 0.0.0.0 --api-key-file keys", "for others, with keys"}}},
      {"embed",
       kUse,
       "Print the embeddings of texts, or how alike the texts are",
       add_embed,
       "",
       {"--file", "--role", "--json", "--similarity", "--output", "--pooling", "--dimensions",
        "--threads"},
       {{"tenon embed model.gguf \"a cat\" \"a dog\" --similarity", "how alike they are"}}},
      {"rerank",
       kUse,
       "Order texts by how well they answer a query",
       add_rerank,
       "",
       {"--query", "--file", "--json", "--threads"},
       {{"tenon rerank model.gguf -q \"where is Oslo\" -f texts.txt", "best first"}}},
      {"pull",
       kModels,
       "Get a model from a hub, or what is missing of it",
       kPull,
       kNoHub,
       {},
       {{"tenon pull hf:owner/name:Q4_K_M", "a quantisation"},
        {"tenon pull hf:owner/name", "the best one that fits, or the folder"}}},
      {"list",
       kModels,
       "List the models on this machine",
       kList,
       kNoHub,
       {},
       {{"tenon list", "by the names that commands take"}}},
      {"rm",
       kModels,
       "Remove a model that was pulled",
       kRemove,
       kNoHub,
       {},
       {{"tenon rm hf:owner/name:Q4_K_M", "one quantisation"}}},
      {"inspect",
       kLook,
       "Show metadata, tensors and sizes of a model",
       add_inspect,
       "",
       {},
       {{"tenon inspect model.gguf", "what is in a file"}}},
      {"plan",
       kLook,
       "Tell what a model will take in memory and how fast it will be",
       add_plan,
       "",
       {"--context", "--sessions", "--memory", "--no-speed", "--measure", "--json", "--threads",
        "--cache-type", "--devices", "--gpu-layers"},
       {{"tenon plan model.gguf --context 8192", "before it is loaded"}}},
      {"tokenize",
       kLook,
       "Print the token ids of a text",
       add_tokenize,
       "",
       {},
       {{"tenon tokenize model.gguf \"Hello world\"", "ids on one line"}}},
      {"render",
       kLook,
       "Print the prompt that a chat template makes of a conversation",
       add_render,
       "",
       {},
       {{"tenon render model.gguf --case conversation.json", "a prompt as text"}}},
      {"grammar",
       kLook,
       "Tell whether a text is one of a grammar",
       add_grammar,
       "",
       {},
       {{"tenon grammar --json-schema schema.json --accepts answer.json", "exit code 0: it is"}}},
      {"bench",
       kMeasure,
       "Measure prefill and decode speed, or what a load of requests gets",
       add_bench,
       "",
       {"--prompt", "--generate", "--sequences", "--depth", "--cache-type", "--threads",
        "--repetitions", "--json", "--clients", "--duration"},
       {{"tenon bench model.gguf -p 512,2048 -n 64", "every combination"},
        {"tenon bench model.gguf --clients 32", "a load of many requests"}}},
      {"perplexity",
       kMeasure,
       "Print how well a model predicts a text",
       add_perplexity,
       "",
       {},
       {{"tenon perplexity model.gguf -f text.txt", "lower is better"}}},
      {"logits",
       kMeasure,
       "Write the logits behind every token, for evaluation",
       add_logits,
       "",
       {},
       {{"tenon logits model.gguf --tokens-file ids --output logits.f32", "f32 [tokens, vocab]"}}},
      {"make-model",
       kMeasure,
       "Write a model of a known shape with random weights",
       add_make_model,
       "",
       {},
       {{"tenon make-model llama-3.2-1b q4_k /tmp/model.gguf", "to measure"}}},
      {"quantize",
       kSetup,
       "Write a model file with fewer bits for each weight",
       add_quantize,
       "",
       {"--imatrix", "--dry-run", "--tensor-type", "--pure", "--allow-requantize", "--threads"},
       {{"tenon quantize model-f16.gguf Q4_K_M model.gguf", "4.9 bits a weight"},
        {"tenon quantize model-f16.gguf Q4_0 --dry-run", "print format and size of each tensor"}}},
      {"convert",
       kSetup,
       "Write a Hugging Face folder as one GGUF file",
       add_convert,
       "",
       {},
       {{"tenon convert folder model.gguf", "formats stay"},
        {"tenon convert folder model.gguf --outtype Q4_K_M", "with fewer bits"}}},
      {"imatrix",
       kSetup,
       "Write how much each input of a matrix matters",
       add_imatrix,
       "",
       {},
       {{"tenon imatrix model-f16.gguf -f texts.txt -o texts.gguf",
         "then: tenon quantize --imatrix texts.gguf"}}},
      {"backends",
       kSetup,
       "List what can run models, and why a plugin was refused",
       add_backends,
       "",
       {},
       {{"tenon backends", "devices and their options"}}},
      {"completion",
       kSetup,
       "Print what makes a shell complete commands and flags",
       add_completion,
       "",
       {},
       {{"tenon completion bash > ~/.local/share/bash-completion/completions/tenon", "for bash"},
        {"tenon completion fish > ~/.config/fish/completions/tenon.fish", "for fish"}}},
      {"man",
       kSetup,
       "Print the manual page of the program or of a command",
       add_man,
       "",
       {},
       {{"tenon man run | man -l -", "read one that is not installed"}}},
  };
}

/// Parts of CLI11's type text "TEXT in {a,b}": the name, the words, the range.
struct TypeText {
  std::string name;
  std::string range;
  std::vector<std::string> choices;
};

TypeText type_of(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  TypeText type;
  const size_t end = text.find(':');
  type.name = text.substr(0, end);
  if (const size_t open = text.find('{'); open != text.npos) {
    std::string word;
    for (const char c : text.substr(open + 1)) {
      if (c != ',' && c != '}') {
        word += c;
      } else {
        type.choices.push_back(word);
        word.clear();
      }
      if (c == '}') break;
    }
    if (end == text.npos || end > open) type.name = "WORD";
  } else if (end != text.npos && text.find("..") != text.npos) {
    type.range = text.substr(end + 1);
    // A range up to the largest integer is no limit.
    if (type.range.find("9223372036854775807") != type.range.npos) type.range.clear();
  }
  if (type.name == "UINT" || type.name == "INT") type.name = "N";
  if (type.name == "FLOAT") type.name = "X";
  return type;
}

/// Moves a range from the text to its field: "Stop at N (default 64, 0..100)".
void take_range_out(FlagRow& row) {
  const size_t at = row.text.rfind(" (default ");
  const size_t dots = row.text.find("..", at == row.text.npos ? 0 : at);
  if (at == row.text.npos || dots == row.text.npos || row.text.back() != ')') return;
  const size_t comma = row.text.find(", ", at);
  if (comma == row.text.npos || comma > dots) return;
  row.range = row.text.substr(comma + 2, row.text.size() - comma - 3);
  row.text.erase(comma, row.text.size() - comma - 1);
}

FlagRow row_of(const CLI::Option& option, const std::string& group) {
  FlagRow row;
  row.group = group;
  row.text = option.get_description();
  const TypeText type = type_of(option);
  row.choices = type.choices;
  row.range = type.range;
  row.takes_value = option.get_type_size() != 0;
  for (const std::string& name : option.get_snames()) row.words.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.words.push_back("--" + name);
  row.positional = option.get_positional();
  const std::string whole = " " + row.text;
  row.takes_file = row.takes_value && (whole.find("ile") != whole.npos || type.name == "FILE" ||
                                       type.name == "IDS" || type.name == "OUT");
  if (row.positional) {
    row.names = option.get_name(true, false);
    if (option.get_items_expected_max() > 1) row.names += "...";
    row.takes_file = row.takes_file || row.names.starts_with("MODEL");
    row.also = joined(row.words, ", ");
  } else {
    // Show one letter and the first long name; the rest are other spellings.
    std::vector<std::string> shown, also;
    bool has_short = false, has_long = false;
    for (const std::string& word : row.words) {
      bool& has = word.starts_with("--") ? has_long : has_short;
      (has ? also : shown).push_back(word);
      has = true;
    }
    row.names = joined(shown, ", ");
    row.also = joined(also, ", ");
    if (row.takes_value) row.names += " " + type.name;
  }
  if (!type.choices.empty() && row.text.find(type.choices[0]) == row.text.npos) {
    row.text += ": " + joined(type.choices, ", ");
  }
  const std::string initial = option.get_default_str();
  if (!initial.empty() && row.text.find("(default") == row.text.npos) {
    row.text += " (default " + initial + ")";
  }
  take_range_out(row);
  return row;
}

void append_rows(const CLI::App& part, const std::string& group_of_part,
                 std::vector<FlagRow>& rows) {
  for (const CLI::Option* option : part.get_options({})) {
    const std::string& group = option->get_group();
    if (group.empty()) continue;  // hidden
    // Option groups inherit the help flags, which the command already has.
    if (part.get_name().empty() && option->check_name("--help")) continue;
    if (part.get_name().empty() && option->check_name("--help-all")) continue;
    const bool own = group == "Options";
    rows.push_back(row_of(*option, own ? group_of_part : group));
  }
  const auto groups =
      part.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); });
  for (const CLI::App* group : groups) append_rows(*group, group->get_group(), rows);
}

}  // namespace

const std::vector<Command>& command_table() {
  static const std::vector<Command> table = make_table();
  return table;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : command_table()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

std::vector<FlagRow> rows_of(const CLI::App& app, const Command& command) {
  std::vector<FlagRow> rows;
  append_rows(*app.get_subcommand(command.name), "", rows);
  // Positional arguments come first, help last.
  const auto rank = [](const FlagRow& row) {
    const bool helps = !row.words.empty() && row.words.back().starts_with("--help");
    return row.positional ? 0 : helps ? 2 : 1;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const FlagRow& a, const FlagRow& b) { return rank(a) < rank(b); });
  constexpr auto kOfLibrary = std::to_array<std::string_view>(
      {"Sampler", "Session", "Model", "Engine", "Chat", "Embedding", "Load"});
  for (FlagRow& row : rows) {
    const bool of_library =
        std::find(kOfLibrary.begin(), kOfLibrary.end(), row.group) != kOfLibrary.end();
    row.first = row.positional || (command.first.empty() && !of_library);
    for (const std::string& word : row.words) {
      const bool named =
          std::find(command.first.begin(), command.first.end(), word) != command.first.end();
      row.first = row.first || named || word == "--help" || word == "--help-all";
    }
  }
  return rows;
}

void add_commands(CLI::App& app) {
  for (const Command& command : command_table()) {
    if (command.add != nullptr) command.add(app);
  }
}

}  // namespace tenon_program
