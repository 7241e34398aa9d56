// TensorBinder: lookup, checks of shape and format, records of missing and unused tensors.
#include "arch/tensor_binder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

uint64_t product_of(std::span<const uint64_t> shape) {
  uint64_t product = 1;
  for (const uint64_t size : shape) product *= size;
  return product;
}

/// Lists names for a message: "\"a\", \"b\", \"c\" and 4 more".
std::string first_three(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 3); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > 3) text += fmt::format(" and {} more", names.size() - 3);
  return text;
}

/// Accepts missing leading dimensions of 1, but tells experts from their rows.
bool has_shape(const TensorInfo& tensor, const std::vector<uint64_t>& shape) {
  if (tensor.row_values() != shape.back() || tensor.num_values() != product_of(shape)) return false;
  if (shape.size() < 3 || shape[0] == 1) return true;
  uint32_t first = 0;
  while (first + 3 < tensor.rank && tensor.shape[first] == 1) ++first;
  return tensor.rank == first + 3 && tensor.shape[first] == shape[0];
}

}  // namespace

bool matches_pattern(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t i = star; i <= name.size(); ++i) {
    if (matches_pattern(name.substr(i), rest)) return true;
  }
  return false;
}

TensorBinder::TensorBinder(const ModelFile& file, ProgramBuilder& builder,
                           std::vector<std::string> ignored)
    : file_(file),
      builder_(builder),
      ignored_(std::move(ignored)),
      used_(file.tensors().size(), false) {}

void TensorBinder::want(std::string_view name, const std::vector<uint64_t>& shape, TensorRole role,
                        bool required) {
  const auto is_wanted = [name](const WantedTensor& other) { return other.name == name; };
  if (shares_slots_ && std::ranges::any_of(wanted_, is_wanted)) return;
  wanted_.push_back(
      {.name = std::string(name), .shape = shape, .role = role, .required = required});
}

void TensorBinder::use(const TensorInfo& tensor, const std::vector<uint64_t>& shape) {
  used_[static_cast<size_t>(&tensor - file_.tensors().data())] = true;
  if (!has_shape(tensor, shape)) {
    fail(Code::Format, "{}: tensor \"{}\" is {}, but the hyper-parameters ask for [{}]{}",
         file_.name(), tensor.name, tensor.text(), fmt::join(shape, ", "), variant_text());
  }
}

std::string TensorBinder::variant_text() const {
  const MetadataValue* architecture = file_.metadata().find_value("general.architecture");
  return fmt::format(
      "; the file is whole: it is a variant of {} that this version does not compute",
      quoted(architecture == nullptr ? "" : architecture->text));
}

std::vector<std::string> TensorBinder::unused() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < used_.size(); ++i) {
    const std::string& name = file_.tensors()[i].name;
    const bool ignored = std::any_of(ignored_.begin(), ignored_.end(), [&](std::string_view one) {
      return matches_pattern(name, one);
    });
    if (!used_[i] && !ignored) names.push_back(name);
  }
  return names;
}

const TensorInfo& TensorBinder::take(const TensorInfo& tensor, const std::vector<uint64_t>& shape) {
  use(tensor, shape);
  const FormatInfo* format = find_format(tensor.format);
  if (format == nullptr || !format->weight) {
    fail(Code::Unsupported, "{}: tensor \"{}\" is {}, which is no format of weights", file_.name(),
         tensor.name, tensor.text());
  }
  return tensor;
}

RowSource TensorBinder::tensor(std::string_view name, std::vector<uint64_t> shape,
                               TensorRole role) {
  want(name, shape, role, true);
  if (product_of(shape) == 0) {
    fail(Code::Format, "{}: tensor \"{}\" would be [{}]", file_.name(), name,
         fmt::join(shape, ", "));
  }
  if (const TensorInfo* found = file_.find(name)) return RowSource(take(*found, shape));
  return RowSource(stand_in(name, shape));
}

const TensorInfo& TensorBinder::stand_in(std::string_view name,
                                         const std::vector<uint64_t>& shape) {
  missing_.emplace_back(name);
  TensorInfo& stand_in = stand_ins_.emplace_back();
  stand_in.name = name;
  stand_in.rank = static_cast<uint32_t>(shape.size());
  stand_in.shape.fill(1);
  std::copy(shape.begin(), shape.end(), stand_in.shape.begin());
  return stand_in;
}

RowSource TensorBinder::numbers(std::string_view name, std::vector<uint64_t> shape,
                                uint32_t below) {
  want(name, shape, TensorRole::Numbers, true);
  wanted_.back().below = below;
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return RowSource(stand_in(name, shape));
  use(*found, shape);
  if (found->format != Format::I32) {
    fail(Code::Unsupported, "{}: tensor \"{}\" is {}, expected i32", file_.name(), found->name,
         found->text());
  }
  return RowSource(*found).decoded();
}

std::optional<RowSource> TensorBinder::optional_tensor(std::string_view name,
                                                       const std::vector<uint64_t>& shape,
                                                       TensorRole role) {
  want(name, shape, role, false);
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return std::nullopt;
  return RowSource(take(*found, shape));
}

Slot TensorBinder::bind(std::string_view name, const RowSource& source) {
  if (decodes_packed_ && is_memory_format(source.format())) {
    return bind(name, source.decoded());
  }
  if (const auto found = slots_.find(name); found != slots_.end()) return found->second;
  const Slot slot = builder_.weight(name, source.format(), source.num_rows(), source.num_columns());
  bound_.push_back({slot, source});
  if (shares_slots_) slots_.emplace(name, slot);
  return slot;
}

const RowSource* TensorBinder::source_of(Slot slot) const {
  const auto found = std::ranges::find(bound_, slot, &BoundWeight::slot);
  return found == bound_.end() ? nullptr : &found->source;
}

Slot TensorBinder::weight(std::string_view name, std::vector<uint64_t> shape, TensorRole role) {
  return bind(name, tensor(name, std::move(shape), role));
}

Slot TensorBinder::optional_weight(std::string_view name, std::vector<uint64_t> shape,
                                   TensorRole role) {
  const std::optional<RowSource> source = optional_tensor(name, std::move(shape), role);
  return source ? bind(name, *source) : kNoSlot;
}

std::vector<float> TensorBinder::optional_divisors(std::string_view name, uint64_t columns) {
  want(name, {columns}, TensorRole::RopeDivisors, false);
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return {};
  const TensorInfo& tensor = take(*found, {columns});
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

std::optional<uint64_t> TensorBinder::rows_of(std::string_view name) const {
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return std::nullopt;
  return found->num_values() / found->row_values();
}

std::optional<uint64_t> TensorBinder::columns_of(std::string_view name) const {
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) return std::nullopt;
  return found->row_values();
}

void TensorBinder::refuse_tensor(std::string_view name, std::string_view why) const {
  if (file_.find(name) == nullptr) return;
  fail(Code::Unsupported, "{}: tensor \"{}\": {}", file_.name(), name, why);
}

std::vector<BoundWeight> TensorBinder::finish() && {
  const std::vector<std::string> left = unused();
  const std::string strangers =
      left.empty() ? ""
                   : fmt::format("{} tensors do not belong to this architecture: {}", left.size(),
                                 first_three(left));
  if (!missing_.empty()) {
    fail(Code::Format, "{}: {} tensors are missing: {}{}{}{}", file_.name(), missing_.size(),
         first_three(missing_), left.empty() ? "" : "; ", strangers, variant_text());
  }
  if (!left.empty()) fail(Code::Format, "{}: {}{}", file_.name(), strangers, variant_text());
  return std::move(bound_);
}

}  // namespace tenon
