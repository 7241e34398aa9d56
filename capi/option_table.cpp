#include "option_table.h"

#include <array>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/thread_team.h"
#include "engine/scheduler.h"
#include "sampler/banned_texts.h"
#include "sampler/stage.h"

namespace tenon::capi {
namespace {

constexpr tenon_option_info blank(int32_t scope, int32_t type, const char* name, const char* doc) {
  tenon_option_info option{};
  option.struct_size = sizeof(tenon_option_info);
  option.scope = scope;
  option.type = type;
  option.name = name;
  option.doc = doc;
  option.string_default = "";
  option.string_choices = "";
  return option;
}

constexpr tenon_option_info integer(int32_t scope, const char* name, int64_t minimum,
                                    int64_t maximum, int64_t initial, const char* doc) {
  tenon_option_info option = blank(scope, TENON_OPTION_INT, name, doc);
  option.int_minimum = minimum;
  option.int_maximum = maximum;
  option.int_default = initial;
  return option;
}

constexpr tenon_option_info real(int32_t scope, const char* name, double minimum, double maximum,
                                 double initial, const char* doc) {
  tenon_option_info option = blank(scope, TENON_OPTION_FLOAT, name, doc);
  option.float_minimum = minimum;
  option.float_maximum = maximum;
  option.float_default = initial;
  return option;
}

constexpr tenon_option_info boolean(int32_t scope, const char* name, const char* doc,
                                    bool initial = false) {
  tenon_option_info option = blank(scope, TENON_OPTION_BOOL, name, doc);
  option.int_maximum = 1;
  option.int_default = initial ? 1 : 0;
  return option;
}

constexpr tenon_option_info text(int32_t scope, const char* name, const char* initial,
                                 const char* choices, const char* doc) {
  tenon_option_info option = blank(scope, TENON_OPTION_STRING, name, doc);
  option.string_default = initial;
  option.string_choices = choices;
  return option;
}

constexpr int64_t kMaxPriority = Scheduler::kMaxPriority;
constexpr int64_t kMaxContext = std::numeric_limits<int32_t>::max();

constexpr std::array kTable = {
    text(TENON_SCOPE_MODEL, "backend", "auto", "",
         "What runs the model: cpu, reference, the name of a plugin, or auto: the first that can."),
    text(
        TENON_SCOPE_MODEL, "devices", "", "",
        "Devices that the model's layers are placed on, in this order, instead of backend: "
        "vulkan:0,vulkan:1=8,cpu is BACKEND, with :DEVICE its number or name, with =LAYERS exactly "
        "so many layers; the CPU takes what the others leave."),
    text(
        TENON_SCOPE_MODEL, "device_memory", "", "",
        "Bytes that the model may take of each of devices, with its cache, separated by commas; 0: "
        "of a GPU what is free, of others any."),
    integer(
        TENON_SCOPE_MODEL, "gpu_layers", -1, 65536, -1,
        "Layers, from the last one, on devices other than the CPU; -1: as many as fit, 0: none."),
    text(TENON_SCOPE_MODEL, "experts_on", "auto", "auto|cpu",
         "Where the experts of a mixture are: auto: with their layer; cpu: on the CPU, whatever "
         "device has the rest of the layer."),
    text(TENON_SCOPE_MODEL, "kernel_cache", "", "",
         "A folder where backends keep compiled kernels for the next process; it is there, and "
         "trusted as a plugin is. Empty: nothing is kept."),
    integer(TENON_SCOPE_MODEL, "threads", 0, ThreadTeam::kMaxThreads, 0,
            "Threads that compute, the caller's included; 0: as many as the CPUs that the "
            "process may use, by its mask and the quotas of its control groups, rounded down."),
    text(TENON_SCOPE_MODEL, "cache_type", "f16", "f16|f32|int8|q4",
         "Type of the KV cache: f16; f32 for exact evaluation; int8 takes half the memory of f16, "
         "q4 a "
         "quarter, both with one scale per position and head."),
    integer(
        TENON_SCOPE_MODEL, "default_context", 0, kMaxContext, 0,
        "Most tokens of sessions that do not say; models with two tables of rope, for short and "
        "for long texts, take the one for so many (LongRoPE). 0: what the model was trained for, "
        "at most 8192."),
    integer(
        TENON_SCOPE_MODEL, "slice", 0, 65536, 0,
        "Tokens of a prompt that are computed in one step; 0: as many as suit the device (256 on "
        "cpu); more is faster and takes more scratch memory."),
    text(TENON_SCOPE_MODEL, "embeddings", "auto", "auto|on|also|off",
         "What the model is for: on: rows of texts (tenon_embedder_create); off: text; also: both, "
         "over one copy of the weights; auto: rows where the file is an encoder or names a "
         "pooling."),
    text(TENON_SCOPE_MODEL, "rows_on_demand", "auto", "auto|on|off",
         "Whether tables of which each token needs a row stay in the file (embeddings, unless they "
         "are the output matrix, too); auto: where the weights would take more than three quarters "
         "of the memory available."),
    integer(TENON_SCOPE_MODEL, "row_cache_bytes", 0, std::numeric_limits<int64_t>::max(), 0,
            "Memory for rows of tables in the file; 0: a quarter of the tables, 256 MiB at most."),
    text(TENON_SCOPE_MODEL, kBackendKey, "", "",
         "Any option of the backend, as tenon_backends_get_info lists them: backend.isa, ..."),
    text(TENON_SCOPE_MODEL, "isa", "", "", "The same as backend.isa."),
    text(TENON_SCOPE_MODEL, "bf16_activations", "fixed", "fixed|f32",
         "The same as backend.bf16_activations."),
    boolean(TENON_SCOPE_MODEL, "vocabulary_only",
            "Read the metadata and the vocabulary only: to tokenize."),
    boolean(TENON_SCOPE_MODEL, "inspect",
            "Plan the program and its memory, but load no weights: to look at a model."),
    boolean(
        TENON_SCOPE_MODEL, "metadata_only",
        "Read nothing but the metadata and the list of tensors, of any GGUF file: to look at one "
        "that cannot run. Its tokenizer is empty."),
    boolean(
        TENON_SCOPE_MODEL, "check_weights",
        "Look for NaN and infinity in the weights while loading and refuse a file that has any."),
    blank(TENON_SCOPE_MODEL, TENON_OPTION_STRING_LIST, "plugin",
          "Path of a backend plugin to load besides those in the folder tenon beside the shared "
          "library; one that ends in a slash is a folder of plugins."),
    blank(TENON_SCOPE_MODEL, TENON_OPTION_STRING_LIST, "override",
          "A metadata value in place of the file's: key=type:value, type int, float, bool or str."),
    blank(TENON_SCOPE_SAMPLER, TENON_OPTION_STRING_LIST, "stop",
          "Generation ends before this text, of which nothing is handed out. At most 1000 texts of "
          "65536 bytes in all."),
    blank(TENON_SCOPE_SAMPLER, TENON_OPTION_STRING_LIST, "banned_strings",
          "This text is never generated: another way is taken from where it would begin. At most "
          "1000 texts of 128 bytes."),
    boolean(TENON_SCOPE_SAMPLER, "banned_ignore_case",
            "banned_strings are meant in capital and small letters alike (of ASCII)."),
    integer(TENON_SCOPE_SESSION, "context", 0, kMaxContext, 0,
            "Most tokens that the session holds; 0: the model's default_context."),
    text(TENON_SCOPE_SESSION, "salt", "", "",
         "What the session computes is reused by sessions with the same salt only."),
    integer(TENON_SCOPE_SESSION, "priority", -kMaxPriority, kMaxPriority, 0,
            "Rank of the session's calls in its engine: higher runs first."),
    text(TENON_SCOPE_SESSION, "client", "", "",
         "Key under which the session's calls get their fair share of the engine."),
    real(TENON_SCOPE_SESSION, "weight", 0.001, 1000, 1,
         "Share of the client: one with weight 3 gets three tokens for one of weight 1."),
    integer(
        TENON_SCOPE_ENGINE, "cache_bytes", 0, std::numeric_limits<int64_t>::max(), 0,
        "Memory of the KV cache of all sessions, never exceeded; 0: a quarter of what is free."),
    integer(TENON_SCOPE_ENGINE, "step_tokens", 0, 65536, 0,
            "Tokens in a step at most; 0, or more than it: the model's option slice."),
    integer(TENON_SCOPE_ENGINE, "running", 1, 65536, 64,
            "Requests that may have begun and not ended; the others wait in the queue."),
    integer(TENON_SCOPE_ENGINE, "queue", 0, std::numeric_limits<int64_t>::max(), 1024,
            "Requests that may wait to begin; one more is BUSY."),
    integer(TENON_SCOPE_ENGINE, "queue_tokens", 0, std::numeric_limits<int64_t>::max(), 0,
            "Prompt tokens of the requests that wait to begin, at most; 0: any."),
    real(TENON_SCOPE_ENGINE, "ageing", 0, 86400, 2,
         "Seconds without a token that raise a client's priority by one; 0: never."),
    real(TENON_SCOPE_ENGINE, "decode_stretch", 1.01, 1000, 1.4,
         "How many times as long a step of single tokens may take with prompts beside them."),
    real(
        TENON_SCOPE_ENGINE, "max_stall_ms", 0, 1e6, 0,
        "Most milliseconds that a step of single tokens may take with prompts beside them; 0: any. "
        "Four tokens of prompts go on all the same."),
    boolean(TENON_SCOPE_ENGINE, "prefix_cache",
            "Compute equal beginnings of texts once and keep them while there is room.", true),
    integer(TENON_SCOPE_ENGINE, "state_checkpoints", 0, 64, 4,
            "Earlier states that a text of a recurrent model keeps while there is room, so that it "
            "can go back without being computed from its beginning."),
    integer(TENON_SCOPE_ENGINE, "state_checkpoint_tokens", 1, 1048576, 1024,
            "Tokens between two of them; one more is kept at the end of each prompt."),
    text(TENON_SCOPE_EMBEDDER, "pooling", "auto", "auto|none|mean|cls|last|rank",
         "What becomes of the rows of a text's tokens; auto: what the file says."),
    text(TENON_SCOPE_EMBEDDER, "normalize", "auto", "auto|l2|none",
         "Whether rows are divided by their length; auto: all but those of tokens, and scores."),
    integer(TENON_SCOPE_EMBEDDER, "dimensions", 0, 1048576, 0,
            "The first so many numbers of a row, before it is normalised (Matryoshka); 0: all."),
    boolean(TENON_SCOPE_EMBEDDER, "truncate",
            "Cut the ends of texts that are too long rather than refuse them."),
    text(TENON_SCOPE_EMBEDDER, "query_prefix", "auto", "",
         "What goes before a query; auto: the words of the model's card, where it is known."),
    text(TENON_SCOPE_EMBEDDER, "document_prefix", "auto", "", "The same for what is searched."),
    text(TENON_SCOPE_CHAT, "template", "", "",
         "Text of the chat template, or the name of one: of the model's own, or chatml; empty: the "
         "model's."),
    text(TENON_SCOPE_CHAT, "template_name", "", "",
         "Which of the model's templates: tokenizer.chat_template.NAME; empty: the main one, and "
         "tool_use where a conversation has tools."),
    text(TENON_SCOPE_CHAT, "chat_format", "auto", "",
         "How the model writes its answers: a family such as hermes, llama3 or harmony; auto: by "
         "the template. deepseek-v4.1 has a template of its own, which its files lack."),
    boolean(TENON_SCOPE_CHAT, "template_raw",
            "Hand messages to the template as they are, without adapting parts and arguments."),
    boolean(TENON_SCOPE_CHAT, "constrain_calls",
            "Where the model may call tools, keep its calls to the tools' schemas.", true),
    boolean(TENON_SCOPE_CHAT, "generic_tools",
            "Where the template knows no tools, tell them in the message of the system, in the "
            "form of Hermes."),
    integer(TENON_SCOPE_CHAT, "template_time_ms", 1, 600000, 100,
            "Longest processor time that a template may take, in milliseconds."),
};

tenon_option_info from_parameter(const SamplerParameter& parameter) {
  return parameter.type == ParameterType::Integer
             ? integer(TENON_SCOPE_SAMPLER, parameter.name, parameter.minimum.integer,
                       parameter.maximum.integer, parameter.initial.integer, parameter.doc)
             : real(TENON_SCOPE_SAMPLER, parameter.name, parameter.minimum.real,
                    parameter.maximum.real, parameter.initial.real, parameter.doc);
}

/// Calls visit(option) for every option in order until it returns true.
template <typename Visit>
void for_each_option(Visit visit) {
  for (const tenon_option_info& option : kTable) {
    if (visit(option)) return;
  }
  bool done = false;
  for_each_sampler_parameter([&](const SamplerParameter& parameter) {
    if (!done) done = visit(from_parameter(parameter));
  });
}

bool names(const tenon_option_info& option, std::string_view name) {
  return name == option.name ||
         (option.name == std::string_view(kBackendKey) && is_backend_key(name));
}

}  // namespace

size_t num_options() {
  size_t count = kTable.size();
  for_each_sampler_parameter([&](const SamplerParameter&) { ++count; });
  return count;
}

tenon_option_info option_at(size_t index) {
  std::optional<tenon_option_info> found;
  size_t at = 0;
  for_each_option([&](const tenon_option_info& option) {
    if (at++ != index) return false;
    found = option;
    return true;
  });
  if (!found) fail(Code::Argument, "option {} does not exist; there are {}", index, at);
  return *found;
}

tenon_option_info find_option(std::string_view name) {
  std::optional<tenon_option_info> found;
  for_each_option([&](const tenon_option_info& option) {
    if (names(option, name)) found = option;
    return found.has_value();
  });
  if (found) return *found;
  NearestName nearest(name);
  for_each_option([&](const tenon_option_info& option) {
    nearest.consider(option.name);
    return false;
  });
  // Other libraries' options that Tenon takes per generation.
  const std::string_view meant = meaning_of_field_word(name);
  if (name == "max_tokens" || name == "ignore_end" || meant == "max_tokens" ||
      meant == "ignore_end") {
    fail(Code::Argument, "no option \"{}\"; it is \"{}\" of a generation", nearest.name(),
         meant.empty() ? name : meant);
  }
  fail(Code::Argument, "no option \"{}\"{}", nearest.name(), nearest.hint());
}

ListLimits list_limits(std::string_view name) {
  if (name == "stop") return {TextSet::kMaxTexts, TextSet::kMaxBytes, TextSet::kMaxBytes};
  if (name == "banned_strings") {
    return {TextSet::kMaxTexts, BannedTexts::kMaxTextBytes, TextSet::kMaxBytes};
  }
  // A chat template is a large value to override; paths are short.
  return {1000, size_t{1} << 24, size_t{1} << 24};
}

const char* option_type_name(int32_t type) {
  constexpr std::array kNames = {"", "int", "float", "bool", "string", "string list"};
  return type > 0 && static_cast<size_t>(type) < kNames.size() ? kNames[type] : "unknown";
}

}  // namespace tenon::capi
