// What an architecture is: how its metadata become a specification, and the specification a
// program. Each one stands in a file of its name beside this one; architecture_list.h names them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "arch/build_context.h"
#include "arch/decoder.h"
#include "arch/keys/decoder_keys.h"
#include "arch/keys/keys.h"
#include "arch/model_spec.h"

namespace tenon {

/// A key, without the architecture's name before it, and its value.
struct KeyValue {
  std::string_view name;
  std::variant<uint32_t, float, bool, std::string_view, std::span<const int32_t>> value;
};

struct Architecture {
  /// Reads the keys. What is out of range or contradicts itself throws Format, what this build
  /// cannot compute Unsupported, each naming the key. The vocabulary is not its business.
  ModelSpec (*read)(const Keys& keys);
  /// What the tensors of a file tell and no key does: changes the specification. Or nothing.
  void (*adapt)(const ModelFile& file, ModelSpec& model) = nullptr;
  /// Asks for the tensors and adds the operations; returns the logits [R, vocab], of an encoder the
  /// pooled rows [S, .].
  Slot (*build)(BuildContext& context) = build_decoder;
  /// Of an encoder-decoder: the program that reads the other text, over a context in which `layers`
  /// and `encoder_layers` have changed places. Returns a result of one row for a sequence.
  Slot (*build_encoder)(BuildContext& context) = nullptr;
  /// What a small random model needs besides, or other than, the keys that all decoders have.
  std::span<const KeyValue> example{};
  /// Patterns of tensors that files hold and inference does not use (matches_pattern).
  std::span<const std::string_view> ignored{};
};

}  // namespace tenon
