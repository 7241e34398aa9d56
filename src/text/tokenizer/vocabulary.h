// The tokenizer data of a model file as plain fields, unchecked; reading files lives elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// Index of a token in its vocabulary.
using Token = int32_t;

/// What a token is for. The values are those of `tokenizer.ggml.token_type`.
enum class TokenType : int32_t {
  Normal = 1,
  Unknown = 2,      ///< stands for text the vocabulary cannot spell
  Control = 3,      ///< structure (begin, end, roles): comes from text only when the caller asks
  UserDefined = 4,  ///< an extra piece of text that is matched before everything else
  Unused = 5,       ///< a place holder
  Byte = 6,         ///< one byte, spelled `<0xNN>`
};

/// How a token that is matched in raw text is matched there: bits of Vocabulary::matching.
enum TokenMatching : uint8_t {
  kStripsLeft = 1,       ///< white space before it belongs to it and is dropped
  kStripsRight = 2,      ///< and white space after it
  kSingleWord = 4,       ///< only where no letter, digit or mark is next to it
  kInNormalizedText = 8  ///< in what normalizing makes of the text, not in the text itself
};

/// What a file says about its tokenizer, field by field. Nothing here is checked: make_tokenizer
/// (tokenizer.h) does that and names the offending key. An empty optional means that the file is
/// silent, and the default of the tokenizer kind holds.
struct Vocabulary {
  /// tokenizer.ggml.model: "gpt2" (byte-level BPE), "llama" (SentencePiece), "bert" (WordPiece),
  /// "t5" (Unigram), "rwkv", "plamo2"
  std::string model;
  std::string pre;         ///< tokenizer.ggml.pre; empty means "default"
  std::string model_name;  ///< general.name; some published models need it (phi-3)

  std::vector<std::string> tokens;  ///< tokenizer.ggml.tokens [vocab]
  std::vector<float> scores;        ///< tokenizer.ggml.scores [vocab]; may be absent for "gpt2"
  std::vector<TokenType> types;     ///< tokenizer.ggml.token_type [vocab]; absent = all Normal
  std::vector<std::string> merges;  ///< tokenizer.ggml.merges, "left right", best first

  std::optional<int64_t> bos;             ///< tokenizer.ggml.bos_token_id
  std::optional<int64_t> eos;             ///< tokenizer.ggml.eos_token_id
  std::optional<int64_t> eot;             ///< tokenizer.ggml.eot_token_id, end of turn
  std::optional<int64_t> eom;             ///< tokenizer.ggml.eom_token_id, end of message
  std::optional<int64_t> unknown;         ///< tokenizer.ggml.unknown_token_id
  std::optional<int64_t> padding;         ///< tokenizer.ggml.padding_token_id
  std::optional<int64_t> separator;       ///< tokenizer.ggml.seperator_token_id (spelled so)
  std::vector<int64_t> extra_end_tokens;  ///< further tokens that end a generation

  std::optional<bool> add_bos;           ///< tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos;           ///< tokenizer.ggml.add_eos_token
  std::optional<bool> add_sep;           ///< tokenizer.ggml.add_sep_token
  std::optional<bool> add_space_prefix;  ///< tokenizer.ggml.add_space_prefix

  // How "t5" normalizes a text.
  std::string charsmap;                     ///< tokenizer.ggml.precompiled_charsmap, as bytes
  std::optional<bool> remove_extra_spaces;  ///< tokenizer.ggml.remove_extra_whitespaces
  std::optional<bool> escape_spaces;        ///< tokenizer.ggml.escape_whitespaces
  std::optional<bool> space_as_suffix;      ///< tokenizer.ggml.treat_whitespace_as_suffix

  // How "bert" does.
  std::optional<bool> lowercase;      ///< tokenizer.ggml.normalizer.lowercase
  std::optional<bool> strip_accents;  ///< tokenizer.ggml.normalizer.strip_accents

  // What a tokenizer.json says beyond a model file. Lists are empty or [vocab].
  std::vector<uint8_t> matching;          ///< TokenMatching bits
  std::vector<std::string> pieces;        ///< the bytes that each token stands for
  std::vector<std::string> first_pieces;  ///< and at the start of a text, where that differs
  std::vector<int64_t> tokens_before;     ///< what goes before a text, in place of add_bos
  std::vector<int64_t> tokens_after;      ///< and after it, in place of add_eos
};

}  // namespace tenon
