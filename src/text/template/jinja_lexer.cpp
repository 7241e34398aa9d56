#include "text/template/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/template/jinja_characters.h"
#include "text/unicode/hex_digit.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

// Longest operators first.
constexpr std::array<std::string_view, 25> kOperators{
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

/// Converts newlines to "\n" and removes the last one.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : owned_(normalized(source)), source_(owned_) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) data();
    add(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }

  template <typename... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> text, Args&&... args) {
    fail(Code::Template, "line {}: {}", line_, fmt::format(text, std::forward<Args>(args)...));
  }

  void add(TokenKind kind, std::string text) { add(kind, std::move(text), line_); }

  /// Adds a token; joins text that a comment has split.
  void add(TokenKind kind, std::string text, uint32_t line) {
    if (kind == TokenKind::Data && !tokens_.empty() && tokens_.back().kind == kind) {
      tokens_.back().text += text;
      return;
    }
    if (tokens_.size() == kMaxTokens && kind != TokenKind::End) {
      fail_here("more than {} parts (names, operators, texts)", kMaxTokens);
    }
    tokens_.push_back({kind, line, std::move(text)});
  }

  /// Advances and counts lines.
  void skip(size_t bytes) {
    const std::string_view passed = source_.substr(at_, bytes);
    line_ += static_cast<uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    if (!passed.empty()) line_starting_ = passed.back() == '\n';
    at_ += passed.size();
  }

  /// Text without the white space stripped by the next tag. sign: '-', '+' or 0. lstrip: for blocks
  /// and comments.
  [[nodiscard]] std::string_view stripped(std::string_view text, char sign, bool lstrip) const {
    if (sign == '-') return text.substr(0, text.size() - trailing_space(text));
    if (sign == '+' || !lstrip) return text;
    const size_t start = text.rfind('\n') + 1;  // 0 if there is none
    if (start == 0 && !line_starting_) return text;
    return trailing_space(text) >= text.size() - start ? text.substr(0, start) : text;
  }

  static char sign_of(std::string_view tag) {
    return tag.size() > 2 && (tag[2] == '-' || tag[2] == '+') ? tag[2] : '\0';
  }

  void data() {
    size_t begin = at_;
    for (;; ++begin) {
      begin = source_.find('{', begin);
      if (begin == source_.npos || begin + 1 >= source_.size()) begin = source_.size();
      if (begin == source_.size()) break;
      const char second = source_[begin + 1];
      if (second == '%' || second == '{' || second == '#') break;
    }
    const std::string_view text = source_.substr(at_, begin - at_);
    if (begin == source_.size()) {
      if (!text.empty()) add(TokenKind::Data, std::string(text));
      return skip(text.size());
    }
    const std::string_view tag = source_.substr(begin);
    // In "{{+" the plus belongs to the expression.
    const char sign = tag[1] == '{' && sign_of(tag) == '+' ? '\0' : sign_of(tag);
    const std::string_view kept = stripped(text, sign, tag[1] != '{');
    if (!kept.empty()) add(TokenKind::Data, std::string(kept));
    skip(text.size());
    const size_t raw = raw_tag(rest(), "raw", false);
    if (raw != 0) return raw_block(raw);
    skip(sign != '\0' ? 3 : 2);
    if (tag[1] == '#') return comment();
    const bool is_block = tag[1] == '%';
    add(is_block ? TokenKind::BlockBegin : TokenKind::VariableBegin, "");
    inside(is_block ? "%}" : "}}");
    add(is_block ? TokenKind::BlockEnd : TokenKind::VariableEnd, "");
  }

  /// Bytes of "{% NAME %}" at the start of `text`, with the white space stripped by its end; 0 if
  /// absent.
  static size_t raw_tag(std::string_view text, std::string_view name, bool trims) {
    if (!text.starts_with("{%")) return 0;
    size_t at = sign_of(text) != '\0' ? 3 : 2;
    const auto spaces = [&] { at += leading_space(text.substr(at)); };
    spaces();
    if (!text.substr(at).starts_with(name)) return 0;
    at += name.size();
    spaces();
    return end_tag(text, at, "%}", trims);
  }

  /// Offset after the end tag at `at` and the white space it strips; 0 if there is none.
  static size_t end_tag(std::string_view text, size_t at, std::string_view end, bool trims) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with('-') && rest.substr(1).starts_with(end)) {
      at += 1 + end.size();
      return at + leading_space(text.substr(at));
    }
    if (trims && rest.starts_with('+') && rest.substr(1).starts_with(end)) {
      return at + 1 + end.size();
    }
    if (!rest.starts_with(end)) return 0;
    at += end.size();
    return trims && text.substr(at).starts_with('\n') ? at + 1 : at;
  }

  void raw_block(size_t head) {
    skip(head);
    for (size_t at = source_.find("{%", at_); at != source_.npos; at = source_.find("{%", at + 2)) {
      const size_t size = raw_tag(source_.substr(at), "endraw", true);
      if (size == 0) continue;
      const std::string_view text = source_.substr(at_, at - at_);
      const std::string_view kept = stripped(text, sign_of(source_.substr(at)), true);
      if (!kept.empty()) add(TokenKind::Data, std::string(kept));
      return skip(text.size() + size);
    }
    fail_here("missing end of raw directive");
  }

  void comment() {
    if (at_ == source_.size()) return;  // a final "{#" is ignored
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) fail_here("missing end of comment tag");
    const size_t sign = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+') ? 1 : 0;
    skip(end_tag(source_, end - sign, "#}", true) - at_);
  }

  /// Reads tokens up to the end of the tag.
  void inside(std::string_view end) {
    std::string open;  // unclosed brackets
    for (;;) {
      skip(leading_space(rest()));
      if (at_ >= source_.size()) fail_here("unexpected end of template inside a tag");
      if (open.empty()) {
        const size_t after = end_tag(source_, at_, end, end == "%}");
        if (after != 0) return skip(after - at_);
      }
      const char c = source_[at_];
      if (c == '"' || c == '\'') {
        string(c);
      } else if (is_ascii_digit(c)) {
        number();
      } else if (!name()) {
        operation(open);
      }
    }
  }

  bool name() {
    size_t size = 0;
    while (size < rest().size()) {
      const CodePoint c = utf8_decode_valid(rest().data() + size);
      const bool letter = is_alpha(c.code) || c.code == '_';
      if (!letter && (size == 0 || !is_numeric(c.code))) break;
      size += c.size;
    }
    if (size == 0) return false;
    add(TokenKind::Name, std::string(rest().substr(0, size)));
    at_ += size;
    return true;
  }

  void operation(std::string& open) {
    const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](std::string_view op) { return rest().starts_with(op); });
    if (found == kOperators.end()) {
      fail_here("unexpected character {}",
                quoted(rest().substr(0, utf8_decode_valid(rest().data()).size)));
    }
    const char c = (*found)[0];
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) fail_here("unexpected '{}'", c);
      open.pop_back();
    }
    add(TokenKind::Operator, std::string(*found));
    at_ += found->size();
  }

  /// Length of digits with single underscores between them, from `at` on.
  template <typename IsDigit>
  size_t digits(size_t at, IsDigit is_digit) const {
    size_t size = 0;
    while (at + size < source_.size()) {
      const char c = source_[at + size];
      const bool joint = c == '_' && size > 0 && at + size + 1 < source_.size() &&
                         is_digit(source_[at + size + 1]);
      if (!joint && !is_digit(c)) break;
      ++size;
    }
    return size;
  }

  void number() {
    const auto radix_digit = [&](char c) {
      const char kind = static_cast<char>(source_[at_ + 1] | 32);
      if (kind == 'b') return c == '0' || c == '1';
      if (kind == 'o') return c >= '0' && c <= '7';
      return is_ascii_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
    };
    TokenKind kind = TokenKind::Integer;
    size_t size = digits(at_, is_ascii_digit);
    const char prefix = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 32) : 0;
    if (size == 1 && source_[at_] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
      const size_t more = digits(at_ + 2, radix_digit);
      if (more != 0) size = 2 + more;
    } else if (at_ == 0 || source_[at_ - 1] != '.') {  // rows.0.1 are two indices
      const size_t fraction = at_ + size < source_.size() && source_[at_ + size] == '.'
                                  ? digits(at_ + size + 1, is_ascii_digit)
                                  : 0;
      if (fraction != 0) size += 1 + fraction;
      const size_t power = exponent(at_ + size);
      size += power;
      if (fraction != 0 || power != 0) kind = TokenKind::Float;
    }
    std::string text(source_.substr(at_, size));
    std::erase(text, '_');
    add(kind, std::move(text));
    at_ += size;
  }

  size_t exponent(size_t at) const {
    if (at >= source_.size() || (source_[at] | 32) != 'e') return 0;
    size_t size = 1;
    if (at + 1 < source_.size() && (source_[at + 1] == '+' || source_[at + 1] == '-')) ++size;
    const size_t count = digits(at + size, is_ascii_digit);
    return count == 0 ? 0 : size + count;
  }

  void string(char quote) {
    const uint32_t line = line_;
    std::string text;
    size_t at = at_ + 1;
    for (;; ++at) {
      if (at >= source_.size()) fail_here("unexpected end of template inside a string");
      if (source_[at] == quote) break;
      if (source_[at] == '\\' && at + 1 < source_.size()) {
        at = escape(at + 1, text);
      } else {
        text += source_[at];
      }
    }
    skip(at + 1 - at_);
    add(TokenKind::String, std::move(text), line);
  }

  /// Appends the character of the escape with its letter at `at`; returns its last byte's offset.
  size_t escape(size_t at, std::string& out) {
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[at];
    if (const size_t known = kLetters.find(c); known != kLetters.npos) {
      out += kBytes[known];
      return at;
    }
    if (c == '\n') return at;  // a continued line
    const size_t size = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (size != 0) {
      for (size_t i = 1; i <= size; ++i) {
        const int digit = at + i < source_.size() ? hex_digit(source_[at + i]) : -1;
        if (digit < 0) fail_here("the escape \\{} needs {} hexadecimal digits", c, size);
        code = code * 16 + static_cast<uint32_t>(digit);
      }
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        fail_here("the escape \\{} is no character", c);
      }
      utf8_append(code, out);
      return at + size;
    }
    if (c >= '0' && c <= '7') {
      size_t count = 0;
      while (count < 3 && at + count < source_.size() && source_[at + count] >= '0' &&
             source_[at + count] <= '7') {
        code = code * 8 + static_cast<uint32_t>(source_[at + count] - '0');
        ++count;
      }
      utf8_append(code, out);
      return at + count - 1;
    }
    out += '\\';
    out += c;
    return at;
  }

  std::string owned_;
  std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view source) { return Lexer(source).run(); }

}  // namespace tenon::jinja
