// Values of templates: the Python types that templates see. jinja_operators.h and the tables of
// jinja_builtins.h have their operations.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/jinja_budget.h"
#include "text/template/jinja_text.h"

namespace tenon::jinja {

enum class Kind : uint8_t {
  Absent,  ///< an omitted argument; never a template's value
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Tuple,
  View,       ///< dict.items() and others: a sequence without indices
  Generator,  ///< result of map, select, ...: iterated once, without a length
  Dict,
  Namespace,
  Macro,
  Loop,
  Method,    ///< a method and its object
  Function,  ///< a global function
  Cycler,    ///< result of cycler(): its items in turn
  Joiner,    ///< result of joiner(): its item, except the first time
};

struct Object;
struct Sequence;
struct Dict;
struct Namespace;
struct Builtin;
struct MethodObject;
class Value;

/// Cheap to copy. Strings, lists and dicts are immutable and shared.
class Value {
 public:
  Value() = default;  // Undefined
  static Value absent() { return Value(Kind::Absent); }
  static Value none() { return Value(Kind::None); }
  /// budget: charged for the message.
  static Value undefined(std::string message, Budget* budget = nullptr);
  static Value boolean(bool value) {
    Value out(Kind::Bool);
    out.integer_ = value ? 1 : 0;
    return out;
  }
  static Value integer(int64_t value) {
    Value out(Kind::Int);
    out.integer_ = value;
    return out;
  }
  static Value real(double value) {
    Value out(Kind::Float);
    out.real_ = value;
    return out;
  }
  /// An integer beyond 64 bits: printed exactly, computed as a Float.
  static Value wide_integer(double value, std::string digits);
  /// budget: charged for the bytes and the work; null for values from outside.
  static Value string(Text text, Budget* budget = nullptr);
  /// A string that is already HTML (jinja_markup.h).
  static Value markup(Text text, Budget* budget = nullptr);
  static Value sequence(Kind kind, std::vector<Value> items, Budget* budget = nullptr);
  static Value dict(std::vector<std::pair<Value, Value>> entries, Budget* budget = nullptr);
  static Value object(Kind kind, std::shared_ptr<Object> object);
  static Value function(const Builtin* builtin);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool is_number() const {
    return kind_ == Kind::Bool || kind_ == Kind::Int || kind_ == Kind::Float;
  }
  [[nodiscard]] bool is_integral() const { return kind_ == Kind::Bool || kind_ == Kind::Int; }
  /// True for a list, tuple, view or generator.
  [[nodiscard]] bool is_sequence() const { return kind_ >= Kind::List && kind_ <= Kind::Generator; }
  /// Value of a Bool or Int.
  [[nodiscard]] int64_t as_integer() const { return integer_; }
  /// Value of any number.
  [[nodiscard]] double as_real() const {
    return kind_ == Kind::Float ? real_ : static_cast<double>(integer_);
  }
  /// Digits of a wide_integer(); null for other values.
  [[nodiscard]] const std::string* digits() const;
  [[nodiscard]] const Text& text() const;
  [[nodiscard]] bool is_markup() const;
  [[nodiscard]] const Sequence& items() const;
  [[nodiscard]] const Dict& entries() const;
  [[nodiscard]] Namespace& name_space() const;
  [[nodiscard]] const Builtin& builtin() const { return *builtin_; }
  [[nodiscard]] const std::shared_ptr<Object>& pointer() const { return object_; }
  /// Message for uses of an undefined value.
  [[nodiscard]] std::string undefined_message() const;

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::Undefined;
  union {
    int64_t integer_ = 0;
    double real_;
    const Builtin* builtin_;
  };
  std::shared_ptr<Object> object_;
};

/// Shared part of a value. Returns its memory to the budget on destruction.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (budget != nullptr) budget->release(bytes);
  }
  void charge(Budget* to, size_t amount) {
    if (to == nullptr) return;
    to->hold(amount);
    budget = to;
    bytes += amount;
  }
  Budget* budget = nullptr;
  size_t bytes = 0;
};

struct StringObject : Object {
  Text text;
  bool is_markup = false;
};

struct UndefinedObject : Object {
  std::string message;
};

/// Summary of a list or dict and its contents.
struct Extent {
  uint32_t depth = 1;
  uint32_t weight = 1;   ///< values in it; shared ones count at each occurrence
  bool foreign = false;  ///< some text in it is foreign
  /// Adds a child. Throws Failure if values nest too deep or are too many to visit.
  void include(const Value& child);
};

struct Sequence : Object {
  std::vector<Value> values;
  Extent extent;
  std::string_view type = "list";  ///< name in messages
  mutable bool used = false;       ///< an iterated generator, or a joiner that was called
  mutable size_t at = 0;           ///< position of a cycler
  bool is_range = false;           ///< made by range(): nothing can be added
  std::array<int64_t, 3> range{};  ///< begin, end and step of range()
};

struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;  ///< unique keys, in order of insertion
  Extent extent;
  /// Index of string keys, for large dicts. An ordered map, since keys come from requests and could
  /// be made to collide.
  std::map<std::string_view, size_t> index;

  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Value* find(const Value& key, Budget& spent) const;
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  mutable bool shown = false;  ///< being printed: it may contain itself
};

struct MethodObject : Object {
  Value self;
  /// Null for a method that would change its object, which is refused.
  const Builtin* builtin = nullptr;
  std::string name;
};

Extent extent_of(const Value& value);

/// Python's name of the type: "str", "NoneType".
std::string_view type_name(const Value& value);

}  // namespace tenon::jinja
