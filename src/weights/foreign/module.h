// The tensors of one weight under its name, and their rows and columns as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "file/tensor_folder.h"
#include "weights/foreign/quant_config.h"

namespace tenon::foreign {

/// The parts of a weight: tensors whose names begin with its own. The config must outlive it.
class Module {
 public:
  Module(std::shared_ptr<const TensorFolder> folder, std::string_view weight,
         const QuantConfig& config);

  /// Without ".weight".
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const QuantConfig& config() const { return *config_; }
  [[nodiscard]] const std::shared_ptr<const TensorFolder>& folder() const { return folder_; }

  /// The tensor "<name><suffix>"; null for an absent one.
  [[nodiscard]] const StoredTensor* find(std::string_view suffix) const;
  [[nodiscard]] bool has(std::string_view suffix) const { return find(suffix) != nullptr; }
  /// Format for an absent one.
  [[nodiscard]] const StoredTensor& get(std::string_view suffix) const;
  /// "<name>.weight", or "<name>" for a stack without the suffix; may be null.
  [[nodiscard]] const StoredTensor* weight() const;
  /// Whether weight() is there with elements of this type.
  [[nodiscard]] bool weight_is(ElementType type) const;

  /// Throws Format: "<place of the tensor>: <text>".
  template <typename... Args>
  [[noreturn]] void refuse(const StoredTensor& tensor, fmt::format_string<Args...> text,
                           Args&&... args) const {
    fail(Code::Format, "{}: {}", folder_->place(tensor),
         fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::shared_ptr<const TensorFolder> folder_;
  std::string name_;
  const QuantConfig* config_;
};

/// Throws Limit for a weight whose rows have more than 2^18 values: tables of them are in memory.
void check_inputs(const Module& module, const StoredTensor& tensor, uint64_t inputs);

/// Decodes elements of any real type; U8 as numbers. Complex and sub-byte types give false.
bool decode_elements(ElementType type, const std::byte* from, uint64_t count, float* out) noexcept;
/// Whether decode_elements knows the type.
bool is_decodable(ElementType type) noexcept;
bool is_float_type(ElementType type) noexcept;

/// A tensor as rows of elements: reads rectangles of it.
class TensorRows {
 public:
  TensorRows() = default;
  /// The last dimension is a row.
  TensorRows(const Module& module, const StoredTensor& tensor);
  /// Format unless the tensor has rows x columns elements, of whole bytes.
  TensorRows(const Module& module, const StoredTensor& tensor, uint64_t rows, uint64_t columns);

  [[nodiscard]] bool empty() const { return tensor_ == nullptr; }
  [[nodiscard]] const StoredTensor& tensor() const { return *tensor_; }
  [[nodiscard]] ElementType type() const { return tensor_->type; }
  [[nodiscard]] uint64_t rows() const { return rows_; }
  [[nodiscard]] uint64_t columns() const { return columns_; }
  [[nodiscard]] uint64_t element_bytes() const { return element_bytes_; }

  /// The rectangle [first_row, + rows) x [first_column, + columns), row after row.
  void read(uint64_t first_row, uint64_t rows, uint64_t first_column, uint64_t columns,
            void* out) const;
  /// Decoded to numbers.
  void read_floats(uint64_t first_row, uint64_t rows, uint64_t first_column, uint64_t columns,
                   float* out) const;
  /// Whole rows.
  void read(uint64_t first_row, uint64_t rows, void* out) const {
    read(first_row, rows, 0, columns_, out);
  }
  void read_floats(uint64_t first_row, uint64_t rows, float* out) const {
    read_floats(first_row, rows, 0, columns_, out);
  }

  /// Throws Format: "<place of the tensor>: <text>".
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    fail(Code::Format, "{}: {}", folder_->place(*tensor_),
         fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::shared_ptr<const TensorFolder> folder_;
  const StoredTensor* tensor_ = nullptr;
  uint64_t rows_ = 0;
  uint64_t columns_ = 0;
  uint64_t element_bytes_ = 0;
};

/// All elements of a small tensor as numbers. Limit beyond `most` of them.
std::vector<float> all_floats(const Module& module, const StoredTensor& tensor, uint64_t most);
/// All elements of an I32, I64 or I16 tensor. Limit beyond `most` of them.
std::vector<int64_t> all_integers(const Module& module, const StoredTensor& tensor, uint64_t most);
/// The bytes of a small U8 tensor as text.
std::string text_of(const Module& module, const StoredTensor& tensor, uint64_t most);

/// Throws Format unless `tensor` has this type.
void require_type(const Module& module, const StoredTensor& tensor, ElementType type);

}  // namespace tenon::foreign
