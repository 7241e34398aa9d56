// Definition of an architecture: metadata to specification, specification to program. Each has a
// file of its name; architecture_list.h lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "arch/build_context.h"
#include "arch/decoder.h"
#include "arch/folder/folder_form.h"
#include "arch/keys/decoder_keys.h"
#include "arch/keys/keys.h"
#include "arch/model_spec.h"

namespace tenon {

/// A key, without the architecture's prefix, and its value.
struct KeyValue {
  std::string_view name;
  std::variant<uint32_t, float, bool, std::string_view, std::span<const int32_t>> value;
};

struct Architecture {
  /// Reads the keys, except the vocabulary's. Throws Format for values out of range or
  /// inconsistent, Unsupported for those this build cannot compute, naming the key.
  ModelSpec (*read)(const Keys& keys);
  /// Adapts the specification to the tensors of a file, for properties without a key. May be null.
  void (*adapt)(const ModelFile& file, ModelSpec& model) = nullptr;
  /// Requests the tensors and adds the operations. Returns the logits [R, vocab], or for an encoder
  /// the pooled rows [S, .].
  Slot (*build)(BuildContext& context) = build_decoder;
  /// Encoder-decoders only: builds the encoder's program, in a context with `layers` and
  /// `encoder_layers` swapped. Returns a result of one row per sequence.
  Slot (*build_encoder)(BuildContext& context) = nullptr;
  /// Keys of a small random model, besides or instead of those of all decoders.
  std::span<const KeyValue> example{};
  /// Patterns of tensors in files that inference does not use (matches_pattern).
  std::span<const std::string_view> ignored{};
  /// Its Hugging Face folders; null if those are not read.
  const FolderForm* folder = nullptr;
};

}  // namespace tenon
