#include "weights/foreign/module.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/utf8.h"
#include "quant/half.h"
#include "weights/foreign/small_floats.h"

namespace tenon::foreign {
namespace {

constexpr std::string_view kWeightSuffix = ".weight";
/// Far above every model there is.
constexpr uint64_t kMostInputs = uint64_t{1} << 18;

template <typename T, typename Convert>
void decode_each(const std::byte* from, uint64_t count, float* out, Convert convert) {
  for (uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    out[i] = convert(value);
  }
}

template <typename T>
void decode_numbers(const std::byte* from, uint64_t count, float* out) {
  decode_each<T>(from, count, out, [](T value) { return static_cast<float>(value); });
}

void decode_codes(const float* table, const std::byte* from, uint64_t count, float* out) {
  for (uint64_t i = 0; i < count; ++i) out[i] = table[std::to_integer<uint8_t>(from[i])];
}

}  // namespace

void check_inputs(const Module& module, const StoredTensor& tensor, uint64_t inputs) {
  if (inputs <= kMostInputs) return;
  fail(Code::Limit, "{}: {} inputs, the limit is {}", module.folder()->place(tensor), inputs,
       kMostInputs);
}

bool decode_elements(ElementType type, const std::byte* from, uint64_t count, float* out) noexcept {
  switch (type) {
    case ElementType::F32:
      std::memcpy(out, from, count * sizeof(float));
      return true;
    case ElementType::F16:
      decode_each<uint16_t>(from, count, out, f16_to_f32);
      return true;
    case ElementType::BF16:
      decode_each<uint16_t>(from, count, out, bf16_to_f32);
      return true;
    case ElementType::F64:
      decode_numbers<double>(from, count, out);
      return true;
    case ElementType::I8:
      decode_numbers<int8_t>(from, count, out);
      return true;
    case ElementType::U8:
      decode_numbers<uint8_t>(from, count, out);
      return true;
    case ElementType::I16:
      decode_numbers<int16_t>(from, count, out);
      return true;
    case ElementType::I32:
      decode_numbers<int32_t>(from, count, out);
      return true;
    case ElementType::I64:
      decode_numbers<int64_t>(from, count, out);
      return true;
    case ElementType::E4M3:
      decode_codes(kE4M3, from, count, out);
      return true;
    case ElementType::E5M2:
      decode_codes(kE5M2, from, count, out);
      return true;
    case ElementType::E8M0:
      decode_codes(kE8M0, from, count, out);
      return true;
    default:
      return false;
  }
}

bool is_decodable(ElementType type) noexcept {
  const std::byte none[8] = {};
  float number = 0;
  return decode_elements(type, none, 1, &number);
}

bool is_float_type(ElementType type) noexcept {
  return type == ElementType::F32 || type == ElementType::F16 || type == ElementType::BF16 ||
         type == ElementType::F64;
}

Module::Module(std::shared_ptr<const TensorFolder> folder, std::string_view weight,
               const QuantConfig& config)
    : folder_(std::move(folder)), name_(weight), config_(&config) {
  if (name_.ends_with(kWeightSuffix)) name_.resize(name_.size() - kWeightSuffix.size());
}

const StoredTensor* Module::find(std::string_view suffix) const {
  return folder_->find(name_ + std::string(suffix));
}

const StoredTensor& Module::get(std::string_view suffix) const {
  const StoredTensor* tensor = find(suffix);
  if (tensor == nullptr) {
    fail(Code::Format, "{}: tensor {} is missing", folder_->name(),
         quoted(name_ + std::string(suffix)));
  }
  return *tensor;
}

const StoredTensor* Module::weight() const {
  const StoredTensor* tensor = find(kWeightSuffix);
  return tensor != nullptr ? tensor : find("");
}

bool Module::weight_is(ElementType type) const {
  const StoredTensor* tensor = weight();
  return tensor != nullptr && tensor->type == type;
}

TensorRows::TensorRows(const Module& module, const StoredTensor& tensor)
    : TensorRows(module, tensor,
                 tensor.rank == 0 || tensor.num_values() == 0
                     ? 1
                     : tensor.num_values() / tensor.shape[tensor.rank - 1],
                 tensor.rank == 0 ? 1 : tensor.shape[tensor.rank - 1]) {}

TensorRows::TensorRows(const Module& module, const StoredTensor& tensor, uint64_t rows,
                       uint64_t columns)
    : folder_(module.folder()), tensor_(&tensor), rows_(rows), columns_(columns) {
  const uint32_t bits = info_of(tensor.type).bits;
  const uint64_t values = tensor.num_values();
  if (bits % 8 != 0) module.refuse(tensor, "elements of {} bits are not read here", bits);
  if (values == 0) module.refuse(tensor, "is empty");
  if (rows == 0 || values % rows != 0 || values / rows != columns) {
    module.refuse(tensor, "expected {} x {} elements", rows, columns);
  }
  element_bytes_ = bits / 8;
}

void TensorRows::read(uint64_t first_row, uint64_t rows, uint64_t first_column, uint64_t columns,
                      void* out) const {
  auto* bytes = static_cast<std::byte*>(out);
  const uint64_t row_bytes = columns * element_bytes_;
  if (columns == columns_) {
    folder_->read(*tensor_, first_row * row_bytes, {bytes, rows * row_bytes});
    return;
  }
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t at = ((first_row + i) * columns_ + first_column) * element_bytes_;
    folder_->read(*tensor_, at, {bytes + i * row_bytes, row_bytes});
  }
}

void TensorRows::read_floats(uint64_t first_row, uint64_t rows, uint64_t first_column,
                             uint64_t columns, float* out) const {
  std::vector<std::byte> stored(rows * columns * element_bytes_);
  read(first_row, rows, first_column, columns, stored.data());
  if (!decode_elements(type(), stored.data(), rows * columns, out)) {
    refuse("elements of this type are no numbers");
  }
}

std::vector<float> all_floats(const Module& module, const StoredTensor& tensor, uint64_t most) {
  const TensorRows rows(module, tensor, 1, tensor.num_values());
  if (rows.columns() > most) {
    fail(Code::Limit, "{}: {} values, the limit is {}", module.folder()->place(tensor),
         rows.columns(), most);
  }
  std::vector<float> values(rows.columns());
  rows.read_floats(0, 1, values.data());
  return values;
}

std::vector<int64_t> all_integers(const Module& module, const StoredTensor& tensor, uint64_t most) {
  const TensorRows rows(module, tensor, 1, tensor.num_values());
  if (rows.columns() > most) {
    fail(Code::Limit, "{}: {} values, the limit is {}", module.folder()->place(tensor),
         rows.columns(), most);
  }
  std::vector<std::byte> bytes(tensor.bytes);
  rows.read(0, 1, bytes.data());
  std::vector<int64_t> values(rows.columns());
  const auto take = [&]<typename T>() {
    for (uint64_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = value;
    }
  };
  switch (tensor.type) {
    case ElementType::I16:
      take.operator()<int16_t>();
      break;
    case ElementType::I32:
      take.operator()<int32_t>();
      break;
    case ElementType::I64:
      take.operator()<int64_t>();
      break;
    default:
      module.refuse(tensor, "expected I16, I32 or I64");
  }
  return values;
}

std::string text_of(const Module& module, const StoredTensor& tensor, uint64_t most) {
  require_type(module, tensor, ElementType::U8);
  if (tensor.bytes > most) {
    fail(Code::Limit, "{}: {} bytes, the limit is {}", module.folder()->place(tensor), tensor.bytes,
         most);
  }
  std::string text(tensor.bytes, '\0');
  module.folder()->read(tensor, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

void require_type(const Module& module, const StoredTensor& tensor, ElementType type) {
  if (tensor.type != type) module.refuse(tensor, "expected elements of {}", info_of(type).name);
}

}  // namespace tenon::foreign
