// What a tokenizer.json does to a text before it is cut into words: "normalizer".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// One step. Immutable; linear time.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  /// text: well-formed UTF-8, and so is what comes out. at_start becomes false where the first
  /// character of `text` leaves nothing. Steps that a file may make put much for little throw
  /// Error(Limit) beyond `most` bytes.
  /// system: for memory in proportion to the text.
  [[nodiscard]] virtual std::string apply(System& system, std::string_view text, bool& at_start,
                                          size_t most) const = 0;
};

/// All steps, one after another.
class Normalizer {
 public:
  /// No steps.
  Normalizer() = default;
  /// Errors as JsonField; Unsupported names a type that is not known, or what a pattern has that is
  /// not.
  Normalizer(const JsonField& field, std::shared_ptr<System> system);

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// at_start: whether `text` begins the whole prompt; and then, whether what comes out begins with
  /// what the prompt begins with. Throws Error(Limit) for a text that grows beyond kMaxBytes
  /// or kMaxGrowth times its size and a little.
  [[nodiscard]] std::string apply(std::string_view text, bool& at_start) const;

  static constexpr size_t kMaxBytes = size_t{1} << 31;
  static constexpr size_t kMaxGrowth = 64;  // no form makes more than 11 bytes of one
  static constexpr size_t kMaxSteps = 64;   // published files have up to seven

 private:
  void add(const JsonField& field);
  std::vector<std::unique_ptr<const NormalizerStep>> steps_;
  std::shared_ptr<System> system_;
};

}  // namespace tenon::tokenizer_json
