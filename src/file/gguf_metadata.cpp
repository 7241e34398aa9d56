#include "file/gguf_metadata.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// A key, and how messages about its value begin.
struct Key {
  std::string text;
  std::string what;  // `value of key "general.name"`
};

Key read_key(SourceReader& reader, uint64_t index) {
  const std::string place = fmt::format("key {}", index);
  std::string text = read_gguf_string(reader, kMaxGgufKeyBytes, place);
  if (text.empty()) fail(Code::Format, "{}: {} is empty", reader.name(), place);
  if (text.find('\0') != text.npos) {
    fail(Code::Format, "{}: {} {} holds a zero byte", reader.name(), place, quoted(text));
  }
  if (!is_utf8(text)) {
    fail(Code::Format, "{}: {} {} is not UTF-8", reader.name(), place, quoted(text));
  }
  std::string what = "value of key " + quoted(text);
  return {std::move(text), std::move(what)};
}

ValueType read_type(SourceReader& reader, std::string_view what) {
  const auto id = reader.read<uint32_t>(what);
  const ValueTypeInfo* info = find_value_type(id);
  if (info == nullptr) {
    fail(Code::Unsupported, "{}: {}: type {} is unknown", reader.name(), what, id);
  }
  return info->type;
}

void check_bool(const SourceReader& reader, uint8_t value, std::string_view what) {
  if (value > 1) fail(Code::Format, "{}: {}: bool is {}", reader.name(), what, value);
}

uint64_t read_integer(SourceReader& reader, ValueType type, std::string_view what) {
  const auto of_signed = [](int64_t value) { return static_cast<uint64_t>(value); };
  switch (type) {
    case ValueType::U8:
    case ValueType::Bool:
      return reader.read<uint8_t>(what);
    case ValueType::U16:
      return reader.read<uint16_t>(what);
    case ValueType::U32:
      return reader.read<uint32_t>(what);
    case ValueType::I8:
      return of_signed(reader.read<int8_t>(what));
    case ValueType::I16:
      return of_signed(reader.read<int16_t>(what));
    case ValueType::I32:
      return of_signed(reader.read<int32_t>(what));
    default:
      return reader.read<uint64_t>(what);
  }
}

void read_scalars(SourceReader& reader, const std::shared_ptr<System>& system,
                  const std::string& what, uint64_t size_bytes, MetadataValue& out) {
  out.bytes = Buffer(system, size_bytes, what);
  reader.copy(out.bytes.span(), what);
  if (out.element != ValueType::Bool) return;
  for (const std::byte value : out.bytes.span()) {
    check_bool(reader, static_cast<uint8_t>(value), what);
  }
}

/// Skips `count` strings and returns the sum of their lengths.
uint64_t measure_strings(SourceReader& reader, uint64_t count, std::string_view what) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto length = reader.check_length(reader.read<uint64_t>(what), what);
    reader.skip(length, what);
    total += length;  // cannot wrap: the skipped bytes lie in the file
  }
  return total;
}

// Makes two passes. The first measures the strings, so that allocation is exact and only after the
// file has proved to hold them.
void read_strings(SourceReader& reader, const std::shared_ptr<System>& system,
                  const std::string& what, MetadataValue& out) {
  const uint64_t begin = reader.offset();
  const uint64_t total = measure_strings(reader, out.count, what);
  if (total > kMaxGgufArrayBytes) {
    fail(Code::Limit, "{}: {}: strings of {} bytes, the limit is {}", reader.name(), what, total,
         kMaxGgufArrayBytes);
  }
  reader.seek(begin);
  out.offsets = Buffer(system, (out.count + 1) * sizeof(uint32_t), what);
  out.bytes = Buffer(system, total, what);
  uint32_t offset = 0;
  for (uint64_t i = 0; i <= out.count; ++i) {
    std::memcpy(out.offsets.data() + i * sizeof(offset), &offset, sizeof(offset));
    if (i == out.count) break;
    const auto length = reader.read<uint64_t>(what);
    if (length > total - offset) {
      fail(Code::Io, "{}: model file changed while {} was read", reader.name(), what);
    }
    reader.copy(out.bytes.span().subspan(offset, length), what);
    offset += static_cast<uint32_t>(length);
  }
}

void read_array(SourceReader& reader, const std::shared_ptr<System>& system,
                const std::string& what, MetadataValue& out) {
  out.element = read_type(reader, what);
  if (out.element == ValueType::Array) {
    fail(Code::Unsupported, "{}: {}: arrays of arrays are not supported", reader.name(), what);
  }
  out.count = reader.read<uint64_t>(what);
  const bool strings = out.element == ValueType::String;
  const uint64_t min_bytes_each =
      strings ? sizeof(uint64_t) : find_value_type(static_cast<uint32_t>(out.element))->size_bytes;
  if (out.count > reader.remaining() / min_bytes_each) {
    fail(Code::Format,
         "{}: ends at byte {} inside {}: its length exceeds the file ({} elements at {}){}",
         reader.name(), reader.offset() + reader.remaining(), what, out.count, reader.offset(),
         kCutShort);
  }
  if (out.count > kMaxGgufArrayBytes / min_bytes_each) {
    fail(Code::Limit, "{}: {}: {} elements, the limit is {}", reader.name(), what, out.count,
         kMaxGgufArrayBytes / min_bytes_each);
  }
  if (strings) {
    read_strings(reader, system, what, out);
  } else {
    read_scalars(reader, system, what, out.count * min_bytes_each, out);
  }
}

}  // namespace

std::string read_gguf_string(SourceReader& reader, uint64_t max_bytes, std::string_view what) {
  const auto length = reader.check_length(reader.read<uint64_t>(what), what);
  if (length > max_bytes) {
    fail(Code::Format, "{}: {} has {} bytes at {}, the limit is {}", reader.name(), what, length,
         reader.offset(), max_bytes);
  }
  // Reads in pieces: a source may state a size it does not have, and resize fills the string with
  // zeros.
  std::string text;
  while (text.size() < length) {
    const uint64_t done = text.size();
    text.resize(done + std::min(length - done, SourceReader::kWindowBytes));
    reader.copy(std::as_writable_bytes(std::span(text).subspan(done)), what);
  }
  return text;
}

void read_gguf_key_value(SourceReader& reader, const std::shared_ptr<System>& system,
                         uint64_t index, Metadata& out) {
  Key key = read_key(reader, index);
  if (out.contains(key.text)) {
    fail(Code::Format, "{}: key {} is there twice", reader.name(), quoted(key.text));
  }
  MetadataValue value;
  value.type = read_type(reader, key.what);
  switch (value.type) {
    case ValueType::F32:
      value.real = reader.read<float>(key.what);
      break;
    case ValueType::F64:
      value.real = reader.read<double>(key.what);
      break;
    case ValueType::String:
      value.text = read_gguf_string(reader, kMaxGgufStringBytes, key.what);
      break;
    case ValueType::Array:
      read_array(reader, system, key.what, value);
      break;
    default:
      value.integer = read_integer(reader, value.type, key.what);
      if (value.type == ValueType::Bool) {
        check_bool(reader, static_cast<uint8_t>(value.integer), key.what);
      }
  }
  out.add(std::move(key.text), std::move(value));
}

}  // namespace tenon
