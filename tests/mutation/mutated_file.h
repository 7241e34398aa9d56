// A model file as a list of keys and tensors that can be changed in every way, and written again.
// For tests only.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/architectures.h"
#include "file/open.h"
#include "random_model/random_blocks.h"
#include "tests/engine/tiny_model.h"
#include "tests/file/gguf_writer.h"

namespace tenon::mutation {

/// A key with its values; one that is no array has one.
struct Key {
  std::string name;
  ValueType type = ValueType::U32;
  ValueType element = ValueType::U32;  ///< of an array
  std::vector<double> numbers;
  std::vector<std::string> texts;

  [[nodiscard]] bool is_text() const {
    return (type == ValueType::Array ? element : type) == ValueType::String;
  }
};

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;  ///< outermost first
  Format format = Format::F32;
  std::vector<std::byte> bytes;
};

struct File {
  std::vector<Key> keys;
  std::vector<Tensor> tensors;

  [[nodiscard]] Key* find(std::string_view name) {
    const auto at = std::ranges::find(keys, name, &Key::name);
    return at == keys.end() ? nullptr : &*at;
  }
  [[nodiscard]] std::string architecture() {
    const Key* key = find("general.architecture");
    return key != nullptr && key->is_text() && !key->texts.empty() ? key->texts[0] : "";
  }
};

namespace detail {

template <typename T>
void append_scalars(const MetadataValue& value, std::vector<double>& out) {
  for (uint64_t i = 0; i < value.count; ++i) {
    T scalar{};
    std::memcpy(&scalar, value.bytes.data() + i * sizeof(T), sizeof(T));
    out.push_back(static_cast<double>(scalar));
  }
}

inline void append_array(const MetadataValue& value, Key& key) {
  key.element = value.element;
  switch (value.element) {
    case ValueType::String: {
      const StringArray texts(reinterpret_cast<const char*>(value.bytes.data()),
                              reinterpret_cast<const uint32_t*>(value.offsets.data()), value.count);
      for (uint64_t i = 0; i < value.count; ++i) key.texts.emplace_back(texts[i]);
      return;
    }
    case ValueType::Bool:
    case ValueType::U8:
      return append_scalars<uint8_t>(value, key.numbers);
    case ValueType::I8:
      return append_scalars<int8_t>(value, key.numbers);
    case ValueType::U16:
      return append_scalars<uint16_t>(value, key.numbers);
    case ValueType::I16:
      return append_scalars<int16_t>(value, key.numbers);
    case ValueType::U32:
      return append_scalars<uint32_t>(value, key.numbers);
    case ValueType::I32:
      return append_scalars<int32_t>(value, key.numbers);
    case ValueType::U64:
      return append_scalars<uint64_t>(value, key.numbers);
    case ValueType::I64:
      return append_scalars<int64_t>(value, key.numbers);
    case ValueType::F32:
      return append_scalars<float>(value, key.numbers);
    case ValueType::F64:
      return append_scalars<double>(value, key.numbers);
    case ValueType::Array:
      return;
  }
}

/// The nearest integer of 64 bits, whose lower ones are written; NaN is 0.
inline int64_t whole(double number) {
  if (!(number > -9e18)) return number < 0 ? INT64_MIN : 0;
  return number < 9e18 ? static_cast<int64_t>(number) : INT64_MAX;
}

inline void put_number(ByteWriter& out, ValueType type, double number) {
  const auto bits = static_cast<uint64_t>(whole(number));
  switch (type) {
    case ValueType::Bool:
      out.put<uint8_t>(number != 0 ? 1 : 0);
      return;
    case ValueType::U8:
    case ValueType::I8:
      out.put(static_cast<uint8_t>(bits));
      return;
    case ValueType::U16:
    case ValueType::I16:
      out.put(static_cast<uint16_t>(bits));
      return;
    case ValueType::U32:
    case ValueType::I32:
      out.put(static_cast<uint32_t>(bits));
      return;
    case ValueType::U64:
    case ValueType::I64:
      out.put(bits);
      return;
    case ValueType::F32: {
      const double most = std::numeric_limits<float>::max();
      out.put(std::isfinite(number) ? static_cast<float>(std::clamp(number, -most, most))
                                    : static_cast<float>(number));
      return;
    }
    case ValueType::F64:
      out.put(number);
      return;
    case ValueType::String:
    case ValueType::Array:
      return;
  }
}

}  // namespace detail

/// All keys and tensors of a file.
inline File read_file(const ModelFile& from) {
  File file;
  for (const Metadata::Entry& entry : from.metadata().entries()) {
    Key key{entry.key, entry.value.type, ValueType::U32, {}, {}};
    switch (entry.value.type) {
      case ValueType::Array:
        detail::append_array(entry.value, key);
        break;
      case ValueType::String:
        key.texts = {entry.value.text};
        break;
      case ValueType::F32:
      case ValueType::F64:
        key.numbers = {entry.value.real};
        break;
      default:
        key.numbers = {static_cast<double>(static_cast<int64_t>(entry.value.integer))};
    }
    file.keys.push_back(std::move(key));
  }
  for (const TensorInfo& info : from.tensors()) {
    Tensor tensor{info.name, {info.shape.begin(), info.shape.begin() + info.rank}, info.format, {}};
    tensor.bytes.resize(info.bytes);
    from.read(info, 0, tensor.bytes);
    file.tensors.push_back(std::move(tensor));
  }
  return file;
}

/// The file's bytes, as a source of the name "mutated.gguf".
inline std::shared_ptr<const ByteSource> source_of(const File& file, bool with_tensors = true) {
  GgufWriter writer;
  for (const Key& key : file.keys) {
    ByteWriter value;
    const bool is_array = key.type == ValueType::Array;
    const ValueType scalar = is_array ? key.element : key.type;
    if (is_array) {
      value.put(static_cast<uint32_t>(scalar));
      value.put<uint64_t>(key.is_text() ? key.texts.size() : key.numbers.size());
    }
    for (const std::string& text : key.texts) {
      if (key.is_text()) value.put_string(text);
    }
    for (const double number : key.numbers) {
      if (!key.is_text()) detail::put_number(value, scalar, number);
    }
    writer.add_raw(key.name, key.type, value.bytes());
  }
  if (with_tensors) {
    for (const Tensor& tensor : file.tensors) {
      writer.add_raw_tensor({tensor.name,
                             {tensor.shape.rbegin(), tensor.shape.rend()},
                             static_cast<uint32_t>(tensor.format),
                             {},
                             tensor.bytes,
                             {}});
    }
  }
  return std::make_shared<OwnedSource>(writer.finish(), "mutated.gguf");
}

/// Bytes that a shape asks for; UINT64_MAX: more than `most`, or no whole blocks.
inline uint64_t bytes_of(const std::vector<uint64_t>& shape, Format format, uint64_t most) {
  const FormatInfo* info = find_format(format);
  uint64_t values = 1;
  for (const uint64_t extent : shape) {
    if (extent == 0 || extent > most || values > most / extent) return UINT64_MAX;
    values *= extent;
  }
  if (info == nullptr || shape.empty() || shape.back() % info->block_values != 0) {
    return UINT64_MAX;
  }
  return values / info->block_values * info->block_bytes;
}

/// Puts tensors in place of the file's that have the names and shapes which its keys ask for, with
/// random weights. False where they would have more than `most_values`, or where the keys are
/// refused: then nothing is changed.
inline bool follow_keys(File& file, SplitMix& random, uint64_t most_values) {
  const Key* tokens = file.find("tokenizer.ggml.tokens");
  const std::string architecture = file.architecture();
  if (tokens == nullptr || architecture.empty()) return false;
  File described = file;
  if (described.find(architecture + ".vocab_size") == nullptr) {
    const auto vocab = static_cast<double>(tokens->texts.size());
    described.keys.push_back({architecture + ".vocab_size", ValueType::U32, {}, {vocab}, {}});
  }
  std::vector<WantedTensor> wanted;
  try {
    const auto source = source_of(described, false);
    wanted = wanted_tensors(open_model_file(source)->metadata());
  } catch (const Error&) {
    return false;
  }
  uint64_t values = 0;
  std::vector<Tensor> tensors;
  const bool optional = random.next() % 2 == 0;
  for (const WantedTensor& one : wanted) {
    const bool known = std::ranges::find(tensors, one.name, &Tensor::name) != tensors.end();
    if (known || (!one.required && !optional)) continue;
    const uint64_t bytes = bytes_of(one.shape, Format::F32, most_values);
    if (bytes == UINT64_MAX || (values += bytes / 4) > most_values) return false;
    const bool is_whole = one.role == TensorRole::Numbers;
    Tensor tensor{one.name, one.shape, is_whole ? Format::I32 : Format::F32, {}};
    const double spread = 1.0 / std::sqrt(static_cast<double>(one.shape.back()));
    for (uint64_t i = 0; i < bytes / 4; ++i) {
      float value = random.normal() * static_cast<float>(spread);
      if (one.role == TensorRole::Norm) value = 1.0f + 0.1f * random.normal();
      if (one.role == TensorRole::Decay) value = -1.0f + 0.1f * random.normal();
      if (one.role == TensorRole::RopeDivisors) value = 2.0f + 0.1f * random.normal();
      if (one.role == TensorRole::Numbers) {
        value = std::bit_cast<float>(static_cast<int32_t>(random.next() % (one.below + 2)) - 1);
      }
      const auto* raw = reinterpret_cast<const std::byte*>(&value);
      tensor.bytes.insert(tensor.bytes.end(), raw, raw + sizeof value);
    }
    tensors.push_back(std::move(tensor));
  }
  file.tensors = std::move(tensors);
  return true;
}

}  // namespace tenon::mutation
