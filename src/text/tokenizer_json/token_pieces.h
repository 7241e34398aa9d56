// What the tokens of a tokenizer.json stand for in text: "decoder", applied to each token once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// A token on its way to text.
struct DecodedToken {
  std::string text;
  bool is_first;  ///< of the whole text
};

/// One step of decoding that looks at one token.
class DecoderStep {
 public:
  virtual ~DecoderStep() = default;
  virtual void apply(DecodedToken& token) const = 0;
};

/// The steps of the field "decoder", which may be null: then words are joined by spaces. Errors as
/// JsonField; Unsupported names a type that is not known or one that looks at several tokens.
class Decoder {
 public:
  explicit Decoder(const JsonField& field);

  /// Whether tokens are spelled in the byte alphabet.
  [[nodiscard]] bool is_byte_level() const { return is_byte_level_; }

  /// The bytes of a token inside a text, and at its start.
  [[nodiscard]] std::string piece(std::string_view spelling) const { return run(spelling, false); }
  [[nodiscard]] std::string first_piece(std::string_view spelling) const {
    return run(spelling, true);
  }

 private:
  static constexpr size_t kMaxSteps = 64;  // published files have up to five

  void add(const JsonField& field);
  [[nodiscard]] std::string run(std::string_view spelling, bool is_first) const;

  std::vector<std::unique_ptr<const DecoderStep>> steps_;
  bool is_byte_level_ = false;
  bool has_bytes_ = false;  // tokens may be parts of a character
  bool fused_ = false;      // what follows sees the whole text
};

}  // namespace tenon::tokenizer_json
