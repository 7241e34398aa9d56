// Compiled grammar of any notation, and the cache of grammars in use. The matching state lives in
// matcher.h.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "text/grammar/automaton.h"
#include "text/grammar/kept_parts.h"
#include "text/grammar/lenient_reader.h"

namespace tenon {

/// Notations of grammars.
enum class GrammarKind : uint32_t {
  JsonSchema = 1,  ///< draft 2020-12; docs/structured-output.md lists what is supported
  Gbnf = 2,
  Regex = 3,    ///< matches the whole text
  Choices = 4,  ///< JSON array of strings; matches one of them
  Lark = 5,
  Written = 6,  ///< no notation; made by Grammar::written_by
};

/// Options of a compilation.
struct CompileOptions {
  WorkWatch* watch = nullptr;  ///< may be null; called about every millisecond
  bool lenient = false;        ///< JsonSchema only: drops and notes unsupported parts
};

/// Immutable: share freely between threads.
class Grammar {
 public:
  /// Throws Error(Grammar) naming the refused part and its position: a line, a JSON pointer or a
  /// byte. Throws Error(Limit) beyond the limits on memory, and what options.watch throws.
  /// Generated documents of a schema use common white space and escapes.
  static std::shared_ptr<const Grammar> compile(GrammarKind kind, std::string_view text,
                                                const CompileOptions& options = {});
  /// Reuses compiled parts of other grammars in `parts`, and adds its own.
  static std::shared_ptr<const Grammar> compile(GrammarKind kind, std::string_view text,
                                                grammar::KeptParts& parts,
                                                const CompileOptions& options = {});
  /// Matches one of `choices`. Errors as compile().
  static std::shared_ptr<const Grammar> of_choices(std::span<const std::string> choices);

  /// Compiles the NFA that `write` builds. Errors as compile().
  ///   marks  control tokens in the vocabulary's spelling, each a byte in the NFA (control_bytes.h)
  ///   watch  may be null
  static std::shared_ptr<const Grammar> written_by(const std::function<void(grammar::Nfa&)>& write,
                                                   std::vector<std::string> marks,
                                                   WorkWatch* watch = nullptr);

  /// True if `text` is a complete text of the grammar; for a schema, a valid document in any
  /// spelling of its values.
  [[nodiscard]] bool accepts(std::string_view text) const;

  [[nodiscard]] const std::shared_ptr<const grammar::Automaton>& automaton() const {
    return automaton_;
  }
  [[nodiscard]] const std::vector<std::string>& marks() const { return marks_; }
  /// Dropped parts of a schema.
  [[nodiscard]] const std::vector<grammar::SchemaNote>& notes() const { return notes_; }
  [[nodiscard]] size_t size_bytes() const { return automaton_->size_bytes(); }

 private:
  static std::shared_ptr<const Grammar> compile_leniently(std::string_view text,
                                                          grammar::KeptParts& parts,
                                                          WorkWatch* watch);
  Grammar(std::shared_ptr<const grammar::Automaton> automaton, GrammarKind kind)
      : automaton_(std::move(automaton)), kind_(kind) {}
  std::shared_ptr<const grammar::Automaton> automaton_;
  GrammarKind kind_;
  std::vector<std::string> marks_;
  std::vector<grammar::SchemaNote> notes_;
};

/// LRU cache of grammars, bounded in bytes: compiles each text once. Thread-safe.
class GrammarCache {
 public:
  explicit GrammarCache(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Like Grammar::compile. Failures are not cached.
  std::shared_ptr<const Grammar> compile(GrammarKind kind, std::string_view text) {
    return get(kind, text, [&] { return Grammar::compile(kind, text, parts_); });
  }
  /// Cached grammar of `text`, else the result of `make`.
  std::shared_ptr<const Grammar> get(GrammarKind kind, std::string_view text,
                                     const std::function<std::shared_ptr<const Grammar>()>& make);

  /// Parts of recent grammars, with limits of their own.
  [[nodiscard]] grammar::KeptParts& parts() { return parts_; }

  [[nodiscard]] size_t size_bytes() const;
  [[nodiscard]] size_t num_grammars() const;

 private:
  struct Entry {
    Hash128 key;
    std::string text;  // compared as well, since hashes may collide
    GrammarKind kind;
    std::shared_ptr<const Grammar> grammar;
    size_t bytes;
  };
  grammar::KeptParts parts_;
  const size_t limit_bytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<Hash128, std::list<Entry>::iterator> by_key_;
};

}  // namespace tenon
