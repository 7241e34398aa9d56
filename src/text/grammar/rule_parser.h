// Common part of the parsers of GBNF and Lark: names, alternatives, sequences, groups, strings and
// repetitions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/expr.h"

namespace tenon::grammar {

struct NotationRule {
  std::string name;
  std::string first_use;  ///< place
  uint32_t line = 0;      ///< line of the definition; 0 before it
  Expr expr = {};
};

class RuleParser {
 public:
  virtual ~RuleParser() = default;

 protected:
  /// Differences between the notations.
  struct Notation {
    std::string_view in_names;  ///< characters of names beside letters and digits
    std::string_view escapes;   ///< letters after a backslash in a string
    bool columns;               ///< places have a column
  };
  RuleParser(std::string_view text, const Notation& notation, Budget& budget)
      : text_(text), notation_(notation), budget_(budget) {}

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_here(fmt::format(text, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_here(std::string_view why) const;
  /// "line 3", or "line 3, column 7"; `back` bytes before the next one.
  [[nodiscard]] std::string place(size_t back = 0) const;

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view word);
  [[nodiscard]] bool is_name(char c) const;
  /// The next byte, for messages.
  [[nodiscard]] std::string shown() const;

  /// Skips blanks and comments, and newlines if they have no meaning.
  virtual void space(bool newlines) = 0;
  /// Parses a part of a sequence; empty at the sequence's end.
  virtual std::optional<Expr> element(uint32_t depth) = 0;
  /// Parses the notation's counts of a repetition; false if there are none.
  virtual bool counts(uint64_t& minimum, uint64_t& maximum) = 0;

  std::string_view name();
  uint32_t rule_number(std::string_view name);
  /// Begins a definition, which is the only one of its rule.
  void define(uint32_t rule, uint32_t line);
  /// Refuses names without a definition.
  void refuse_undefined() const;
  void add_part();
  Expr choice(uint32_t depth);
  /// The rest of a group, after its opening bracket.
  Expr group(uint32_t depth, std::string_view close);
  Expr string();
  uint32_t character();
  uint64_t number(std::string_view where);

  std::string_view text_;
  const Notation& notation_;
  Budget& budget_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  size_t line_begin_ = 0;
  std::vector<NotationRule> rules_;

 private:
  Expr sequence(uint32_t depth);
  void repeat(Expr& item);
  uint32_t hex(int digits);

  uint32_t repeated_ = 0;  // consecutive repetitions
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

}  // namespace tenon::grammar
