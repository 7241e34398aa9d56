// Reads PEFT folders.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "arch/adapter/adapter_builder.h"
#include "arch/adapter/peft_config.h"
#include "base/error.h"
#include "base/utf8.h"
#include "file/tensor_folder.h"
#include "json/json_tree.h"
#include "weights/foreign/module.h"

namespace tenon {
namespace {

constexpr const char* kPeftConfig = "adapter_config.json";
constexpr const char* kPeftWeights = "adapter_model.safetensors";
constexpr uint64_t kMaxPeftConfigBytes = uint64_t{16} << 20;
constexpr std::string_view kPeftPrefix = "base_model.model.";

/// Tensors of a module, by their part of the name.
struct PeftModule {
  const StoredTensor* a = nullptr;
  const StoredTensor* b = nullptr;
  const StoredTensor* bias = nullptr;
  const StoredTensor* embedding_a = nullptr;
  const StoredTensor* embedding_b = nullptr;
  const StoredTensor* magnitude = nullptr;
};

struct PeftPart {
  std::string_view suffix;
  const StoredTensor* PeftModule::*member;
};

constexpr PeftPart kPeftParts[] = {
    {".lora_A.weight", &PeftModule::a},
    {".lora_B.weight", &PeftModule::b},
    {".lora_B.bias", &PeftModule::bias},
    {".lora_embedding_A", &PeftModule::embedding_a},
    {".lora_embedding_B", &PeftModule::embedding_b},
    {".lora_magnitude_vector", &PeftModule::magnitude},
    {".lora_magnitude_vector.weight", &PeftModule::magnitude},
};

constexpr std::string_view kTokenRows = ".token_adapter.trainable_tokens_delta";

class PeftReader {
 public:
  PeftReader(const std::shared_ptr<const FileFolder>& folder, const ModelFile& model,
             const std::shared_ptr<System>& system)
      : folder_(folder),
        config_(parse_json_tree(folder->read_text(kPeftConfig, kMaxPeftConfigBytes),
                                folder->name() + "/" + kPeftConfig),
                folder->name() + "/" + kPeftConfig),
        model_(model),
        builder_(folder->name(), model) {
    if (!folder->contains(kPeftWeights)) {
      fail(Code::Unsupported, "{}: has no {}{}", folder->name(), kPeftWeights,
           folder->contains("adapter_model.bin")
               ? "; adapter_model.bin is a pickle, which is not read: save the adapter with "
                 "safe_serialization"
               : "");
    }
    const auto source = folder->open(kPeftWeights);
    tensors_ = TensorFolder::open_files(std::span(&source, 1), folder->name(), system);
  }

  std::shared_ptr<const Adapter> read() {
    for (const StoredTensor& tensor : tensors_->tensors()) take(tensor);
    std::vector<std::string> names;
    for (const auto& [name, module] : modules_) names.push_back(name);
    config_.expect_targets(names);
    for (const auto& [name, module] : modules_) {
      const bool is_stack = module.a != nullptr && module.b != nullptr && !stack_of(name).empty();
      if (is_stack) {
        add_stack(name, module);
      } else if (module.embedding_a != nullptr || module.embedding_b != nullptr) {
        add_embedding(name, module);
      } else {
        add_linear(name, module);
      }
    }
    refuse_tied();
    builder_.set_invocation(config_.invocation());
    return std::move(builder_).finish();
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(Code code, const StoredTensor& tensor, fmt::format_string<Args...> why,
                           Args&&... args) const {
    fail(code, "{}: {}", tensors_->place(tensor), fmt::format(why, std::forward<Args>(args)...));
  }

  void take(const StoredTensor& tensor) {
    std::string_view name = tensor.name;
    if (!name.starts_with(kPeftPrefix)) {
      refuse(Code::Unsupported, tensor, "its name does not begin with \"{}\"", kPeftPrefix);
    }
    name.remove_prefix(kPeftPrefix.size());
    for (const PeftPart& part : kPeftParts) {
      if (!name.ends_with(part.suffix)) continue;
      PeftModule& module = modules_[std::string(name.substr(0, name.size() - part.suffix.size()))];
      if (module.*part.member != nullptr) refuse(Code::Format, tensor, "is there twice");
      module.*part.member = &tensor;
      return;
    }
    if (name.ends_with(kTokenRows)) {
      return replace_tokens(tensor, name.substr(0, name.size() - kTokenRows.size()));
    }
    if (name.find("lora_") != name.npos || name.find("_adapter") != name.npos) {
      refuse(Code::Unsupported, tensor, "is no part of an adapter that is computed");
    }
    const size_t dot = name.rfind('.');
    const std::string_view suffix = dot == name.npos ? "" : name.substr(dot);
    if (suffix != ".weight" && suffix != ".bias") {
      refuse(Code::Unsupported, tensor, "is neither a weight nor a bias");
    }
    std::string_view module = name.substr(0, dot);
    constexpr std::string_view kBase = ".base_layer";
    const bool is_base = module.ends_with(kBase);
    if (is_base) module.remove_suffix(kBase.size());
    if (is_base && suffix == ".weight") return check_copy(tensor, module);
    const bool is_saved = config_.saves(module) || (suffix == ".bias" && config_.saves_biases());
    if (!is_saved) {
      refuse(Code::Unsupported, tensor, "is no part of LoRA, and {} saves no such module",
             config_.place());
    }
    replace(tensor, module, suffix);
  }

  [[nodiscard]] AdapterMatrix matrix(const StoredTensor& tensor) const {
    if (tensor.rank != 2) refuse(Code::Format, tensor, "expected two dimensions");
    return matrix(tensor, tensor.dim(0), tensor.dim(1));
  }

  [[nodiscard]] AdapterMatrix matrix(const StoredTensor& tensor, uint64_t rows,
                                     uint64_t columns) const {
    if (!foreign::is_float_type(tensor.type) || tensor.num_values() == 0) {
      refuse(Code::Format, tensor, "expected floating-point values");
    }
    std::vector<std::byte> bytes(tensor.bytes);
    tensors_->read(tensor, 0, bytes);
    AdapterMatrix out{rows, columns, std::vector<float>(rows * columns)};
    if (!foreign::decode_elements(tensor.type, bytes.data(), out.values.size(),
                                  out.values.data())) {
      refuse(Code::Unsupported, tensor, "is of no type that is decoded");
    }
    if (!std::ranges::all_of(out.values, [](float value) { return std::isfinite(value); })) {
      refuse(Code::Format, tensor, "holds NaN or infinity");
    }
    return out;
  }

  [[nodiscard]] std::vector<float> vector(const StoredTensor* tensor) const {
    if (tensor == nullptr) return {};
    const uint64_t count = tensor->num_values();
    return matrix(*tensor, count, 1).values;
  }

  /// Both factors, or a message.
  void require_pair(const std::string& name, const StoredTensor* a, const StoredTensor* b) const {
    if (a != nullptr && b != nullptr) return;
    fail(Code::Format, "{}: module {} has {}, but not {}", folder_->name(), quoted(name),
         a == nullptr ? "lora_B" : "lora_A", a == nullptr ? "lora_A" : "lora_B");
  }

  void add_linear(const std::string& name, const PeftModule& module) {
    require_pair(name, module.a, module.b);
    if ((module.magnitude != nullptr) != config_.is_dora()) {
      fail(Code::Format, "{}: key \"use_dora\" and the tensors of {} contradict each other",
           config_.place(), quoted(name));
    }
    if ((module.bias != nullptr) != config_.has_lora_bias()) {
      fail(Code::Format, "{}: key \"lora_bias\" and the tensors of {} contradict each other",
           config_.place(), quoted(name));
    }
    AdapterFactors factors{name,
                           1.0f,
                           matrix(*module.a),
                           matrix(*module.b),
                           vector(module.magnitude),
                           vector(module.bias)};
    factors.scale = config_.scale_of(name, factors.a.rows);
    const std::vector<AdapterPlace> places =
        builder_.places().of_module(name, factors.b.rows, ".weight");
    note_head(name);
    builder_.add(factors, places);
  }

  /// Row t of the table gains s B A[:, t].
  void add_embedding(const std::string& name, const PeftModule& module) {
    require_pair(name, module.embedding_a, module.embedding_b);
    if (module.a != nullptr || module.b != nullptr || module.bias != nullptr ||
        module.magnitude != nullptr) {
      fail(Code::Unsupported, "{}: module {} is an embedding with more than two factors",
           folder_->name(), quoted(name));
    }
    const AdapterMatrix a = matrix(*module.embedding_a);  // [rank, tokens]
    const AdapterMatrix b = matrix(*module.embedding_b);  // [width, rank]
    AdapterFactors factors{name, config_.scale_of(name, a.rows), b.transposed(), a.transposed(), {},
                           {}};
    note_embedding(name);
    builder_.add(factors, builder_.places().of_module(name, factors.b.rows, ".weight"));
  }

  /// The path of the experts whose stacks a module changes; empty for another module.
  [[nodiscard]] std::string stack_of(const std::string& name) const {
    constexpr std::string_view kBase = ".base_layer";
    std::string path = name;
    while (path.ends_with(kBase)) path.resize(path.size() - kBase.size());
    return config_.parameters_of(path).empty() ? std::string() : path;
  }

  /// One wrapper for each parameter, one around the other; the inner one is the first parameter.
  void add_stack(const std::string& name, const PeftModule& module) {
    const std::string path = stack_of(name);
    const std::vector<std::string> parameters = config_.parameters_of(path);
    const uint64_t depth = (name.size() - path.size()) / std::string_view(".base_layer").size();
    if (depth >= parameters.size() || module.magnitude != nullptr || module.bias != nullptr) {
      fail(Code::Format, "{}: module {} and key \"target_parameters\" of {} contradict each other",
           folder_->name(), quoted(name), config_.place());
    }
    const std::string& parameter = parameters[parameters.size() - 1 - depth];
    const uint64_t experts = builder_.places().num_experts();
    const AdapterMatrix a = matrix(*module.a);  // row e rank + k: expert e
    const AdapterMatrix b = matrix(*module.b);  // column k experts + e
    if (experts == 0 || a.rows % experts != 0 || b.columns != a.rows) {
      fail(Code::Format, "{}: module {}: factors [{}, {}] and [{}, {}] of {} experts",
           folder_->name(), quoted(name), a.rows, a.columns, b.rows, b.columns, experts);
    }
    const uint64_t rank = a.rows / experts;
    const float scale = config_.scale_of(path, rank);
    for (uint64_t e = 0; e < experts; ++e) {
      AdapterFactors one{path + "." + parameter, scale, {rank, a.columns, {}},
                         {b.rows, rank, {}},     {},    {}};
      const auto first = a.values.begin() + static_cast<int64_t>(e * rank * a.columns);
      one.a.values.assign(first, first + static_cast<int64_t>(rank * a.columns));
      one.b.values.reserve(b.rows * rank);
      for (uint64_t row = 0; row < b.rows; ++row) {
        for (uint64_t k = 0; k < rank; ++k) {
          one.b.values.push_back(b.values[row * b.columns + k * experts + e]);
        }
      }
      builder_.add(one, builder_.places().of_expert(path, parameter, e, b.rows));
    }
  }

  void replace(const StoredTensor& tensor, std::string_view module, std::string_view suffix) {
    if (tensor.rank < 1 || tensor.rank > 2) {
      refuse(Code::Unsupported, tensor, "modules of this rank are not replaced");
    }
    const uint64_t rows = tensor.dim(0);
    const std::vector<AdapterPlace> places = builder_.places().of_module(module, rows, suffix);
    note_head(module);
    if (is_embedding(module)) replaces_embedding_ = true;
    builder_.replace(tensor.name, matrix(tensor, rows, tensor.dim(1)), places);
  }

  void replace_tokens(const StoredTensor& tensor, std::string_view module) {
    const AdapterPlace table = table_of(tensor, module);
    builder_.replace_rows(tensor.name, config_.tokens_of(module), matrix(tensor), table);
  }

  /// A copy of the base model's table, which PEFT saves beside its change.
  void check_copy(const StoredTensor& tensor, std::string_view module) const {
    const AdapterPlace table = table_of(tensor, module);
    if (tensor.num_values() == table.tensor->num_values()) return;
    refuse(Code::Unsupported, tensor,
           "the model's has {}: adapters with another vocabulary are not computed",
           table.tensor->text());
  }

  [[nodiscard]] AdapterPlace table_of(const StoredTensor& tensor, std::string_view module) const {
    const bool is_head = is_output(module);
    if (!is_head && !is_embedding(module)) {
      refuse(Code::Unsupported, tensor, "is no table of tokens");
    }
    const char* name = is_head ? "output.weight" : "token_embd.weight";
    const TensorInfo* table = model_.find(name);
    if (table == nullptr) table = model_.find("token_embd.weight");
    if (table == nullptr || table->rank != 2) {
      refuse(Code::Unsupported, tensor, "the model has no such table");
    }
    return {name, table, 0, {}, false, false};
  }

  static bool is_output(std::string_view module) {
    return module == "lm_head" || module.ends_with(".lm_head");
  }
  static bool is_embedding(std::string_view module) {
    return module == "embed_tokens" || module.ends_with(".embed_tokens");
  }
  void note_head(std::string_view module) { changes_head_ |= is_output(module); }
  void note_embedding(std::string_view module) { changes_embedding_ |= is_embedding(module); }

  /// An adapter changes the embedding or the output matrix of a model in which they are one: PEFT
  /// parts them, unless it is told not to.
  void refuse_tied() const {
    if (!builder_.places().is_tied()) return;
    if (config_.ties_weights() && (changes_head_ || changes_embedding_ || replaces_embedding_)) {
      fail(Code::Unsupported,
           "{}: key \"ensure_weight_tying\" is true, and the model's embedding is its output "
           "matrix: merge the adapter with PEFT",
           config_.place());
    }
    if (replaces_embedding_ && !changes_head_) {
      fail(Code::Unsupported,
           "{}: replaces the embedding, which is the model's output matrix, too: merge the adapter "
           "with PEFT",
           folder_->name());
    }
  }

  std::shared_ptr<const FileFolder> folder_;
  PeftConfig config_;
  const ModelFile& model_;
  AdapterBuilder builder_;
  std::shared_ptr<const TensorFolder> tensors_;
  std::map<std::string, PeftModule> modules_;
  bool changes_head_ = false;
  bool changes_embedding_ = false;
  bool replaces_embedding_ = false;
};

}  // namespace

std::shared_ptr<const Adapter> read_peft_adapter(const std::shared_ptr<const FileFolder>& folder,
                                                 const ModelFile& model,
                                                 const std::shared_ptr<System>& system) {
  return PeftReader(folder, model, system).read();
}

}  // namespace tenon
