// Which texts may be generated: JSON schemas, GBNF, regular expressions, lists of choices.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <tenon/error.hpp>

namespace tenon {
inline namespace v1 {

/// Immutable, move-only; any thread. tenon.h, section 12.
class Grammar {
 public:
  [[nodiscard]] static Grammar json_schema(std::string_view text) {
    return Grammar(TENON_GRAMMAR_JSON_SCHEMA, text);
  }
  [[nodiscard]] static Grammar gbnf(std::string_view text) {
    return Grammar(TENON_GRAMMAR_GBNF, text);
  }
  [[nodiscard]] static Grammar regular_expression(std::string_view text) {
    return Grammar(TENON_GRAMMAR_REGEX, text);
  }
  /// A JSON array of strings.
  [[nodiscard]] static Grammar choices(std::string_view text) {
    return Grammar(TENON_GRAMMAR_CHOICES, text);
  }

  /// Whether `text` is complete and allowed.
  [[nodiscard]] bool accepts(std::string_view text) const {
    int32_t accepted = 0;
    check(tenon_grammar_accepts(get(), text.data(), text.size(), &accepted));
    return accepted != 0;
  }

  [[nodiscard]] tenon_grammar* get() const noexcept { return handle_.get(); }

 private:
  Grammar(int32_t kind, std::string_view text) {
    tenon_grammar* raw = nullptr;
    check(tenon_grammar_create(kind, text.data(), text.size(), &raw));
    handle_.reset(raw);
  }
  struct Destroy {
    void operator()(tenon_grammar* raw) const noexcept { tenon_grammar_destroy(raw); }
  };
  std::unique_ptr<tenon_grammar, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
