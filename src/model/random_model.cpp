#include "model/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "file/gguf_output.h"
#include "model/random_blocks.h"
#include "model/random_shapes.h"
#include "model/random_vocabulary.h"

namespace tenon {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
// Of the logits: their spread is about that of a trained model's.
constexpr double kLogitDeviation = 2.0;

/// A tensor to be written: normal values around `mean`.
struct RandomTensor {
  std::string name;
  std::vector<uint64_t> shape;  // outermost first
  Format format;
  float deviation;
  float mean = 0.0f;  // not 0: f32 only
};

class RandomTensors {
 public:
  RandomTensors(const RandomShape& shape, const WeightMix& mix) : shape_(shape), mix_(mix) {
    const Format output = output_format(mix, shape.width);
    const auto spread = static_cast<float>(kLogitDeviation / std::sqrt(double(shape.width)));
    const Format embedding = shape.tied ? output : fitting_format(mix.format, shape.width);
    add("token_embd.weight", {shape.vocab, shape.width}, embedding, shape.tied ? spread : 1.0f);
    for (uint32_t layer = 0; layer < shape.layers; ++layer) add_layer(layer);
    add_norm("output_norm", shape.width);
    if (!shape.tied) add("output.weight", {shape.vocab, shape.width}, output, spread);
  }

  [[nodiscard]] const std::vector<RandomTensor>& all() const { return tensors_; }

 private:
  void add(std::string name, std::vector<uint64_t> shape, Format format, float deviation) {
    tensors_.push_back({std::move(name), std::move(shape), format, deviation});
  }
  void add_norm(const std::string& name, uint64_t columns) {
    tensors_.push_back({name + ".weight", {columns}, Format::F32, 0.1f, 1.0f});
  }
  /// Keeps the size of what it is multiplied with.
  static float even_deviation(uint64_t columns) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(columns)));
  }
  void add_matrix(uint32_t layer, std::string_view name, uint64_t rows, uint64_t columns) {
    add(fmt::format("blk.{}.{}.weight", layer, name), {rows, columns},
        layer_format(mix_, name, layer, shape_.layers, columns), even_deviation(columns));
  }
  /// In the format that a dense layer's matrix of this name has.
  void add_expert_matrices(uint32_t layer, std::string_view name, uint64_t rows, uint64_t columns) {
    add(fmt::format("blk.{}.{}_exps.weight", layer, name), {shape_.experts, rows, columns},
        layer_format(mix_, name, layer, shape_.layers, columns), even_deviation(columns));
  }

  void add_layer(uint32_t layer) {
    const RandomShape& s = shape_;
    const uint64_t query_width = uint64_t{s.heads} * s.head_dim;
    const uint64_t kv_width = uint64_t{s.kv_heads} * s.head_dim;
    const std::string block = fmt::format("blk.{}.", layer);
    add_norm(block + "attn_norm", s.width);
    add_matrix(layer, "attn_q", query_width, s.width);
    add_matrix(layer, "attn_k", kv_width, s.width);
    add_matrix(layer, "attn_v", kv_width, s.width);
    add_matrix(layer, "attn_output", s.width, query_width);
    if (s.qkv_bias) {
      for (const auto& [name, rows] :
           {std::pair{"attn_q", query_width}, {"attn_k", kv_width}, {"attn_v", kv_width}}) {
        add(block + name + ".bias", {rows}, Format::F32, 0.1f);
      }
    }
    if (s.qk_norm) {
      add_norm(block + "attn_q_norm", s.head_dim);
      add_norm(block + "attn_k_norm", s.head_dim);
    }
    add_norm(block + "ffn_norm", s.width);
    if (s.experts > 0) {
      // Routers stay in f32, whatever the mix.
      add(block + "ffn_gate_inp.weight", {s.experts, s.width}, Format::F32,
          even_deviation(s.width));
      add_expert_matrices(layer, "ffn_gate", s.expert_feed_forward, s.width);
      add_expert_matrices(layer, "ffn_up", s.expert_feed_forward, s.width);
      add_expert_matrices(layer, "ffn_down", s.width, s.expert_feed_forward);
      return;
    }
    add_matrix(layer, "ffn_gate", s.feed_forward, s.width);
    add_matrix(layer, "ffn_up", s.feed_forward, s.width);
    add_matrix(layer, "ffn_down", s.width, s.feed_forward);
  }

  const RandomShape& shape_;
  const WeightMix& mix_;
  std::vector<RandomTensor> tensors_;
};

void add_keys(const RandomShape& shape, const WeightMix& mix, uint64_t seed, GgufOutput& out) {
  const auto key = [&](const char* name) { return fmt::format("{}.{}", shape.architecture, name); };
  out.add("general.architecture", shape.architecture);
  out.add("general.name", fmt::format("random {} {} {}", shape.name, mix.name, seed));
  if (mix.file_type != UINT32_MAX) out.add("general.file_type", mix.file_type);
  out.add("general.quantization_version", uint32_t{2});
  out.add(key("context_length"), shape.context);
  out.add(key("embedding_length"), shape.width);
  out.add(key("block_count"), shape.layers);
  out.add(key("feed_forward_length"), shape.feed_forward);
  out.add(key("attention.head_count"), shape.heads);
  out.add(key("attention.head_count_kv"), shape.kv_heads);
  out.add(key("attention.key_length"), shape.head_dim);
  out.add(key("attention.value_length"), shape.head_dim);
  out.add(key("attention.layer_norm_rms_epsilon"), 1e-5f);
  out.add(key("rope.dimension_count"), shape.head_dim);
  out.add(key("rope.freq_base"), shape.rope_theta);
  out.add(key("vocab_size"), shape.vocab);
  if (shape.experts == 0) return;
  out.add(key("expert_count"), shape.experts);
  out.add(key("expert_used_count"), shape.experts_used);
  out.add(key("expert_feed_forward_length"), shape.expert_feed_forward);
}

void add_vocabulary(uint32_t size, GgufOutput& out) {
  const RandomVocabulary vocabulary = make_random_vocabulary(size);
  out.add("tokenizer.ggml.model", "gpt2");
  out.add("tokenizer.ggml.pre", "gpt-2");
  out.add("tokenizer.ggml.tokens", std::span(vocabulary.tokens));
  out.add("tokenizer.ggml.token_type", std::span(vocabulary.types));
  out.add("tokenizer.ggml.merges", std::span(vocabulary.merges));
  out.add("tokenizer.ggml.bos_token_id", vocabulary.begin);
  out.add("tokenizer.ggml.eos_token_id", vocabulary.end);
  out.add("tokenizer.ggml.add_bos_token", false);
}

class Writer {
 public:
  Writer(const std::shared_ptr<System>& system, GgufOutput& out, const RandomModelOptions& options)
      : out_(out), options_(options), chunk_(system, kChunkBytes, "a chunk of random weights") {}

  void write(const RandomTensor& tensor) {
    // By name, so that a tensor does not depend on those before it.
    SplitMix random(hash_bytes(std::as_bytes(std::span(tensor.name)), options_.seed).low);
    if (tensor.shape.size() == 1) return write_vector(tensor, random);
    const FormatInfo& format = *find_format(tensor.format);
    const RandomBlocks& bank = bank_of(format, tensor.deviation);
    uint64_t left = *row_bytes(format, tensor.shape.back());
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) left *= tensor.shape[i];
    const uint64_t most = kChunkBytes / format.block_bytes * format.block_bytes;
    while (left != 0) {
      const std::span<std::byte> piece = chunk_.span().first(std::min(left, most));
      bank.fill(random, piece);
      put(piece);
      left -= piece.size();
    }
  }

 private:
  void write_vector(const RandomTensor& tensor, SplitMix& random) {
    std::vector<float> values(tensor.shape[0]);
    for (float& value : values) value = tensor.mean + tensor.deviation * random.normal();
    put(std::as_bytes(std::span(values)));
  }

  const RandomBlocks& bank_of(const FormatInfo& format, float deviation) {
    const auto place = banks_.find({format.id, deviation});
    if (place != banks_.end()) return place->second;
    return banks_.try_emplace({format.id, deviation}, format, deviation, options_.seed)
        .first->second;
  }

  void put(std::span<const std::byte> bytes) {
    out_.write(bytes);
    written_ += bytes.size();
    const double fraction = static_cast<double>(written_) /
                            static_cast<double>(std::max<uint64_t>(1, out_.tensor_bytes()));
    if (options_.progress && !options_.progress(fraction)) {
      fail(Code::Cancelled, "writing the random model was cancelled");
    }
  }

  GgufOutput& out_;
  const RandomModelOptions& options_;
  Buffer chunk_;
  uint64_t written_ = 0;
  std::map<std::pair<Format, float>, RandomBlocks> banks_;
};

}  // namespace

void write_random_model(const std::shared_ptr<System>& system, const std::string& path,
                        std::string_view shape_name, std::string_view format,
                        const RandomModelOptions& options) {
  const RandomShape& shape = find_random_shape(shape_name);
  const WeightMix mix = find_weight_mix(format);
  const RandomTensors tensors(shape, mix);
  GgufOutput out(system, path);
  add_keys(shape, mix, options.seed, out);
  add_vocabulary(shape.vocab, out);
  for (const RandomTensor& tensor : tensors.all()) {
    out.add_tensor(tensor.name, tensor.shape, tensor.format);
  }
  out.begin();
  Writer writer(system, out, options);
  for (const RandomTensor& tensor : tensors.all()) writer.write(tensor);
  out.commit();
}

}  // namespace tenon
