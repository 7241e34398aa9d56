// A small BERT with a WordPiece vocabulary and an optional classifier over pairs of texts. For
// tests only.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/tiny_model.h"

namespace tenon {

/// Tokens 0 .. 4 are [PAD] [UNK] [CLS] [SEP] [MASK], followed by "a" to "z" and their
/// continuations.
struct TinyBert {
  uint32_t width = 48;
  uint32_t layers = 2;
  uint32_t heads = 3;
  uint32_t feed_forward = 64;
  uint32_t context = 40;
  uint32_t labels = 0;          ///< of the classifier; 0 means none
  bool equal_types = false;     ///< both rows of token_types are equal
  bool leave_out_head = false;  ///< the requested classifier is missing
  uint32_t pooling_type = 2;

  [[nodiscard]] std::shared_ptr<const ByteSource> source() const {
    GgufWriter file;
    file.add("general.architecture", std::string("bert"));
    file.add("general.name", std::string("tiny bert"));
    const auto key = [&](const char* name, auto value) {
      file.add(std::string("bert.") + name, value);
    };
    key("block_count", layers);
    key("context_length", context);
    key("embedding_length", width);
    key("feed_forward_length", feed_forward);
    key("attention.head_count", heads);
    key("attention.layer_norm_epsilon", 1e-12f);
    key("attention.causal", false);
    key("pooling_type", pooling_type);
    if (labels == 2) {
      file.add("bert.classifier.output_labels", std::vector<std::string>{"no", "yes"});
    }
    add_vocabulary(file);
    add_tensors(file);
    return std::make_shared<OwnedSource>(file.finish(), "bert.gguf");
  }

  [[nodiscard]] static std::vector<std::string> words() {
    std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (char c = 'a'; c <= 'z'; ++c) words.push_back(std::string("\xe2\x96\x81") + c);
    for (char c = 'a'; c <= 'z'; ++c) words.emplace_back(1, c);
    return words;
  }
  /// Values of a tensor, derived from its name.
  [[nodiscard]] static std::vector<float> values_of(const std::string& name, uint64_t count,
                                                    float centre, float spread) {
    uint64_t state = 0xcbf29ce484222325u;
    for (const char c : name) state = (state ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
    std::vector<float> values(count);
    for (float& value : values) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = centre + spread * (static_cast<float>(state >> 40) * 0x1p-23f - 1.0f);
    }
    return values;
  }

 private:
  static void add_vocabulary(GgufWriter& file) {
    file.add("tokenizer.ggml.model", std::string("bert"));
    file.add("tokenizer.ggml.tokens", words());
    file.add("tokenizer.ggml.unknown_token_id", uint32_t{1});
    file.add("tokenizer.ggml.bos_token_id", uint32_t{2});
    file.add("tokenizer.ggml.seperator_token_id", uint32_t{3});
    file.add("tokenizer.ggml.padding_token_id", uint32_t{0});
  }
  void add_tensors(GgufWriter& file) const {
    const auto add = [&](const std::string& name, std::vector<uint64_t> shape, float centre) {
      uint64_t count = 1;
      for (const uint64_t extent : shape) count *= extent;
      const float spread = shape.size() == 1 ? 0.2f : 1.5f / std::sqrt(static_cast<float>(width));
      file.add_tensor(name, shape, values_of(name, count, centre, spread));
    };
    const auto linear = [&](const std::string& name, uint64_t rows, uint64_t columns) {
      add(name + ".weight", {rows, columns}, 0);
      add(name + ".bias", {rows}, 0);
    };
    const auto norm = [&](const std::string& name) {
      add(name + ".weight", {width}, 1);
      add(name + ".bias", {width}, 0);
    };
    add("token_embd.weight", {words().size(), width}, 0);
    add("position_embd.weight", {context, width}, 0);
    std::vector<float> types = values_of("types", uint64_t{2} * width, 0, 0.5f);
    if (equal_types) std::copy_n(types.begin(), width, types.begin() + width);
    file.add_tensor("token_types.weight", {2, width}, types);
    norm("token_embd_norm");
    for (uint32_t layer = 0; layer < layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
        linear(block + name, width, width);
      }
      norm(block + "attn_output_norm");
      linear(block + "ffn_up", feed_forward, width);
      linear(block + "ffn_down", width, feed_forward);
      norm(block + "layer_output_norm");
    }
    if (labels == 0 || leave_out_head) return;
    linear("cls", width, width);
    linear("cls.output", labels, width);
  }
};

}  // namespace tenon
