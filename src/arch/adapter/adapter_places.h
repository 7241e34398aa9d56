// Places of an adapter's rows in the tensors of a model's file, which may name, split, stack and
// reorder them otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "arch/folder/head_rows.h"
#include "file/model_file.h"

namespace tenon {

/// Consecutive rows of a tensor, and the rows of a module that they are.
struct AdapterPlace {
  std::string name;            ///< of the tensor
  const TensorInfo* tensor;    ///< the tensor, or the one that stands for it (tied output matrix)
  uint64_t first_row = 0;      ///< in the tensor; leading dimensions count as rows
  std::vector<uint64_t> rows;  ///< [rows of the place] numbers of the module's rows
  bool adds_one = false;       ///< the file has the values plus one
  bool takes_exp = false;      ///< the file has -exp(value)
  [[nodiscard]] bool is_changed() const { return adds_one || takes_exp; }
};

class AdapterPlaces {
 public:
  /// The model must outlive it. Throws as check_architecture.
  explicit AdapterPlaces(const ModelFile& model);

  /// Places of the rows of a module of transformers, such as "model.layers.0.self_attn.q_proj".
  /// Empty for modules that the program does not use. Throws Unsupported for an unknown module and
  /// one whose tensor the file lacks, Format for another number of rows.
  ///   rows    of the module, the values of a vector
  ///   suffix  ".weight" or ".bias"
  [[nodiscard]] std::vector<AdapterPlace> of_module(std::string_view module, uint64_t rows,
                                                    std::string_view suffix) const;
  /// Places of the rows of one expert of a stack, such as "model.layers.0.mlp.experts" with the
  /// parameter "gate_up_proj". Throws likewise.
  [[nodiscard]] std::vector<AdapterPlace> of_expert(std::string_view module,
                                                    std::string_view parameter, uint64_t expert,
                                                    uint64_t rows) const;
  /// The place of a GGUF adapter's rows for a tensor of this name. Throws likewise.
  [[nodiscard]] AdapterPlace of_tensor(std::string_view name, uint64_t rows) const;
  /// Experts of a layer; 0 for a model without.
  [[nodiscard]] uint64_t num_experts() const { return num_experts_; }
  /// Whether the embedding is the output matrix, too.
  [[nodiscard]] bool is_tied() const;
  [[nodiscard]] const std::string& architecture() const { return name_; }

 private:
  struct Range {
    const TensorInfo* tensor = nullptr;
    uint64_t first_row = 0;
    uint64_t num_rows = 0;

    /// Rows of a tensor that was looked up by `name`, still without their numbers.
    [[nodiscard]] AdapterPlace place(std::string_view name) const {
      const bool stands_in = name == "output.weight";
      return {std::string(stands_in ? name : tensor->name), tensor, first_row, {}, false, false};
    }
  };
  [[nodiscard]] Range locate(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> tables() const;
  void reorder(AdapterPlace& place, bool to_file) const;

  const ModelFile& model_;
  std::string name_;
  const FolderForm* form_ = nullptr;
  bool is_folder_ = false;  // rows are in the order of folders
  HeadRows heads_;
  uint64_t num_experts_ = 0;
};

}  // namespace tenon
