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
/// Tokens that end an answer [i32].
inline constexpr std::string_view kEndTokensKey = "tokenizer.end_token_ids";

}  // namespace tenon
