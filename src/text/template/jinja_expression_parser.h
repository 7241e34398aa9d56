// Parses expressions; jinja_parser.cpp parses statements.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/stack_room.h"
#include "text/template/jinja_syntax.h"
#include "text/template/jinja_token_stream.h"

namespace tenon::jinja {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Syntax& out) : tokens_(tokens), out_(out) {}

  NameId intern(const std::string& name);

  /// Parses an expression; without_condition: excludes "a if b else c".
  const Expr* expression(bool without_condition = false);
  /// Parses an expression; several, separated by commas, form a tuple. end: a name that ends it, or
  /// "".
  const Expr* tuple(bool without_condition = false, std::string_view end = "",
                    bool in_parentheses = false);
  /// Parses "NAME(...) | NAME ..." applied to `input` (may be null).
  const Expr* filters(const Expr* input, bool starts_inline);

  /// Counts nesting of tags and brackets.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

  /// Inside a branch, unknown filters and tests fail only when they run.
  bool in_branch = false;
  /// Throws for unknown filters and tests outside branches. Call at the end of a tag.
  void check_known();

 private:
  Expr* make(ExprKind kind, uint32_t line);
  Expr* make(ExprKind kind, uint32_t line, std::vector<const Expr*> children);
  const Expr* disjunction();
  const Expr* conjunction();
  const Expr* negation();
  const Expr* comparison();
  const Expr* sum();
  const Expr* concatenation();
  const Expr* product();
  const Expr* power();
  const Expr* unary(bool with_filters = true);
  const Expr* primary();
  const Expr* number(const Token& token);
  const Expr* dict();
  const Expr* list();
  const Expr* postfix(const Expr* expr);
  const Expr* filtered(const Expr* expr);
  const Expr* subscript(const Expr* expr);
  const Expr* call(const Expr* expr);
  const Expr* test(const Expr* expr);
  Arguments arguments();
  /// Name of a filter or test; may contain dots, though Jinja2's own do not.
  std::string dotted_name();

  TokenStream& tokens_;
  Syntax& out_;
  std::map<std::string, NameId, std::less<>> ids_;
  uint32_t depth_ = 0;
  StackRoom stack_;
  std::vector<const Expr*> unknown_;  // filters and tests outside branches so far
};

}  // namespace tenon::jinja
