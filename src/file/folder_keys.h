// Metadata keys of models that come from a Hugging Face folder.
#pragma once

#include <string_view>

namespace tenon {

/// The whole tokenizer.json.
inline constexpr std::string_view kTokenizerJsonKey = "tokenizer.huggingface.json";
/// Spellings of tokens, from tokenizer_config.json.
inline constexpr std::string_view kBosTextKey = "tokenizer.bos_token";
inline constexpr std::string_view kEosTextKey = "tokenizer.eos_token";
inline constexpr std::string_view kPaddingTextKey = "tokenizer.pad_token";
inline constexpr std::string_view kUnknownTextKey = "tokenizer.unk_token";
/// True if the tokenizer.json counts, although there are keys "tokenizer.ggml.*" for programs that
/// do not read it.
inline constexpr std::string_view kTokenizerJsonCountsKey = "tokenizer.huggingface.counts";
/// Why there are no such keys.
inline constexpr std::string_view kOnlyTokenizerJsonKey = "tokenizer.huggingface.only";
/// Tokens that end an answer [i32].
inline constexpr std::string_view kEndTokensKey = "tokenizer.end_token_ids";

}  // namespace tenon
