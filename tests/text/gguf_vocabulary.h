// Reads the tokenizer keys of a GGUF file into a Vocabulary, for tests of src/text only. Trusts
// files as far as ByteReader does; src/file has the real reader.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/byte_reader.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

struct GgufValue {
  int64_t integer = 0;
  std::string text;
  std::vector<std::string> texts;
  std::vector<float> floats;
  std::vector<int64_t> integers;
};

class GgufMetadata {
 public:
  explicit GgufMetadata(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    ByteReader reader(std::as_bytes(std::span(bytes)), path);
    reader.take(4 + 4 + 8, "magic, version, tensor count");
    const auto count = reader.read<uint64_t>("key count");
    for (uint64_t i = 0; i < count; ++i) {
      const std::string key = read_text(reader);
      read_value(reader, reader.read<uint32_t>("type"), values_[key]);
    }
  }

  [[nodiscard]] const GgufValue* find(const std::string& key) const {
    const auto place = values_.find(key);
    return place == values_.end() ? nullptr : &place->second;
  }

 private:
  static std::string read_text(ByteReader& reader) {
    const auto size = reader.read<uint64_t>("length");
    const auto bytes = reader.take(size, "text");
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  static int64_t read_integer(ByteReader& reader, uint32_t type) {
    switch (type) {
      case 0:
      case 7:
        return reader.read<uint8_t>("u8");
      case 1:
        return reader.read<int8_t>("i8");
      case 2:
        return reader.read<uint16_t>("u16");
      case 3:
        return reader.read<int16_t>("i16");
      case 4:
        return reader.read<uint32_t>("u32");
      case 5:
        return reader.read<int32_t>("i32");
      case 12:
        reader.take(8, "f64");
        return 0;
      default:
        return reader.read<int64_t>("i64");
    }
  }

  static void read_value(ByteReader& reader, uint32_t type, GgufValue& value) {
    if (type == 8) {
      value.text = read_text(reader);
    } else if (type == 6) {
      reader.take(4, "f32");
    } else if (type == 9) {
      const auto element = reader.read<uint32_t>("element type");
      const auto count = reader.read<uint64_t>("count");
      for (uint64_t i = 0; i < count; ++i) {
        if (element == 8) {
          value.texts.push_back(read_text(reader));
        } else if (element == 6) {
          value.floats.push_back(reader.read<float>("f32"));
        } else {
          value.integers.push_back(read_integer(reader, element));
        }
      }
    } else {
      value.integer = read_integer(reader, type);
    }
  }

  std::map<std::string, GgufValue> values_;
};

inline Vocabulary read_gguf_vocabulary(const std::string& path) {
  const GgufMetadata metadata(path);
  const std::string prefix = "tokenizer.ggml.";
  Vocabulary out;
  const auto text = [&](const std::string& key) {
    const GgufValue* value = metadata.find(key);
    return value ? value->text : std::string();
  };
  const auto integer = [&](const std::string& key) -> std::optional<int64_t> {
    const GgufValue* value = metadata.find(prefix + key);
    if (!value) return std::nullopt;
    return value->integer;
  };
  const auto boolean = [&](const std::string& key) -> std::optional<bool> {
    const auto value = integer(key);
    if (!value) return std::nullopt;
    return *value != 0;
  };
  out.model = text(prefix + "model");
  out.pre = text(prefix + "pre");
  out.model_name = text("general.name");
  if (const GgufValue* value = metadata.find(prefix + "tokens")) out.tokens = value->texts;
  if (const GgufValue* value = metadata.find(prefix + "scores")) out.scores = value->floats;
  if (const GgufValue* value = metadata.find(prefix + "merges")) out.merges = value->texts;
  if (const GgufValue* value = metadata.find(prefix + "token_type")) {
    for (const int64_t type : value->integers) out.types.push_back(static_cast<TokenType>(type));
  }
  out.bos = integer("bos_token_id");
  out.eos = integer("eos_token_id");
  out.unknown = integer("unknown_token_id");
  out.padding = integer("padding_token_id");
  out.add_bos = boolean("add_bos_token");
  out.add_eos = boolean("add_eos_token");
  out.add_space_prefix = boolean("add_space_prefix");
  return out;
}

}  // namespace tenon
