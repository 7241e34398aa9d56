// Tokenizers, of a model or from a file: text to tokens and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/error.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

using Token = tenon_token;

struct EncodeOptions {
  bool add_special = false;    ///< add the begin (and end) token if the model wants it
  bool parse_special = false;  ///< find control tokens in the text: not for user input
};

/// Flags of the C interface.
inline uint32_t flags_of(EncodeOptions options) noexcept {
  return (options.add_special ? TENON_ADD_SPECIAL : 0u) |
         (options.parse_special ? TENON_PARSE_SPECIAL : 0u);
}

/// A view, valid as long as the Model or TokenizerFile it came from. Any number of threads may use
/// it.
class Tokenizer {
 public:
  explicit Tokenizer(const tenon_tokenizer* raw) noexcept : raw_(raw) {}

  /// Tokens of any bytes; ill-formed UTF-8 counts as U+FFFD.
  [[nodiscard]] std::vector<Token> encode(std::string_view text, EncodeOptions options = {}) const {
    // One token per byte is nearly always enough; otherwise a second call is made.
    std::vector<Token> tokens(text.size() + 2);
    for (;;) {
      size_t needed = 0;
      check(tenon_tokenizer_encode(raw_, text.data(), text.size(), flags_of(options), tokens.data(),
                                   tokens.size(), &needed));
      const bool fits = needed <= tokens.size();
      tokens.resize(needed);
      if (fits) return tokens;
    }
  }

  /// Text of tokens, as bytes; control tokens are left out unless render_special.
  [[nodiscard]] std::string decode(std::span<const Token> tokens,
                                   bool render_special = false) const {
    std::string text(tokens.size() * 8 + 16, '\0');
    for (;;) {
      size_t needed = 0;
      check(tenon_tokenizer_decode(raw_, tokens.data(), tokens.size(),
                                   render_special ? TENON_RENDER_SPECIAL : 0u, text.data(),
                                   text.size(), &needed));
      const bool fits = needed <= text.size();
      text.resize(needed);
      if (fits) return text;
    }
  }

  /// Number of tokens.
  [[nodiscard]] size_t size() const noexcept { return tenon_tokenizer_count(raw_); }

  /// Spelling, text and attributes (TENON_TOKEN_*) of a token.
  [[nodiscard]] tenon_token_info token(Token token) const {
    tenon_token_info details{};
    details.struct_size = sizeof details;
    check(tenon_tokenizer_token_info(raw_, token, &details));
    return details;
  }
  [[nodiscard]] bool is_end(Token id) const {
    return (token(id).attributes & TENON_TOKEN_END) != 0;
  }
  [[nodiscard]] bool is_control(Token id) const {
    return (token(id).attributes & TENON_TOKEN_CONTROL) != 0;
  }

  /// The token with this spelling in the file.
  [[nodiscard]] std::optional<Token> find(std::string_view spelling) const {
    Token found = TENON_NO_TOKEN;
    check(tenon_tokenizer_find(raw_, spelling.data(), spelling.size(), &found));
    return found == TENON_NO_TOKEN ? std::nullopt : std::optional<Token>(found);
  }
  /// The token in a role, TENON_SPECIAL_*.
  [[nodiscard]] std::optional<Token> special(int32_t role) const {
    Token found = TENON_NO_TOKEN;
    check(tenon_tokenizer_special(raw_, role, &found));
    return found == TENON_NO_TOKEN ? std::nullopt : std::optional<Token>(found);
  }

  [[nodiscard]] const tenon_tokenizer* get() const noexcept { return raw_; }

 private:
  const tenon_tokenizer* raw_;
};

/// A tokenizer without a model: from a Hugging Face tokenizer.json or the vocabulary of a model
/// file. Immutable, move-only; any thread.
class TokenizerFile {
 public:
  explicit TokenizerFile(const std::string& path) {
    tenon_tokenizer* raw = nullptr;
    check(tenon_tokenizer_open(path.c_str(), &raw));
    handle_.reset(raw);
  }
  /// Reads the file from memory, which need not outlive the call.
  [[nodiscard]] static TokenizerFile from_memory(std::span<const std::byte> bytes) {
    tenon_source source{};
    source.struct_size = sizeof source;
    source.kind = TENON_SOURCE_MEMORY;
    source.data = bytes.data();
    source.size = bytes.size();
    tenon_tokenizer* raw = nullptr;
    check(tenon_tokenizer_load(&source, &raw));
    return TokenizerFile(raw);
  }

  [[nodiscard]] Tokenizer tokenizer() const noexcept { return Tokenizer(handle_.get()); }

 private:
  explicit TokenizerFile(tenon_tokenizer* raw) : handle_(raw) {}
  struct Destroy {
    void operator()(tenon_tokenizer* raw) const noexcept { tenon_tokenizer_destroy(raw); }
  };
  std::unique_ptr<tenon_tokenizer, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
