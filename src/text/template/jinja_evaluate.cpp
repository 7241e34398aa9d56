// Evaluates expressions.
#include <algorithm>

#include "text/template/jinja_format.h"
#include "text/template/jinja_interpreter.h"
#include "text/template/jinja_item_path.h"
#include "text/template/jinja_markup.h"
#include "text/template/jinja_operators.h"
#include "text/template/jinja_text_tools.h"

namespace tenon::jinja {
Value Interpreter::evaluate(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::Constant:
      return expr.constant;
    case ExprKind::Name:
      return evaluate_name(expr);
    default:
      break;
  }
  check_depth();
  budget_.spend();
  ++depth_;
  // Not restored on failure: no caller continues after one.
  Value value = evaluate_node(expr);
  --depth_;
  return value;
}

Value Interpreter::evaluate_node(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::List:
    case ExprKind::Tuple:
      return evaluate_display(expr);
    case ExprKind::Dict:
      return evaluate_dict(expr);
    case ExprKind::Or:
    case ExprKind::And:
      return evaluate_logic(expr);
    case ExprKind::Not:
      return Value::boolean(!truth(evaluate(*expr.children[0])));
    case ExprKind::Negative:
      return negative(evaluate(*expr.children[0]));
    case ExprKind::Positive: {
      const Value value = evaluate(*expr.children[0]);
      return negative(negative(value));
    }
    case ExprKind::Binary:
      return evaluate_binary(expr);
    case ExprKind::Concat:
      return evaluate_concat(expr);
    case ExprKind::Compare:
      return evaluate_compare(expr);
    case ExprKind::Condition:
      return evaluate_condition(expr);
    case ExprKind::Attribute:
      return attribute(evaluate(*expr.children[0]), expr.text);
    case ExprKind::Item:
      return evaluate_item(expr);
    case ExprKind::Slice:
      return evaluate_slice(expr);
    case ExprKind::Call:
      return evaluate_call(expr);
    case ExprKind::Filter:
      return evaluate_filter(expr);
    case ExprKind::Test:
      return evaluate_test(expr);
    default:
      return Value();
  }
}

Value Interpreter::evaluate_name(const Expr& expr) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    budget_.spend(scope->variables.size() / 16);
    for (const auto& [name, value] : scope->variables) {
      if (name == expr.name) return value;
    }
  }
  const std::string& name = syntax_.names[expr.name];
  const Builtin* builtin = find_global(name);
  if (builtin != nullptr && (name != "strftime_now" || now_)) return Value::function(builtin);
  return Value::undefined(fmt::format("'{}' is undefined{}", shown(name),
                                      name == "strftime_now" ? ": no time was given" : ""),
                          &budget_);
}

Value Interpreter::evaluate_binary(const Expr& expr) {
  // A long sum is a tree that is deep on the left: walk it without recursion.
  std::vector<const Expr*> spine;
  const Expr* left = &expr;
  while (left->kind == ExprKind::Binary) {
    spine.push_back(left);
    left = left->children[0];
  }
  Value value = evaluate(*left);
  for (size_t i = spine.size(); i-- > 0;) {
    const Value right = evaluate(*spine[i]->children[1]);
    line_ = spine[i]->line;
    value = binary(spine[i]->op, value, right, budget_);
  }
  return value;
}

Value Interpreter::evaluate_concat(const Expr& expr) {
  Text out;
  for (const Expr* part : expr.children) append(out, to_text(evaluate(*part), budget_));
  return string(std::move(out));
}

Value Interpreter::evaluate_compare(const Expr& expr) {
  Value left = evaluate(*expr.children[0]);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = evaluate(*expr.children[i + 1]);
    line_ = expr.line;
    bool holds = false;
    switch (expr.ops[i]) {
      case Op::Equal:
        holds = equal(left, right, budget_);
        break;
      case Op::NotEqual:
        holds = !equal(left, right, budget_);
        break;
      case Op::Less:
        holds = order(left, right, budget_, "<") < 0;
        break;
      case Op::LessEqual:
        holds = order(left, right, budget_, "<=") <= 0;
        break;
      case Op::Greater:
        holds = order(left, right, budget_, ">") > 0;
        break;
      case Op::GreaterEqual:
        holds = order(left, right, budget_, ">=") >= 0;
        break;
      case Op::In:
        holds = contains(right, left, budget_);
        break;
      default:
        holds = !contains(right, left, budget_);
        break;
    }
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_condition(const Expr& expr) {
  if (truth(evaluate(*expr.children[0]))) return evaluate(*expr.children[1]);
  if (expr.children[2] != nullptr) return evaluate(*expr.children[2]);
  return Value::undefined("the inline if-expression evaluated to false and no else was given");
}

Value Interpreter::evaluate_logic(const Expr& expr) {
  const bool ends_at = expr.kind == ExprKind::Or;
  Value value;
  for (const Expr* part : expr.children) {
    value = evaluate(*part);
    if (truth(value) == ends_at) break;
  }
  return value;
}

Value Interpreter::evaluate_display(const Expr& expr) {
  std::vector<Value> items;
  for (const Expr* child : expr.children) items.push_back(evaluate(*child));
  return list(std::move(items), expr.kind == ExprKind::List ? Kind::List : Kind::Tuple);
}

Value Interpreter::evaluate_dict(const Expr& expr) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i < expr.children.size(); i += 2) {
    Value key = evaluate(*expr.children[i]);
    require_hashable(key, budget_);
    entries.emplace_back(std::move(key), evaluate(*expr.children[i + 1]));
  }
  return Value::dict(std::move(entries), &budget_);
}

Value Interpreter::evaluate_item(const Expr& expr) {
  const Value container = evaluate(*expr.children[0]);
  const Value key = evaluate(*expr.children[1]);
  line_ = expr.line;
  return item(container, key);
}

Value Interpreter::evaluate_slice(const Expr& expr) {
  const auto part = [&](size_t i) {
    return expr.children[i] == nullptr ? Value::absent() : evaluate(*expr.children[i]);
  };
  const Value container = evaluate(*expr.children[0]);
  const Value begin = part(1);
  const Value stop = part(2);
  const Value step = part(3);
  line_ = expr.line;
  return slice(container, begin, stop, step, budget_);
}

CallArguments Interpreter::arguments(const Arguments& from) {
  CallArguments out;
  for (const Expr* expr : from.positional) out.positional.push_back(evaluate(*expr));
  for (const auto& [name, expr] : from.named) out.named.emplace_back(name, evaluate(*expr));
  if (from.star != nullptr) {
    for (Value& value : iterate(evaluate(*from.star), budget_)) {
      out.positional.push_back(std::move(value));
    }
  }
  if (from.double_star != nullptr) {
    const Value more = evaluate(*from.double_star);
    if (!more.is(Kind::Dict)) raise("argument after ** must be a mapping, not {}", type_name(more));
    budget_.spend(more.entries().entries.size());
    for (const auto& [name, value] : more.entries().entries) {
      if (!name.is(Kind::String)) raise("keywords must be strings");
      out.named.emplace_back(name.text().bytes(), value);
    }
  }
  return out;
}

Value Interpreter::evaluate_call(const Expr& expr) {
  const Value callee = evaluate(*expr.children[0]);
  CallArguments given = arguments(expr.arguments);
  line_ = expr.line;
  return call(callee, std::move(given));
}

Value Interpreter::call(const Value& callee, CallArguments given) {
  switch (callee.kind()) {
    case Kind::Function:
      return run_builtin(*this, callee.builtin(), Value::absent(), std::move(given));
    case Kind::Method: {
      const auto& method = static_cast<const MethodObject&>(*callee.pointer());
      if (method.builtin == nullptr) {
        raise("access to attribute '{}' of '{}' object is unsafe.", method.name,
              type_name(method.self));
      }
      return run_method(*this, *method.builtin, method.self, std::move(given));
    }
    case Kind::Macro:
      return call_macro(static_cast<const MacroObject&>(*callee.pointer()), std::move(given));
    case Kind::Loop:
      return call_loop(static_cast<const LoopObject&>(*callee.pointer()), std::move(given));
    case Kind::Joiner:
      if (!given.positional.empty() || !given.named.empty()) raise("a joiner takes no arguments");
      if (!std::exchange(callee.items().used, true)) return string(Text());
      return callee.items().values[0];
    case Kind::Undefined:
      raise("{}", callee.undefined_message());
    default:
      raise("'{}' object is not callable", type_name(callee));
  }
}

Value Interpreter::attribute(const Value& value, const std::string& name) {
  if (value.is(Kind::Undefined)) raise("{}", value.undefined_message());
  if (value.is(Kind::Namespace)) {
    budget_.spend(value.name_space().attributes.size() / 16);
    for (const auto& [known, held] : value.name_space().attributes) {
      if (known == name) return held;
    }
  }
  if (value.is(Kind::Loop)) {
    Value found = loop_attribute(static_cast<const LoopObject&>(*value.pointer()), name);
    if (!found.is(Kind::Absent)) return found;
  }
  if (value.is(Kind::Cycler) && name == "current") {
    return value.items().values[value.items().at];
  }
  if (value.is(Kind::Macro) && name == "name") {
    return string(static_cast<const MacroObject&>(*value.pointer()).signature->name);
  }
  if (value.is(Kind::Tuple) && value.items().type == kGroupType) {
    if (name == "grouper") return value.items().values[0];
    if (name == "list") return value.items().values[1];
  }
  const Builtin* method = find_method(value, name);
  if (method != nullptr || is_changing_method(value, name)) {
    auto object = std::make_shared<MethodObject>();
    object->charge(&budget_, sizeof(MethodObject));
    object->self = value;
    object->builtin = method;
    object->name = name;
    return Value::object(Kind::Method, std::move(object));
  }
  if (value.is(Kind::Dict)) {
    const Value* found = value.entries().find(name);
    if (found != nullptr) return *found;
  }
  return Value::undefined(
      fmt::format("'{} object' has no attribute '{}'",
                  value.is(Kind::Dict) ? "dict" : type_name(value), shown(name)),
      &budget_);
}

Value Interpreter::item(const Value& value, const Value& key) {
  if (value.is(Kind::Undefined)) raise("{}", value.undefined_message());
  Value found = lookup(value, key, budget_);
  if (!found.is(Kind::Absent)) return found;
  if (key.is(Kind::String)) {
    budget_.spend_bytes(key.text().size());
    return attribute(value, key.text().bytes());
  }
  return Value::undefined(fmt::format("'{} object' has no element {}", type_name(value),
                                      key.is(Kind::Int) ? std::to_string(key.as_integer())
                                                        : std::string(type_name(key))),
                          &budget_);
}

Value Interpreter::loop_attribute(const LoopObject& loop, std::string_view name) {
  const auto index = static_cast<int64_t>(loop.at);
  const auto count = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(count - index);
  if (name == "revindex0") return Value::integer(count - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == count);
  if (name == "length") return Value::integer(count);
  if (name == "depth") return Value::integer(loop.depth + 1);
  if (name == "depth0") return Value::integer(loop.depth);
  if (name == "previtem") {
    if (loop.at == 0) return Value::undefined("there is no previous item");
    return loop.items[loop.at - 1];
  }
  if (name == "nextitem") {
    if (loop.at + 1 >= loop.items.size()) return Value::undefined("there is no next item");
    return loop.items[loop.at + 1];
  }
  return Value::absent();
}

Value Interpreter::evaluate_filter(const Expr& expr) {
  const Value input = expr.children[0] == nullptr ? *piped_value_ : evaluate(*expr.children[0]);
  CallArguments given = arguments(expr.arguments);
  line_ = expr.line;
  if (expr.builtin == nullptr) raise("no filter named '{}'", expr.text);
  return run_filter(*this, *expr.builtin, input, std::move(given));
}

Value Interpreter::evaluate_test(const Expr& expr) {
  const Value input = evaluate(*expr.children[0]);
  CallArguments given = arguments(expr.arguments);
  line_ = expr.line;
  if (expr.builtin == nullptr) raise("no test named '{}'", expr.text);
  return run_builtin(*this, *expr.builtin, input, std::move(given));
}

Value Interpreter::apply_filters(const Expr& chain, const Value& input) {
  const Value* outer = std::exchange(piped_value_, &input);
  Value result = evaluate(chain);
  piped_value_ = outer;
  return result;
}

Value Interpreter::filter(const std::string& name, const Value& value, CallArguments given) {
  const Builtin* builtin = find_filter(name);
  if (builtin == nullptr) raise("no filter named '{}'", name);
  budget_.spend();
  return run_filter(*this, *builtin, value, std::move(given));
}

bool Interpreter::test(const std::string& name, const Value& value, CallArguments given) {
  const Builtin* builtin = find_test(name);
  if (builtin == nullptr) raise("no test named '{}'", name);
  budget_.spend();
  return truth(run_builtin(*this, *builtin, value, std::move(given)));
}

}  // namespace tenon::jinja
