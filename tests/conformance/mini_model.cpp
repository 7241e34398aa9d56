#include "tests/conformance/mini_model.h"

#include <cmath>

#include "program/operations.h"

namespace tenon::conformance {
namespace {

class ModelBuilder {
 public:
  explicit ModelBuilder(const MiniModel& model) : m_(model) {}

  Program build() && {
    std::vector<double> frequencies(m_.rope_pairs != 0 ? m_.rope_pairs : m_.key_dim / 2);
    for (size_t i = 0; i < frequencies.size(); ++i) {
      frequencies[i] = std::pow(1e4, -static_cast<double>(i) / static_cast<double>(m_.key_dim));
    }
    const Slot table = b_.weight("table", m_.formats[0], m_.vocab, m_.width);
    Slot x = op::embed(b_, table);
    angles_ = op::rope_angles(b_, b_.constant("frequencies", frequencies), 1.0f);
    const uint32_t full_layers = m_.window == 0 ? m_.layers : (m_.layers + 1) / 2;
    add_group(full_layers);
    if (m_.layers > full_layers) add_group(m_.layers - full_layers);
    for (uint32_t layer = 0; layer < m_.layers; ++layer) {
      prefix_ = "blk." + std::to_string(layer) + ".";
      x = op::add(b_, x, attention(norm(x, "norm", m_.width), layer));
      const Slot h = feed_forward(norm(x, "ffn_norm", m_.width));
      x = op::add(b_, h, x);
    }
    prefix_.clear();
    Slot logits = op::linear(b_, norm(op::gather_rows(b_, x), "norm", m_.width), table);
    if (m_.soft_cap > 0) logits = op::soft_cap(b_, logits, m_.soft_cap);
    return std::move(b_).finish(logits, {m_.max_tokens, m_.max_tokens});
  }

 private:
  void add_group(uint32_t layers) {
    b_.cache_group({layers, m_.kv_heads, m_.key_dim, m_.value_dim, m_.cache_type, m_.block_tokens});
  }

  Slot norm(Slot x, const char* name, uint32_t segment) {
    return op::rms_norm(b_, x, b_.weight(prefix_ + name, Format::F32, 1, segment), 1e-5f, segment);
  }

  Slot linear(Slot x, const char* name, uint64_t rows, uint64_t columns, bool bias = false) {
    const Format format = m_.formats[next_format_++ % m_.formats.size()];
    const Slot weight = b_.weight(prefix_ + name, format, rows, columns);
    if (!bias) return op::linear(b_, x, weight);
    return op::linear(b_, x, weight, b_.weight(prefix_ + name + ".bias", Format::F32, 1, rows));
  }

  Slot attention(Slot x, uint32_t layer) {
    const bool windowed = m_.window > 0 && layer % 2 == 1;
    const uint64_t key_columns = uint64_t{m_.kv_heads} * m_.key_dim;
    const uint64_t value_columns = uint64_t{m_.kv_heads} * m_.value_dim;
    Slot q = linear(x, "q", uint64_t{m_.heads} * m_.key_dim, m_.width, m_.biases);
    Slot k = linear(x, "k", key_columns, m_.width, m_.biases);
    const Slot v = linear(x, "v", value_columns, m_.width, m_.biases);
    if (m_.head_norms) {
      q = norm(q, "q_norm", m_.key_dim);
      k = norm(k, "k_norm", m_.key_dim);
    }
    q = op::rope(b_, q, angles_, m_.rope_style, m_.key_dim);
    k = op::rope(b_, k, angles_, m_.rope_style, m_.key_dim);
    AttentionOptions options;
    options.group = windowed ? 1 : 0;
    options.layer = m_.window > 0 ? layer / 2 : layer;
    options.heads = m_.heads;
    options.scale = 1 / std::sqrt(static_cast<float>(m_.key_dim));
    options.window = windowed ? m_.window : 0;
    op::kv_write(b_, k, v, options.group, options.layer);
    return linear(op::attention(b_, q, options), "output", m_.width,
                  uint64_t{m_.heads} * m_.value_dim);
  }

  Slot feed_forward(Slot x) {
    return m_.experts == 0 ? dense(x) : op::add(b_, mixture(x), shared(x));
  }

  Slot mixture(Slot x) {
    const auto weight = [&](const char* name, uint64_t rows, uint64_t columns) {
      const Format format = m_.formats[next_format_++ % m_.formats.size()];
      return b_.weight(prefix_ + name, format, m_.experts * rows, columns);
    };
    const Slot router = b_.weight(prefix_ + "router", Format::F32, m_.experts, m_.width);
    const Route routes = op::moe_route(b_, op::linear(b_, x, router), {.used = 2});
    const Slot gate =
        op::moe_linear(b_, x, routes, weight("gates", m_.feed_forward, m_.width), m_.experts);
    const Slot up =
        op::moe_linear(b_, x, routes, weight("ups", m_.feed_forward, m_.width), m_.experts);
    return op::moe_linear_sum(b_, op::glu(b_, m_.activation, gate, up), routes,
                              weight("downs", m_.width, m_.feed_forward), m_.experts);
  }

  Slot shared(Slot x) {
    const Slot gate =
        op::linear(b_, x, b_.weight(prefix_ + "shared_gate", Format::F32, 1, m_.width));
    return op::sigmoid_gate(b_, dense(x), gate);
  }

  Slot dense(Slot x) {
    const Slot first = linear(x, m_.up_first ? "up" : "gate", m_.feed_forward, m_.width);
    const Slot second = linear(x, m_.up_first ? "gate" : "up", m_.feed_forward, m_.width);
    const Slot h = m_.up_first ? op::glu(b_, m_.activation, second, first)
                               : op::glu(b_, m_.activation, first, second);
    return linear(h, "down", m_.width, m_.feed_forward);
  }

  const MiniModel& m_;
  ProgramBuilder b_;
  std::string prefix_;
  Slot angles_ = kNoSlot;
  size_t next_format_ = 1;
};

}  // namespace

Program build(const MiniModel& model) { return ModelBuilder(model).build(); }

}  // namespace tenon::conformance
