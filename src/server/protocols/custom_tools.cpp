#include "server/protocols/custom_tools.h"

#include <tenon/grammar.hpp>
#include <utility>

#include "server/api_error.h"
#include "server/work/limited_compile.h"

namespace tenon_http {
namespace {

/// Constraint of a string to the texts of a grammar, as a keyword of its schema.
std::pair<std::string, std::string> constraint_of(const Fields& grammar) {
  const std::string& syntax = grammar.required_text("syntax");
  const std::string& definition = grammar.required_text("definition");
  const bool is_lark = syntax == "lark";
  if (!is_lark && syntax != "regex") grammar.refuse("syntax", R"(must be "lark" or "regex")");
  try {
    (void)tenon::Grammar::compile(is_lark ? TENON_GRAMMAR_LARK : TENON_GRAMMAR_REGEX, definition,
                                  under_work_limit());
  } catch (const tenon::Error& error) {
    throw api_error_of(error, grammar.path_of("definition"));
  }
  if (is_lark) return {"x-lark", definition};
  return {"pattern", "^(?:" + definition + ")$"};
}

void append_utf8(uint32_t code, std::string& text) {
  const auto more = [&](uint32_t shift) {
    text += static_cast<char>(0x80U | ((code >> shift) & 0x3fU));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0U | (code >> 6U));
    more(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0U | (code >> 12U));
    more(6);
    more(0);
  } else {
    text += static_cast<char>(0xf0U | (code >> 18U));
    more(12);
    more(6);
    more(0);
  }
}

uint32_t hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>((static_cast<unsigned char>(c) | 0x20U) - 'a') + 10;
}

}  // namespace

Json custom_tool_schema(const Fields* format, const Fields* grammar) {
  Json input{{"type", "string"}};
  if (format != nullptr) {
    const std::string& type = format->required_text("type");
    if (type == "grammar") {
      if (grammar == nullptr) format->refuse("grammar", "is missing");
      auto [keyword, value] = constraint_of(*grammar);
      input[keyword] = std::move(value);
    } else if (type != "text") {
      format->refuse("type", R"(must be "text" or "grammar")");
    }
  }
  return {{"type", "object"},
          {"properties", {{"input", std::move(input)}}},
          {"required", {"input"}},
          {"additionalProperties", false}};
}

std::string CustomInput::push(std::string_view json) {
  std::string text;
  for (const char c : json) take(c, text);
  return text;
}

void CustomInput::take(char c, std::string& text) {
  switch (state_) {
    case State::Before:  // until the end of the name
      if (c == '"' && ++num_quotes_ == 2) state_ = State::Colon;
      return;
    case State::Colon:
      if (c == '"') state_ = State::Text;
      return;
    case State::Text:
      if (c == '\\') {
        state_ = State::Escape;
      } else if (c == '"') {
        state_ = State::After;
      } else {
        text += c;
      }
      return;
    case State::Escape: {
      static constexpr std::string_view kEscapes = "nrtfb";
      static constexpr std::string_view kMeanings = "\n\r\t\f\b";
      const size_t kind = kEscapes.find(c);
      state_ = c == 'u' ? State::Unicode : State::Text;
      code_ = num_digits_ = 0;
      if (c != 'u') text += kind == kEscapes.npos ? c : kMeanings[kind];
      return;
    }
    case State::Unicode:
      return take_unicode(c, text);
    case State::After:
      return;
  }
}

void CustomInput::take_unicode(char c, std::string& text) {
  code_ = code_ * 16 + hex_value(c);
  if (++num_digits_ < 4) return;
  state_ = State::Text;
  if (code_ >= 0xd800 && code_ < 0xdc00) {
    high_ = code_;
    return;
  }
  if (code_ >= 0xdc00 && code_ < 0xe000) {
    code_ = 0x10000 + ((high_ - 0xd800) << 10U) + (code_ - 0xdc00);
  }
  append_utf8(code_, text);
}

}  // namespace tenon_http
