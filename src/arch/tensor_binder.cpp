// TensorBinder: lookup, shape and format checks, the account of missing and unused tensors.
#include "arch/tensor_binder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

uint64_t rows_of(const TensorInfo& tensor) { return tensor.num_values() / tensor.row_values(); }

/// "\"a\", \"b\", \"c\" and 4 more"
std::string first_three(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 3); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > 3) text += fmt::format(" and {} more", names.size() - 3);
  return text;
}

}  // namespace

TensorBinder::TensorBinder(const ModelFile& file, ProgramBuilder& builder)
    : file_(file), builder_(builder), used_(file.tensors().size(), false) {}

const TensorInfo& TensorBinder::take(const TensorInfo& tensor, uint64_t rows, uint64_t columns) {
  used_[static_cast<size_t>(&tensor - file_.tensors().data())] = true;
  if (rows_of(tensor) != rows || tensor.row_values() != columns) {
    fail(Code::Format, "{}: tensor \"{}\" is {}, but the hyper-parameters ask for [{}, {}]",
         file_.name(), tensor.name, tensor.text(), rows, columns);
  }
  const FormatInfo* format = find_format(tensor.format);
  if (format == nullptr || !format->weight) {
    fail(Code::Unsupported, "{}: tensor \"{}\" is {}, which is no format of weights", file_.name(),
         tensor.name, tensor.text());
  }
  return tensor;
}

Slot TensorBinder::matrix(std::string_view name, uint64_t rows, uint64_t columns) {
  const Slot slot = optional_matrix(name, rows, columns);
  if (slot != kNoSlot) return slot;
  missing_.emplace_back(name);
  return builder_.weight(name, Format::F32, rows, columns);
}

Slot TensorBinder::expert_matrices(std::string_view name, uint64_t experts, uint64_t rows,
                                   uint64_t columns) {
  const TensorInfo* found = file_.find(name);
  // Outermost dimensions of 1 may be left out.
  if (found != nullptr && experts > 1 && (found->rank != 3 || found->shape[0] != experts)) {
    fail(Code::Format, "{}: tensor \"{}\" is {}, but the hyper-parameters ask for [{}, {}, {}]",
         file_.name(), name, found->text(), experts, rows, columns);
  }
  return matrix(name, experts * rows, columns);
}

Slot TensorBinder::optional_matrix(std::string_view name, uint64_t rows, uint64_t columns) {
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return kNoSlot;
  const TensorInfo& tensor = take(*found, rows, columns);
  const Slot slot = builder_.weight(name, tensor.format, rows, columns);
  bound_.push_back({slot, RowSource(tensor)});
  return slot;
}

std::vector<float> TensorBinder::optional_divisors(std::string_view name, uint64_t columns) {
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return {};
  const TensorInfo& tensor = take(*found, 1, columns);
  if (tensor.format != Format::F32) {
    fail(Code::Unsupported, "{}: tensor \"{}\" is {}, expected f32", file_.name(), tensor.name,
         tensor.text());
  }
  std::vector<float> values(columns);
  file_.read(tensor, 0, std::as_writable_bytes(std::span(values)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > 0.0f && std::isfinite(values[i]))) {
      fail(Code::Format, "{}: tensor \"{}\": value {} is {}, not finite and above 0", file_.name(),
           tensor.name, i, values[i]);
    }
  }
  return values;
}

std::vector<BoundWeight> TensorBinder::finish() && {
  if (!missing_.empty()) {
    fail(Code::Format, "{}: {} tensors are missing: {}", file_.name(), missing_.size(),
         first_three(missing_));
  }
  std::vector<std::string> unused;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) unused.push_back(file_.tensors()[i].name);
  }
  if (!unused.empty()) {
    fail(Code::Format, "{}: {} tensors do not belong to this architecture: {}", file_.name(),
         unused.size(), first_three(unused));
  }
  return std::move(bound_);
}

}  // namespace tenon
