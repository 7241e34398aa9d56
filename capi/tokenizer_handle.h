// The object behind a tokenizer handle: a view into a model handle.
#pragma once

#include <memory>
#include <mutex>

#include "handle.h"
#include "text/grammar/token_trie.h"
#include "text/tokenizer.h"

struct tenon_tokenizer : tenon::capi::Handle<tenon_tokenizer> {
  static constexpr auto kMagic = tenon::capi::Magic::Tokenizer;
  static constexpr const char* kName = "tokenizer";

  explicit tenon_tokenizer(const tenon::Tokenizer& of_model) : tokenizer(of_model) {}
  const tenon::Tokenizer& tokenizer;

  /// The vocabulary as grammars use it, made when first asked for.
  [[nodiscard]] std::shared_ptr<const tenon::grammar::TokenSet> token_set() const {
    const std::lock_guard lock(mutex_);
    if (!token_set_) token_set_ = std::make_shared<const tenon::grammar::TokenSet>(tokenizer);
    return token_set_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const tenon::grammar::TokenSet> token_set_;
};
