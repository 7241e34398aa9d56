// Checked access to a model's metadata: typed numbers with ranges. Architectures define the keys.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "file/metadata.h"

namespace tenon {

/// Limits far above every published model. Products of two fit 64 bits, and the sizes of a program
/// 32.
struct SpecLimits {
  static constexpr uint32_t kLayers = 1024;
  static constexpr uint32_t kWidth = 1u << 20;
  static constexpr uint32_t kHeads = 1u << 14;
  static constexpr uint32_t kHeadDim = 1u << 14;
  static constexpr uint32_t kVocab = 1u << 24;
  static constexpr uint32_t kPositions = 0x7fffffff;
  static constexpr uint32_t kExperts = 4096;
  static constexpr uint64_t kStateValues = 1u << 28;  ///< per layer; published ones have up to 2^21
  static constexpr uint64_t kHeadValues = 1u << 22;   ///< sum over the heads of a layer
  static constexpr double kEpsilon =
      9e-21;  ///< least epsilon: DeepSeek-V4.1 has 1e-20, rounded to f32
  static constexpr uint32_t kConvTaps = 64;  ///< published ones have 3 or 4
};

/// Reads "<architecture>.<name>". Every value has an inclusive range. Values of the wrong type or
/// out of range throw Format naming file, key, value and range. Valid as long as the metadata.
///
///   const Keys keys(file.metadata());
///   const uint32_t layers = keys.count("block_count", 1, SpecLimits::kLayers);
///   const std::vector<uint32_t> heads = keys.counts("attention.head_count", layers, 1, 128);
class Keys {
 public:
  /// Reads the architecture's name. Throws Format unless "general.architecture" is text.
  explicit Keys(const Metadata& metadata);

  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] const std::string& file_name() const { return metadata_.file_name(); }
  /// The full key: "llama.block_count".
  [[nodiscard]] std::string key(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const;

  /// A non-negative integer. Throws Format if the key is missing.
  [[nodiscard]] uint32_t count(std::string_view name, uint32_t low, uint32_t high) const;
  [[nodiscard]] uint32_t count_or(std::string_view name, uint32_t fallback, uint32_t low,
                                  uint32_t high) const;
  /// An integer that may be negative.
  [[nodiscard]] int64_t whole(std::string_view name, int64_t low, int64_t high) const;
  /// A number per layer: the key holds an array of length `layers`, or one number for all.
  [[nodiscard]] std::vector<uint32_t> counts(std::string_view name, uint32_t layers, uint32_t low,
                                             uint32_t high) const;
  [[nodiscard]] std::vector<uint32_t> counts_or(std::string_view name,
                                                std::vector<uint32_t> fallback, uint32_t low,
                                                uint32_t high) const;
  /// An array of exactly `size` integers.
  [[nodiscard]] std::vector<uint64_t> wholes(std::string_view name, uint64_t size, uint64_t low,
                                             uint64_t high) const;
  /// An array of integers of any size.
  [[nodiscard]] std::vector<uint64_t> some_wholes(std::string_view name, uint64_t low,
                                                  uint64_t high) const;
  /// The first `size` integers of an array that has at least as many.
  [[nodiscard]] std::vector<uint64_t> first_wholes(std::string_view name, uint64_t size,
                                                   uint64_t low, uint64_t high) const;
  /// A finite number.
  [[nodiscard]] double number(std::string_view name, double low, double high) const;
  [[nodiscard]] double number_or(std::string_view name, double fallback, double low,
                                 double high) const;
  /// A factor in 1e-6..1e6. Files use 0 for a missing key.
  [[nodiscard]] float scale_or(std::string_view name, double fallback) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  /// True if the key holds an array.
  [[nodiscard]] bool is_list(std::string_view name) const;
  /// A flag per layer: the key holds an array of length `layers`, or one flag for all. Arrays may
  /// contain numbers 0 and 1.
  [[nodiscard]] std::vector<bool> flags(std::string_view name, uint32_t layers) const;
  /// A number per layer, `fallback` if the key is missing. `name` is the full key, for keys without
  /// the architecture's prefix.
  [[nodiscard]] std::vector<double> numbers_or(std::string_view name, double fallback,
                                               uint32_t layers, double low, double high) const;
  [[nodiscard]] std::string_view text_or(std::string_view name, std::string_view fallback) const;

  /// Throws an error found by a key's reader: `{file}: key "llama.x" {why}`.
  template <typename... Args>
  [[noreturn]] void refuse(Code code, std::string_view name, fmt::format_string<Args...> why,
                           Args&&... args) const {
    fail(code, "{}: key \"{}\" {}", file_name(), key(name),
         fmt::format(why, std::forward<Args>(args)...));
  }

 private:
  uint32_t in_range(std::string_view name, uint32_t value, uint32_t low, uint32_t high) const;

  const Metadata& metadata_;
  std::string architecture_;
};

}  // namespace tenon
