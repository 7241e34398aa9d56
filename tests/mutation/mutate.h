// Changes to a model file, drawn from a seed: keys that lie, tensors of other shapes, and files
// whose tensors follow odd keys. For tests only.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/mutation/contradict.h"
#include "tests/mutation/mutated_file.h"

namespace tenon::mutation {

/// Values of a tensor file that follows its keys.
inline constexpr uint64_t kMostValues = uint64_t{1} << 21;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  /// Changes the file; what was done is in text().
  void mutate(File& file) {
    text_.clear();
    if (below(3) == 0) {
      text_ = Contradiction(file, random_).make() + "; ";
      if (below(3) == 0 && follow_keys(file, random_, kMostValues)) text_ += "tensors follow; ";
      return;
    }
    const uint64_t edits = 1 + below(3);
    const bool follows = below(2) == 0;
    for (uint64_t i = 0; i < edits; ++i) {
      follows || below(3) != 0 ? mutate_key(file) : mutate_tensor(file);
    }
    if (follows && follow_keys(file, random_, kMostValues)) text_ += "tensors follow; ";
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// A number below `limit`, which is more than 0.
  uint64_t below(uint64_t limit) { return random_.next() % limit; }

 private:
  template <typename T>
  T& any_of(std::vector<T>& list) {
    return list[below(list.size())];
  }
  template <typename... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...) + "; ";
  }

  /// Names that architectures read, of all of them.
  static const std::vector<std::string>& known_names() {
    static const std::vector<std::string> names = [] {
      std::set<std::string> all = {"logit_scale",
                                   "embedding_scale",
                                   "residual_scale",
                                   "attention.scale",
                                   "vocab_size",
                                   "rope.scaling.type",
                                   "rope.scaling.factor",
                                   "rope.scaling.alpha",
                                   "rope.freq_base_swa",
                                   "rope.scaling.attn_factor",
                                   "rope.scaling.yarn_log_multiplier",
                                   "rope.scaling.original_context_length",
                                   "attn_logit_softcapping",
                                   "attention.causal",
                                   "final_logit_softcapping",
                                   "attention.sliding_window",
                                   "leading_dense_block_count",
                                   "nextn_predict_layers",
                                   "pooling_type",
                                   "attention.temperature_scale",
                                   "attention.temperature_length",
                                   "attention.shared_kv_layers",
                                   "attention.indexer.top_k",
                                   "expert_weights_scale",
                                   "rope.scaling.finetuned",
                                   "use_parallel_residual",
                                   "rope.scale_linear"};
      for (const NamedArchitecture& one : architectures()) {
        for (const KeyValue& key : one.architecture->example) all.emplace(key.name);
      }
      return std::vector<std::string>(all.begin(), all.end());
    }();
    return names;
  }

  /// The keys that the architecture reads, and a few others.
  Key& any_key(File& file) {
    const std::string prefix = file.architecture() + ".";
    std::vector<Key*> own;
    for (Key& key : file.keys) {
      if (key.name.starts_with(prefix)) own.push_back(&key);
    }
    return own.empty() || below(12) == 0 ? any_of(file.keys) : *any_of(own);
  }

  double odd_number() {
    constexpr double kOdd[] = {0,
                               1,
                               2,
                               3,
                               4,
                               5,
                               7,
                               8,
                               16,
                               31,
                               33,
                               64,
                               65,
                               100,
                               127,
                               256,
                               1000,
                               4096,
                               16384,
                               65537,
                               1048576,
                               2147483647,
                               2147483648,
                               4294967295,
                               -1,
                               -2,
                               0.5,
                               1e-45,
                               1e-9,
                               1e30,
                               1e300,
                               std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
    return kOdd[below(std::size(kOdd))];
  }
  double other_number(double number) {
    switch (below(8)) {
      case 0:
        return number + 1;
      case 1:
        return number - 1;
      case 2:
        return number * 2;
      case 3:
        return std::floor(number / 2);
      case 4:
        return number * 3;
      case 5:
        return 1 + static_cast<double>(below(12));
      case 6:
        return -number;
      default:
        return odd_number();
    }
  }

  void mutate_key(File& file) {
    if (file.keys.empty()) return;
    switch (below(12)) {
      case 0:
        return remove_key(file);
      case 1:
        return add_key(file);
      case 2:
        return retype_key(any_key(file));
      case 3:
        return copy_key(file);
      case 4:
        return resize_key(any_key(file));
      case 5:
        return below(3) == 0 ? rename_architecture(file) : change_key(any_key(file));
      default:
        return change_key(any_key(file));
    }
  }

  void change_key(Key& key) {
    if (key.is_text()) {
      if (key.texts.empty()) return;
      std::string& text = any_of(key.texts);
      constexpr std::string_view kTexts[] = {"",         "none", "linear", "yarn",
                                             "longrope", "odd",  "\n",     "llama",
                                             "gpt2",     "bert", "t5",     "no_vocab"};
      text = kTexts[below(std::size(kTexts))];
      return say("{} = \"{}\"", key.name, text);
    }
    if (key.numbers.empty()) return;
    double& number = any_of(key.numbers);
    number = other_number(number);
    say("{} = {}", key.name, number);
  }

  void remove_key(File& file) {
    const Key& key = any_key(file);
    say("without {}", key.name);
    file.keys.erase(file.keys.begin() + (&key - file.keys.data()));
  }

  void add_key(File& file) {
    const std::string& known = known_names()[below(known_names().size())];
    const std::string name = file.architecture() + "." + known;
    if (Key* key = file.find(name)) return change_key(*key);
    Key key{name, ValueType::U32, ValueType::U32, {odd_number()}, {}};
    constexpr ValueType kTypes[] = {ValueType::U32, ValueType::U32, ValueType::F32,
                                    ValueType::Bool};
    key.type = kTypes[below(std::size(kTypes))];
    say("added {} = {}", name, key.numbers[0]);
    file.keys.push_back(std::move(key));
  }

  void retype_key(Key& key) {
    constexpr ValueType kTypes[] = {ValueType::U8,   ValueType::I32,    ValueType::U64,
                                    ValueType::F32,  ValueType::F64,    ValueType::I64,
                                    ValueType::Bool, ValueType::String, ValueType::Array};
    key.type = kTypes[below(std::size(kTypes))];
    if (key.type == ValueType::Array) {
      key.element = kTypes[below(std::size(kTypes) - 1)];
      const uint64_t count = below(6);
      key.numbers.resize(count, key.numbers.empty() ? 1.0 : key.numbers[0]);
      key.texts.resize(count, "1");
    } else {
      key.numbers.resize(1, 1.0);
      key.texts.resize(1, "1");
    }
    say("{} as type {}", key.name, static_cast<uint32_t>(key.type));
  }

  void copy_key(File& file) {
    const Key from = any_key(file);
    Key& to = any_key(file);
    if (from.is_text() != to.is_text()) return;
    to.type = from.type;
    to.element = from.element;
    to.numbers = from.numbers;
    to.texts = from.texts;
    say("{} as {}", to.name, from.name);
  }

  /// An array instead of a number, or one of another length.
  void resize_key(Key& key) {
    if (key.is_text()) return change_key(key);
    if (key.type != ValueType::Array) key.element = std::exchange(key.type, ValueType::Array);
    const uint64_t size = below(2) == 0 ? 1 + below(8) : key.numbers.size() + below(2);
    key.numbers.resize(size, key.numbers.empty() ? 0 : key.numbers[0]);
    for (double& number : key.numbers) {
      if (below(3) == 0) number = other_number(number);
    }
    say("{} has {} values", key.name, size);
  }

  void rename_architecture(File& file) {
    const auto all = architectures();
    const std::string name(all[below(all.size())].name);
    const std::string old = file.architecture() + ".";
    for (Key& key : file.keys) {
      if (key.name.starts_with(old)) key.name = name + "." + key.name.substr(old.size());
    }
    if (Key* key = file.find("general.architecture")) {
      key->type = ValueType::String;
      key->texts = {name};
    }
    say("as {}", name);
  }

  void mutate_tensor(File& file) {
    if (file.tensors.empty()) return;
    Tensor& tensor = any_of(file.tensors);
    say("{}", tensor.name);
    switch (below(8)) {
      case 0:
        say("dropped");
        file.tensors.erase(file.tensors.begin() + (&tensor - file.tensors.data()));
        return;
      case 1: {
        Tensor& other = any_of(file.tensors);
        std::swap(tensor.name, other.name);
        return say("swapped with {}", tensor.name);
      }
      case 2: {
        Tensor copy = tensor;
        copy.name = below(2) == 0 ? "blk.99.attn_q.weight" : tensor.name + ".more";
        say("also as {}", copy.name);
        file.tensors.push_back(std::move(copy));
        return;
      }
      case 3:
        return reformat(tensor);
      default:
        return reshape(tensor);
    }
  }

  void reformat(Tensor& tensor) {
    const FormatInfo& info = kFormats[below(std::size(kFormats))];
    if (bytes_of(tensor.shape, info.id, kMostValues) == UINT64_MAX) return;
    tensor.format = info.id;
    fill(tensor);
    say("in {}", info.name);
  }

  void reshape(Tensor& tensor) {
    const std::vector<uint64_t> old = tensor.shape;
    switch (below(5)) {
      case 0:
        std::swap(tensor.shape.front(), tensor.shape.back());
        break;
      case 1:
        if (tensor.shape.size() < kMaxTensorRank) tensor.shape.insert(tensor.shape.begin(), 1);
        break;
      case 2:
        if (tensor.shape.size() > 1) {
          tensor.shape[1] *= tensor.shape[0];
          tensor.shape.erase(tensor.shape.begin());
        }
        break;
      default: {
        uint64_t& extent = any_of(tensor.shape);
        const double wanted = other_number(static_cast<double>(extent));
        extent = wanted >= 1 && wanted < 1e6 ? static_cast<uint64_t>(wanted) : 1;
      }
    }
    if (bytes_of(tensor.shape, tensor.format, kMostValues) == UINT64_MAX) {
      tensor.shape = old;
      return;
    }
    fill(tensor);
    say("is [{}]", fmt::join(tensor.shape, ", "));
  }

  /// As many bytes as the shape asks for, the old ones again and again.
  static void fill(Tensor& tensor) {
    const std::vector<std::byte> old = std::move(tensor.bytes);
    tensor.bytes.assign(bytes_of(tensor.shape, tensor.format, kMostValues), std::byte{0});
    for (size_t i = 0; i < tensor.bytes.size() && !old.empty(); ++i) {
      tensor.bytes[i] = old[i % old.size()];
    }
  }

  SplitMix random_;
  std::string text_;
};

}  // namespace tenon::mutation
