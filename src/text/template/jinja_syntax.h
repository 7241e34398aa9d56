// The syntax tree of a template: plain nodes in one arena, without logic.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

struct Builtin;
struct Expr;
struct Stmt;

/// Index of a variable's name in Syntax::names.
using NameId = uint32_t;

enum class ExprKind : uint8_t {
  Constant,   ///< constant
  Name,       ///< name
  List,       ///< children
  Tuple,      ///< children
  Dict,       ///< children: key, value, key, value, ...
  Or,         ///< children
  And,        ///< children
  Not,        ///< children[0]
  Negative,   ///< children[0]
  Positive,   ///< children[0]
  Binary,     ///< children[0] op children[1]
  Concat,     ///< children, joined as strings
  Compare,    ///< children[0] ops[0] children[1] ops[1] children[2] ...
  Condition,  ///< children[1] if children[0] else children[2] (may be null)
  Attribute,  ///< children[0].text
  Item,       ///< children[0][children[1]]
  Slice,      ///< children[0][children[1]:children[2]:children[3]]; all but the first may be null
  Call,       ///< children[0](arguments)
  Filter,     ///< children[0] | text(arguments); children[0] is null in a filter block
  Test,       ///< children[0] is text(arguments)
};

enum class Op : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,  // last operator of Binary
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,  // last operator of Compare
};

/// Name of a call block's body.
inline constexpr std::string_view kCallerName = "caller";

struct Arguments {
  std::vector<const Expr*> positional;
  std::vector<std::pair<std::string, const Expr*>> named;
  const Expr* star = nullptr;         ///< *sequence
  const Expr* double_star = nullptr;  ///< **dict
};

struct Expr {
  ExprKind kind;
  uint32_t line;
  NameId name = 0;
  Op op = Op::Add;
  std::vector<Op> ops{};
  std::string text{};
  Value constant{};
  std::vector<const Expr*> children{};
  Arguments arguments{};
  /// The function of a Filter or Test; null if unknown, which fails when it runs.
  const Builtin* builtin = nullptr;
};

/// Target of an assignment: a name, an attribute of a namespace, or several targets.
struct Target {
  NameId name = 0;
  std::string attribute{};  ///< attribute of namespace `name`; empty for a variable
  std::vector<Target> parts{};
  bool is_tuple = false;
};

/// Parameters of a macro or a call block.
struct Signature {
  std::string name{};
  std::vector<NameId> parameters{};
  std::vector<const Expr*> defaults{};  ///< defaults of the last parameters
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

using Block = std::vector<const Stmt*>;

enum class StmtKind : uint8_t {
  Data,         ///< constant
  Output,       ///< expr
  If,           ///< branches; a null condition is else
  For,          ///< target in expr [if condition]: body, else otherwise
  Set,          ///< target = expr
  SetBlock,     ///< target = expr(body); expr is a chain of filters, or null
  Macro,        ///< signature, body
  CallBlock,    ///< expr (a Call) with signature and body as caller
  FilterBlock,  ///< expr (a chain of filters) over body
  With,         ///< targets = values: body
  Scope,        ///< body
  Load,         ///< the tag `constant`, which loads another template: fails when it runs
  Break,
  Continue,
};

struct Branch {
  const Expr* condition;
  Block body;
};

struct Stmt {
  StmtKind kind;
  uint32_t line;
  Value constant{};
  const Expr* expr = nullptr;
  const Expr* condition = nullptr;
  bool recursive = false;
  Target target{};
  Signature signature{};
  Block body{};
  Block otherwise{};
  std::vector<Branch> branches{};
  std::vector<std::pair<Target, const Expr*>> assignments{};
};

/// A parsed template. Immutable, so any number of threads may run it.
struct Syntax {
  std::deque<Expr> expressions;
  std::deque<Stmt> statements;
  std::vector<std::string> names;
  Block body;
};

}  // namespace tenon::jinja
