// The tokens of a template for a parser: one token ahead, with errors that name the line.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/template/jinja_lexer.h"

namespace tenon::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }
  const Token& take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }

  [[nodiscard]] bool is(TokenKind kind) const { return now().kind == kind; }
  [[nodiscard]] bool is_operator(std::string_view text) const {
    return is(TokenKind::Operator) && now().text == text;
  }
  [[nodiscard]] bool is_name(std::string_view text) const {
    return is(TokenKind::Name) && now().text == text;
  }
  bool skip_operator(std::string_view text) {
    if (!is_operator(text)) return false;
    take();
    return true;
  }
  bool skip_name(std::string_view text) {
    if (!is_name(text)) return false;
    take();
    return true;
  }
  void expect_operator(std::string_view text) {
    if (!skip_operator(text)) fail_here("expected '{}', got {}", text, shown());
  }
  void expect_name(std::string_view text) {
    if (!skip_name(text)) fail_here("expected '{}', got {}", text, shown());
  }
  std::string expect_any_name() {
    if (!is(TokenKind::Name)) fail_here("expected a name, got {}", shown());
    return take().text;
  }
  void expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) fail_here("expected {}, got {}", what, shown());
    take();
  }

  /// Describes the current token for a message.
  [[nodiscard]] std::string shown() const {
    switch (now().kind) {
      case TokenKind::End:
        return "the end of the template";
      case TokenKind::BlockEnd:
      case TokenKind::VariableEnd:
        return "the end of the tag";
      default:
        return quoted(now().text, 40);
    }
  }

  template <typename... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> text, Args&&... args) const {
    fail(Code::Template, "line {}: {}", now().line, fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::vector<Token> tokens_;  // the last is End
  size_t at_ = 0;
};

}  // namespace tenon::jinja
