// Option names of other engines and libraries, for messages about unknown names.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tenon {

/// Tenon's name for another program's option; empty if unknown. Includes "max_tokens" and
/// "ignore_end", which belong to a generation and are no options.
constexpr std::string_view meaning_of_field_word(std::string_view word) {
  using Meaning = std::pair<std::string_view, std::string_view>;
  constexpr auto kMeanings = std::to_array<Meaning>({
      {"antiprompt", "stop"},
      {"bad_words", "banned_strings"},
      {"batch_size", "slice"},
      {"cache_type_k", "cache_type"},
      {"cache_type_v", "cache_type"},
      {"chat_template", "template"},
      {"context_length", "context"},
      {"context_size", "context"},
      {"ctx_len", "context"},
      {"ctx_size", "context"},
      {"device_map", "devices"},
      {"embedding", "embeddings"},
      {"ignore_eos", "ignore_end"},
      {"kv_cache_dtype", "cache_type"},
      {"kv_cache_type", "cache_type"},
      {"max_completion_tokens", "max_tokens"},
      {"max_length", "max_tokens"},
      {"max_model_len", "context"},
      {"max_new_tokens", "max_tokens"},
      {"max_num_seqs", "running"},
      {"max_output_tokens", "max_tokens"},
      {"max_position_embeddings", "context"},
      {"max_seq_len", "context"},
      {"n_batch", "slice"},
      {"n_ctx", "context"},
      {"n_gpu_layers", "gpu_layers"},
      {"n_parallel", "running"},
      {"n_predict", "max_tokens"},
      {"n_threads", "threads"},
      {"n_ubatch", "slice"},
      {"ngl", "gpu_layers"},
      {"num_batch", "slice"},
      {"num_ctx", "context"},
      {"num_gpu", "gpu_layers"},
      {"num_parallel", "running"},
      {"num_predict", "max_tokens"},
      {"num_thread", "threads"},
      {"num_threads", "threads"},
      {"override_kv", "override"},
      {"penalty_freq", "frequency_penalty"},
      {"penalty_last_n", "repeat_last_n"},
      {"penalty_present", "presence_penalty"},
      {"penalty_repeat", "repeat_penalty"},
      {"random_seed", "seed"},
      {"repetition_penalty", "repeat_penalty"},
      {"reverse_prompt", "stop"},
      {"stop_sequences", "stop"},
      {"stop_strings", "stop"},
      {"temp", "temperature"},
      {"tensor_split", "devices"},
      {"type_k", "cache_type"},
      {"type_v", "cache_type"},
      {"ubatch_size", "slice"},
  });
  // Ignore the spelling: Java and JavaScript write n_ctx as nCtx.
  std::array<char, 32> plain{};
  size_t size = 0;
  for (const char c : word) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    if (size + 2 > plain.size()) return {};
    if (is_capital && size > 0) plain[size++] = '_';
    plain[size++] = is_capital ? static_cast<char>(c + 32) : c == '-' ? '_' : c;
  }
  const std::string_view wanted(plain.data(), size);
  const auto* const found = std::ranges::find(kMeanings, wanted, &Meaning::first);
  return found == kMeanings.end() ? std::string_view() : found->second;
}

}  // namespace tenon
