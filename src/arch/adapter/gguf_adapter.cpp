// Reads adapters in GGUF files, and opens adapters of any kind.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "arch/adapter/adapter_builder.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/words.h"
#include "file/open.h"
#include "weights/row_source.h"

namespace tenon {
namespace {

struct GgufPair {
  const TensorInfo* a = nullptr;
  const TensorInfo* b = nullptr;
};

class GgufAdapterReader {
 public:
  GgufAdapterReader(const ModelFile& file, const ModelFile& model)
      : file_(file), builder_(file.name(), model) {}

  std::shared_ptr<const Adapter> read() {
    const Metadata& metadata = file_.metadata();
    expect_text("general.type", "adapter");
    expect_text("adapter.type", "lora");
    expect_text("general.architecture", builder_.places().architecture());
    alpha_ = metadata.get<float>("adapter.lora.alpha");
    if (!std::isfinite(alpha_)) {
      fail(Code::Format, "{}: key \"adapter.lora.alpha\" is {}", file_.name(), alpha_);
    }
    for (const Metadata::Entry& entry : metadata.entries()) {
      const std::string& key = entry.key;
      if (!key.starts_with("adapter.") || key == "adapter.type" || key == "adapter.lora.alpha" ||
          key == "adapter.alora.invocation_tokens") {
        continue;
      }
      fail(Code::Unsupported, "{}: key {} is not known here", file_.name(), quoted(key));
    }
    std::vector<int32_t> invocation;
    if (metadata.contains("adapter.alora.invocation_tokens")) {
      for (const uint32_t token :
           metadata.get<std::vector<uint32_t>>("adapter.alora.invocation_tokens")) {
        invocation.push_back(static_cast<int32_t>(token & INT32_MAX));
      }
    }
    builder_.set_invocation(std::move(invocation));
    for (const TensorInfo& tensor : file_.tensors()) take(tensor);
    for (const auto& [name, pair] : pairs_) add(name, pair);
    return std::move(builder_).finish();
  }

 private:
  void expect_text(std::string_view key, std::string_view wanted) const {
    const auto value = file_.metadata().get<std::string_view>(key);
    if (value == wanted) return;
    fail(Code::Unsupported, "{}: key {} is {}, not \"{}\"", file_.name(), quoted(key),
         quoted(value), wanted);
  }

  void take(const TensorInfo& tensor) {
    const std::string_view name = tensor.name;
    const bool is_a = name.ends_with(".lora_a");
    if (is_a || name.ends_with(".lora_b")) {
      GgufPair& pair = pairs_[tensor.name.substr(0, name.size() - 7)];
      (is_a ? pair.a : pair.b) = &tensor;
      return;
    }
    if (!name.ends_with("_norm.weight")) {
      fail(Code::Unsupported, "{}: tensor {} is no part of LoRA", file_.name(), quoted(name));
    }
    const AdapterMatrix values = matrix(tensor, 0, tensor.num_values(), 1);
    builder_.replace(name, values, {{builder_.places().of_tensor(name, values.rows)}});
  }

  /// Rows of the tensor from one on.
  [[nodiscard]] AdapterMatrix matrix(const TensorInfo& tensor, uint64_t first, uint64_t rows,
                                     uint64_t columns) const {
    const FormatInfo* format = find_format(tensor.format);
    if (format == nullptr || format->decode_row == nullptr) {
      fail(Code::Unsupported, "{}: tensor {} is {}, which is no format of weights", file_.name(),
           quoted(tensor.name), tensor.text());
    }
    const RowSource source = RowSource(tensor).decoded();
    AdapterMatrix out{rows, columns, std::vector<float>(rows * columns)};
    const uint64_t read_rows = out.values.size() / tensor.row_values();
    source.read(file_, first, read_rows, std::as_writable_bytes(std::span(out.values)));
    if (!std::ranges::all_of(out.values, [](float value) { return std::isfinite(value); })) {
      fail(Code::Format, "{}: tensor {} holds NaN or infinity", file_.name(), quoted(tensor.name));
    }
    return out;
  }

  void add(const std::string& name, const GgufPair& pair) {
    if (pair.a == nullptr || pair.b == nullptr) {
      fail(Code::Format, "{}: tensor {} has {}, but not {}", file_.name(), quoted(name),
           pair.a == nullptr ? "lora_b" : "lora_a", pair.a == nullptr ? "lora_a" : "lora_b");
    }
    const TensorInfo& a = *pair.a;
    const TensorInfo& b = *pair.b;
    const uint64_t matrices = a.rank >= 3 ? a.shape[a.rank - 3] : 1;
    const uint64_t matrices_b = b.rank >= 3 ? b.shape[b.rank - 3] : 1;
    const bool fits = a.rank >= 2 && b.rank >= 2 && a.rank <= 3 && b.rank <= 3;
    if (!fits || matrices != matrices_b) {
      fail(Code::Format, "{}: {} and {} do not fit each other", file_.name(), a.text(), b.text());
    }
    const uint64_t a_rows = a.num_values() / a.row_values() / matrices;
    const uint64_t b_rows = b.num_values() / b.row_values() / matrices;
    const uint64_t rank = b.row_values();
    AdapterFactors factors;
    factors.label = name;
    factors.scale = alpha_ == 0.0f ? 1.0f : alpha_ / static_cast<float>(rank);
    if (name == "token_embd.weight" && matrices == 1) {
      factors.a = matrix(b, 0, b_rows, rank).transposed();  // [width, rank] in the file
      factors.b = matrix(a, 0, a_rows, a.row_values());     // [tokens, rank]
      builder_.add(factors, {{builder_.places().of_tensor(name, factors.b.rows)}});
      return;
    }
    for (uint64_t i = 0; i < matrices; ++i) {
      factors.a = matrix(a, i * a_rows, a_rows, a.row_values());
      factors.b = matrix(b, i * b_rows, b_rows, rank);
      builder_.add(factors, {{builder_.places().of_tensor(
                                matrices == 1 ? name : expert_name(name, i, matrices), b_rows)}});
    }
  }

  /// Name of an expert's matrix, by which AdapterPlaces finds it in a stack, too.
  [[nodiscard]] std::string expert_name(const std::string& stack, uint64_t expert,
                                        uint64_t matrices) const {
    constexpr std::string_view kStack = "_exps.weight";
    if (!stack.ends_with(kStack) || matrices != builder_.places().num_experts()) {
      fail(Code::Format, "{}: tensor {}: {} matrices, but the model has {} experts", file_.name(),
           quoted(stack), matrices, builder_.places().num_experts());
    }
    return fmt::format("{}.{}.weight", stack.substr(0, stack.size() - kStack.size()), expert);
  }

  const ModelFile& file_;
  AdapterBuilder builder_;
  float alpha_ = 0.0f;
  std::map<std::string, GgufPair> pairs_;
};

/// Whether the folder has a file of this name.
bool holds_file(const std::string& folder, const char* name, System& system) {
  struct Search {
    std::string_view name;
    bool found = false;
  } search{name};
  const int error = system.list_directory(
      folder.c_str(),
      [](void* user, const char* entry) {
        auto& one = *static_cast<Search*>(user);
        one.found |= one.name == entry;
      },
      &search);
  return error == 0 && search.found;
}

}  // namespace

std::shared_ptr<const Adapter> read_gguf_adapter(const ModelFile& file, const ModelFile& model) {
  return GgufAdapterReader(file, model).read();
}

std::shared_ptr<const Adapter> read_adapter(const std::string& path, const ModelFile& model,
                                            const std::shared_ptr<System>& system) {
  constexpr const char* kConfig = "adapter_config.json";
  std::string folder = path;
  for (const std::string_view file :
       {std::string_view(kConfig), std::string_view("adapter_model.safetensors")}) {
    if (path == file) folder = ".";
    if (path.ends_with(fmt::format("/{}", file))) folder.resize(path.size() - file.size() - 1);
  }
  if (folder.empty()) folder = "/";
  if (holds_file(folder, kConfig, *system)) {
    return read_peft_adapter(FileFolder::from_path(folder, system), model, system);
  }
  const auto file = open_model_file(path, {system, {}});
  return read_gguf_adapter(*file, model);
}

}  // namespace tenon
