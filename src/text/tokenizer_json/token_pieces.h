// Text of the tokens in a tokenizer.json: "decoder", applied to each token once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// A token while it is decoded.
struct DecodedToken {
  std::string text;
  bool is_first;  ///< first in the whole text
};

/// A decoding step that sees one token at a time.
class DecoderStep {
 public:
  virtual ~DecoderStep() = default;
  virtual void apply(DecodedToken& token) const = 0;
};

/// Steps of the field "decoder", which may be null; words are joined by spaces then. Errors as in
/// JsonField; Unsupported for an unknown type, or for one that needs several tokens.
class Decoder {
 public:
  explicit Decoder(const JsonField& field);

  /// True if tokens are spelled in the byte alphabet.
  [[nodiscard]] bool is_byte_level() const { return is_byte_level_; }

  /// Bytes of a token inside a text; first_piece() gives those at its start.
  [[nodiscard]] std::string piece(std::string_view spelling) const { return run(spelling, false); }
  [[nodiscard]] std::string first_piece(std::string_view spelling) const {
    return run(spelling, true);
  }

 private:
  static constexpr size_t kMaxSteps = 64;  // published files have at most five

  void add(const JsonField& field);
  [[nodiscard]] std::string run(std::string_view spelling, bool is_first) const;

  std::vector<std::unique_ptr<const DecoderStep>> steps_;
  bool is_byte_level_ = false;
  bool has_bytes_ = false;  // tokens may be parts of characters
  bool fused_ = false;      // later steps see the whole text
};

}  // namespace tenon::tokenizer_json
