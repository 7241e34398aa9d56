// Options as structs for designated initialisers: Model("x.gguf", {.threads = 4}). What is not set
// keeps the library's default; option_list() tells ranges, defaults and meaning of every key.
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

/// Keys that the structs below do not name, with their values as text: {{"slice", "256"}}.
using ExtraOptions = std::vector<std::pair<std::string, std::string>>;

/// Receives what the library has to say, one line at a time, from any thread.
struct Log {
  std::function<void(uint32_t level, std::string_view line)> write;
  uint32_t level = TENON_LOG_WARNING;  ///< the most detailed TENON_LOG_* wanted
};

struct ModelOptions {
  std::optional<std::string> backend{};
  std::optional<std::string>
      devices{};  ///< "vulkan:0,vulkan:1=8": instead of backend, in this order
  std::optional<std::string> device_memory{};  ///< bytes of each of devices: "8000000000,0"
  std::optional<int64_t> gpu_layers{};        ///< on devices other than the CPU; -1: as many as fit
  std::optional<std::string> experts_on{};    ///< "cpu", "auto"
  std::optional<std::string> kernel_cache{};  ///< folder for compiled kernels; empty: none
  std::optional<int64_t> threads{};
  std::optional<std::string> cache_type{};
  std::optional<int64_t> default_context{};  ///< of sessions that do not say
  std::optional<int64_t> slice{};
  std::optional<std::string> embeddings{};      ///< "on", "off", "auto"
  std::optional<std::string> rows_on_demand{};  ///< "on", "off", "auto"
  std::optional<int64_t> row_cache_bytes{};
  std::optional<bool> vocabulary_only{};
  std::optional<bool> inspect{};
  std::optional<bool> metadata_only{};
  std::optional<bool> check_weights{};
  std::vector<std::string> plugins{};    ///< paths
  std::vector<std::string> overrides{};  ///< metadata: "llama.rope.freq_base=float:500000"
  ExtraOptions extra{};

  /// Called while loading with 0 <= fraction <= 1; false cancels. May throw.
  std::function<bool(double fraction)> progress{};
  /// Must outlive the model and everything made from it. What it throws is lost.
  const Log* log = nullptr;
};

struct SessionOptions {
  std::optional<int64_t> context{};
  std::optional<std::string> salt{};
  std::optional<int64_t> priority{};
  std::optional<std::string> client{};
  std::optional<double> weight{};
  ExtraOptions extra{};
};

struct EngineOptions {
  std::optional<int64_t> cache_bytes{};
  std::optional<int64_t> step_tokens{};
  std::optional<int64_t> running{};
  std::optional<int64_t> queue{};
  std::optional<int64_t> queue_tokens{};
  std::optional<double> ageing{};
  std::optional<double> decode_stretch{};
  std::optional<double> max_stall_ms{};
  std::optional<bool> prefix_cache{};
  std::optional<int64_t> state_checkpoints{};
  std::optional<int64_t> state_checkpoint_tokens{};
  ExtraOptions extra{};
};

struct SamplerOptions {
  std::optional<double> temperature{};
  std::optional<int64_t> top_k{};
  std::optional<double> top_p{};
  std::optional<double> min_p{};
  std::optional<double> typical_p{};
  std::optional<double> repeat_penalty{};
  std::optional<int64_t> repeat_last_n{};
  std::optional<double> presence_penalty{};
  std::optional<double> frequency_penalty{};
  std::optional<int64_t> seed{};              ///< -1, and unset: another one for each answer
  std::vector<std::string> stop{};            ///< texts that end an answer
  std::vector<std::string> banned_strings{};  ///< texts that are never generated
  std::optional<bool> banned_ignore_case{};
  ExtraOptions extra{};
};

struct EmbedderOptions {
  std::optional<std::string> pooling{};    ///< "none", "mean", "cls", "last", "rank"
  std::optional<std::string> normalize{};  ///< "l2", "none"
  std::optional<int64_t> dimensions{};
  std::optional<bool> truncate{};
  std::optional<std::string> query_prefix{};
  std::optional<std::string> document_prefix{};
  ExtraOptions extra{};
};

/// A set of options under their keys, as the C interface takes it. Move-only.
class Options {
 public:
  Options() {
    tenon_options* raw = nullptr;
    check(tenon_options_create(&raw));
    handle_.reset(raw);
  }
  explicit Options(const ModelOptions& from) : Options() {
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
    set("vocabulary_only", from.vocabulary_only);
    set("inspect", from.inspect);
    set("metadata_only", from.metadata_only);
    set("check_weights", from.check_weights);
    for (const std::string& path : from.plugins) add("plugin", path);
    for (const std::string& text : from.overrides) add("override", text);
    parse(from.extra);
  }
  explicit Options(const SessionOptions& from) : Options() {
    set("context", from.context);
    set("salt", from.salt);
    set("priority", from.priority);
    set("client", from.client);
    set("weight", from.weight);
    parse(from.extra);
  }
  explicit Options(const EngineOptions& from) : Options() {
    set("cache_bytes", from.cache_bytes);
    set("step_tokens", from.step_tokens);
    set("running", from.running);
    set("queue", from.queue);
    set("queue_tokens", from.queue_tokens);
    set("ageing", from.ageing);
    set("decode_stretch", from.decode_stretch);
    set("max_stall_ms", from.max_stall_ms);
    set("prefix_cache", from.prefix_cache);
    set("state_checkpoints", from.state_checkpoints);
    set("state_checkpoint_tokens", from.state_checkpoint_tokens);
    parse(from.extra);
  }
  explicit Options(const SamplerOptions& from) : Options() {
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
    for (const std::string& text : from.stop) add("stop", text);
    for (const std::string& text : from.banned_strings) add("banned_strings", text);
    set("banned_ignore_case", from.banned_ignore_case);
    parse(from.extra);
  }

  explicit Options(const EmbedderOptions& from) : Options() {
    set("pooling", from.pooling);
    set("normalize", from.normalize);
    set("dimensions", from.dimensions);
    set("truncate", from.truncate);
    set("query_prefix", from.query_prefix);
    set("document_prefix", from.document_prefix);
    parse(from.extra);
  }

  void set(const char* key, int64_t value) { check(tenon_options_set_int(get(), key, value)); }
  void set(const char* key, double value) { check(tenon_options_set_float(get(), key, value)); }
  void set(const char* key, bool value) { check(tenon_options_set_bool(get(), key, value)); }
  void set(const char* key, std::string_view value) {
    check(tenon_options_set_string(get(), key, value.data(), value.size()));
  }
  void set(const char* key, const char* value) { set(key, std::string_view(value)); }
  /// One more value of a list.
  void add(const char* key, std::string_view value) {
    check(tenon_options_add_string(get(), key, value.data(), value.size()));
  }
  /// Sets nothing when there is no value.
  template <typename T>
  void set(const char* key, const std::optional<T>& value) {
    if (value) set(key, *value);
  }
  /// The value as text, read as the type of the key asks.
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
