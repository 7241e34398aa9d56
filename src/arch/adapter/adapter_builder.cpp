#include "arch/adapter/adapter_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

void add_value(Hasher& hasher, const auto& value) {
  hasher.add(std::as_bytes(std::span(&value, 1)));
}

void add_values(Hasher& hasher, const auto& values) {
  add_value(hasher, uint64_t{values.size()});
  hasher.add(std::as_bytes(std::span(values)));
}

Hash128 hash_of_adapter(const Adapter& adapter) {
  Hasher hasher;
  for (const LowRankChange& one : adapter.changes) {
    add_values(hasher, one.tensor);
    for (const uint64_t number : {one.first_row, one.num_rows, one.num_columns, one.rank}) {
      add_value(hasher, number);
    }
    add_value(hasher, one.scale);
    add_values(hasher, one.a);
    add_values(hasher, one.b);
    add_values(hasher, one.magnitudes);
  }
  for (const BiasChange& one : adapter.biases) {
    add_values(hasher, one.tensor);
    add_values(hasher, one.values);
  }
  for (const ReplacedRows& one : adapter.replaced) {
    add_values(hasher, one.tensor);
    add_values(hasher, one.rows);
    add_values(hasher, one.values);
  }
  add_values(hasher, adapter.invocation);
  return hasher.value();
}

bool is_vector(const AdapterPlace& place) { return place.tensor->rank == 1; }

}  // namespace

AdapterMatrix AdapterMatrix::transposed() const {
  AdapterMatrix turned{columns, rows, std::vector<float>(values.size())};
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      turned.values[column * rows + row] = values[row * columns + column];
    }
  }
  return turned;
}

AdapterBuilder::AdapterBuilder(std::string name, const ModelFile& model)
    : model_(model), places_(model) {
  adapter_.name = std::move(name);
}

uint64_t AdapterBuilder::columns_of(const AdapterPlace& place) const {
  return is_vector(place) ? 1 : place.tensor->row_values();
}

void AdapterBuilder::add(const AdapterFactors& factors, std::span<const AdapterPlace> places) {
  const AdapterMatrix& a = factors.a;
  const AdapterMatrix& b = factors.b;
  if (a.rows == 0 || b.columns != a.rows) {
    fail(Code::Format, "{}: {}: factors [{}, {}] and [{}, {}] have no common rank", adapter_.name,
         quoted(factors.label), a.rows, a.columns, b.rows, b.columns);
  }
  if (!std::isfinite(factors.scale)) {
    fail(Code::Format, "{}: {}: its scale, {}, is beyond the numbers of 32 bits", adapter_.name,
         quoted(factors.label), factors.scale);
  }
  for (const std::vector<float>* rows : {&factors.magnitudes, &factors.bias}) {
    if (rows->empty() || rows->size() == b.rows) continue;
    fail(Code::Format, "{}: {}: {} values for {} rows", adapter_.name, quoted(factors.label),
         rows->size(), b.rows);
  }
  for (const AdapterPlace& place : places) {
    if (is_vector(place) || place.is_changed()) {
      fail(Code::Unsupported, "{}: {}: a low-rank change of {} is not computed", adapter_.name,
           quoted(factors.label), quoted(place.name));
    }
    if (columns_of(place) != a.columns) {
      fail(Code::Format, "{}: tensor {} has {} columns, but the adapter's {} has {}", model_.name(),
           quoted(place.name), columns_of(place), quoted(factors.label), a.columns);
    }
    const std::string scale = place.name.substr(0, place.name.rfind('.')) + ".scale";
    if (model_.find(scale) != nullptr) {
      fail(Code::Unsupported, "{}: tensor {} has a scale of its own, and takes no adapter",
           model_.name(), quoted(place.name));
    }
    LowRankChange& change = adapter_.changes.emplace_back();
    change.tensor = place.name;
    change.first_row = place.first_row;
    change.num_rows = place.rows.size();
    change.num_columns = a.columns;
    change.rank = a.rows;
    change.scale = factors.scale;
    change.a = a.values;
    change.b.reserve(place.rows.size() * a.rows);
    for (const uint64_t row : place.rows) {
      const auto from = b.values.begin() + static_cast<int64_t>(row * b.columns);
      change.b.insert(change.b.end(), from, from + static_cast<int64_t>(b.columns));
      if (!factors.magnitudes.empty()) change.magnitudes.push_back(factors.magnitudes[row]);
    }
    if (factors.bias.empty()) continue;
    const bool is_part = place.first_row != 0 || !place.name.ends_with(".weight") ||
                         place.rows.size() != place.tensor->num_values() / a.columns;
    if (is_part) {
      fail(Code::Unsupported, "{}: {}: a bias for a part of {} is not computed", adapter_.name,
           quoted(factors.label), quoted(place.name));
    }
    BiasChange& bias = adapter_.biases.emplace_back();
    bias.tensor = place.name.substr(0, place.name.size() - 6) + "bias";
    for (const uint64_t row : place.rows) bias.values.push_back(factors.scale * factors.bias[row]);
  }
}

void AdapterBuilder::replace(std::string_view label, const AdapterMatrix& values,
                             std::span<const AdapterPlace> places) {
  for (const AdapterPlace& place : places) {
    if (columns_of(place) != values.columns) {
      fail(Code::Format, "{}: tensor {} has {} columns, but the adapter's {} has {}", model_.name(),
           quoted(place.name), columns_of(place), quoted(label), values.columns);
    }
    ReplacedRows& rows = adapter_.replaced.emplace_back();
    rows.tensor = place.name;
    const uint64_t total = place.tensor->num_values() / values.columns;
    if (place.rows.size() != total) {
      for (uint64_t i = 0; i < place.rows.size(); ++i) rows.rows.push_back(place.first_row + i);
    }
    rows.num_columns = values.columns;
    for (const uint64_t row : place.rows) {
      for (uint64_t column = 0; column < values.columns; ++column) {
        float value = values.values[row * values.columns + column];
        if (place.adds_one) value += 1.0f;
        if (place.takes_exp) value = -std::exp(value);
        rows.values.push_back(value);
      }
    }
    if (is_vector(place)) {  // values of one row
      if (!rows.rows.empty()) {
        fail(Code::Unsupported, "{}: {}: a part of {} is not replaced", adapter_.name,
             quoted(label), quoted(place.name));
      }
      rows.num_columns = rows.values.size();
    }
  }
}

void AdapterBuilder::replace_rows(std::string_view label, const std::vector<uint64_t>& rows,
                                  AdapterMatrix values, const AdapterPlace& place) {
  if (values.rows != rows.size() || values.columns != columns_of(place)) {
    fail(Code::Format, "{}: {}: is [{}, {}], not [{}, {}]", adapter_.name, quoted(label),
         values.rows, values.columns, rows.size(), columns_of(place));
  }
  const uint64_t total = place.tensor->num_values() / values.columns;
  std::vector<uint64_t> sorted = rows;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end() ||
      (!sorted.empty() && sorted.back() >= total)) {
    fail(Code::Format, "{}: {}: tokens occur twice or are not below {}", adapter_.name,
         quoted(label), total);
  }
  if (rows.empty()) return;
  adapter_.replaced.push_back({place.name, rows, values.columns, std::move(values.values)});
}

std::shared_ptr<const Adapter> AdapterBuilder::finish() && {
  if (adapter_.changes.empty() && adapter_.replaced.empty()) {
    fail(Code::Format, "{}: changes no tensor of the model", adapter_.name);
  }
  adapter_.fingerprint = hash_of_adapter(adapter_);
  return std::make_shared<const Adapter>(std::move(adapter_));
}

}  // namespace tenon
