#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "file/metadata.h"

namespace tenon {
namespace {

template <typename T>
T parse_number(std::string_view text, std::string_view whole, std::string_view type) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(Code::Argument, "override {}: {} is no {}", quoted(whole), quoted(text), type);
  }
  return value;
}

}  // namespace

MetadataOverride parse_metadata_override(std::string_view text) {
  const size_t equals = text.find('=');
  const size_t colon = equals == text.npos ? text.npos : text.find(':', equals);
  if (equals == 0 || colon == text.npos) {
    fail(Code::Argument, "override {}: expected key=type:value", quoted(text));
  }
  std::string key(text.substr(0, equals));
  const std::string_view type = text.substr(equals + 1, colon - equals - 1);
  const std::string_view value = text.substr(colon + 1);
  if (type == "int") {
    return {std::move(key), MetadataValue::of(parse_number<int64_t>(value, text, "int"))};
  }
  if (type == "float") {
    const auto number = parse_number<double>(value, text, "float");
    if (!std::isfinite(number)) fail(Code::Argument, "override {}: not finite", quoted(text));
    return {std::move(key), MetadataValue::of(number)};
  }
  if (type == "bool" && (value == "true" || value == "false")) {
    return {std::move(key), MetadataValue::of(value == "true")};
  }
  if (type == "str") return {std::move(key), MetadataValue::of(std::string(value))};
  fail(Code::Argument, "override {}: expected int:N, float:X, bool:true, bool:false or str:TEXT",
       quoted(text));
}

void apply_overrides(Metadata& metadata, std::vector<MetadataOverride> overrides) {
  std::vector<std::string> overridden;
  for (MetadataOverride& item : overrides) {
    if (item.key.empty() || !is_utf8(item.key)) {
      fail(Code::Argument, "override: key {} is empty or not UTF-8", quoted(item.key));
    }
    // Descriptive keys are shown to users and need no reader.
    const bool is_shown = item.key.starts_with("general.") && metadata.contains(item.key);
    if (!is_shown) overridden.push_back(item.key);
    metadata.set(std::move(item.key), std::move(item.value));
  }
  if (!overridden.empty()) metadata.watch(std::move(overridden));
}

}  // namespace tenon
