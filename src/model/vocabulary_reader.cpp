// Reads the keys of a tokenizer.
#include "model/vocabulary_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tenon {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";

// Four times the largest published vocabulary. Bounds memory: an entry takes several times its 8
// bytes in the file.
constexpr uint64_t kMaxEntries = 1u << 20;

std::vector<std::string> read_strings(const Metadata& metadata, std::string_view key) {
  const auto texts = metadata.get_or<StringArray>(key, {});
  if (texts.size() > kMaxEntries) {
    fail(Code::Limit, "{}: key \"{}\" has {} entries, the limit is {}", metadata.file_name(), key,
         texts.size(), kMaxEntries);
  }
  std::vector<std::string> out;
  out.reserve(texts.size());
  for (uint64_t i = 0; i < texts.size(); ++i) out.emplace_back(texts[i]);
  return out;
}

/// Bytes of a u8 or i8 array; empty if the key is missing.
std::string read_bytes(const Metadata& metadata, std::string_view key) {
  const MetadataValue* value = metadata.find_value(key);
  if (value == nullptr) return {};
  if (value->count > kMaxEntries) {
    fail(Code::Limit, "{}: key \"{}\" has {} entries, the limit is {}", metadata.file_name(), key,
         value->count, kMaxEntries);
  }
  std::string bytes;
  for (const int32_t byte : metadata.get<std::vector<int32_t>>(key)) {
    if (byte < -128 || byte > 255) {
      fail(Code::Format, "{}: key \"{}\": {} is no byte", metadata.file_name(), key, byte);
    }
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

/// Requires per-token lists to be absent or of equal length. Checks the file's value before any
/// copy is allocated.
void check_length(const Metadata& metadata, std::string_view key, size_t tokens) {
  const MetadataValue* value = metadata.find_value(key);
  if (value == nullptr || value->type != ValueType::Array || value->count == tokens) return;
  fail(Code::Format, "{}: key \"{}\" has {} entries, \"{}\" has {}", metadata.file_name(), key,
       value->count, kTokens, tokens);
}

}  // namespace

Vocabulary read_vocabulary(const Metadata& metadata) {
  const auto id = [&metadata](std::string_view key) -> std::optional<int64_t> {
    // Some tools write the maximum of a type for "none".
    const MetadataValue* value = metadata.find_value(key);
    const bool is_huge = value != nullptr && value->type == ValueType::U64 &&
                         value->integer > static_cast<uint64_t>(INT64_MAX);
    return is_huge ? -1 : metadata.find<int64_t>(key);
  };
  const auto flag = [&metadata](std::string_view key) { return metadata.find<bool>(key); };

  Vocabulary vocabulary;
  vocabulary.model = metadata.get_string("tokenizer.ggml.model");
  vocabulary.pre = metadata.get_or<std::string_view>("tokenizer.ggml.pre", "");
  vocabulary.model_name = metadata.get_or<std::string_view>("general.name", "");
  if (!metadata.contains(kTokens)) {
    fail(Code::Format, "{}: key \"{}\" is missing", metadata.file_name(), kTokens);
  }
  vocabulary.tokens = read_strings(metadata, kTokens);
  const bool merges = vocabulary.model == "gpt2" || vocabulary.model == "gemma4";
  if (merges && !metadata.contains(kMerges)) {
    fail(Code::Format, "{}: key \"{}\" is missing", metadata.file_name(), kMerges);
  }
  vocabulary.merges = read_strings(metadata, kMerges);
  check_length(metadata, "tokenizer.ggml.scores", vocabulary.tokens.size());
  check_length(metadata, "tokenizer.ggml.token_type", vocabulary.tokens.size());
  vocabulary.scores = metadata.get_or<std::vector<float>>("tokenizer.ggml.scores", {});
  const auto types = metadata.get_or<std::vector<int32_t>>("tokenizer.ggml.token_type", {});
  vocabulary.types.reserve(types.size());
  for (const int32_t type : types) vocabulary.types.push_back(static_cast<TokenType>(type));

  vocabulary.bos = id("tokenizer.ggml.bos_token_id");
  vocabulary.eos = id("tokenizer.ggml.eos_token_id");
  vocabulary.eot = id("tokenizer.ggml.eot_token_id");
  vocabulary.eom = id("tokenizer.ggml.eom_token_id");
  vocabulary.unknown = id("tokenizer.ggml.unknown_token_id");
  vocabulary.padding = id("tokenizer.ggml.padding_token_id");
  vocabulary.separator = id("tokenizer.ggml.seperator_token_id");
  vocabulary.add_bos = flag("tokenizer.ggml.add_bos_token");
  vocabulary.add_eos = flag("tokenizer.ggml.add_eos_token");
  vocabulary.add_sep = flag("tokenizer.ggml.add_sep_token");
  vocabulary.add_space_prefix = flag("tokenizer.ggml.add_space_prefix");

  vocabulary.charsmap = read_bytes(metadata, "tokenizer.ggml.precompiled_charsmap");
  vocabulary.remove_extra_spaces = flag("tokenizer.ggml.remove_extra_whitespaces");
  vocabulary.escape_spaces = flag("tokenizer.ggml.escape_whitespaces");
  vocabulary.space_as_suffix = flag("tokenizer.ggml.treat_whitespace_as_suffix");
  vocabulary.lowercase = flag("tokenizer.ggml.normalizer.lowercase");
  vocabulary.strip_accents = flag("tokenizer.ggml.normalizer.strip_accents");
  return vocabulary;
}

}  // namespace tenon
