#include "file/safetensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/buffer.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/source_reader.h"
#include "base/utf8.h"
#include "json/json_tree.h"

namespace tenon {
namespace {

constexpr ElementTypeInfo kElementTypes[] = {
#define TENON_ELEMENT(enumerator, name, bits) {ElementType::enumerator, name, bits},
    TENON_ELEMENT_TYPES(TENON_ELEMENT)
#undef TENON_ELEMENT
};

constexpr std::string_view kMetadataKey = "__metadata__";

/// Turns members of the header into tensors.
class HeaderReader {
 public:
  HeaderReader(std::string file, uint64_t header_bytes) : file_(std::move(file)) {
    contents_.header_bytes = header_bytes;
  }

  void take(std::string key, const JsonNode& value) {
    if (key == kMetadataKey) return read_metadata(value);
    if (contents_.tensors.size() == kMaxSafetensorsTensors) {
      fail(Code::Limit, "{}: more than {} tensors", file_, kMaxSafetensorsTensors);
    }
    check_name(key);
    place_ = fmt::format("{}: tensor {}", file_, quoted(key));
    StoredTensor tensor;
    tensor.name = std::move(key);
    tensor.type = read_type(value);
    read_extents(value, tensor);
    read_offsets(value, tensor);
    contents_.tensors.push_back(std::move(tensor));
  }

  SafetensorsContents finish() { return std::move(contents_); }

 private:
  void check_name(std::string_view name) const {
    if (name.size() > kMaxSafetensorsNameBytes) {
      fail(Code::Limit, "{}: a tensor's name has {} bytes, the limit is {}", file_, name.size(),
           kMaxSafetensorsNameBytes);
    }
    if (name.empty() || name.find('\0') != name.npos) {
      fail(Code::Format, "{}: a tensor's name is {}", file_,
           name.empty() ? "empty" : quoted(name) + ", which has a zero byte");
    }
  }

  void read_metadata(const JsonNode& value) {
    if (!value.is(JsonNode::Kind::Object)) {
      fail(Code::Format, "{}: \"{}\" is no object", file_, kMetadataKey);
    }
    if (!contents_.metadata.empty()) {
      fail(Code::Format, "{}: \"{}\" is there twice", file_, kMetadataKey);
    }
    for (size_t i = 0; i < value.items.size(); ++i) {
      if (!value.items[i].is(JsonNode::Kind::String)) {
        fail(Code::Format, "{}: \"{}\": the value of {} is no text", file_, kMetadataKey,
             quoted(value.keys[i]));
      }
      contents_.metadata.emplace_back(value.keys[i], value.items[i].text);
    }
  }

  [[nodiscard]] const JsonNode& member(const JsonNode& value, std::string_view key,
                                       JsonNode::Kind kind, const char* expected) const {
    const JsonNode* found = value.find(key);
    if (found == nullptr || !found->is(kind)) {
      fail(Code::Format, "{}: \"{}\" is {}, expected {}", place_, key,
           found == nullptr ? "missing" : "of another type", expected);
    }
    return *found;
  }

  [[nodiscard]] ElementType read_type(const JsonNode& value) const {
    const std::string& name = member(value, "dtype", JsonNode::Kind::String, "a text").text;
    for (const ElementTypeInfo& info : kElementTypes) {
      if (info.name == name) return info.id;
    }
    fail(Code::Unsupported, "{}: dtype {} is unknown; a newer version of Tenon may know it", place_,
         quoted(name));
  }

  void read_extents(const JsonNode& value, StoredTensor& tensor) const {
    const JsonNode& shape = member(value, "shape", JsonNode::Kind::Array, "an array");
    if (shape.items.size() > kMaxStoredRank) {
      fail(Code::Limit, "{}: {} dimensions, the limit is {}", place_, shape.items.size(),
           kMaxStoredRank);
    }
    tensor.rank = static_cast<uint32_t>(shape.items.size());
    uint64_t values = 1;
    for (uint32_t i = 0; i < tensor.rank; ++i) {
      if (!shape.items[i].is_count) {
        fail(Code::Format, "{}: dimension {} is no number from 0", place_, i);
      }
      tensor.shape[i] = shape.items[i].count;
      values = checked_mul(values, tensor.shape[i], place_);
    }
    const uint64_t bits = checked_mul(values, info_of(tensor.type).bits, place_);
    if (bits % 8 != 0) fail(Code::Format, "{}: {} bits are no whole bytes", place_, bits);
    tensor.bytes = bits / 8;
  }

  void read_offsets(const JsonNode& value, StoredTensor& tensor) const {
    const JsonNode& offsets = member(value, "data_offsets", JsonNode::Kind::Array, "an array");
    if (offsets.items.size() != 2 || !offsets.items[0].is_count || !offsets.items[1].is_count) {
      fail(Code::Format, "{}: \"data_offsets\" are no two numbers from 0", place_);
    }
    const uint64_t begin = offsets.items[0].count;
    const uint64_t end = offsets.items[1].count;
    if (end < begin || end - begin != tensor.bytes) {
      fail(Code::Format, "{}: is {}, which takes {} bytes, but its offsets are {} to {}", place_,
           tensor.text(), tensor.bytes, begin, end);
    }
    tensor.offset = checked_add(begin, contents_.header_bytes, place_);
    checked_add(tensor.offset, tensor.bytes, place_);
  }

  std::string file_;
  std::string place_;  // of the tensor under way, for messages
  SafetensorsContents contents_;
};

/// Sorts tensors by offset and checks that they cover the rest of the file.
void check_cover(const ByteSource& source, SafetensorsContents& contents) {
  std::ranges::sort(contents.tensors, [](const StoredTensor& a, const StoredTensor& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  uint64_t end = contents.header_bytes;
  for (const StoredTensor& tensor : contents.tensors) {
    if (tensor.offset != end) {
      fail(Code::Format, "{}: tensor {} begins at byte {}, but the one before ends at {}: {}",
           source.name(), quoted(tensor.name), tensor.offset, end,
           tensor.offset < end ? "they overlap" : "there is a hole between them");
    }
    end += tensor.bytes;
    if (end > source.size()) {
      fail(Code::Format,
           "{}: tensor {} ends at byte {} but the file has {}; the download is probably "
           "incomplete: fetch the file again",
           source.name(), quoted(tensor.name), end, source.size());
    }
  }
  if (end != source.size()) {
    fail(Code::Format, "{}: the tensors end at byte {} but the file has {}", source.name(), end,
         source.size());
  }
}

}  // namespace

const ElementTypeInfo& info_of(ElementType type) noexcept {
  return kElementTypes[static_cast<size_t>(type)];
}

uint64_t StoredTensor::num_values() const {
  uint64_t values = 1;
  for (uint32_t i = 0; i < rank; ++i) values *= shape[i];
  return values;
}

std::string StoredTensor::text() const {
  std::string out = "[";
  for (uint32_t i = 0; i < rank; ++i) out += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  return fmt::format("{}] {}", out, info_of(type).name);
}

SafetensorsContents read_safetensors(const ByteSource& source,
                                     const std::shared_ptr<System>& system) {
  SourceReader reader(source, system);
  const auto length = reader.read<uint64_t>("the length of the header");
  if (length > reader.remaining()) {
    fail(Code::Format, "{}: the header has {} bytes, but the file ends at byte {}{}", source.name(),
         length, source.size(), kCutShort);
  }
  if (length > kMaxSafetensorsHeaderBytes) {
    fail(Code::Limit, "{}: the header has {} bytes, the limit is {}", source.name(), length,
         kMaxSafetensorsHeaderBytes);
  }
  const Buffer header(system, length, source.name() + ": header");
  reader.copy(header.span(), "the header");
  const std::string_view text(reinterpret_cast<const char*>(header.data()), length);
  if (!text.starts_with('{')) {
    fail(Code::Format, "{}: the header does not begin with '{{'", source.name());
  }
  HeaderReader tensors(source.name(), sizeof(length) + length);
  const JsonLimits limits{.max_bytes = kMaxSafetensorsHeaderBytes, .max_values = 400'000};
  for_each_json_member(
      text, source.name() + ": header", limits,
      [&](std::string key, const JsonNode& value) { tensors.take(std::move(key), value); });
  SafetensorsContents contents = tensors.finish();
  check_cover(source, contents);
  return contents;
}

}  // namespace tenon
