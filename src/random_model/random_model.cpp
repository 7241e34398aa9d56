#include "random_model/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "arch/architectures.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/nearest_name.h"
#include "file/gguf_output.h"
#include "quantize/file_types.h"
#include "random_model/random_blocks.h"
#include "random_model/random_shapes.h"
#include "random_model/random_vocabulary.h"

namespace tenon {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
// Standard deviation of the logits, about that of a trained model.
constexpr double kLogitDeviation = 2.0;

/// A tensor to write: normal values around `mean`.
struct RandomTensor {
  std::string name;
  std::vector<uint64_t> shape;  // outermost first
  Format format;
  float deviation;
  float mean = 0.0f;   // f32 only, if not 0
  uint32_t below = 0;  // i32 only, if not 0: uniform integers below this
};

/// The file type of this name; a format's name means the format without rules.
FileType find_random_type(std::string_view name) {
  if (find_format(name) != nullptr) return pure_type(find_weight_format(name));
  NearestName nearest(name);
  for (const FormatInfo& info : kFormats) {
    if (info.weight && !is_memory_format(info.id)) nearest.consider(info.name);
  }
  for (const FileType& type : file_types()) {
    if (!type.is_mix()) continue;
    if (equal_but_for_case(type.name, name)) return type;
    nearest.consider(type.name);
  }
  fail(Code::Argument, "no weight format \"{}\"{}", nearest.name(), nearest.hint());
}

/// Tensors written for an architecture's requests.
class RandomTensors {
 public:
  RandomTensors(const Metadata& metadata, const RandomShape& shape, const FileType& mix)
      : mix_(mix), shape_(shape) {
    const std::string architecture(metadata.get_string("general.architecture"));
    layers_ = metadata.get_u32(architecture + ".block_count");
    for (const WantedTensor& wanted : wanted_tensors(metadata)) add(wanted);
  }

  [[nodiscard]] const std::vector<RandomTensor>& all() const { return tensors_; }

 private:
  /// Deviation that keeps the scale of the matrix's input.
  static float even_deviation(uint64_t columns) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(columns)));
  }

  [[nodiscard]] Format matrix_format(const WantedTensor& wanted) const {
    const LayerTensorName parsed = layer_tensor_name(wanted.name);
    return layer_format(mix_, {.name = parsed.name,
                               .layer = parsed.layer,
                               .layers = layers_,
                               .is_stack = wanted.shape.size() == 3,
                               .columns = wanted.shape.back()});
  }

  /// True for an output matrix apart from the embedding, and for the shape's optional tensors.
  [[nodiscard]] bool has_optional(const WantedTensor& wanted) const {
    if (wanted.role == TensorRole::Output && !shape_.tied) return true;
    return std::ranges::any_of(shape_.optional, [&](std::string_view end) {
      return std::string_view(wanted.name).ends_with(end);
    });
  }

  void add(const WantedTensor& wanted) {
    const uint64_t columns = wanted.shape.back();
    const auto logits = static_cast<float>(kLogitDeviation / std::sqrt(double(columns)));
    const auto put = [&](Format format, float deviation, float mean = 0.0f) {
      tensors_.push_back({wanted.name, wanted.shape, format, deviation, mean});
    };
    if (!wanted.required && !has_optional(wanted)) return;
    switch (wanted.role) {
      case TensorRole::Matrix:
        return put(matrix_format(wanted), even_deviation(columns));
      case TensorRole::Embedding:
        if (shape_.tied) return put(output_format(mix_, columns), logits);
        return put(fitting_format(mix_.format, columns), 1.0f);
      case TensorRole::Output:
        return put(output_format(mix_, columns), logits);
      case TensorRole::Router:  // f32 in every mix
      case TensorRole::Convolution:
        return put(Format::F32, even_deviation(columns));
      case TensorRole::Norm:
        return put(Format::F32, 0.1f, 1.0f);
      case TensorRole::Bias:
        return put(Format::F32, 0.1f);
      case TensorRole::RopeDivisors:
        return put(Format::F32, 0.1f, 2.0f);
      case TensorRole::Decay:
        return put(Format::F32, 0.1f, -1.0f);
      case TensorRole::Numbers:
        return tensors_.push_back(
            {wanted.name, wanted.shape, Format::I32, 0.0f, 0.0f, wanted.below});
    }
  }

  const FileType& mix_;
  const RandomShape& shape_;
  uint32_t layers_ = 0;
  std::vector<RandomTensor> tensors_;
};

/// Keys of the architecture: those of every decoder, then its own, which win.
std::vector<KeyValue> model_keys(const ChosenShape& chosen) {
  const RandomShape& shape = chosen.shape;
  std::vector<KeyValue> keys = {
      {"context_length", shape.context},
      {"embedding_length", shape.width},
      {"block_count", chosen.layers},
      {"feed_forward_length", shape.feed_forward},
      {"attention.head_count", shape.heads},
      {"attention.head_count_kv", shape.kv_heads},
      {"attention.key_length", shape.head_dim},
      {"attention.value_length", shape.head_dim},
      {"attention.layer_norm_rms_epsilon", 1e-5f},
      {"attention.layer_norm_epsilon", 1e-5f},
      {"rope.dimension_count", shape.head_dim},
      {"rope.freq_base", shape.rope_theta},
      {"vocab_size", shape.vocab},
  };
  const auto set = [&keys](const KeyValue& own) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const KeyValue& key) { return key.name == own.name; });
    found == keys.end() ? keys.push_back(own) : void(*found = own);
  };
  for (const KeyValue& own : shape.keys) set(own);
  for (const NamedArchitecture& one : architectures()) {
    if (!shape.is_example || one.name != shape.architecture) continue;
    for (const KeyValue& own : one.architecture->example) set(own);
  }
  for (KeyValue& key : keys) {
    auto* list = std::get_if<std::span<const int32_t>>(&key.value);
    if (list != nullptr && list->size() == shape.layers) *list = list->first(chosen.layers);
  }
  return keys;
}

MetadataValue metadata_value(const KeyValue& key) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, uint32_t>) {
          return MetadataValue::of(uint64_t{value});
        } else if constexpr (std::is_same_v<T, float>) {
          return MetadataValue::of(double{value});
        } else if constexpr (std::is_same_v<T, bool> ||
                             std::is_same_v<T, std::span<const int32_t>>) {
          return MetadataValue::of(value);
        } else {
          return MetadataValue::of(std::string(value));
        }
      },
      key.value);
}

void add_keys(const ChosenShape& chosen, const FileType& mix, uint64_t seed, GgufOutput& out) {
  const RandomShape& shape = chosen.shape;
  out.add("general.architecture", shape.architecture);
  out.add("general.name", fmt::format("random {} {} {}", shape.name, mix.name, seed));
  if (mix.number != UINT32_MAX) out.add("general.file_type", mix.number);
  out.add("general.quantization_version", uint32_t{2});
  for (const KeyValue& own : model_keys(chosen)) {
    const std::string key = fmt::format("{}.{}", shape.architecture, own.name);
    std::visit([&](const auto& value) { out.add(key, value); }, own.value);
  }
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
    // Seed by name, so that tensors do not depend on their order.
    SplitMix random(hash_bytes(std::as_bytes(std::span(tensor.name)), options_.seed).low);
    if (tensor.below > 0) return write_numbers(tensor, random);
    if (tensor.shape.size() == 1 || tensor.mean != 0) return write_values(tensor, random);
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
  static uint64_t num_values(const RandomTensor& tensor) {
    return std::accumulate(tensor.shape.begin(), tensor.shape.end(), uint64_t{1},
                           std::multiplies());
  }

  void write_numbers(const RandomTensor& tensor, SplitMix& random) {
    std::vector<int32_t> values(num_values(tensor));
    for (int32_t& value : values) value = static_cast<int32_t>(random.next() % tensor.below);
    put(std::as_bytes(std::span(values)));
  }

  void write_values(const RandomTensor& tensor, SplitMix& random) {
    std::vector<float> values(num_values(tensor));
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

Metadata random_model_metadata(const ChosenShape& chosen) {
  Metadata metadata("random model");
  const std::string architecture = chosen.shape.architecture;
  metadata.add("general.architecture", MetadataValue::of(architecture));
  for (const KeyValue& key : model_keys(chosen)) {
    metadata.add(fmt::format("{}.{}", architecture, key.name), metadata_value(key));
  }
  return metadata;
}

void write_random_model(const std::shared_ptr<System>& system, const std::string& path,
                        std::string_view shape_name, std::string_view format,
                        const RandomModelOptions& options) {
  const ChosenShape chosen = find_random_shape(shape_name);
  const FileType mix = find_random_type(format);
  GgufOutput out(system, path);
  const RandomTensors tensors(random_model_metadata(chosen), chosen.shape, mix);
  add_keys(chosen, mix, options.seed, out);
  add_vocabulary(chosen.shape.vocab, out);
  for (const RandomTensor& tensor : tensors.all()) {
    out.add_tensor(tensor.name, tensor.shape, tensor.format);
  }
  out.begin();
  Writer writer(system, out, options);
  for (const RandomTensor& tensor : tensors.all()) writer.write(tensor);
  out.commit();
}

}  // namespace tenon
