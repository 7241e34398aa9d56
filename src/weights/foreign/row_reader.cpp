#include "weights/foreign/row_reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "weights/foreign/module.h"
#include "weights/foreign/scheme_list.h"

namespace tenon {
namespace foreign {
namespace {

struct Scheme {
  std::string_view name;
  bool (*matches)(const Module& module);
  std::unique_ptr<const RowReader> (*open)(const Module& module);
};

constexpr Scheme kSchemes[] = {
#define TENON_SCHEME(id, name) {name, is_##id, open_##id},
    TENON_FOREIGN_SCHEMES(TENON_SCHEME)
#undef TENON_SCHEME
};

const Scheme* find_scheme(const Module& module) {
  const auto found =
      std::ranges::find_if(kSchemes, [&](const Scheme& scheme) { return scheme.matches(module); });
  return found == std::end(kSchemes) ? nullptr : found;
}

/// The largest padding of any scheme: rows and columns of EXL3, columns of its tables.
constexpr uint64_t kMostPadding = 255;

/// Leading rows and columns of a padded weight.
class TrimmedReader final : public RowReader {
 public:
  TrimmedReader(std::unique_ptr<const RowReader> inner, MatrixSize size)
      : RowReader(size), inner_(std::move(inner)) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    const uint64_t stored = inner_->size().columns;
    std::vector<float> rows(count * stored);
    inner_->read(first, count, rows);
    for (uint64_t i = 0; i < count; ++i) {
      std::copy_n(rows.data() + i * stored, size().columns, out + i * size().columns);
    }
  }
  std::unique_ptr<const RowReader> inner_;
};

/// Columns times a vector: scales that a scheme applies to a product's input.
class InputScaledReader final : public RowReader {
 public:
  InputScaledReader(std::unique_ptr<const RowReader> inner, std::vector<float> scales)
      : RowReader(inner->size()), inner_(std::move(inner)), scales_(std::move(scales)) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    const uint64_t columns = size().columns;
    inner_->read(first, count, {out, count * columns});
    for (uint64_t i = 0; i < count * columns; ++i) out[i] *= scales_[i % columns];
  }
  std::unique_ptr<const RowReader> inner_;
  std::vector<float> scales_;  // [columns]
};

[[noreturn]] void refuse_unknown(const Module& module) {
  if (const StoredTensor* weight = module.weight()) {
    fail(Code::Unsupported,
         "{}: its elements and the tensors beside it are of no known scheme (\"quant_method\" is "
         "{})",
         module.folder()->place(*weight), quoted(module.config().method));
  }
  for (const StoredTensor& tensor : module.folder()->tensors()) {
    if (!tensor.name.starts_with(module.name() + ".")) continue;
    fail(Code::Unsupported, "{}: is of no known scheme (\"quant_method\" is {})",
         module.folder()->place(tensor), quoted(module.config().method));
  }
  fail(Code::Format, "{}: tensor {} is missing", module.folder()->name(),
       quoted(module.name() + ".weight"));
}

}  // namespace
}  // namespace foreign

void RowReader::check_rows(uint64_t first, uint64_t count) const {
  if (first <= size_.rows && count <= size_.rows - first) return;
  fail(Code::Argument, "rows [{}, {} + {}) of a weight with {}", first, first, count, size_.rows);
}

void RowReader::read_packed(uint64_t first, uint64_t count, std::span<std::byte> out) const {
  check_rows(first, count);
  const auto format = packed_format();
  const auto bytes = format ? row_bytes(*find_format(*format), size_.columns) : std::nullopt;
  if (!bytes || out.size() != count * *bytes) {
    fail(Code::Argument, "{} bytes for {} packed rows of {}", out.size(), count, size_.columns);
  }
  if (count > 0) read_blocks(first, count, out.data());
}

void RowReader::read_blocks(uint64_t, uint64_t, std::byte*) const {
  fail(Code::Internal, "a weight without a packed format");
}

void RowReader::read(uint64_t first, uint64_t count, std::span<float> out) const {
  check_rows(first, count);
  if (out.size() != count * size_.columns) {
    fail(Code::Argument, "{} values for {} rows of {}", out.size(), count, size_.columns);
  }
  if (count > 0) read_rows(first, count, out.data());
}

std::unique_ptr<const RowReader> open_rows(std::shared_ptr<const TensorFolder> folder,
                                           std::string_view weight, const QuantConfig& config,
                                           MatrixSize wanted) {
  const foreign::Module module(std::move(folder), weight, config);
  const foreign::Scheme* scheme = foreign::find_scheme(module);
  if (scheme == nullptr) foreign::refuse_unknown(module);
  std::unique_ptr<const RowReader> reader = scheme->open(module);
  const MatrixSize stored = reader->size();
  for (const char* suffix : {".pre_quant_scale", "._weight_act_pre_scale"}) {
    const StoredTensor* scale = module.find(suffix);
    if (scale == nullptr) continue;
    if (scale->num_values() != stored.columns) {
      module.refuse(*scale, "expected one value for each of {} columns", stored.columns);
    }
    reader = std::make_unique<foreign::InputScaledReader>(
        std::move(reader), foreign::all_floats(module, *scale, stored.columns));
  }
  if (wanted == MatrixSize{} || wanted == stored) return reader;
  const bool pads = scheme->name.starts_with("EXL");
  const auto fits = [](uint64_t want, uint64_t have) {
    return want >= 1 && want <= have && have - want <= foreign::kMostPadding;
  };
  if (!pads || !fits(wanted.rows, stored.rows) || !fits(wanted.columns, stored.columns)) {
    fail(Code::Format, "{}: weight {} is {} x {}, expected {} x {}", module.folder()->name(),
         quoted(module.name()), stored.rows, stored.columns, wanted.rows, wanted.columns);
  }
  return std::make_unique<foreign::TrimmedReader>(std::move(reader), wanted);
}

std::string_view scheme_of(const std::shared_ptr<const TensorFolder>& folder,
                           std::string_view weight, const QuantConfig& config) {
  const foreign::Module module(folder, weight, config);
  const foreign::Scheme* scheme = foreign::find_scheme(module);
  return scheme == nullptr ? std::string_view() : scheme->name;
}

}  // namespace tenon
