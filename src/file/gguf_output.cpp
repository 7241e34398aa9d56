#include "file/gguf_output.h"

#include <array>
#include <bit>

#include "base/checked.h"
#include "base/error.h"
#include "file/gguf.h"

namespace tenon {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kVersion = 3;

template <typename T>
void put(std::vector<std::byte>& out, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), from, from + sizeof(T));
}

}  // namespace

GgufOutput::GgufOutput(std::shared_ptr<System> system, const std::string& path)
    : file_(std::move(system), path) {}

void GgufOutput::put_text(std::vector<std::byte>& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void GgufOutput::put_key(std::string_view key, ValueType type) {
  put_text(keys_, key);
  put(keys_, static_cast<uint32_t>(type));
  ++num_keys_;
}

void GgufOutput::add(std::string_view key, uint32_t value) {
  put_key(key, ValueType::U32);
  put(keys_, value);
}

void GgufOutput::add(std::string_view key, float value) {
  put_key(key, ValueType::F32);
  put(keys_, value);
}

void GgufOutput::add(std::string_view key, bool value) {
  put_key(key, ValueType::Bool);
  put<uint8_t>(keys_, value ? 1 : 0);
}

void GgufOutput::add(std::string_view key, std::string_view value) {
  put_key(key, ValueType::String);
  put_text(keys_, value);
}

void GgufOutput::add(std::string_view key, std::span<const std::string> values) {
  put_key(key, ValueType::Array);
  put(keys_, static_cast<uint32_t>(ValueType::String));
  put<uint64_t>(keys_, values.size());
  for (const std::string& value : values) put_text(keys_, value);
}

template <typename T>
void GgufOutput::put_list(std::string_view key, ValueType type, std::span<const T> values) {
  put_key(key, ValueType::Array);
  put(keys_, static_cast<uint32_t>(type));
  put<uint64_t>(keys_, values.size());
  for (const T value : values) put(keys_, value);
}

void GgufOutput::add(std::string_view key, std::span<const int32_t> values) {
  put_list(key, ValueType::I32, values);
}

void GgufOutput::add(std::string_view key, std::span<const uint32_t> values) {
  put_list(key, ValueType::U32, values);
}

void GgufOutput::add(std::string_view key, std::span<const float> values) {
  put_list(key, ValueType::F32, values);
}

void GgufOutput::add(std::string_view key, std::span<const std::byte> values) {
  put_key(key, ValueType::Array);
  put(keys_, static_cast<uint32_t>(ValueType::U8));
  put<uint64_t>(keys_, values.size());
  keys_.insert(keys_.end(), values.begin(), values.end());
}

void GgufOutput::add(std::string_view key, const MetadataValue& value) {
  put_key(key, value.type);
  const auto put_bytes = [&](const void* from, size_t size) {
    const auto* bytes = static_cast<const std::byte*>(from);
    keys_.insert(keys_.end(), bytes, bytes + size);
  };
  switch (value.type) {
    case ValueType::F32:
      return put(keys_, static_cast<float>(value.real));
    case ValueType::F64:
      return put(keys_, value.real);
    case ValueType::String:
      return put_text(keys_, value.text);
    case ValueType::Array:
      break;
    default:  // integers, in their low bytes
      return put_bytes(&value.integer, find_value_type(uint32_t(value.type))->size_bytes);
  }
  put(keys_, static_cast<uint32_t>(value.element));
  put<uint64_t>(keys_, value.count);
  if (value.element != ValueType::String) {
    return put_bytes(value.bytes.data(), value.bytes.size());
  }
  const StringArray texts(reinterpret_cast<const char*>(value.bytes.data()),
                          reinterpret_cast<const uint32_t*>(value.offsets.data()), value.count);
  for (uint64_t i = 0; i < value.count; ++i) put_text(keys_, texts[i]);
}

void GgufOutput::add_tensor(std::string_view name, std::span<const uint64_t> shape, Format format) {
  if (name.size() > kMaxGgufTensorNameBytes || shape.empty() || shape.size() > kMaxTensorRank) {
    fail(Code::Argument, "{}: tensor \"{}\" with {} dimensions cannot be written", file_.path(),
         name.substr(0, 100), shape.size());
  }
  const FormatInfo& info = *find_format(format);
  if (is_memory_format(format)) {
    fail(Code::Argument, "{}: tensor \"{}\" is {}, which no GGUF file holds: decode it first",
         file_.path(), name, info.name);
  }
  uint64_t rows = 1;
  for (const uint64_t extent : shape.first(shape.size() - 1)) {
    rows = checked_mul(rows, extent, name, Code::Argument);
  }
  const auto bytes = row_bytes(info, shape.back());
  if (!bytes || *bytes == 0 || rows == 0) {
    fail(Code::Argument, "{}: tensor \"{}\": rows of {} values are not whole blocks of {} ({})",
         file_.path(), name, shape.back(), info.block_values, info.name);
  }
  const uint64_t size = checked_mul(rows, *bytes, name, Code::Argument);
  put_text(directory_, name);
  put(directory_, static_cast<uint32_t>(shape.size()));
  for (size_t d = shape.size(); d-- > 0;) put(directory_, shape[d]);  // innermost first in files
  put(directory_, static_cast<uint32_t>(format));
  put(directory_, next_offset_);
  tensor_bytes_ = checked_add(tensor_bytes_, size, name, Code::Argument);
  next_offset_ = checked_align_up(checked_add(next_offset_, size, name, Code::Argument),
                                  kDefaultGgufAlignment, name, Code::Argument);
  tensors_.push_back({std::string(name), size});
}

void GgufOutput::pad() {
  constexpr std::array<std::byte, kDefaultGgufAlignment> kZeros{};
  const uint64_t over = file_.size() % kDefaultGgufAlignment;
  if (over != 0) file_.write(std::span(kZeros).first(kDefaultGgufAlignment - over));
}

void GgufOutput::begin() {
  std::vector<std::byte> header;
  put(header, kGgufMagic);
  put(header, kVersion);
  put<uint64_t>(header, tensors_.size());
  put<uint64_t>(header, num_keys_);
  file_.write(header);
  file_.write(keys_);
  file_.write(directory_);
  pad();
  if (!tensors_.empty()) current_left_ = tensors_[0].size_bytes;
}

void GgufOutput::write(std::span<const std::byte> bytes) {
  if (bytes.size() > current_left_) {
    fail(Code::Internal, "{}: {} bytes for a tensor that lacks {}", file_.path(), bytes.size(),
         current_left_);
  }
  file_.write(bytes);
  current_left_ -= bytes.size();
  if (current_left_ != 0) return;
  pad();
  ++current_;
  if (current_ < tensors_.size()) current_left_ = tensors_[current_].size_bytes;
}

void GgufOutput::commit() {
  if (current_ != tensors_.size()) {
    fail(Code::Internal, "{}: tensor \"{}\" lacks {} bytes", file_.path(), tensors_[current_].name,
         current_left_);
  }
  file_.commit();
}

}  // namespace tenon
