// A tokenizer.json in the words of a model file (tokenizer.ggml.*), for programs that read only these.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/system.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer_json/json_tokenizer.h"

namespace tenon {

struct GgmlVocabulary {
  /// For make_tokenizer; empty if a model file cannot say it. Ids that no token has are unused
  /// tokens. What has no key is left out: normalization of Unicode (NFC), and that no space is added
  /// after special tokens, or to a text that begins with one (Metaspace).
  std::optional<Vocabulary> vocabulary;
  std::string reason;  ///< why not: "its words are cut by an unknown pattern"
};

/// Says the same in both forms as far as a set of texts shows: each must become the same tokens.
/// Errors as make_json_tokenizer.
GgmlVocabulary ggml_vocabulary(std::string_view json, std::string_view name,
                               const std::shared_ptr<System>& system, const TokenRoles& roles);

}  // namespace tenon
