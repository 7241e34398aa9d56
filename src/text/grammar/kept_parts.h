// LRU caches of compiled parts for reuse by other grammars: automata of patterns and formats, kinds
// of strings and numbers, and whole schemas, such as those of tools. Owned by a grammar cache; a
// compilation without a cache has its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "text/grammar/compiled_part.h"
#include "text/grammar/count_limit.h"

namespace tenon::grammar {

/// LRU cache of values by text, bounded in bytes. Thread-safe.
template <typename T>
class KeptByText {
 public:
  explicit KeptByText(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Null if absent.
  std::shared_ptr<const T> find(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto found = by_text_.find(text);
    if (found == by_text_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }
  /// Returns the cached value of the text, which another thread may have added first. A value
  /// larger than a quarter of the limit is not cached.
  ///   bytes  size of the value
  std::shared_ptr<const T> add(std::string_view text, std::shared_ptr<const T> value,
                               size_t bytes) {
    std::list<Entry> one;
    one.push_front({std::string(text), std::move(value), bytes + text.size() + sizeof(Entry)});
    const std::lock_guard lock(mutex_);
    const auto found = by_text_.find(text);
    if (found != by_text_.end()) return found->second->value;
    ++num_added_;
    if (one.front().bytes > limit_bytes_ / 4) return one.front().value;
    by_text_.emplace(one.front().text, one.begin());
    bytes_ += one.front().bytes;
    entries_.splice(entries_.begin(), one);
    while (bytes_ > limit_bytes_) {
      bytes_ -= entries_.back().bytes;
      by_text_.erase(entries_.back().text);
      entries_.pop_back();
    }
    return entries_.front().value;
  }
  /// Number of values made so far.
  [[nodiscard]] size_t num_added() const {
    const std::lock_guard lock(mutex_);
    return num_added_;
  }
  [[nodiscard]] size_t size_bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    std::string text;
    std::shared_ptr<const T> value;
    size_t bytes;
  };
  const size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string_view, typename std::list<Entry>::iterator> by_text_;  // texts of entries_
  size_t bytes_ = 0;
  size_t num_added_ = 0;
};

/// Texts of a pattern or format within bounds on their characters.
struct LimitedTexts {
  std::shared_ptr<const Dfa> texts;
  std::optional<CountLimit> counted = {};  ///< upper bound, counted while reading
  uint64_t number = 0;                     ///< number of its own in the cache; 0 if not cached
};

/// Cached results charge the budget with their original cost, so refusals do not depend on the
/// cache. Thread-safe.
class KeptParts {
 public:
  static constexpr size_t kDfaBytes = size_t{4} << 20;
  static constexpr size_t kPieceBytes = size_t{8} << 20;
  static constexpr size_t kSchemaBytes = size_t{32} << 20;

  /// Automaton of `key`, or the result of `make`.
  std::shared_ptr<const Dfa> dfa(const std::string& key, Budget& budget,
                                 const std::function<Dfa()>& make);
  /// Texts of `key` within bounds, or the result of `make`.
  std::shared_ptr<const LimitedTexts> limited(const std::string& key, Budget& budget,
                                              const std::function<LimitedTexts()>& make);
  /// Part of `key`, a kind of string, number or white space; else the part that `write` builds.
  std::shared_ptr<const CompiledPart> piece(const std::string& key, Budget& budget,
                                            const std::function<void(Nfa&)>& write);
  /// Part of a schema by its text; else the part that `write` builds.
  std::shared_ptr<const CompiledPart> schema(std::string_view text, Budget& budget,
                                             const std::function<void(Nfa&)>& write);

  /// Number of automata and schemas made so far.
  [[nodiscard]] size_t num_dfas_made() const { return dfas_.num_added(); }
  [[nodiscard]] size_t num_schemas_made() const { return schemas_.num_added(); }
  [[nodiscard]] size_t size_bytes() const {
    return dfas_.size_bytes() + limited_.size_bytes() + pieces_.size_bytes() +
           schemas_.size_bytes();
  }

 private:
  template <typename T>
  struct Charged {
    T value;
    BudgetUse use;
    Budget::Payment payment;
  };
  std::atomic<uint64_t> next_number_{1};
  KeptByText<Charged<Dfa>> dfas_{kDfaBytes};
  KeptByText<Charged<LimitedTexts>> limited_{kDfaBytes};
  KeptByText<CompiledPart> pieces_{kPieceBytes};
  KeptByText<CompiledPart> schemas_{kSchemaBytes};
};

}  // namespace tenon::grammar
