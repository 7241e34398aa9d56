// Keys: lookup and range checks.
#include "arch/keys/keys.h"

#include <utility>

namespace tenon {

Keys::Keys(const Metadata& metadata)
    : metadata_(metadata), architecture_(metadata.get_string("general.architecture")) {}

std::string Keys::key(std::string_view name) const {
  return fmt::format("{}.{}", architecture_, name);
}

bool Keys::contains(std::string_view name) const { return metadata_.contains(key(name)); }

uint32_t Keys::in_range(std::string_view name, uint32_t value, uint32_t low, uint32_t high) const {
  if (value >= low && value <= high) return value;
  refuse(Code::Format, name, "is {}, not in {}..{}", value, low, high);
}

uint32_t Keys::count(std::string_view name, uint32_t low, uint32_t high) const {
  return in_range(name, metadata_.get<uint32_t>(key(name)), low, high);
}

uint32_t Keys::count_or(std::string_view name, uint32_t fallback, uint32_t low,
                        uint32_t high) const {
  return contains(name) ? count(name, low, high) : fallback;
}

int64_t Keys::whole(std::string_view name, int64_t low, int64_t high) const {
  const auto value = metadata_.get<int64_t>(key(name));
  if (value >= low && value <= high) return value;
  refuse(Code::Format, name, "is {}, not in {}..{}", value, low, high);
}

std::vector<uint32_t> Keys::counts(std::string_view name, uint32_t layers, uint32_t low,
                                   uint32_t high) const {
  std::vector<uint32_t> values = metadata_.get_u32_each(key(name), layers);
  for (const uint32_t value : values) in_range(name, value, low, high);
  return values;
}

std::vector<uint32_t> Keys::counts_or(std::string_view name, std::vector<uint32_t> fallback,
                                      uint32_t low, uint32_t high) const {
  if (!contains(name)) return fallback;
  return counts(name, static_cast<uint32_t>(fallback.size()), low, high);
}

std::vector<uint64_t> Keys::wholes(std::string_view name, uint64_t size, uint64_t low,
                                   uint64_t high) const {
  const std::vector<uint64_t> values = metadata_.get<std::vector<uint64_t>>(key(name));
  if (values.size() != size) {
    refuse(Code::Format, name, "has {} entries, not {}", values.size(), size);
  }
  return first_wholes(name, size, low, high);
}

std::vector<uint64_t> Keys::some_wholes(std::string_view name, uint64_t low, uint64_t high) const {
  const std::vector<uint64_t> values = metadata_.get<std::vector<uint64_t>>(key(name));
  return first_wholes(name, values.size(), low, high);
}

std::vector<uint64_t> Keys::first_wholes(std::string_view name, uint64_t size, uint64_t low,
                                         uint64_t high) const {
  std::vector<uint64_t> values = metadata_.get<std::vector<uint64_t>>(key(name));
  if (values.size() < size) {
    refuse(Code::Format, name, "has {} entries, fewer than {}", values.size(), size);
  }
  values.resize(size);
  for (const uint64_t value : values) {
    if (value < low || value > high) {
      refuse(Code::Format, name, "is {}, not in {}..{}", value, low, high);
    }
  }
  return values;
}

double Keys::number(std::string_view name, double low, double high) const {
  const auto value = metadata_.get<double>(key(name));
  // This form fails for NaN.
  if (value >= low && value <= high) return value;
  refuse(Code::Format, name, "is {}, not in {}..{}", value, low, high);
}

double Keys::number_or(std::string_view name, double fallback, double low, double high) const {
  return contains(name) ? number(name, low, high) : fallback;
}

float Keys::scale_or(std::string_view name, double fallback) const {
  const double scale = number_or(name, 0.0, 0.0, 1e6);
  if (scale == 0.0) return static_cast<float>(fallback);
  return static_cast<float>(number(name, 1e-6, 1e6));
}

std::optional<bool> Keys::flag(std::string_view name) const {
  return metadata_.find<bool>(key(name));
}

bool Keys::is_list(std::string_view name) const {
  const MetadataValue* value = metadata_.find_value(key(name));
  return value != nullptr && value->type == ValueType::Array;
}

std::vector<bool> Keys::flags(std::string_view name, uint32_t layers) const {
  if (!is_list(name)) return std::vector<bool>(layers, metadata_.get<bool>(key(name)));
  if (metadata_.find_value(key(name))->element != ValueType::Bool) {
    const std::vector<uint32_t> numbers = counts(name, layers, 0, 1);
    return {numbers.begin(), numbers.end()};
  }
  std::vector<bool> values = metadata_.get<std::vector<bool>>(key(name));
  if (values.size() != layers) {
    refuse(Code::Format, name, "has {} entries for {} layers", values.size(), layers);
  }
  return values;
}

std::vector<double> Keys::numbers_or(std::string_view name, double fallback, uint32_t layers,
                                     double low, double high) const {
  const MetadataValue* value = metadata_.find_value(name);
  std::vector<double> values(layers, fallback);
  if (value != nullptr && value->type == ValueType::Array) {
    const auto list = metadata_.get<std::vector<float>>(name);
    values.assign(list.begin(), list.end());
  } else if (value != nullptr) {
    values.assign(layers, metadata_.get<double>(name));
  }
  if (values.size() != layers) {
    fail(Code::Format, "{}: key \"{}\" has {} entries for {} layers", file_name(), name,
         values.size(), layers);
  }
  for (const double number : values) {
    if (number >= low && number <= high) continue;
    fail(Code::Format, "{}: key \"{}\" is {}, not in {}..{}", file_name(), name, number, low, high);
  }
  return values;
}

std::string_view Keys::text_or(std::string_view name, std::string_view fallback) const {
  return metadata_.get_or<std::string_view>(key(name), fallback);
}

}  // namespace tenon
