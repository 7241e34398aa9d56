// Token masks of the grammars in use with one tokenizer, shared by all generations.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "text/grammar/token_masks.h"

namespace tenon::grammar {

/// LRU cache of masks, up to kMaxGrammars and kMaxBytes; entries live at most as long as their
/// grammars. Thread-safe.
class MaskCache {
 public:
  explicit MaskCache(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  /// Throws Error(Grammar) "no token can follow" if the vocabulary cannot spell any text.
  ///   watch  may be null; called during the work on a grammar that is not cached
  std::shared_ptr<const TokenMasks> of(const std::shared_ptr<const Grammar>& grammar,
                                       WorkWatch* watch = nullptr);

  static constexpr size_t kMaxGrammars = 64;
  static constexpr size_t kMaxBytes = size_t{128} << 20;

 private:
  /// The caller of these two functions holds the lock.
  std::shared_ptr<const TokenSet> token_set(const std::vector<std::string>& marks);
  std::shared_ptr<const TokenMasks> find(const std::shared_ptr<const Grammar>& grammar);

  struct Entry {
    std::weak_ptr<const Grammar> grammar;
    std::shared_ptr<const TokenMasks> masks;
  };
  struct Vocabulary {
    std::vector<std::string> marks;
    std::shared_ptr<const TokenSet> tokens;
  };
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::mutex mutex_;
  std::list<Entry> entries_;            // most recently used first
  std::list<Vocabulary> vocabularies_;  // most recently used first
};

}  // namespace tenon::grammar
