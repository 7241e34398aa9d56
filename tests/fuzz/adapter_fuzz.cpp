// Fuzz target: an adapter_config.json, a byte of zero and a safetensors file, or an adapter in a
// GGUF file, read for a small model and merged into it; only Error and std::bad_alloc may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "arch/adapter/merged_model.h"
#include "base/error.h"
#include "file/open.h"

namespace tenon {
namespace {

constexpr uint64_t kWidth = 8;
constexpr uint64_t kTokens = 6;

std::shared_ptr<const ModelFile> small_model() {
  static const std::vector<std::byte> zeros(kWidth * kWidth * sizeof(float));
  Metadata metadata("model");
  metadata.add("general.architecture", MetadataValue::of("qwen3moe"));
  metadata.add("qwen3moe.expert_count", MetadataValue::of(uint64_t{2}));
  std::vector<TensorInfo> tensors;
  const auto add = [&tensors](const char* name, std::vector<uint64_t> shape) {
    TensorInfo& one = tensors.emplace_back();
    one.name = name;
    one.rank = static_cast<uint32_t>(shape.size());
    one.shape.fill(1);
    std::ranges::copy(shape, one.shape.begin());
    one.bytes = one.num_values() * sizeof(float);
  };
  add("token_embd.weight", {kTokens, kWidth});
  add("output_norm.weight", {kWidth});
  add("blk.0.attn_q.weight", {kWidth, kWidth});
  add("blk.0.attn_v.weight", {kWidth, kWidth});
  add("blk.0.ffn_gate_exps.weight", {2, 4, kWidth});
  add("blk.0.ffn_up_exps.weight", {2, 4, kWidth});
  add("blk.0.ffn_down_exps.weight", {2, kWidth, 4});
  return std::make_shared<const ModelFile>(
      std::move(metadata), std::move(tensors),
      std::vector<std::shared_ptr<const ByteSource>>{ByteSource::from_memory(zeros, "model")},
      std::vector<uint64_t>{0});
}

std::shared_ptr<const Adapter> read(std::span<const std::byte> bytes, const ModelFile& model) {
  constexpr char kGguf[] = {'G', 'G', 'U', 'F'};
  const auto magic = std::as_bytes(std::span(kGguf));
  if (bytes.size() > magic.size() && std::ranges::equal(bytes.first(magic.size()), magic)) {
    return read_gguf_adapter(*open_model_file(ByteSource::from_memory(bytes, "fuzz")), model);
  }
  const auto end = std::ranges::find(bytes, std::byte{0});
  const auto length = static_cast<size_t>(end - bytes.begin());
  std::vector<FolderFile> files;
  files.push_back({"adapter_config.json", ByteSource::from_memory(bytes.first(length), "config")});
  files.push_back(
      {"adapter_model.safetensors",
       ByteSource::from_memory(bytes.subspan(std::min(bytes.size(), length + 1)), "weights")});
  return read_peft_adapter(FileFolder::from_files(std::move(files), "fuzz"), model, System::real());
}

void merge(const std::shared_ptr<const ModelFile>& model, std::shared_ptr<const Adapter> adapter) {
  const ScaledAdapter one{std::move(adapter), 0.5f};
  const auto merged = merge_adapters(model, {&one, 1});
  for (const TensorInfo& tensor : merged->tensors()) {
    std::vector<std::byte> bytes(tensor.bytes);
    merged->read(tensor, 0, bytes);
  }
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  static const std::shared_ptr<const ModelFile> model = small_model();
  try {
    merge(model, read(std::as_bytes(std::span(data, size)), *model));
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
