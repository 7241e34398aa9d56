// Changes to a model file that contradict the rest of it, as a broken converter or somebody who wants to
// break the engine would make them. For tests only.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/mutation/mutated_file.h"

namespace tenon::mutation {

class Contradiction {
 public:
  Contradiction(File& file, SplitMix& random)
      : file_(file), random_(random), prefix_(file.architecture() + ".") {}

  /// Makes one; what it is.
  std::string make() {
    switch (below(12)) {
      case 0:
        return experts();
      case 1:
        return heads();
      case 2:
        return rope();
      case 3:
        return set("attention.sliding_window",
                   one_of<double>({0, 1, 2147483648.0, 4294967295.0, 1e18}));
      case 4:
        return twice();
      case 5:
        return vocabulary();
      case 6:
        return special_token();
      case 7:
        return set(one_of<const char*>({"block_count", "context_length", "embedding_length",
                                        "feed_forward_length", "vocab_size"}),
                   one_of<double>({0, 1, 511, 65536, 4294967295.0, 9e18}));
      case 8:
        return reals();
      case 9:
        return layer();
      case 10:
        return formats();
      default:
        return types();
    }
  }

 private:
  uint64_t below(uint64_t limit) { return random_.next() % limit; }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

  /// A number of the architecture, of 32 bits where it fits into them.
  std::string set(const std::string& name, double number) {
    Key* key = file_.find(prefix_ + name);
    if (key == nullptr) {
      file_.keys.push_back({prefix_ + name, ValueType::U32, ValueType::U32, {}, {}});
      key = &file_.keys.back();
    }
    const bool is_real = key->type == ValueType::F32;
    const bool is_wide = number > std::numeric_limits<uint32_t>::max();
    if (!is_real) key->type = number < 0 ? ValueType::I32 : ValueType::U32;
    if (!is_real && is_wide) key->type = ValueType::U64;
    key->texts.clear();
    key->numbers = {number};
    return fmt::format("{} = {}", key->name, number);
  }
  /// Of the file; 1: it does not say.
  double get(const std::string& name) {
    const Key* key = file_.find(prefix_ + name);
    return key != nullptr && !key->numbers.empty() ? key->numbers[0] : 1;
  }

  std::string experts() {
    switch (below(4)) {
      case 0:
        return set("expert_used_count", get("expert_count") + 1);
      case 1:
        return set("expert_used_count", 0);
      case 2:
        return set("expert_count", one_of<double>({0, 1, 3, 513, 1e6}));
      default:
        return set("expert_group_count", one_of<double>({0, 3, 7, 1e6})) + ", " +
               set("expert_group_used_count", one_of<double>({0, 4, 8, 1e6}));
    }
  }
  std::string heads() {
    switch (below(4)) {
      case 0:
        return set("attention.head_count", one_of<double>({0, 3, 7, 13, 4096, 1e6}));
      case 1:
        return set("attention.head_count_kv", get("attention.head_count") + 1);
      case 2:
        return set("attention.head_count_kv", one_of<double>({0, 3, 5, 7, -1}));
      default:
        return set(one_of<const char*>({"attention.key_length", "attention.value_length"}),
                   one_of<double>({0, 1, 2, 31, 257, 65536}));
    }
  }
  std::string rope() {
    switch (below(4)) {
      case 0:
        return set("rope.dimension_count", get("attention.key_length") * 2 + 2);
      case 1:
        return set("rope.dimension_count", one_of<double>({0, 1, 3, 7, 4096}));
      case 2:
        return set("rope.freq_base", one_of<double>({0, -1, 1, 1e30}));
      default: {
        Key key{prefix_ + "rope.dimension_sections", ValueType::Array, ValueType::I32, {}, {}};
        for (uint64_t i = below(6); i > 0; --i) {
          key.numbers.push_back(one_of<double>({0, 1, 8, 1000, -1, 2147483647}));
        }
        file_.keys.push_back(key);
        return fmt::format("{} sections", key.numbers.size());
      }
    }
  }
  std::string twice() {
    const Key copy = file_.keys[below(file_.keys.size())];
    file_.keys.push_back(copy);
    return copy.name + " twice";
  }

  std::string vocabulary() {
    const std::string name =
        one_of<const char*>({"tokens", "scores", "token_type", "merges", "model", "pre"});
    Key* key = file_.find("tokenizer.ggml." + name);
    if (key == nullptr) {
      file_.keys.push_back({"tokenizer.ggml." + name, ValueType::Array, ValueType::String, {}, {}});
      key = &file_.keys.back();
    }
    if (key->type != ValueType::Array) {
      for (std::string& text : key->texts) text = one_of<const char*>({"", "none", "\xff", "gpt2"});
      for (double& number : key->numbers) number = -1;
      return fmt::format("other {}", key->name);
    }
    const size_t size = key->is_text() ? key->texts.size() : key->numbers.size();
    const size_t other = one_of<size_t>({0, 1, size / 2, size + 1, size + 100});
    switch (below(4)) {
      case 0:  // more or fewer
        key->texts.resize(key->is_text() ? other : 0, "new");
        key->numbers.resize(key->is_text() ? 0 : other, 1e9);
        break;
      case 1:  // all alike
        std::ranges::fill(key->texts, one_of<const char*>({"", "a", "a b", " ", "\xff", "a  b c"}));
        std::ranges::fill(key->numbers, one_of<double>({-1, 0, 7, 1e9, std::nan("")}));
        break;
      case 2:  // one odd value
        if (!key->texts.empty()) key->texts[below(size)] = std::string(100'000, 'x');
        if (!key->numbers.empty()) key->numbers[below(size)] = std::nan("");
        break;
      default:
        key->type = one_of<ValueType>({ValueType::U32, ValueType::String, ValueType::F32});
        key->numbers.resize(1, 3);
        key->texts.resize(1, "3");
    }
    return fmt::format("other {}", key->name);
  }
  std::string special_token() {
    const std::string name =
        fmt::format("tokenizer.ggml.{}_token_id",
                    one_of<const char*>({"bos", "eos", "eot", "unknown", "padding", "seperator",
                                         "mask", "eom", "fim_pre"}));
    const double id = one_of<double>({1e6, 4294967295.0, 511, 512, -1});
    std::erase_if(file_.keys, [&](const Key& key) { return key.name == name; });
    file_.keys.push_back(
        {name, id < 0 ? ValueType::I32 : ValueType::U32, ValueType::U32, {id}, {}});
    return fmt::format("{} = {}", name, id);
  }

  std::string reals() {
    std::string text;
    const double number = one_of<double>(
        {std::nan(""), HUGE_VAL, -HUGE_VAL, 0, -0.0, 1e-45, std::numeric_limits<float>::max()});
    for (Key& key : file_.keys) {
      if (key.type != ValueType::F32 || below(2) == 0) continue;
      key.numbers[0] = number;
      text += fmt::format("{} = {}, ", key.name, number);
    }
    return text;
  }

  /// Whole layers that are gone, in another place, or there once more.
  std::string layer() {
    const std::string from = fmt::format("blk.{}.", below(3));
    const std::string to = fmt::format("blk.{}.", below(2) == 0 ? below(3) : 4294967295u);
    const uint64_t what = below(3);
    std::vector<Tensor> more;
    for (Tensor& tensor : file_.tensors) {
      if (!tensor.name.starts_with(from)) continue;
      if (what == 0) tensor.name = "gone." + tensor.name;
      if (what == 1) tensor.name = to + tensor.name.substr(from.size());
      if (what == 2) {
        more.push_back(tensor);
        more.back().name = to + tensor.name.substr(from.size());
      }
    }
    file_.tensors.insert(file_.tensors.end(), more.begin(), more.end());
    return fmt::format("{} {} {}", from, what, to);
  }
  /// All tensors of one kind in another format, as many as may be.
  std::string formats() {
    const FormatInfo& info = kFormats[below(std::size(kFormats))];
    const std::string part = one_of<const char*>({"attn", "ffn", "norm", "embd", "ssm", "weight"});
    for (Tensor& tensor : file_.tensors) {
      const uint64_t bytes = bytes_of(tensor.shape, info.id, uint64_t{1} << 21);
      if (tensor.name.find(part) == std::string::npos || bytes == UINT64_MAX) continue;
      tensor.format = info.id;
      tensor.bytes.resize(bytes, std::byte{0x3c});
    }
    return fmt::format("\"{}\" in {}", part, info.name);
  }
  /// Every key of the architecture with another type of value.
  std::string types() {
    const ValueType type = one_of<ValueType>({ValueType::String, ValueType::Bool, ValueType::F64,
                                              ValueType::I8, ValueType::U64, ValueType::Array});
    std::string text;
    for (Key& key : file_.keys) {
      if (!key.name.starts_with(prefix_) || below(3) != 0) continue;
      if (type == ValueType::Array) {
        if (key.type != ValueType::Array) key.element = key.type;
        key.numbers.resize(below(3), 1);
        key.texts.resize(below(3), "1");
      } else {
        key.numbers.resize(1, 1);
        key.texts.resize(1, "1");
      }
      key.type = type;
      text += key.name + ", ";
    }
    return fmt::format("{}as type {}", text, static_cast<uint32_t>(type));
  }

  File& file_;
  SplitMix& random_;
  std::string prefix_;
};

}  // namespace tenon::mutation
