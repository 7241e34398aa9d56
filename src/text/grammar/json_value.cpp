#include "text/grammar/json_value.h"

#include <set>

#include "json/json_reader.h"

namespace tenon::grammar {
namespace {

/// Builds the tree; returning false stops the parser.
class ValueBuilder final : public JsonEvents {
 public:
  ValueBuilder(JsonValue& root, Budget& budget) : root_(root), budget_(budget) {}
  std::string failure;

  /// JSON pointer to the position of the error, truncated if deep.
  [[nodiscard]] std::string pointer() const {
    constexpr size_t kShown = 100;
    std::string path = "#";
    for (const JsonValue* at : open_) {
      if (path.size() > kShown) return path + "/...";
      if (at->kind == JsonValue::Kind::Array) {
        path += "/" + std::to_string(at->items.size());
      } else if (!at->members.empty()) {
        path += "/" + at->members.back().first.substr(0, kShown);
      }
    }
    return path;
  }

  bool null() override { return add({}); }
  bool boolean(bool value) override {
    return add({.kind = value ? JsonValue::Kind::True : JsonValue::Kind::False});
  }
  bool count(uint64_t value) override { return number(std::to_string(value)); }
  bool integer(int64_t value) override { return number(std::to_string(value)); }
  bool real(double /*value*/, const std::string& text) override { return number(text); }
  bool string(std::string& value) override {
    return add({.kind = JsonValue::Kind::String, .text = std::move(value)});
  }
  bool begin_object() override { return open({.kind = JsonValue::Kind::Object}); }
  bool begin_array() override { return open({.kind = JsonValue::Kind::Array}); }
  bool key(std::string& name) override {
    if (!names_.back().insert(name).second) {
      failure = "an object has the member \"" + name.substr(0, 60) + "\" twice";
      return false;
    }
    open_.back()->members.emplace_back(std::move(name), JsonValue());
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  void refuse(JsonFault fault, size_t position) override {
    failure = fault == JsonFault::Range ? "a number beyond the range of a double, before byte "
                                        : "not JSON at byte ";
    failure += std::to_string(position);
  }

 private:
  bool number(std::string text) {
    return add({.kind = JsonValue::Kind::Number, .text = std::move(text)});
  }

  JsonValue* put(JsonValue value) {
    budget_.pass(16 + value.text.size());
    if (++count_ > JsonDocument::kMaxValues) {
      failure = "more than " + std::to_string(JsonDocument::kMaxValues) + " values";
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::Array) {
      parent.items.push_back(std::move(value));
      return &parent.items.back();
    }
    parent.members.back().second = std::move(value);
    return &parent.members.back().second;
  }
  bool add(JsonValue value) { return put(std::move(value)) != nullptr; }

  bool open(JsonValue value) {
    if (open_.size() >= JsonDocument::kMaxDepth) {
      failure = "nested deeper than " + std::to_string(JsonDocument::kMaxDepth);
      return false;
    }
    // The value does not move: its parent adds no other before it is closed.
    JsonValue* const at = put(std::move(value));
    if (at == nullptr) return false;
    open_.push_back(at);
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  JsonValue& root_;
  Budget& budget_;
  std::vector<JsonValue*> open_;
  std::vector<std::set<std::string>> names_;
  size_t count_ = 0;
};

}  // namespace

JsonDocument::JsonDocument(std::string_view text, Budget& budget) {
  budget.spend(text.size() / 2);  // a compilation may read many documents
  if (text.size() > kMaxBytes) budget.refuse("larger than {} bytes", kMaxBytes);
  ValueBuilder builder(root_, budget);
  if (read_json(text, builder)) return;
  budget.set_place(builder.pointer());
  budget.refuse("{}", builder.failure);
}

}  // namespace tenon::grammar
