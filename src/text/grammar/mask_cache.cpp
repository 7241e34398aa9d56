#include "text/grammar/mask_cache.h"

#include <algorithm>

namespace tenon::grammar {
namespace {

// Grammars with control tokens come from chats: one or two formats per model.
constexpr size_t kMaxVocabularies = 4;

}  // namespace

std::shared_ptr<const TokenSet> MaskCache::token_set(const std::vector<std::string>& marks) {
  const auto found =
      std::find_if(vocabularies_.begin(), vocabularies_.end(),
                   [&](const Vocabulary& vocabulary) { return vocabulary.marks == marks; });
  if (found != vocabularies_.end()) {
    vocabularies_.splice(vocabularies_.begin(), vocabularies_, found);
    return found->tokens;
  }
  if (vocabularies_.size() == kMaxVocabularies) vocabularies_.pop_back();
  vocabularies_.push_front({marks, std::make_shared<const TokenSet>(tokenizer_, marks)});
  return vocabularies_.front().tokens;
}

std::shared_ptr<const TokenMasks> MaskCache::find(const std::shared_ptr<const Grammar>& grammar) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.grammar.expired(); });
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return !entry.grammar.owner_before(grammar) && !grammar.owner_before(entry.grammar);
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->masks;
}

std::shared_ptr<const TokenMasks> MaskCache::of(const std::shared_ptr<const Grammar>& grammar,
                                                WorkWatch* watch) {
  std::unique_lock lock(mutex_);
  if (auto known = find(grammar)) return known;
  const std::shared_ptr<const TokenSet> tokens = token_set(grammar->marks());
  // Without the lock, so that other threads can continue.
  lock.unlock();
  auto masks = std::make_shared<const TokenMasks>(grammar, tokens, watch);
  lock.lock();
  if (auto known = find(grammar)) return known;
  size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.masks->size_bytes();
  while (!entries_.empty() && (entries_.size() >= kMaxGrammars || bytes > kMaxBytes)) {
    bytes -= entries_.back().masks->size_bytes();
    entries_.pop_back();
  }
  entries_.push_front({grammar, masks});
  return masks;
}

}  // namespace tenon::grammar
