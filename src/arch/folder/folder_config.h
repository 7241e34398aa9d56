// The config.json of a folder, turned into the metadata of a GGUF file. Each key is used, harmless
// or refused.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "file/metadata.h"
#include "json/json_tree.h"

namespace tenon {

/// A tensor made of keys: the divisors of a rope.
struct MadeTensor {
  std::string name;
  std::vector<float> values;
};

/// Results of reading a config.json.
struct FolderFacts {
  Metadata metadata;
  std::string architecture;
  double theta = 0.0;  ///< FolderForm::theta
  std::vector<MadeTensor> made;
  /// Rows of a tensor by its name without prefix and suffix; nothing if it is missing.
  std::function<std::optional<uint64_t>(std::string_view stem)> rows_of;
};

/// An object of config.json. A key counts as used once it was taken.
class FolderConfig {
 public:
  /// place: of the object, for messages: "folder/config.json"
  FolderConfig(const JsonNode& object, std::string place, FolderFacts& facts)
      : object_(object), place_(std::move(place)), facts_(facts), used_(object.keys.size()) {}

  [[nodiscard]] FolderFacts& facts() const { return facts_; }
  /// The value; null for a missing key and for null.
  const JsonNode* take(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) { return take(key) != nullptr; }
  /// Whether there is such a key, be it null.
  [[nodiscard]] bool contains(std::string_view key) const { return object_.find(key) != nullptr; }
  /// Values of a type; nothing for a missing key. Throw Format for another type.
  std::optional<uint64_t> count(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::string_view text(std::string_view key);
  /// A list of finite numbers.
  std::vector<double> numbers(std::string_view key);
  /// The object under a key as a place of keys of its own.
  std::optional<FolderConfig> object(std::string_view key);
  uint64_t required_count(std::string_view key);

  /// Sets "<architecture>.<name>".
  void put(std::string_view name, MetadataValue value);
  void put(std::string_view name, uint64_t value) { put(name, MetadataValue::of(value)); }
  void put(std::string_view name, double value) { put(name, MetadataValue::of(value)); }

  /// Takes the keys of a table (folder_form.h).
  void read_table(std::string_view table);
  /// Throws Unsupported for the first key that nobody took.
  void finish() const;

  template <typename... Args>
  [[noreturn]] void refuse(Code code, std::string_view key, fmt::format_string<Args...> why,
                           Args&&... args) const {
    fail(code, "{}: key {} {}", place_, quoted(key), fmt::format(why, std::forward<Args>(args)...));
  }

 private:
  void read_entry(std::string_view name, char kind, std::string_view rest);

  const JsonNode& object_;
  std::string place_;
  FolderFacts& facts_;
  std::vector<bool> used_;
};

/// Keys of most decoders: sizes, rope and windows.
void read_decoder_config(FolderConfig& config);

/// Size of a head in layers without a window, if it differs from "head_dim": "global_head_dim", or
/// "per_layer_config" with an entry for each of those layers.
std::optional<uint64_t> full_head_dim(FolderConfig& config);

/// Layers have a window if "sliding_window" is there; "layer_types" and "max_window_layers" say
/// which.
void read_windows_of_all(FolderConfig& config);
/// Likewise, if "use_sliding_window" is true, from layer 28 on unless "max_window_layers" says
/// otherwise.
void read_windows_of_qwen(FolderConfig& config);

/// Reads "layer_types": which layers have attention, and which a recurrence. Lists of words between
/// spaces.
void read_attention_layers(FolderConfig& config, std::string_view recurrent,
                           std::string_view attention);

/// Reads the sizes of Mamba 2 under these keys: heads, values of a head, and the width's multiple.
void read_state_space_config(FolderConfig& config, std::string_view heads,
                             std::string_view head_dim, std::string_view expand);

/// A value of a config.json for messages.
std::string json_text(const JsonNode& node);

/// Meanings of missing keys.
struct WindowDefaults {
  bool used = true;    ///< "use_sliding_window"
  uint64_t first = 0;  ///< "max_window_layers"
};
/// Reads the layers with a window: "layer_types", else the layers for which `windowed` is true, or
/// those from "max_window_layers" on if "use_sliding_window" decides.
void read_window_layers(FolderConfig& config, bool (*windowed)(uint64_t layer),
                        const WindowDefaults& defaults = {});

}  // namespace tenon
