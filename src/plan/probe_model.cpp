#include "plan/probe_model.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/program_facts.h"
#include "random_model/random_blocks.h"

namespace tenon {
namespace {

constexpr std::string_view kLayerPrefix = "blk.";
constexpr float kDeviation = 0.02f;  // typical of a trained matrix of 2048 columns
constexpr uint64_t kAlignment = 64;

/// "blk.3.attn_q.weight" split; empty for a tensor outside layers.
struct LayerName {
  uint32_t layer;
  std::string_view rest;  ///< ".attn_q.weight"
};
std::optional<LayerName> layer_name(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) return std::nullopt;
  const char* const begin = name.data() + kLayerPrefix.size();
  uint32_t layer = 0;
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), layer);
  if (error != std::errc{}) return std::nullopt;
  return LayerName{layer, name.substr(static_cast<size_t>(end - name.data()))};
}

/// Synthetic weights for a list of tensors, generated when read.
class MadeUpSource : public ByteSource {
 public:
  MadeUpSource(std::string name, uint64_t size_bytes, std::vector<TensorInfo> tensors)
      : ByteSource(std::move(name), size_bytes), tensors_(std::move(tensors)) {
    for (const TensorInfo& tensor : tensors_) {
      const FormatInfo& format = *find_format(tensor.format);
      if (format.encode_row == nullptr || is_vector(tensor)) continue;
      banks_.try_emplace(tensor.format, format, kDeviation, 1);
    }
  }

 private:
  static bool is_vector(const TensorInfo& tensor) {
    return tensor.num_values() == tensor.row_values();
  }

  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    const auto after =
        std::upper_bound(tensors_.begin(), tensors_.end(), offset,
                         [](uint64_t at, const TensorInfo& tensor) { return at < tensor.offset; });
    if (after == tensors_.begin()) fail(Code::Internal, "probe: no tensor at {}", offset);
    const TensorInfo& tensor = *std::prev(after);
    const auto bank = banks_.find(tensor.format);
    if (bank != banks_.end() && !is_vector(tensor)) {
      SplitMix random(offset);
      return bank->second.fill(random, out);
    }
    std::memset(out.data(), 0, out.size());
    if (tensor.format != Format::F32) return;
    constexpr float kOne = 1.0f;  // for norms
    for (size_t at = 0; at + sizeof kOne <= out.size(); at += sizeof kOne) {
      std::memcpy(out.data() + at, &kOne, sizeof kOne);
    }
  }

  std::vector<TensorInfo> tensors_;  // by ascending offset
  std::map<Format, RandomBlocks> banks_;
};

/// Number of layers to take.
uint32_t num_layers(const Model& model, uint64_t bytes) {
  const auto layers = static_cast<uint32_t>(model.spec().layers.size());
  if (!model.spec().layers_stand_alone()) return layers;
  uint64_t in_layers = 0;
  uint64_t besides = 0;
  for (const TensorInfo& tensor : model.file().tensors()) {
    (layer_name(tensor.name) ? in_layers : besides) += tensor.bytes;
  }
  besides -= table_bytes(model.trunk().tables);
  const uint64_t layer_bytes = std::max<uint64_t>(1, in_layers / layers);
  const uint64_t left = bytes > besides ? bytes - besides : 0;
  return static_cast<uint32_t>(std::clamp<uint64_t>(left / layer_bytes, 1, layers));
}

}  // namespace

ProbeModel make_probe_model(const Model& model, uint64_t bytes, uint32_t max_tokens) {
  const ModelFile& original = model.file();
  ModelSpec spec = model.spec();
  const std::vector<LayerSpec> layers = std::exchange(spec.layers, {});
  const uint32_t taken = num_layers(model, bytes);
  std::vector<uint64_t> origins;  // [taken] indices in the model
  for (uint64_t i = 0; i < taken; ++i) {
    origins.push_back(i * layers.size() / taken);
    spec.layers.push_back(layers[origins.back()]);
  }
  std::vector<TensorInfo> tensors;
  uint64_t end = 0;
  const auto add = [&](TensorInfo tensor, std::string name) {
    tensor.name = std::move(name);
    tensor.source = 0;
    tensor.offset = end;
    end += (tensor.bytes + kAlignment - 1) / kAlignment * kAlignment;
    tensors.push_back(std::move(tensor));
  };
  for (const TensorInfo& tensor : original.tensors()) {
    const std::optional<LayerName> name = layer_name(tensor.name);
    if (!name) {
      add(tensor, tensor.name);
      continue;
    }
    for (uint32_t i = 0; i < taken; ++i) {
      if (name->layer != origins[i]) continue;
      add(tensor, std::string(kLayerPrefix) + std::to_string(i) + std::string(name->rest));
    }
  }
  auto source = std::make_shared<MadeUpSource>(original.name(), end, tensors);
  auto file = std::make_shared<const ModelFile>(
      Metadata(original.name()), std::move(tensors),
      std::vector<std::shared_ptr<const ByteSource>>{std::move(source)}, std::vector<uint64_t>{0});
  ModelOptions options = runtime_options(model);
  options.slice = max_tokens;
  options.adapter_slots = 0;
  BuiltProgram built = build_program(*file, spec, program_options(options, spec));
  return {std::move(file), std::move(built)};
}

}  // namespace tenon
