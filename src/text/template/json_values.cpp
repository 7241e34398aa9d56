#include "text/template/json_values.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "json/json_reader.h"
#include "text/unicode/json_escapes.h"

namespace tenon::jinja {
namespace {

constexpr std::array<std::string_view, 10> kRoles{"user",  "assistant",    "system",  "developer",
                                                  "tool",  "function",     "ipython", "model",
                                                  "tools", "tool_response"};

class Builder final : public JsonEvents {
 public:
  explicit Builder(std::string_view what) : what_(what) {}

  bool null() override { return add(Value::none()); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool count(uint64_t value) override {
    if (value > INT64_MAX) {
      return add(Value::wide_integer(static_cast<double>(value), std::to_string(value)));
    }
    return add(Value::integer(static_cast<int64_t>(value)));
  }
  bool integer(int64_t value) override { return add(Value::integer(value)); }
  bool real(double value, const std::string& text) override {
    if (text.find_first_of(".eE") == text.npos) {
      return add(Value::wide_integer(value, text));
    }
    return add(Value::real(value));
  }
  bool string(std::string& value) override {
    const bool is_role = !open_.empty() && open_.back().is_dict && open_.back().key == "role" &&
                         std::find(kRoles.begin(), kRoles.end(), value) != kRoles.end();
    return add(Value::string(Text(std::move(value), !is_role)));
  }
  bool begin_object() override { return open(true); }
  bool key(std::string& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override {
    Value value = Value::dict(std::move(open_.back().entries));
    open_.pop_back();
    return add(std::move(value));
  }
  bool begin_array() override { return open(false); }
  bool end_array() override {
    Value value = Value::sequence(Kind::List, std::move(open_.back().items));
    open_.pop_back();
    return add(std::move(value));
  }
  void refuse(JsonFault /*fault*/, size_t position) override {
    fail(Code::Argument, "{}: no JSON at byte {}", what_, position);
  }

  [[nodiscard]] Value take() { return std::move(result_); }

 private:
  struct Open {
    bool is_dict;
    std::string key{};
    std::vector<std::pair<Value, Value>> entries{};
    std::vector<Value> items{};
  };

  bool open(bool is_dict) {
    if (open_.size() + 1 >= kMaxValueDepth) {
      fail(Code::Argument, "{}: nests deeper than {}", what_, kMaxValueDepth);
    }
    open_.push_back({.is_dict = is_dict});
    return true;
  }

  bool add(Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().is_dict) {
      open_.back().entries.emplace_back(Value::string(Text(open_.back().key, true)),
                                        std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::string_view what_;
  std::vector<Open> open_;
  Value result_;
};

}  // namespace

Value value_from_json(std::string_view json, std::string_view what) {
  Builder builder(what);
  const std::optional<std::string> repaired = without_half_surrogates(json);
  if (repaired) json = *repaired;
  try {
    read_json(json, builder);
  } catch (const Failure& failure) {
    fail(Code::Argument, "{}: {}", what, failure.what());
  }
  return builder.take();
}

}  // namespace tenon::jinja
