// Tokenizer data of a model file as plain fields, unchecked; files are read elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// Index of a token in its vocabulary.
using Token = int32_t;

/// Purpose of a token. The values are those of `tokenizer.ggml.token_type`.
enum class TokenType : int32_t {
  Normal = 1,
  Unknown = 2,      ///< stands for text that the vocabulary cannot spell
  Control = 3,      ///< structure (begin, end, roles): made from text only on request
  UserDefined = 4,  ///< an extra piece of text, matched before anything else
  Unused = 5,       ///< a place holder
  Byte = 6,         ///< one byte, spelled `<0xNN>`
};

/// Conditions and effects of matching a token in raw text: bits of Vocabulary::matching.
enum TokenMatching : uint8_t {
  kStripsLeft = 1,       ///< absorbs white space before it
  kStripsRight = 2,      ///< absorbs white space after it
  kSingleWord = 4,       ///< matches only without a letter, digit or mark beside it
  kInNormalizedText = 8  ///< matches in the normalized text instead of the original
};

/// A file's tokenizer data, field by field. make_tokenizer (tokenizer.h) checks it and names the
/// offending key. An empty optional means that the file lacks the key; the tokenizer's default
/// applies then.
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
  std::vector<int64_t> extra_end_tokens;  ///< more tokens that end a generation

  std::optional<bool> add_bos;           ///< tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos;           ///< tokenizer.ggml.add_eos_token
  std::optional<bool> add_sep;           ///< tokenizer.ggml.add_sep_token
  std::optional<bool> add_space_prefix;  ///< tokenizer.ggml.add_space_prefix

  // Normalization of "t5".
  std::string charsmap;                     ///< tokenizer.ggml.precompiled_charsmap, as bytes
  std::optional<bool> remove_extra_spaces;  ///< tokenizer.ggml.remove_extra_whitespaces
  std::optional<bool> escape_spaces;        ///< tokenizer.ggml.escape_whitespaces
  std::optional<bool> space_as_suffix;      ///< tokenizer.ggml.treat_whitespace_as_suffix

  // Normalization of "bert".
  std::optional<bool> lowercase;      ///< tokenizer.ggml.normalizer.lowercase
  std::optional<bool> strip_accents;  ///< tokenizer.ggml.normalizer.strip_accents

  // Data of a tokenizer.json beyond a model file. Lists are empty or [vocab].
  std::vector<uint8_t> matching;          ///< TokenMatching bits
  std::vector<std::string> pieces;        ///< bytes of each token
  std::vector<std::string> first_pieces;  ///< bytes at the start of a text, if different
  std::vector<int64_t> tokens_before;     ///< added before a text, instead of add_bos
  std::vector<int64_t> tokens_after;      ///< added after a text, instead of add_eos
};

}  // namespace tenon
