// Normalization in a tokenizer.json, before the text is cut into words: "normalizer".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// One step of normalization. Immutable; linear time.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  /// Normalizes `text`, well-formed UTF-8, to well-formed UTF-8. Clears at_start if the first
  /// character of `text` leaves nothing. Steps that may enlarge a text throw Limit beyond `most`
  /// bytes.
  ///   system  for memory that grows with the text
  [[nodiscard]] virtual std::string apply(System& system, std::string_view text, bool& at_start,
                                          size_t most) const = 0;
};

/// The bytes of a text in base64. Throws Format.
std::string from_base64(const JsonField& field);

/// All steps in order.
class Normalizer {
 public:
  /// Makes a normalizer without steps.
  Normalizer() = default;
  /// Reads the field "normalizer". Errors as in JsonField; Unsupported for an unknown type or an
  /// unsupported pattern.
  Normalizer(const JsonField& field, std::shared_ptr<System> system);

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// Normalizes `text`. at_start: in, whether `text` begins the prompt; out, whether the result
  /// begins with the prompt's first character. Throws Limit if the result exceeds kMaxBytes, or
  /// slightly more than kMaxGrowth times the text.
  [[nodiscard]] std::string apply(std::string_view text, bool& at_start) const;

  static constexpr size_t kMaxBytes = size_t{1} << 31;
  static constexpr size_t kMaxGrowth = 64;  // no form makes more than 11 bytes from one
  static constexpr size_t kMaxSteps = 64;   // published files have at most seven

 private:
  void add(const JsonField& field);
  std::vector<std::unique_ptr<const NormalizerStep>> steps_;
  std::shared_ptr<System> system_;
};

}  // namespace tenon::tokenizer_json
