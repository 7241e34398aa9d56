// A compiled grammar, from whichever notation it came, and the cache of those in use. What is being
// matched lives in matcher.h.
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

/// The notations that a grammar may be written in.
enum class GrammarKind : uint32_t {
  JsonSchema = 1,  ///< draft 2020-12: docs/structured-output.md lists what is supported
  Gbnf = 2,
  Regex = 3,    ///< the whole text is one match
  Choices = 4,  ///< a JSON array of strings: the whole text is one of them
  Written = 5,  ///< no notation: made by Grammar::written_by
};

/// What a compilation is asked for besides its text.
struct CompileOptions {
  WorkWatch* watch = nullptr;  ///< may be null; looks at the compilation about every millisecond
  bool lenient = false;        ///< JsonSchema: what has no grammar is left out and noted
};

/// Immutable: share freely between threads.
class Grammar {
 public:
  /// Throws Error(Grammar) saying what is refused and where: a line, a JSON pointer or a byte.
  /// A schema's documents are generated with the white space and the escapes that are usual.
  /// Throws Error(Limit) for what takes too much memory, and what options.watch throws.
  static std::shared_ptr<const Grammar> compile(GrammarKind kind, std::string_view text,
                                                const CompileOptions& options = {});
  /// Takes parts that other grammars have compiled, and leaves its own for them.
  static std::shared_ptr<const Grammar> compile(GrammarKind kind, std::string_view text,
                                                grammar::KeptParts& parts,
                                                const CompileOptions& options = {});
  /// The whole text is one of `choices`. Errors as compile().
  static std::shared_ptr<const Grammar> of_choices(std::span<const std::string> choices);

  /// The grammar that `write` writes down. marks: control tokens in it, as a vocabulary spells
  /// them; the i-th is one byte in the NFA (control_bytes.h). watch: may be null. Errors as
  /// compile().
  static std::shared_ptr<const Grammar> written_by(const std::function<void(grammar::Nfa&)>& write,
                                                   std::vector<std::string> marks,
                                                   WorkWatch* watch = nullptr);

  /// Whether `text` is a complete text of the grammar; of a schema: a valid document, however its
  /// values are written.
  [[nodiscard]] bool accepts(std::string_view text) const;

  [[nodiscard]] const std::shared_ptr<const grammar::Automaton>& automaton() const {
    return automaton_;
  }
  [[nodiscard]] const std::vector<std::string>& marks() const { return marks_; }
  /// Parts of a schema that were left out.
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

/// The grammars used last, up to a number of bytes: the same text is compiled once. Any thread.
class GrammarCache {
 public:
  explicit GrammarCache(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// As Grammar::compile. Failures are not remembered.
  std::shared_ptr<const Grammar> compile(GrammarKind kind, std::string_view text) {
    return get(kind, text, [&] { return Grammar::compile(kind, text, parts_); });
  }
  /// What `make` makes of `text`, unless it is there.
  std::shared_ptr<const Grammar> get(GrammarKind kind, std::string_view text,
                                     const std::function<std::shared_ptr<const Grammar>()>& make);

  /// Parts of the grammars made last, beside the grammars and with limits of their own.
  [[nodiscard]] grammar::KeptParts& parts() { return parts_; }

  [[nodiscard]] size_t size_bytes() const;
  [[nodiscard]] size_t num_grammars() const;

 private:
  struct Entry {
    Hash128 key;
    std::string text;  // equal hashes are no proof
    GrammarKind kind;
    std::shared_ptr<const Grammar> grammar;
    size_t bytes;
  };
  grammar::KeptParts parts_;
  const size_t limit_bytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // used last in front
  std::map<Hash128, std::list<Entry>::iterator> by_key_;
};

}  // namespace tenon
