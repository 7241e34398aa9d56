#include "json/json_tree.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_reader.h"

namespace tenon {
namespace {

using TakeMember = std::function<void(std::string key, JsonNode value)>;

/// Builds the tree, or one member of the root after another, and refuses at the first value beyond
/// a limit.
class TreeBuilder final : public JsonEvents {
 public:
  /// take: null for the whole tree.
  TreeBuilder(std::string_view name, const JsonLimits& limits, const TakeMember* take)
      : name_(name), limits_(limits), take_(take) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override {
    JsonNode node;
    node.kind = JsonNode::Kind::Bool;
    node.flag = value;
    return add(std::move(node));
  }
  bool count(uint64_t value) override {
    JsonNode node;
    node.kind = JsonNode::Kind::Number;
    node.is_count = true;
    node.count = value;
    node.number = static_cast<double>(value);
    return add(std::move(node));
  }
  bool integer(int64_t value) override { return add_number(static_cast<double>(value)); }
  bool real(double value, const std::string& /*text*/) override { return add_number(value); }
  bool string(std::string& value) override {
    JsonNode node;
    node.kind = JsonNode::Kind::String;
    node.text = std::move(value);
    return add(std::move(node));
  }
  bool begin_object() override { return open(JsonNode::Kind::Object); }
  bool key(std::string& key) override {
    key_ = std::move(key);
    return true;
  }
  bool end_object() override {
    if (!open_.empty()) check_keys(*open_.back());
    return close();
  }
  bool begin_array() override { return open(JsonNode::Kind::Array); }
  bool end_array() override { return close(); }
  void refuse(JsonFault fault, size_t position) override {
    if (fault == JsonFault::Range) {
      fail(Code::Format, "{}: a number is beyond the range of doubles", name_);
    }
    fail(Code::Format, "{}: not JSON at byte {}", name_, position);
  }

  [[nodiscard]] JsonNode take_tree() { return std::move(tree_); }

 private:
  bool add_number(double value) {
    JsonNode node;
    node.kind = JsonNode::Kind::Number;
    node.number = value;
    return add(std::move(node));
  }

  /// Whether the root object hands over its members.
  [[nodiscard]] bool is_streaming() const { return take_ != nullptr; }

  JsonNode& place(JsonNode value) {
    if (++num_values_ > limits_.max_values) {
      fail(Code::Limit, "{}: more than {} values", name_, limits_.max_values);
    }
    if (open_.empty()) {
      if (is_streaming() && !in_root_) fail(Code::Format, "{}: is no JSON object", name_);
      if (is_streaming()) member_key_ = std::move(key_);
      return tree_ = std::move(value);
    }
    JsonNode& parent = *open_.back();
    if (parent.kind == JsonNode::Kind::Object) parent.keys.push_back(std::move(key_));
    return parent.items.emplace_back(std::move(value));
  }

  bool add(JsonNode value) {
    place(std::move(value));
    finish_value();
    return true;
  }

  bool open(JsonNode::Kind kind) {
    if (open_.size() + (in_root_ ? 1 : 0) >= limits_.max_depth) {
      fail(Code::Limit, "{}: nested deeper than {}", name_, limits_.max_depth);
    }
    if (is_streaming() && !in_root_ && kind == JsonNode::Kind::Object) {
      in_root_ = true;
      return true;
    }
    JsonNode node;
    node.kind = kind;
    open_.push_back(&place(std::move(node)));
    return true;
  }

  bool close() {
    if (open_.empty()) return true;  // the root of a stream
    open_.pop_back();
    finish_value();
    return true;
  }

  void finish_value() {
    if (!is_streaming() || !open_.empty()) return;
    num_values_ = 0;
    (*take_)(std::move(member_key_), std::move(tree_));
    tree_ = {};
  }

  void check_keys(const JsonNode& node) const {
    std::vector<std::string_view> keys(node.keys.begin(), node.keys.end());
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys);
    if (twice != keys.end()) {
      fail(Code::Format, "{}: an object has the key {} twice", name_, tenon::quoted(*twice));
    }
  }

  std::string_view name_;
  JsonLimits limits_;
  const TakeMember* take_;
  JsonNode tree_;                // or the member of the root that is under way
  std::vector<JsonNode*> open_;  // each is the last value of the one before
  std::string key_;
  std::string member_key_;
  uint64_t num_values_ = 0;
  bool in_root_ = false;  // streaming: the root object has begun
};

void run_builder(std::string_view text, std::string_view name, const JsonLimits& limits,
                 TreeBuilder& builder) {
  if (text.size() > limits.max_bytes) {
    fail(Code::Limit, "{}: {} bytes, the limit is {}", name, text.size(), limits.max_bytes);
  }
  read_json(text, builder);
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::string_view JsonNode::text_of(std::string_view key) const {
  const JsonNode* member = find(key);
  return member != nullptr && member->is(Kind::String) ? std::string_view(member->text) : "";
}

JsonNode parse_json_tree(std::string_view text, std::string_view name, const JsonLimits& limits) {
  TreeBuilder builder(name, limits, nullptr);
  run_builder(text, name, limits, builder);
  return builder.take_tree();
}

void for_each_json_member(std::string_view text, std::string_view name, const JsonLimits& limits,
                          const TakeMember& take) {
  TreeBuilder builder(name, limits, &take);
  run_builder(text, name, limits, builder);
}

}  // namespace tenon
