// The models of tests/data/golden: files in memory, made from a description. Weights come from a
// generator shared with make/make_goldens.py. For tests only.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/engine/tiny_model.h"
#include "tests/file/gguf_writer.h"
#include "tests/golden/golden.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon::golden {

/// A model, its input and its expected output.
class GoldenModel {
 public:
  /// folder: of tests/data
  explicit GoldenModel(const std::string& name, const std::string& folder = "golden")
      : name_(name),
        folder_(folder),
        description_(nlohmann::json::parse(read_text(path(".json")))),
        logits_(read_floats(path(".logits"))) {}

  [[nodiscard]] std::vector<Token> tokens() const { return description_.at("tokens"); }
  /// Encoder-decoders: number of tokens for the encoder.
  [[nodiscard]] size_t source_tokens() const { return description_.at("source_tokens"); }
  /// [tokens, 3]; empty means text positions.
  [[nodiscard]] std::vector<int32_t> positions() const {
    return description_.value("positions", std::vector<int32_t>());
  }
  /// Positions that the model is opened for; 0 means the training length.
  [[nodiscard]] uint32_t context() const { return description_.value("context", uint32_t{0}); }
  /// [tokens, vocab]
  [[nodiscard]] const std::vector<float>& logits() const { return logits_; }
  [[nodiscard]] uint32_t vocab() const { return description_.at("vocab"); }

  /// Names the token in the file, instead of "word7".
  void name_token(uint32_t token, std::string name) { names_[token] = std::move(name); }

  /// left_out: selects tensors that the file lacks.
  [[nodiscard]] std::shared_ptr<const ByteSource> source(
      const std::function<bool(std::string_view)>& left_out = {}) const {
    GgufWriter file;
    for (const auto& [key, value] : description_.at("keys").items()) add_key(file, key, value);
    add_vocabulary(file);
    for (const nlohmann::json& tensor : description_.at("tensors")) {
      if (left_out && left_out(tensor.at(0).get<std::string>())) continue;
      const auto shape = tensor.at(1).get<std::vector<uint64_t>>();
      const std::vector<float> values = values_of(tensor.at(0), shape, tensor.at(2), tensor.at(3));
      if (tensor.size() > 4) {  // "i32": rounded
        file.add_tensor(tensor.at(0), shape, Format::I32, whole(values));
      } else {
        file.add_tensor(tensor.at(0), shape, values);
      }
    }
    return std::make_shared<OwnedSource>(file.finish(), name_ + ".gguf");
  }

 private:
  [[nodiscard]] std::string path(const char* ending) const {
    return std::string(TENON_TEST_DATA_DIR "/") + folder_ + "/" + name_ + ending;
  }

  static void add_key(GgufWriter& file, const std::string& key, const nlohmann::json& value) {
    if (value.is_boolean()) {
      file.add(key, value.get<bool>());
    } else if (value.is_number_integer() && value < 0) {
      file.add(key, value.get<int32_t>());
    } else if (value.is_number_integer()) {
      file.add(key, value.get<uint32_t>());
    } else if (value.is_number()) {
      file.add(key, value.get<float>());
    } else if (value.is_string()) {
      file.add(key, value.get<std::string>());
    } else if (value.at(0).is_boolean()) {
      file.add_raw(key, ValueType::Array, bools(value).bytes());
    } else if (value.at(0).is_number_integer() && value.at(0) > INT32_MAX) {
      file.add(key, value.get<std::vector<uint64_t>>());
    } else if (value.at(0).is_number_integer()) {
      file.add(key, value.get<std::vector<int32_t>>());
    } else {
      std::vector<float> numbers;
      for (const nlohmann::json& one : value) {
        numbers.push_back(one.is_null() ? -INFINITY : one.get<float>());
      }
      file.add(key, numbers);
    }
  }

  static ByteWriter bools(const nlohmann::json& values) {
    ByteWriter bytes;
    bytes.put(static_cast<uint32_t>(ValueType::Bool)).put<uint64_t>(values.size());
    for (const nlohmann::json& value : values) bytes.put<uint8_t>(value.get<bool>() ? 1 : 0);
    return bytes;
  }

  void add_vocabulary(GgufWriter& file) const {
    std::vector<std::string> tokens(vocab());
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = "word" + std::to_string(i);
    for (const auto& [token, name] : names_) tokens.at(token) = name;
    file.add("tokenizer.ggml.model", "bert");
    file.add("tokenizer.ggml.tokens", tokens);
    file.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
  }

  /// centre + spread * u, with u from [-1, 1). The products are exact.
  [[nodiscard]] std::vector<float> values_of(const std::string& tensor,
                                             const std::vector<uint64_t>& shape, double centre,
                                             double spread) const {
    uint64_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    std::vector<float> values;
    uint64_t state = name_seed(name_ + "/" + tensor);
    while (values.size() < count) {
      values.push_back(static_cast<float>(centre + spread * next_uniform(state)));
    }
    return values;
  }

  /// Rounds to integers, as bytes of i32.
  static std::vector<std::byte> whole(const std::vector<float>& values) {
    std::vector<std::byte> bytes;
    for (const float value : values) {
      const auto number = static_cast<int32_t>(std::lround(value));
      const auto* raw = reinterpret_cast<const std::byte*>(&number);
      bytes.insert(bytes.end(), raw, raw + sizeof number);
    }
    return bytes;
  }

  /// FNV-1a, 64 bits.
  static uint64_t name_seed(std::string_view name) {
    uint64_t seed = 0xcbf29ce484222325u;
    for (const char byte : name) {
      seed = (seed ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
    }
    return seed;
  }

  /// The upper 24 bits of SplitMix64.
  static double next_uniform(uint64_t& state) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (static_cast<double>(z >> 40) - 0x1p23) * 0x1p-23;
  }

  std::string name_;
  std::string folder_;
  nlohmann::json description_;
  std::vector<float> logits_;
  std::map<uint32_t, std::string> names_;  // of tokens
};

}  // namespace tenon::golden
