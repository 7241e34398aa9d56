// A small random model as a GGUF file in memory, with odd widths, so that tests need no external
// file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "quant/formats.h"
#include "tests/file/gguf_writer.h"

namespace tenon {

/// Properties of the model. The defaults have a head count that is no power of two, a single KV
/// head, and a different format per matrix.
struct TinyModel {
  std::string architecture = "llama";
  uint32_t layers = 2;
  uint32_t width = 96;
  uint32_t heads = 3;
  uint32_t kv_heads = 1;
  uint32_t key_dim = 32;
  uint32_t value_dim = 32;
  uint32_t feed_forward = 160;
  uint32_t experts = 0;  ///< 0 means none, or five if the architecture needs experts
  uint32_t experts_used = 2;
  uint32_t vocab = 300;
  uint32_t context = 256;
  bool tied = true;
  std::vector<Format> formats = {Format::Q8_0, Format::F32,  Format::Q4_0,  Format::F16,
                                 Format::Q5_1, Format::BF16, Format::IQ4_NL};
  uint32_t seed = 1;
  /// Matrices of equal format and width share this many rows, in different orders, because some
  /// encoders search for seconds.
  uint32_t distinct_rows = UINT32_MAX;
  std::set<std::string> left_out;         ///< keys and tensors to omit
  std::function<void(GgufWriter&)> more;  ///< adds further keys and tensors
  /// Changes the values of a tensor before they are encoded.
  std::function<void(const std::string& name, std::span<float> values)> edit;

  [[nodiscard]] std::vector<std::byte> file() const;
  [[nodiscard]] uint32_t num_experts() const {
    return experts == 0 && architecture.ends_with("moe") ? 5 : experts;
  }
};

/// A source that owns its bytes.
class OwnedSource : public ByteSource {
 public:
  explicit OwnedSource(std::vector<std::byte> bytes, std::string name = "tiny.gguf")
      : ByteSource(std::move(name), bytes.size()), bytes_(std::move(bytes)) {}

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }
  std::vector<std::byte> bytes_;
};

/// All formats of matrix instructions (backends/gpu/weight_units.h), in rows of whole units.
inline TinyModel tiny_of_unit_formats() {
  TinyModel tiny;
  tiny.formats = {Format::F16, Format::BF16, Format::Q8_0, Format::Q4_K, Format::Q6_K};
  tiny.width = tiny.feed_forward = 256;
  tiny.heads = 4;
  tiny.kv_heads = 2;
  tiny.key_dim = tiny.value_dim = 64;
  tiny.vocab = 301;
  return tiny;
}

inline std::shared_ptr<const ByteSource> tiny_source(const TinyModel& model = {}) {
  return std::make_shared<OwnedSource>(model.file());
}

namespace tiny_detail {

class Writer {
 public:
  explicit Writer(const TinyModel& model) : model_(model), state_(model.seed) {}

  std::vector<std::byte> write() {
    write_keys();
    write_vocabulary();
    write_tensors();
    if (model_.more) model_.more(writer_);
    return writer_.finish();
  }

 private:
  template <typename T>
  void key(const std::string& name, const T& value) {
    if (model_.left_out.count(name) == 0) writer_.add(name, value);
  }
  template <typename T>
  void arch_key(const std::string& name, const T& value) {
    key(model_.architecture + "." + name, value);
  }

  void write_keys() {
    key("general.architecture", model_.architecture);
    key("general.name", std::string("tiny"));
    arch_key("block_count", model_.layers);
    arch_key("context_length", model_.context);
    arch_key("embedding_length", model_.width);
    arch_key("feed_forward_length", model_.feed_forward);
    arch_key("attention.head_count", model_.heads);
    arch_key("attention.head_count_kv", model_.kv_heads);
    arch_key("attention.key_length", model_.key_dim);
    arch_key("attention.value_length", model_.value_dim);
    arch_key("attention.layer_norm_rms_epsilon", 1e-5f);
    arch_key("rope.freq_base", 10000.0f);
    if (model_.num_experts() == 0) return;
    arch_key("expert_count", model_.num_experts());
    arch_key("expert_used_count", model_.experts_used);
    arch_key("expert_feed_forward_length", model_.feed_forward);
    arch_key("expert_shared_feed_forward_length", model_.feed_forward);
  }

  /// Writes a SentencePiece vocabulary: three special tokens, 256 bytes, then words.
  void write_vocabulary() {
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) {
      constexpr char kHex[] = "0123456789ABCDEF";
      tokens.push_back(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
      types.push_back(6);
    }
    while (tokens.size() < model_.vocab) {
      const size_t i = tokens.size() - 259;
      tokens.push_back(std::string(i % 2 != 0 ? "\xe2\x96\x81" : "") +
                       static_cast<char>('a' + i / 2 % 26) + (i < 52 ? "" : std::to_string(i)));
      types.push_back(1);
    }
    std::vector<float> scores(tokens.size());
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
    key("tokenizer.ggml.model", std::string("llama"));
    key("tokenizer.ggml.tokens", tokens);
    key("tokenizer.ggml.scores", scores);
    key("tokenizer.ggml.token_type", types);
    key("tokenizer.ggml.bos_token_id", uint32_t{1});
    key("tokenizer.ggml.eos_token_id", uint32_t{2});
    key("tokenizer.ggml.unknown_token_id", uint32_t{0});
  }

  void write_tensors() {
    const TinyModel& m = model_;
    matrix("token_embd.weight", m.vocab, m.width);
    vector("output_norm.weight", m.width, 1.0f);
    if (!m.tied) matrix("output.weight", m.vocab, m.width);
    for (uint32_t layer = 0; layer < m.layers; ++layer) {
      const std::string blk = "blk." + std::to_string(layer) + ".";
      vector(blk + "attn_norm.weight", m.width, 1.0f);
      matrix(blk + "attn_q.weight", m.heads * m.key_dim, m.width);
      matrix(blk + "attn_k.weight", m.kv_heads * m.key_dim, m.width);
      matrix(blk + "attn_v.weight", m.kv_heads * m.value_dim, m.width);
      matrix(blk + "attn_output.weight", m.width, m.heads * m.value_dim);
      if (m.architecture.starts_with("qwen2")) {
        vector(blk + "attn_q.bias", m.heads * m.key_dim, 0.0f);
        vector(blk + "attn_k.bias", m.kv_heads * m.key_dim, 0.0f);
        vector(blk + "attn_v.bias", m.kv_heads * m.value_dim, 0.0f);
      }
      if (m.architecture.starts_with("qwen3")) {
        vector(blk + "attn_q_norm.weight", m.key_dim, 1.0f);
        vector(blk + "attn_k_norm.weight", m.key_dim, 1.0f);
      }
      vector(blk + "ffn_norm.weight", m.width, 1.0f);
      if (m.num_experts() > 0) {
        experts(blk);
        continue;
      }
      matrix(blk + "ffn_gate.weight", m.feed_forward, m.width);
      matrix(blk + "ffn_up.weight", m.feed_forward, m.width);
      matrix(blk + "ffn_down.weight", m.width, m.feed_forward);
    }
  }

  void experts(const std::string& blk) {
    const TinyModel& m = model_;
    const uint64_t count = m.num_experts();
    router(blk + "ffn_gate_inp.weight", count);
    matrix(blk + "ffn_gate_exps.weight", m.feed_forward, m.width, count);
    matrix(blk + "ffn_up_exps.weight", m.feed_forward, m.width, count);
    matrix(blk + "ffn_down_exps.weight", m.width, m.feed_forward, count);
    if (m.architecture != "qwen2moe") return;
    vector(blk + "ffn_gate_inp_shexp.weight", m.width, 0.0f);
    matrix(blk + "ffn_gate_shexp.weight", m.feed_forward, m.width);
    matrix(blk + "ffn_up_shexp.weight", m.feed_forward, m.width);
    matrix(blk + "ffn_down_shexp.weight", m.width, m.feed_forward);
  }

  /// [experts, width] f32, as in files.
  void router(const std::string& name, uint64_t num_experts) {
    if (model_.left_out.count(name) != 0) return;
    std::vector<float> values(num_experts * model_.width);
    for (float& value : values) value = uniform() / std::sqrt(static_cast<float>(model_.width) / 8);
    if (model_.edit) model_.edit(name, values);
    writer_.add_tensor(name, {num_experts, model_.width}, values);
  }

  /// [rows, columns], or [experts, rows, columns].
  void matrix(const std::string& name, uint64_t rows_of_one, uint64_t columns,
              uint64_t num_experts = 0) {
    const uint64_t rows = rows_of_one * std::max<uint64_t>(1, num_experts);
    if (model_.left_out.count(name) != 0) return;
    const FormatInfo& format =
        *find_format(model_.formats[num_matrices_++ % model_.formats.size()]);
    std::vector<float> values(rows * columns);
    // Keeps the activations of random layers near 1.
    const float scale = 1.7f / std::sqrt(static_cast<float>(columns));
    for (float& value : values) value = scale * uniform();
    if (model_.edit) model_.edit(name, values);
    const uint64_t row_bytes = columns / format.block_values * format.block_bytes;
    std::vector<std::byte> bytes(rows * row_bytes);
    if (rows <= model_.distinct_rows) {
      format.encode_row(values.data(), bytes.data(), values.size());
    } else {
      std::vector<std::byte>& bank = banks_[{format.id, columns}];
      if (bank.empty()) {
        bank.resize(model_.distinct_rows * row_bytes);
        format.encode_row(values.data(), bank.data(), model_.distinct_rows * columns);
      }
      for (uint64_t r = 0; r < rows; ++r) {
        const uint64_t from = (r * (num_matrices_ % 7 + 1) + num_matrices_) % model_.distinct_rows;
        std::copy_n(bank.begin() + static_cast<ptrdiff_t>(from * row_bytes), row_bytes,
                    bytes.begin() + static_cast<ptrdiff_t>(r * row_bytes));
      }
    }
    std::vector<uint64_t> shape = {rows_of_one, columns};
    if (num_experts != 0) shape.insert(shape.begin(), num_experts);
    writer_.add_tensor(name, shape, format.id, bytes);
  }

  void vector(const std::string& name, uint64_t columns, float centre) {
    if (model_.left_out.count(name) != 0) return;
    std::vector<float> values(columns);
    for (float& value : values) value = centre + 0.2f * uniform();
    if (model_.edit) model_.edit(name, values);
    writer_.add_tensor(name, {columns}, values);
  }

  /// Uniform in [-1, 1); a linear congruential generator suffices for weights.
  float uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int64_t>(state_) >> 40) * 0x1p-23f;
  }

  const TinyModel& model_;
  GgufWriter writer_;
  uint64_t state_;
  size_t num_matrices_ = 0;
  std::map<std::pair<Format, uint64_t>, std::vector<std::byte>> banks_;
};

}  // namespace tiny_detail

inline std::vector<std::byte> TinyModel::file() const { return tiny_detail::Writer(*this).write(); }

}  // namespace tenon
