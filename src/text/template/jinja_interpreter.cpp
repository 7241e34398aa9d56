#include "text/template/jinja_interpreter.h"

#include <algorithm>

#include "text/template/jinja_format.h"
#include "text/template/jinja_operators.h"

namespace tenon::jinja {

/// Counts nesting during its lifetime.
class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& of) : of_(of) {
    of_.check_depth();
    ++of_.depth_;
    of_.budget_.spend();
  }
  ~Depth() { --of_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Interpreter& of_;
};

/// Opens a scope for variables set during its lifetime.
class Interpreter::Level {
 public:
  explicit Level(Interpreter& of) : Level(of, of.scope_) {}
  Level(Interpreter& of, Scope* outer) : of_(of), before_(of.scope_) {
    of_.scope_ = own_ = of_.open_scope(outer);
  }
  ~Level() {
    of_.scope_ = before_;
    of_.close_scope(own_);
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Interpreter& of_;
  Scope* before_;
  Scope* own_;
};

Interpreter::Interpreter(const Syntax& syntax, const Variables& variables, Budget& budget,
                         std::optional<CalendarTime> now)
    : syntax_(syntax), budget_(budget), now_(now) {
  scope_ = open_scope(nullptr);
  // Define only variables that the template names.
  for (NameId name = 0; name < syntax_.names.size(); ++name) {
    const auto given = variables.find(syntax_.names[name]);
    if (given != variables.end()) scope_->variables.emplace_back(name, given->second);
  }
  scope_ = open_scope(scope_);
}

Text Interpreter::run() {
  Text out;
  (void)run_block(syntax_.body, out);
  return out;
}

Scope* Interpreter::open_scope(Scope* outer) {
  if (free_scopes_.empty()) {
    budget_.hold(sizeof(Scope) + 64);
    scopes_.push_back(std::make_unique<Scope>());
    free_scopes_.push_back(scopes_.back().get());
  }
  Scope* scope = free_scopes_.back();
  free_scopes_.pop_back();
  scope->outer = outer;
  return scope;
}

void Interpreter::close_scope(Scope* scope) {
  if (scope->captured) return;
  scope->variables.clear();
  free_scopes_.push_back(scope);  // never grows beyond scopes_
}

void Interpreter::append(Text& out, const Text& text) {
  budget_.check_size(out.size() + text.size());
  budget_.spend_bytes(text.size());
  out.append(text);
}

Interpreter::Flow Interpreter::run_block(const Block& block, Text& out) {
  for (const Stmt* statement : block) {
    const Flow flow = run_statement(*statement, out);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::run_statement(const Stmt& statement, Text& out) {
  const Depth depth(*this);
  line_ = statement.line;
  switch (statement.kind) {
    case StmtKind::Data:
      append(out, statement.constant.text());
      return Flow::Next;
    case StmtKind::Output:
      run_output(statement, out);
      return Flow::Next;
    case StmtKind::If:
      return run_if(statement, out);
    case StmtKind::For:
      run_for(statement, out);
      return Flow::Next;
    case StmtKind::Set:
      assign(statement.target, evaluate(*statement.expr));
      return Flow::Next;
    case StmtKind::SetBlock:
      run_set_block(statement);
      return Flow::Next;
    case StmtKind::Macro:
      set(statement.target.name, macro(statement.signature, statement.body));
      return Flow::Next;
    case StmtKind::CallBlock:
      run_call_block(statement, out);
      return Flow::Next;
    case StmtKind::FilterBlock:
      append(out,
             to_text(apply_filters(*statement.expr, string(captured(statement.body))), budget_));
      return Flow::Next;
    case StmtKind::With:
      return run_with(statement, out);
    case StmtKind::Scope: {
      const Level level(*this);
      return run_block(statement.body, out);
    }
    case StmtKind::Load:
      raise("{} needs other templates, and there are none", statement.constant.text().view());
    case StmtKind::Break:
      return Flow::Break;
    case StmtKind::Continue:
      return Flow::Continue;
  }
  return Flow::Next;
}

void Interpreter::run_output(const Stmt& statement, Text& out) {
  const Value value = evaluate(*statement.expr);
  if (value.is(Kind::String)) return append(out, value.text());
  append(out, to_text(value, budget_));
}

Interpreter::Flow Interpreter::run_if(const Stmt& statement, Text& out) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition == nullptr || truth(evaluate(*branch.condition))) {
      return run_block(branch.body, out);
    }
  }
  return Flow::Next;
}

std::vector<Value> Interpreter::selected(const Stmt& statement, std::vector<Value> items) {
  std::vector<Value> kept;
  for (Value& item : items) {
    const Level level(*this);
    assign(statement.target, item);
    if (truth(evaluate(*statement.condition))) kept.push_back(std::move(item));
  }
  return kept;
}

void Interpreter::run_for(const Stmt& statement, Text& out) {
  run_loop(statement, iterate(evaluate(*statement.expr), budget_), 0, out);
}

void Interpreter::run_loop(const Stmt& statement, std::vector<Value> items, uint32_t depth,
                           Text& out) {
  if (statement.condition != nullptr) items = selected(statement, std::move(items));
  auto loop = std::make_shared<LoopObject>();
  loop->charge(&budget_, items.size() * sizeof(Value) + sizeof(LoopObject));
  loop->statement = &statement;
  loop->depth = depth;
  loop->items = std::move(items);
  if (statement.recursive) loop->scope = scope_;
  const Value handle = Value::object(Kind::Loop, loop);
  // Empty the loop at its end: a kept loop could otherwise contain itself, or a long chain of
  // loops.
  struct End {
    LoopObject& loop;
    ~End() {
      loop.scope = nullptr;
      loop.items.clear();
      loop.changed.reset();
    }
  } const end{*loop};
  budget_.spend(syntax_.names.size() / 16);
  const auto loop_name = std::find(syntax_.names.begin(), syntax_.names.end(), "loop");
  bool any_ended = false;
  for (; loop->at < loop->items.size(); ++loop->at) {
    const Level level(*this);
    if (loop_name != syntax_.names.end()) {
      set(static_cast<NameId>(loop_name - syntax_.names.begin()), handle);
    }
    assign(statement.target, loop->items[loop->at]);
    const Flow flow = run_block(statement.body, out);
    any_ended |= flow == Flow::Next;
    if (flow == Flow::Break) break;
  }
  // As in Jinja2, rounds left by break or continue do not count.
  if (!any_ended) {
    const Level level(*this);
    (void)run_block(statement.otherwise, out);
  }
}

Text Interpreter::captured(const Block& body) {
  const Level level(*this);
  Text out;
  (void)run_block(body, out);
  return out;
}

void Interpreter::run_set_block(const Stmt& statement) {
  Value value = string(captured(statement.body));
  if (statement.expr != nullptr) value = apply_filters(*statement.expr, value);
  assign(statement.target, value);
}

Interpreter::Flow Interpreter::run_with(const Stmt& statement, Text& out) {
  std::vector<Value> values;
  for (const auto& [target, expr] : statement.assignments) values.push_back(evaluate(*expr));
  const Level level(*this);
  for (size_t i = 0; i < values.size(); ++i) assign(statement.assignments[i].first, values[i]);
  return run_block(statement.body, out);
}

void Interpreter::run_call_block(const Stmt& statement, Text& out) {
  const Expr& call_expr = *statement.expr;
  const Value callee = evaluate(*call_expr.children[0]);
  CallArguments given = arguments(call_expr.arguments);
  given.named.emplace_back("caller", macro(statement.signature, statement.body));
  line_ = statement.line;
  append(out, to_text(call(callee, std::move(given)), budget_));
}

Value Interpreter::macro(const Signature& signature, const Block& body) {
  auto object = std::make_shared<MacroObject>();
  object->charge(&budget_, sizeof(MacroObject));
  object->signature = &signature;
  object->body = &body;
  object->scope = scope_;
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->outer) {
    scope->captured = true;
  }
  return Value::object(Kind::Macro, std::move(object));
}

void Interpreter::set(NameId name, Value value) {
  budget_.spend(scope_->variables.size() / 16);
  for (auto& [known, old] : scope_->variables) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  scope_->variables.emplace_back(name, std::move(value));
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (target.is_tuple) {
    const std::vector<Value> parts = iterate(value, budget_);
    if (parts.size() != target.parts.size()) {
      raise("{} values to unpack, expected {}", parts.size(), target.parts.size());
    }
    for (size_t i = 0; i < parts.size(); ++i) assign(target.parts[i], parts[i]);
    return;
  }
  if (target.attribute.empty()) return set(target.name, value);
  const Value owner =
      evaluate_name(Expr{.kind = ExprKind::Name, .line = line_, .name = target.name});
  if (!owner.is(Kind::Namespace)) raise("cannot assign attribute on non-namespace object");
  budget_.spend(owner.name_space().attributes.size() / 16);
  for (auto& [name, old] : owner.name_space().attributes) {
    if (name == target.attribute) {
      old = value;
      return;
    }
  }
  owner.name_space().attributes.emplace_back(target.attribute, value);
}

Value Interpreter::call_macro(const MacroObject& callee, CallArguments given) {
  const Depth depth(*this);
  const Signature& signature = *callee.signature;
  const size_t count = signature.parameters.size();
  if (given.positional.size() > count && !signature.uses_varargs) {
    raise("macro '{}' takes not more than {} argument(s)", signature.name, count);
  }
  const Level level(*this, callee.scope);
  budget_.spend(given.positional.size() + given.named.size());
  const auto named = [&](std::string_view name) -> std::optional<Value> {
    budget_.spend(given.named.size());
    const auto at = std::find_if(given.named.begin(), given.named.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    if (at == given.named.end()) return std::nullopt;
    Value value = std::move(at->second);
    given.named.erase(at);
    return value;
  };
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = syntax_.names[signature.parameters[i]];
    std::optional<Value> by_name = named(name);
    const size_t first_default = count - signature.defaults.size();
    if (i < given.positional.size()) {
      if (by_name) raise("macro '{}' got multiple values for argument '{}'", signature.name, name);
      set(signature.parameters[i], given.positional[i]);
    } else if (by_name) {
      set(signature.parameters[i], *by_name);
    } else if (i >= first_default) {
      set(signature.parameters[i], evaluate(*signature.defaults[i - first_default]));
    } else {
      set(signature.parameters[i],
          Value::undefined(fmt::format("parameter '{}' was not provided", name)));
    }
  }
  const auto special = [&](std::string_view name, Value value) {
    budget_.spend(syntax_.names.size() / 16);
    const auto known = std::find(syntax_.names.begin(), syntax_.names.end(), name);
    set(static_cast<NameId>(known - syntax_.names.begin()), std::move(value));
  };
  if (signature.uses_caller) {
    special("caller", named("caller").value_or(Value::undefined("No caller defined")));
  }
  if (signature.uses_kwargs) {
    std::vector<std::pair<Value, Value>> rest;
    for (auto& [name, value] : given.named) rest.emplace_back(string(name), std::move(value));
    given.named.clear();
    special("kwargs", Value::dict(std::move(rest), &budget_));
  }
  if (!given.named.empty()) {
    if (given.named[0].first == "caller") {
      raise("macro '{}' was invoked with two values for the special caller argument or takes none",
            signature.name);
    }
    raise("macro '{}' takes no keyword argument '{}'", signature.name, given.named[0].first);
  }
  if (signature.uses_varargs) {
    std::vector<Value> rest;
    for (size_t i = count; i < given.positional.size(); ++i) rest.push_back(given.positional[i]);
    special("varargs", list(std::move(rest), Kind::Tuple));
  }
  Text out;
  (void)run_block(*callee.body, out);
  return string(std::move(out));
}

Value Interpreter::call_loop(const LoopObject& loop, CallArguments given) {
  if (loop.scope == nullptr) {
    raise("the loop must have the 'recursive' marker to be called recursively");
  }
  if (given.positional.size() != 1 || !given.named.empty()) raise("loop() takes one argument");
  const Depth depth(*this);
  const Level level(*this, loop.scope);
  Text out;
  run_loop(*loop.statement, iterate(given.positional[0], budget_), loop.depth + 1, out);
  return string(std::move(out));
}

Value make_namespace(Interpreter& jinja, std::vector<std::pair<std::string, Value>> from) {
  auto object = std::make_unique<Namespace>();
  object->charge(&jinja.budget(), sizeof(Namespace) + from.size() * 64);
  for (const auto& [name, value] : from) object->charge(&jinja.budget(), name.size());
  object->attributes = std::move(from);
  // Not owned by its values: a namespace that contains itself would never be freed.
  std::shared_ptr<Object> view(std::shared_ptr<void>(), object.get());
  jinja.namespaces_.push_back(std::move(object));
  return Value::object(Kind::Namespace, std::move(view));
}

}  // namespace tenon::jinja
