// Options as structs for designated initialisers: Model("x.gguf", {.threads = 4}). An unset member
// keeps the library's default; option_list() returns range, default and meaning of every key.
// bindings/headers/generate.py writes the blocks marked "generated".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/error.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Keys that the structs below lack, with their values as text: {{"slice", "256"}}.
using ExtraOptions = std::vector<std::pair<std::string, std::string>>;

/// Receives the library's log, one line at a time, from any thread.
struct Log {
  std::function<void(uint32_t level, std::string_view line)> write;
  uint32_t level = TENON_LOG_WARNING;  ///< the most detailed TENON_LOG_* wanted
};

struct ModelOptions {
  // generated: members of model
  /// Backend that runs the model: cpu, reference, a plugin's name, or auto, the first that can.
  std::optional<std::string> backend{};
  /// Devices for the model's layers, in this order, instead of backend, separated by commas. A
  /// device is BACKEND, BACKEND:NUMBER or BACKEND:NAME; =LAYERS after it fixes its number of
  /// layers: vulkan:0,vulkan:1=8,cpu. The CPU takes the remaining layers.
  std::optional<std::string> devices{};
  /// Bytes for the model and its cache on each of devices, separated by commas; 0 is the free
  /// memory of a GPU, no limit on others.
  std::optional<std::string> device_memory{};
  /// Layers on devices other than the CPU, counted from the last; -1: as many as fit, 0: none.
  std::optional<int64_t> gpu_layers{};
  /// Place of a mixture's experts: auto, with their layer; cpu, on the CPU even if the rest of the
  /// layer is elsewhere. One of auto, cpu.
  std::optional<std::string> experts_on{};
  /// Existing folder in which backends keep compiled kernels for the next process, trusted as a
  /// plugin is; empty keeps none.
  std::optional<std::string> kernel_cache{};
  /// Threads that compute, the caller's included; 0: the CPUs that the process may use by its mask
  /// and its control groups' quotas, rounded down.
  std::optional<int64_t> threads{};
  /// Type of the KV cache. f32 is for exact evaluation; int8 takes half the memory of f16, q4 a
  /// quarter, both with one scale per position and head. One of f16, f32, int8, q4.
  std::optional<std::string> cache_type{};
  /// Most tokens of a session that sets no context; 0: the trained context, at most 8192. Models
  /// with rope tables for short and long texts (LongRoPE) take the table for this length.
  std::optional<int64_t> default_context{};
  /// Tokens of a prompt per step; 0: the device's choice (256 on cpu). Larger slices are faster and
  /// take more scratch memory.
  std::optional<int64_t> slice{};
  /// Purpose of the model: on, rows of texts (tenon_embedder_create); off, text; also, both over
  /// one copy of the weights; auto, rows if the file is an encoder or names a pooling. One of auto,
  /// on, also, off.
  std::optional<std::string> embeddings{};
  /// Leave tables in the file if a token needs one row of them: embeddings that are not the output
  /// matrix. auto does so if the weights would take more than three quarters of the available
  /// memory. One of auto, on, off.
  std::optional<std::string> rows_on_demand{};
  /// Memory for rows of tables in the file; 0: a quarter of the tables, at most 256 MiB.
  std::optional<int64_t> row_cache_bytes{};
  /// File or folder of a smaller model with the same vocabulary, which guesses tokens for this one:
  /// answers come faster and stay the same, bit for bit.
  std::optional<std::string> draft_model{};
  /// Load the file's prediction blocks (multi-token prediction), which guess tokens of requests; a
  /// file without them is refused.
  std::optional<bool> prediction{};
  /// Most tokens that are guessed at once, by any drafter; 0: none.
  std::optional<int64_t> draft_max{};
  /// File of the model's tower (a mmproj GGUF), with which its texts take pictures.
  std::optional<std::string> projector{};
  /// Most rows of a picture in a text, as far as the model can be held to it; 0: the projector's
  /// own limit.
  std::optional<int64_t> image_max_tokens{};
  /// Memory for rows of pictures, so that an equal picture is not encoded again; the least recently
  /// used goes first.
  std::optional<int64_t> picture_cache_bytes{};
  /// Alias of backend.isa.
  std::optional<std::string> isa{};
  /// Alias of backend.bf16_activations. One of fixed, f32.
  std::optional<std::string> bf16_activations{};
  /// Read the metadata and the vocabulary only, to tokenize.
  std::optional<bool> vocabulary_only{};
  /// Plan the program and its memory without loading weights, to inspect a model.
  std::optional<bool> inspect{};
  /// Read only the metadata and the tensor list of any GGUF file, to inspect one that cannot run.
  /// Its tokenizer is empty.
  std::optional<bool> metadata_only{};
  /// Refuse a file that has NaN or infinity in its weights.
  std::optional<bool> check_weights{};
  /// Adapter (LoRA) to add to the weights while they are loaded: the path of a PEFT folder or a
  /// GGUF file, with :SCALE after it for another scale than 1. The changed matrices are kept in
  /// f32.
  std::vector<std::string> merged_adapters{};
  /// Adapters (LoRA) that sessions of the model can use at one time, each session its own; 0: none.
  /// Their memory is taken when the model is opened.
  std::optional<int64_t> adapter_slots{};
  /// Largest rank of an adapter in a slot, or sum of the ranks that a session adds up.
  std::optional<int64_t> adapter_rank{};
  /// Path of a backend plugin besides those in the folder tenon beside the shared library; a path
  /// that ends in a slash is a folder of plugins.
  std::vector<std::string> plugins{};
  /// A metadata value that replaces the file's: key=type:value, with type int, float, bool or str.
  std::vector<std::string> overrides{};
  // generated: end
  ExtraOptions extra{};

  /// Called while loading with 0 <= fraction <= 1; false cancels. May throw.
  std::function<bool(double fraction)> progress{};
  /// Must outlive the model and everything made from it. Its exceptions are dropped.
  const Log* log = nullptr;
};

struct SessionOptions {
  // generated: members of session
  /// Most tokens that the session holds; 0: the model's default_context.
  std::optional<int64_t> context{};
  /// Only sessions with equal salt reuse each other's computed prefixes.
  std::optional<std::string> salt{};
  /// Rank of the session's calls in its engine; higher runs first.
  std::optional<int64_t> priority{};
  /// Key by which the session's calls get their fair share of the engine.
  std::optional<std::string> client{};
  /// The engine's option speculation for this session's texts. One of engine, auto, off, forced.
  std::optional<std::string> speculate{};
  /// Share of the client: weight 3 gets three tokens for one of weight 1.
  std::optional<double> weight{};
  // generated: end
  ExtraOptions extra{};
};

struct EngineOptions {
  // generated: members of engine
  /// Memory of the KV cache of all sessions, never exceeded; 0: a quarter of the free memory.
  std::optional<int64_t> cache_bytes{};
  /// Most tokens in a step, at most the model's option slice; 0: that option.
  std::optional<int64_t> step_tokens{};
  /// Most requests that have begun and not ended; the others wait in the queue.
  std::optional<int64_t> running{};
  /// Most requests that wait to begin; one more is BUSY.
  std::optional<int64_t> queue{};
  /// Most prompt tokens of all requests that wait to begin; 0: no limit.
  std::optional<int64_t> queue_tokens{};
  /// Seconds without a token that raise a client's priority by one; 0: never.
  std::optional<double> ageing{};
  /// Most time of a step of single tokens with prompts beside them, as a multiple of its time
  /// without.
  std::optional<double> decode_stretch{};
  /// Most milliseconds of a step of single tokens with prompts beside them; 0: no limit. Four
  /// prompt tokens always proceed.
  std::optional<double> max_stall_ms{};
  /// Compute equal prefixes once and keep them while there is room.
  std::optional<bool> prefix_cache{};
  /// Folder in which computed prefixes survive a restart, made if it is missing and trusted as a
  /// plugin is; empty keeps none. Needs prefix_cache.
  std::optional<std::string> store{};
  /// Most bytes of the files in the store's folder, never exceeded; the least recently used go
  /// first.
  std::optional<int64_t> store_bytes{};
  /// Earlier states per text that a recurrent model keeps while there is room, so that rewinding
  /// does not recompute the text.
  std::optional<int64_t> state_checkpoints{};
  /// Tokens between two checkpoints; the end of each prompt gets one more.
  std::optional<int64_t> state_checkpoint_tokens{};
  /// Compute guessed tokens beside the next one, without effect on answers: "auto" while they pay
  /// by measured times, "off" never, "forced" always. One of auto, off, forced.
  std::optional<std::string> speculation{};
  /// Memory of the draft model's cache, never exceeded; 0: room for as many tokens as cache_bytes
  /// has.
  std::optional<int64_t> draft_bytes{};
  /// Memory for ended answers, from which answers of sessions with an equal salt are guessed; 0:
  /// none.
  std::optional<int64_t> answer_bytes{};
  // generated: end
  ExtraOptions extra{};
};

struct SamplerOptions {
  // generated: members of sampler
  /// Divides the logits; 1 leaves them alone, 0 always takes the likeliest token.
  std::optional<double> temperature{};
  /// Keeps the k likeliest tokens; 0 or more than the vocabulary disables.
  std::optional<int64_t> top_k{};
  /// Keeps the fewest likeliest tokens that together have this probability; 1 disables.
  std::optional<double> top_p{};
  /// Keeps the tokens at least this many times as likely as the likeliest; 0 disables.
  std::optional<double> min_p{};
  /// Keeps the tokens of most typical surprise that together have this probability; 1 disables.
  std::optional<double> typical_p{};
  /// Divides the logits above 0 of tokens seen lately and multiplies those below; 1 disables.
  std::optional<double> repeat_penalty{};
  /// Last tokens that the penalties look at; 0: none, which disables them; -1: all.
  std::optional<int64_t> repeat_last_n{};
  /// Subtracted from the logit of each token seen lately; 0 disables.
  std::optional<double> presence_penalty{};
  /// Subtracted from the logit of a token for each time it was seen lately; 0 disables.
  std::optional<double> frequency_penalty{};
  /// Key of the random numbers: equal seed, logits and position draw the same token; -1: a new seed
  /// for each generation, which can be read back.
  std::optional<int64_t> seed{};
  /// Generation ends before this text, and no part of it is handed out. At most 1000 texts of 65536
  /// bytes in all.
  std::vector<std::string> stop{};
  /// This text is never generated: generation goes back to its beginning and takes another way. At
  /// most 1000 texts of 128 bytes.
  std::vector<std::string> banned_strings{};
  /// Match banned_strings without regard to case (ASCII).
  std::optional<bool> banned_ignore_case{};
  /// Nothing ends a generation before so many tokens: neither end tokens nor stop tokens nor stop
  /// texts.
  std::optional<int64_t> min_tokens{};
  /// Subtracted, times a power of dry_base, from the logit of a token that would lengthen a
  /// repetition; 0 disables.
  std::optional<double> dry_multiplier{};
  /// Factor of the penalty for each further token of a repetition.
  std::optional<double> dry_base{};
  /// Tokens of the shortest repetition that is penalised.
  std::optional<int64_t> dry_allowed_length{};
  /// Last tokens that are searched for repetitions; -1: as many as the vocabulary has.
  std::optional<int64_t> dry_last_n{};
  /// Version of Mirostat, which replaces top_k, top_p and the like; 0 disables.
  std::optional<int64_t> mirostat{};
  /// Surprise of a token to aim at, in bits.
  std::optional<double> mirostat_tau{};
  /// Learning rate of Mirostat.
  std::optional<double> mirostat_eta{};
  /// Keeps tokens whose logits are within this many standard deviations of the largest; 0 disables.
  std::optional<double> top_n_sigma{};
  /// Probability of excluding the likeliest tokens if several reach xtc_threshold; 0 disables.
  std::optional<double> xtc_probability{};
  /// Lowest probability of a top choice; above 0.5 disables.
  std::optional<double> xtc_threshold{};
  /// Range of the temperature around its value, lowest if the model is sure; 0 disables.
  std::optional<double> dynatemp_range{};
  /// Exponent that maps the entropy, 0 to 1, to the temperature between its bounds.
  std::optional<double> dynatemp_exponent{};
  /// The probability that drawn tokens shall have on average; below 0 disables.
  std::optional<double> adaptive_target{};
  /// How much each token drawn before counts less than the one after it.
  std::optional<double> adaptive_decay{};
  // generated: end
  ExtraOptions extra{};
};

struct EmbedderOptions {
  // generated: members of embedder
  /// Pooling of a text's token rows; auto: as the file says. One of auto, none, mean, cls, last,
  /// rank.
  std::optional<std::string> pooling{};
  /// Division of rows by their length; auto: all but rows of tokens, and scores. One of auto, l2,
  /// none.
  std::optional<std::string> normalize{};
  /// First numbers of a row to keep before normalisation (Matryoshka); 0: all.
  std::optional<int64_t> dimensions{};
  /// Cut the ends of texts that are too long instead of refusing them.
  std::optional<bool> truncate{};
  /// Text before a query; auto: as the model's card says, for known models.
  std::optional<std::string> query_prefix{};
  /// Text before a document that is searched; auto: as the model's card says, for known models.
  std::optional<std::string> document_prefix{};
  // generated: end
  ExtraOptions extra{};
};

struct ChatOptions {
  // generated: members of chat
  /// Text or name of the chat template: a name of the model's own, or chatml; empty: the model's.
  std::optional<std::string> chat_template{};
  /// Name of one of the model's templates, as in tokenizer.chat_template.NAME; empty: the main one,
  /// or tool_use for a conversation with tools.
  std::optional<std::string> template_name{};
  /// Format of the model's answers: a family such as hermes, llama3 or harmony; auto: by the
  /// template. deepseek-v4.1 brings the template that its files lack.
  std::optional<std::string> format{};
  /// Hand messages to the template without adapting parts and arguments.
  std::optional<bool> raw{};
  /// Keep tool calls to the tools' schemas.
  std::optional<bool> constrain_calls{};
  /// Describe tools in the system message, in the form of Hermes, if the template knows no tools.
  std::optional<bool> generic_tools{};
  /// Most processor time of a template, in milliseconds.
  std::optional<int64_t> template_time_ms{};
  // generated: end
  ExtraOptions extra{};
};

/// A set of options under their keys, in the form of the C interface. Move-only.
class Options {
 public:
  Options() {
    tenon_options* raw = nullptr;
    check(tenon_options_create(&raw));
    handle_.reset(raw);
  }
  explicit Options(const ModelOptions& from) : Options() {
    // generated: keys of model
    set("backend", from.backend);
    set("devices", from.devices);
    set("device_memory", from.device_memory);
    set("gpu_layers", from.gpu_layers);
    set("experts_on", from.experts_on);
    set("kernel_cache", from.kernel_cache);
    set("threads", from.threads);
    set("cache_type", from.cache_type);
    set("default_context", from.default_context);
    set("slice", from.slice);
    set("embeddings", from.embeddings);
    set("rows_on_demand", from.rows_on_demand);
    set("row_cache_bytes", from.row_cache_bytes);
    set("draft_model", from.draft_model);
    set("prediction", from.prediction);
    set("draft_max", from.draft_max);
    set("projector", from.projector);
    set("image_max_tokens", from.image_max_tokens);
    set("picture_cache_bytes", from.picture_cache_bytes);
    set("isa", from.isa);
    set("bf16_activations", from.bf16_activations);
    set("vocabulary_only", from.vocabulary_only);
    set("inspect", from.inspect);
    set("metadata_only", from.metadata_only);
    set("check_weights", from.check_weights);
    add("merged_adapters", from.merged_adapters);
    set("adapter_slots", from.adapter_slots);
    set("adapter_rank", from.adapter_rank);
    add("plugin", from.plugins);
    add("override", from.overrides);
    // generated: end
    parse(from.extra);
  }
  explicit Options(const SessionOptions& from) : Options() {
    // generated: keys of session
    set("context", from.context);
    set("salt", from.salt);
    set("priority", from.priority);
    set("client", from.client);
    set("speculate", from.speculate);
    set("weight", from.weight);
    // generated: end
    parse(from.extra);
  }
  explicit Options(const EngineOptions& from) : Options() {
    // generated: keys of engine
    set("cache_bytes", from.cache_bytes);
    set("step_tokens", from.step_tokens);
    set("running", from.running);
    set("queue", from.queue);
    set("queue_tokens", from.queue_tokens);
    set("ageing", from.ageing);
    set("decode_stretch", from.decode_stretch);
    set("max_stall_ms", from.max_stall_ms);
    set("prefix_cache", from.prefix_cache);
    set("store", from.store);
    set("store_bytes", from.store_bytes);
    set("state_checkpoints", from.state_checkpoints);
    set("state_checkpoint_tokens", from.state_checkpoint_tokens);
    set("speculation", from.speculation);
    set("draft_bytes", from.draft_bytes);
    set("answer_bytes", from.answer_bytes);
    // generated: end
    parse(from.extra);
  }
  explicit Options(const SamplerOptions& from) : Options() {
    // generated: keys of sampler
    set("temperature", from.temperature);
    set("top_k", from.top_k);
    set("top_p", from.top_p);
    set("min_p", from.min_p);
    set("typical_p", from.typical_p);
    set("repeat_penalty", from.repeat_penalty);
    set("repeat_last_n", from.repeat_last_n);
    set("presence_penalty", from.presence_penalty);
    set("frequency_penalty", from.frequency_penalty);
    set("seed", from.seed);
    add("stop", from.stop);
    add("banned_strings", from.banned_strings);
    set("banned_ignore_case", from.banned_ignore_case);
    set("min_tokens", from.min_tokens);
    set("dry_multiplier", from.dry_multiplier);
    set("dry_base", from.dry_base);
    set("dry_allowed_length", from.dry_allowed_length);
    set("dry_last_n", from.dry_last_n);
    set("mirostat", from.mirostat);
    set("mirostat_tau", from.mirostat_tau);
    set("mirostat_eta", from.mirostat_eta);
    set("top_n_sigma", from.top_n_sigma);
    set("xtc_probability", from.xtc_probability);
    set("xtc_threshold", from.xtc_threshold);
    set("dynatemp_range", from.dynatemp_range);
    set("dynatemp_exponent", from.dynatemp_exponent);
    set("adaptive_target", from.adaptive_target);
    set("adaptive_decay", from.adaptive_decay);
    // generated: end
    parse(from.extra);
  }

  explicit Options(const EmbedderOptions& from) : Options() {
    // generated: keys of embedder
    set("pooling", from.pooling);
    set("normalize", from.normalize);
    set("dimensions", from.dimensions);
    set("truncate", from.truncate);
    set("query_prefix", from.query_prefix);
    set("document_prefix", from.document_prefix);
    // generated: end
    parse(from.extra);
  }

  explicit Options(const ChatOptions& from) : Options() {
    // generated: keys of chat
    set("template", from.chat_template);
    set("template_name", from.template_name);
    set("chat_format", from.format);
    set("template_raw", from.raw);
    set("constrain_calls", from.constrain_calls);
    set("generic_tools", from.generic_tools);
    set("template_time_ms", from.template_time_ms);
    // generated: end
    parse(from.extra);
  }

  void set(const char* key, int64_t value) { check(tenon_options_set_int(get(), key, value)); }
  void set(const char* key, double value) { check(tenon_options_set_float(get(), key, value)); }
  void set(const char* key, bool value) { check(tenon_options_set_bool(get(), key, value)); }
  void set(const char* key, std::string_view value) {
    check(tenon_options_set_string(get(), key, value.data(), value.size()));
  }
  void set(const char* key, const char* value) { set(key, std::string_view(value)); }
  /// Adds a value to a list.
  void add(const char* key, std::string_view value) {
    check(tenon_options_add_string(get(), key, value.data(), value.size()));
  }
  void add(const char* key, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(key, value);
  }
  /// Sets nothing if there is no value.
  template <typename T>
  void set(const char* key, const std::optional<T>& value) {
    if (value) set(key, *value);
  }
  /// Parses the value as the key's type.
  void parse(const std::string& key, std::string_view value) {
    check(tenon_options_parse(get(), key.c_str(), value.data(), value.size()));
  }
  void parse(const ExtraOptions& values) {
    for (const auto& [key, value] : values) parse(key, value);
  }

  [[nodiscard]] tenon_options* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_options* raw) const noexcept { tenon_options_destroy(raw); }
  };
  std::unique_ptr<tenon_options, Destroy> handle_;
};

/// Every key with its scope, type, range, default and meaning.
inline std::vector<tenon_option_info> option_list() {
  std::vector<tenon_option_info> list(tenon_option_count());
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].struct_size = sizeof(tenon_option_info);
    check(tenon_option_get_info(i, &list[i]));
  }
  return list;
}

}  // namespace v1
}  // namespace tenon
