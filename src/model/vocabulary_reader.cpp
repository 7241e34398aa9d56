// The keys of a tokenizer, one after the other.
#include "model/vocabulary_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tenon {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";

// Four times the largest published vocabulary. In memory an entry takes several times the 8 bytes
// that it may have in the file, so a file must not choose the number.
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

/// Lists that go with the tokens are absent or as long. Looks at the file's value, before anything
/// is allocated for a copy of it.
void check_length(const Metadata& metadata, std::string_view key, size_t tokens) {
  const MetadataValue* value = metadata.find_value(key);
  if (value == nullptr || value->type != ValueType::Array || value->count == tokens) return;
  fail(Code::Format, "{}: key \"{}\" has {} entries, \"{}\" has {}", metadata.file_name(), key,
       value->count, kTokens, tokens);
}

}  // namespace

Vocabulary read_vocabulary(const Metadata& metadata) {
  const auto id = [&metadata](std::string_view key) { return metadata.find<int64_t>(key); };
  const auto flag = [&metadata](std::string_view key) { return metadata.find<bool>(key); };

  Vocabulary vocabulary;
  vocabulary.model = metadata.get_string("tokenizer.ggml.model");
  vocabulary.pre = metadata.get_or<std::string_view>("tokenizer.ggml.pre", "");
  vocabulary.model_name = metadata.get_or<std::string_view>("general.name", "");
  if (!metadata.contains(kTokens)) {
    fail(Code::Format, "{}: key \"{}\" is missing", metadata.file_name(), kTokens);
  }
  vocabulary.tokens = read_strings(metadata, kTokens);
  if (vocabulary.model == "gpt2" && !metadata.contains(kMerges)) {
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
  vocabulary.add_space_prefix = flag("tokenizer.ggml.add_space_prefix");
  return vocabulary;
}

}  // namespace tenon
