#include "model/ggml_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "file/folder_keys.h"
#include "model/tokenizer_file.h"
#include "text/tokenizer_json/ggml_vocabulary.h"

namespace tenon {
namespace {

/// Programs that read the keys expect a token per row of the embedding.
void fill_up(Vocabulary& vocabulary, uint64_t rows) {
  const size_t first = vocabulary.tokens.size();
  for (size_t id = first; id < rows; ++id) vocabulary.tokens.push_back(fmt::format("[PAD{}]", id));
  vocabulary.types.resize(vocabulary.tokens.size(), TokenType::Unused);
  if (!vocabulary.scores.empty()) vocabulary.scores.resize(vocabulary.tokens.size(), 0.0f);
}

void add_keys(GgufOutput& out, const Vocabulary& vocabulary) {
  const auto add_id = [&](std::string_view key, const std::optional<int64_t>& id) {
    if (id) out.add(key, static_cast<uint32_t>(*id));
  };
  const auto add_flag = [&](std::string_view key, const std::optional<bool>& flag) {
    if (flag) out.add(key, *flag);
  };
  out.add("tokenizer.ggml.model", std::string_view(vocabulary.model));
  out.add("tokenizer.ggml.pre",
          std::string_view(vocabulary.pre.empty() ? "default" : vocabulary.pre));
  out.add("tokenizer.ggml.tokens", std::span<const std::string>(vocabulary.tokens));
  if (!vocabulary.scores.empty()) {
    out.add("tokenizer.ggml.scores", std::span<const float>(vocabulary.scores));
  }
  std::vector<int32_t> types;
  for (const TokenType type : vocabulary.types) types.push_back(static_cast<int32_t>(type));
  out.add("tokenizer.ggml.token_type", std::span<const int32_t>(types));
  if (!vocabulary.merges.empty()) {
    out.add("tokenizer.ggml.merges", std::span<const std::string>(vocabulary.merges));
  }
  if (!vocabulary.charsmap.empty()) {
    out.add("tokenizer.ggml.precompiled_charsmap", std::as_bytes(std::span(vocabulary.charsmap)));
  }
  add_id("tokenizer.ggml.bos_token_id", vocabulary.bos);
  add_id("tokenizer.ggml.eos_token_id", vocabulary.eos);
  add_id("tokenizer.ggml.unknown_token_id", vocabulary.unknown);
  add_id("tokenizer.ggml.padding_token_id", vocabulary.padding);
  add_flag("tokenizer.ggml.add_bos_token", vocabulary.add_bos);
  add_flag("tokenizer.ggml.add_eos_token", vocabulary.add_eos);
  add_flag("tokenizer.ggml.add_space_prefix", vocabulary.add_space_prefix);
  add_flag("tokenizer.ggml.remove_extra_whitespaces", vocabulary.remove_extra_spaces);
}

}  // namespace

void add_ggml_tokenizer(GgufOutput& out, const ModelFile& file,
                        const std::shared_ptr<System>& system) {
  const Metadata& metadata = file.metadata();
  const bool is_said =
      metadata.contains("tokenizer.ggml.model") || metadata.contains(kOnlyTokenizerJsonKey);
  if (!has_json_tokenizer(metadata) || is_said) return;
  GgmlVocabulary form =
      ggml_vocabulary(metadata.get_or<std::string_view>(kTokenizerJsonKey, ""),
                      file.name() + "/tokenizer.json", system, roles_of(metadata));
  const TensorInfo* embedding = file.find("token_embd.weight");
  const uint64_t rows =
      embedding == nullptr ? 0 : embedding->num_values() / embedding->row_values();
  if (form.vocabulary && rows < form.vocabulary->tokens.size()) {
    form.vocabulary.reset();
    form.reason = "it has more tokens than the embedding has rows";
  }
  if (!form.vocabulary) return out.add(kOnlyTokenizerJsonKey, std::string_view(form.reason));
  fill_up(*form.vocabulary, rows);
  out.add(kTokenizerJsonCountsKey, true);
  add_keys(out, *form.vocabulary);
}

}  // namespace tenon
