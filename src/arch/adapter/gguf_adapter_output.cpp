#include "arch/adapter/gguf_adapter_output.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "file/gguf_output.h"

namespace tenon {
namespace {

using Changes = std::vector<const LowRankChange*>;

/// A tensor's pair of factors: for each matrix a [rank, columns] and b [rows, rank].
struct TensorPair {
  uint64_t matrices = 1;
  uint64_t rows = 0;  ///< of a matrix
  uint64_t columns = 0;
  uint64_t rank = 0;
  std::vector<float> a{};  ///< [matrices, rank, columns]
  std::vector<float> b{};  ///< [matrices, rows, rank]
};

uint64_t num_matrices(const TensorInfo& tensor) { return tensor.rank >= 3 ? tensor.shape[0] : 1; }

uint64_t rows_of_matrix(const TensorInfo& tensor) {
  return tensor.num_values() / tensor.row_values() / num_matrices(tensor);
}

/// [matrices] sums of ranks
std::vector<uint64_t> ranks_of(const TensorInfo& tensor, const Changes& changes) {
  std::vector<uint64_t> ranks(num_matrices(tensor));
  for (const LowRankChange* one : changes) {
    ranks[one->first_row / rows_of_matrix(tensor)] += one->rank;
  }
  return ranks;
}

/// Changes beside each other: their ranks add up, and rows that a change leaves have zeros there.
///   folds  multiplies scales into b
TensorPair pair_of(const TensorInfo& tensor, const Changes& changes, bool folds) {
  std::vector<uint64_t> ranks = ranks_of(tensor, changes);
  TensorPair pair{.matrices = num_matrices(tensor),
                  .rows = rows_of_matrix(tensor),
                  .columns = tensor.row_values(),
                  .rank = *std::ranges::max_element(ranks)};
  pair.a.resize(pair.matrices * pair.rank * pair.columns);
  pair.b.resize(pair.matrices * pair.rows * pair.rank);
  std::ranges::fill(ranks, 0);
  for (const LowRankChange* one : changes) {
    const uint64_t matrix = one->first_row / pair.rows;
    const uint64_t first_rank = std::exchange(ranks[matrix], ranks[matrix] + one->rank);
    std::ranges::copy(
        one->a, pair.a.begin() +
                    static_cast<std::ptrdiff_t>((matrix * pair.rank + first_rank) * pair.columns));
    for (uint64_t row = 0; row < one->num_rows; ++row) {
      float* const to = pair.b.data() + (one->first_row + row) * pair.rank + first_rank;
      for (uint64_t k = 0; k < one->rank; ++k) {
        const float value = one->b[row * one->rank + k];
        to[k] = folds ? value * one->scale : value;
      }
    }
  }
  return pair;
}

std::vector<float> transposed(const std::vector<float>& values, uint64_t rows, uint64_t columns) {
  std::vector<float> out(values.size());
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      out[column * rows + row] = values[row * columns + column];
    }
  }
  return out;
}

class AdapterWriter {
 public:
  AdapterWriter(const Adapter& adapter, const ModelFile& model) : adapter_(adapter), model_(model) {
    refuse_rest();
    for (const LowRankChange& change : adapter.changes)
      by_tensor_[change.tensor].push_back(&change);
    for (const auto& [name, changes] : by_tensor_) (void)tensor_of(name, changes);
  }

  void write(const std::shared_ptr<System>& system, const std::string& path) const {
    const std::optional<float> alpha = common_alpha();
    GgufOutput out(system, path);
    out.add("general.type", "adapter");
    out.add("general.architecture", model_.metadata().get_string("general.architecture"));
    out.add("adapter.type", "lora");
    out.add("adapter.lora.alpha", alpha.value_or(0.0f));  // 0: the scale is the user's alone
    if (!adapter_.invocation.empty()) {
      const std::vector<uint32_t> tokens(adapter_.invocation.begin(), adapter_.invocation.end());
      out.add("adapter.alora.invocation_tokens", std::span<const uint32_t>(tokens));
    }
    std::vector<std::vector<float>> values;
    for (const auto& [name, changes] : by_tensor_) {
      TensorPair pair = pair_of(tensor_of(name, changes), changes, !alpha);
      // Its rows are the tokens, which the factors of an embedding have as inputs.
      const bool is_embedding = name == "token_embd.weight";
      if (is_embedding) {
        pair.a = transposed(pair.a, pair.rank, pair.columns);
        add_tensor(out, name + ".lora_a", 1, pair.rows, pair.rank);
        add_tensor(out, name + ".lora_b", 1, pair.columns, pair.rank);
        values.push_back(std::move(pair.b));
        values.push_back(std::move(pair.a));
        continue;
      }
      add_tensor(out, name + ".lora_a", pair.matrices, pair.rank, pair.columns);
      add_tensor(out, name + ".lora_b", pair.matrices, pair.rows, pair.rank);
      values.push_back(std::move(pair.a));
      values.push_back(std::move(pair.b));
    }
    out.begin();
    for (const std::vector<float>& one : values) out.write(std::as_bytes(std::span(one)));
    out.commit();
  }

 private:
  void refuse_rest() const {
    const auto refuse = [&](const std::string& tensor, const char* what) {
      fail(Code::Unsupported, "{}: changes {} by {}, which no GGUF file of an adapter says",
           adapter_.name, quoted(tensor), what);
    };
    if (!adapter_.biases.empty()) refuse(adapter_.biases.front().tensor, "a bias");
    if (!adapter_.replaced.empty()) refuse(adapter_.replaced.front().tensor, "other values");
    for (const LowRankChange& change : adapter_.changes) {
      if (!change.magnitudes.empty()) refuse(change.tensor, "DoRA");
    }
  }

  [[nodiscard]] const TensorInfo& tensor_of(const std::string& name, const Changes& changes) const {
    const TensorInfo* tensor = model_.find(name);
    if (tensor == nullptr) {
      fail(Code::Unsupported,
           "{}: changes {} alone, which is one matrix with the embedding in the model",
           adapter_.name, quoted(name));
    }
    const uint64_t rows = tensor->num_values() / tensor->row_values();
    for (const LowRankChange* one : changes) {
      if (one->num_columns == tensor->row_values() && one->first_row + one->num_rows <= rows) {
        continue;
      }
      fail(Code::Format, "{}: {} does not fit {}", adapter_.name, quoted(name), tensor->text());
    }
    return *tensor;
  }

  /// The alpha by which alpha / rank is the scale of each tensor, bit for bit; nothing without one.
  [[nodiscard]] std::optional<float> common_alpha() const {
    if (by_tensor_.empty()) return std::nullopt;
    const LowRankChange& first = adapter_.changes.front();
    const float alpha = first.scale * static_cast<float>(first.rank);
    if (alpha == 0.0f) return std::nullopt;
    for (const auto& [name, changes] : by_tensor_) {
      const uint64_t rank = std::ranges::max(ranks_of(tensor_of(name, changes), changes));
      for (const LowRankChange* one : changes) {
        if (alpha / static_cast<float>(rank) != one->scale) return std::nullopt;
      }
    }
    return alpha;
  }

  /// [matrices, rows, columns], or a matrix alone
  static void add_tensor(GgufOutput& out, const std::string& name, uint64_t matrices, uint64_t rows,
                         uint64_t columns) {
    const std::array<uint64_t, 3> shape{matrices, rows, columns};
    out.add_tensor(name, std::span(shape).subspan(matrices == 1 ? 1 : 0), Format::F32);
  }

  const Adapter& adapter_;
  const ModelFile& model_;
  std::map<std::string, Changes> by_tensor_;
};

}  // namespace

void write_gguf_adapter(const std::shared_ptr<System>& system, const Adapter& adapter,
                        const ModelFile& model, const std::string& path) {
  AdapterWriter(adapter, model).write(system, path);
}

}  // namespace tenon
