// Runs a syntax tree: scopes, statements, expressions, calls. jinja_operators.h has operations on
// values, jinja_builtins.h declares built-in functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stack_room.h"
#include "text/template/jinja_budget.h"
#include "text/template/jinja_builtins.h"
#include "text/template/jinja_syntax.h"
#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// Variables given to a template, by name.
using Variables = std::map<std::string, Value, std::less<>>;

/// A calendar time given by the host.
struct CalendarTime {
  int32_t year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, microsecond = 0;
};

/// Variables of one level. Owned by the interpreter; reused unless a macro keeps it.
struct Scope {
  Scope* outer = nullptr;
  std::vector<std::pair<NameId, Value>> variables{};
  bool captured = false;
};

struct MacroObject : Object {
  const Signature* signature = nullptr;
  const Block* body = nullptr;
  Scope* scope = nullptr;
};

/// `loop` in the body of a for statement.
struct LoopObject : Object {
  const Stmt* statement = nullptr;
  std::vector<Value> items;
  size_t at = 0;
  uint32_t depth = 0;
  Scope* scope = nullptr;  ///< scope of a recursive loop; null if not recursive
  std::optional<std::vector<Value>> changed{};
};

class Interpreter {
 public:
  /// variables: initial definitions. now: for strftime_now, which is undefined without it.
  Interpreter(const Syntax& syntax, const Variables& variables, Budget& budget,
              std::optional<CalendarTime> now);

  /// Renders the text. Throws Failure; line() tells its line then.
  Text run();
  [[nodiscard]] uint32_t line() const { return line_; }

  // Used by built-in functions:
  [[nodiscard]] Budget& budget() { return budget_; }
  [[nodiscard]] const std::optional<CalendarTime>& now() const { return now_; }
  [[nodiscard]] Value string(Text text) { return Value::string(std::move(text), &budget_); }
  [[nodiscard]] Value string(std::string text, bool foreign = false) {
    return string(Text(std::move(text), foreign));
  }
  [[nodiscard]] Value list(std::vector<Value> items, Kind kind = Kind::List) {
    return Value::sequence(kind, std::move(items), &budget_);
  }
  Value call(const Value& callee, CallArguments arguments);
  /// value.name by the rules of the sandbox; undefined if there is no such attribute.
  Value attribute(const Value& value, const std::string& name);
  /// value[key]; undefined if there is no such item.
  Value item(const Value& value, const Value& key);
  Value filter(const std::string& name, const Value& value, CallArguments arguments);
  bool test(const std::string& name, const Value& value, CallArguments arguments);

 private:
  enum class Flow : uint8_t { Next, Break, Continue };
  class Depth;
  class Level;

  Flow run_block(const Block& block, Text& out);
  Flow run_statement(const Stmt& statement, Text& out);
  void run_output(const Stmt& statement, Text& out);
  Flow run_if(const Stmt& statement, Text& out);
  void run_for(const Stmt& statement, Text& out);
  void run_loop(const Stmt& statement, std::vector<Value> items, uint32_t depth, Text& out);
  std::vector<Value> selected(const Stmt& statement, std::vector<Value> items);
  void run_set_block(const Stmt& statement);
  void run_call_block(const Stmt& statement, Text& out);
  Flow run_with(const Stmt& statement, Text& out);
  Text captured(const Block& body);
  void append(Text& out, const Text& text);
  void assign(const Target& target, const Value& value);
  void set(NameId name, Value value);
  Value macro(const Signature& signature, const Block& body);

  Value evaluate(const Expr& expr);
  Value evaluate_node(const Expr& expr);
  Value evaluate_name(const Expr& expr);
  Value evaluate_binary(const Expr& expr);
  Value evaluate_concat(const Expr& expr);
  Value evaluate_compare(const Expr& expr);
  Value evaluate_condition(const Expr& expr);
  Value evaluate_logic(const Expr& expr);
  Value evaluate_display(const Expr& expr);
  Value evaluate_dict(const Expr& expr);
  Value evaluate_item(const Expr& expr);
  Value evaluate_slice(const Expr& expr);
  Value evaluate_call(const Expr& expr);
  Value evaluate_filter(const Expr& expr);
  Value evaluate_test(const Expr& expr);
  Value apply_filters(const Expr& chain, const Value& input);
  CallArguments arguments(const Arguments& from);
  Value call_macro(const MacroObject& callee, CallArguments arguments);
  Value call_loop(const LoopObject& loop, CallArguments arguments);
  Value loop_attribute(const LoopObject& loop, std::string_view name);

  Scope* open_scope(Scope* outer);
  void close_scope(Scope* scope);

  const Syntax& syntax_;
  Budget& budget_;
  std::optional<CalendarTime> now_;
  std::vector<std::unique_ptr<Object>> namespaces_;  // may refer to each other in a cycle
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<Scope*> free_scopes_;
  Scope* scope_ = nullptr;
  const Value* piped_value_ = nullptr;  // input of a filter block's chain
  void check_depth() const {
    if (depth_ < budget_.limits().depth && !stack_.is_used_up()) return;
    raise("nested deeper than {}, or than the stack allows", budget_.limits().depth);
  }

  uint32_t depth_ = 0;
  StackRoom stack_;
  uint32_t line_ = 1;

  friend Value make_namespace(Interpreter& jinja, std::vector<std::pair<std::string, Value>> from);
};

/// namespace(...); owned by the interpreter.
Value make_namespace(Interpreter& jinja, std::vector<std::pair<std::string, Value>> from);

}  // namespace tenon::jinja
