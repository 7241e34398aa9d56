#include "text/template/jinja_expression_parser.h"

#include <array>
#include <charconv>
#include <utility>

#include "text/template/jinja_builtins.h"
#include "text/template/jinja_parser.h"

namespace tenon::jinja {
namespace {

struct Spelling {
  std::string_view text;
  Op op;
};

constexpr std::array<Spelling, 6> kComparisons{{{"==", Op::Equal},
                                                {"!=", Op::NotEqual},
                                                {"<", Op::Less},
                                                {"<=", Op::LessEqual},
                                                {">", Op::Greater},
                                                {">=", Op::GreaterEqual}}};
constexpr std::array<Spelling, 4> kProducts{
    {{"*", Op::Multiply}, {"/", Op::Divide}, {"//", Op::FloorDivide}, {"%", Op::Modulo}}};
constexpr std::array<Spelling, 2> kSums{{{"+", Op::Add}, {"-", Op::Subtract}}};

template <typename Table>
const Spelling* find(const Table& table, const TokenStream& tokens) {
  for (const Spelling& spelling : table) {
    if (tokens.is_operator(spelling.text)) return &spelling;
  }
  return nullptr;
}

}  // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (parser.depth_ >= kMaxSyntaxDepth || parser.stack_.is_used_up()) {
    parser.tokens_.fail_here("nested deeper than {}, or than the stack allows", kMaxSyntaxDepth);
  }
  ++parser_.depth_;
}

void ExpressionParser::check_known() {
  if (unknown_.empty()) return;
  const Expr& first = *unknown_.front();
  fail(Code::Template, "line {}: no {} named {}", first.line,
       first.kind == ExprKind::Filter ? "filter" : "test", quoted(first.text));
}

NameId ExpressionParser::intern(const std::string& name) {
  const auto [at, is_new] = ids_.emplace(name, static_cast<NameId>(out_.names.size()));
  if (is_new) out_.names.push_back(name);
  return at->second;
}

Expr* ExpressionParser::make(ExprKind kind, uint32_t line) {
  return &out_.expressions.emplace_back(Expr{.kind = kind, .line = line});
}

Expr* ExpressionParser::make(ExprKind kind, uint32_t line, std::vector<const Expr*> children) {
  Expr* expr = make(kind, line);
  expr->children = std::move(children);
  return expr;
}

const Expr* ExpressionParser::expression(bool without_condition) {
  const Nesting nesting(*this);
  const uint32_t line = tokens_.now().line;
  const size_t known_before = unknown_.size();
  const Expr* value = disjunction();
  if (without_condition) return value;
  bool is_condition = false;
  while (tokens_.skip_name("if")) {
    is_condition = true;
    const Expr* condition = disjunction();
    const Expr* otherwise = tokens_.skip_name("else") ? expression() : nullptr;
    value = make(ExprKind::Condition, line, {condition, value, otherwise});
  }
  if (is_condition) unknown_.resize(known_before);
  return value;
}

const Expr* ExpressionParser::disjunction() {
  const uint32_t line = tokens_.now().line;
  std::vector<const Expr*> parts{conjunction()};
  while (tokens_.skip_name("or")) parts.push_back(conjunction());
  return parts.size() == 1 ? parts[0] : make(ExprKind::Or, line, std::move(parts));
}

const Expr* ExpressionParser::conjunction() {
  const uint32_t line = tokens_.now().line;
  std::vector<const Expr*> parts{negation()};
  while (tokens_.skip_name("and")) parts.push_back(negation());
  return parts.size() == 1 ? parts[0] : make(ExprKind::And, line, std::move(parts));
}

const Expr* ExpressionParser::negation() {
  const uint32_t line = tokens_.now().line;
  bool is_negated = false;
  bool any = false;
  while (tokens_.skip_name("not")) {
    is_negated = !is_negated;
    any = true;
  }
  const Expr* value = comparison();
  if (!any) return value;
  value = make(ExprKind::Not, line, {value});
  return is_negated ? value : make(ExprKind::Not, line, {value});
}

const Expr* ExpressionParser::comparison() {
  const uint32_t line = tokens_.now().line;
  std::vector<const Expr*> parts{sum()};
  std::vector<Op> ops;
  for (;;) {
    if (const Spelling* known = find(kComparisons, tokens_)) {
      tokens_.take();
      ops.push_back(known->op);
    } else if (tokens_.skip_name("in")) {
      ops.push_back(Op::In);
    } else if (tokens_.is_name("not") && tokens_.ahead().kind == TokenKind::Name &&
               tokens_.ahead().text == "in") {
      tokens_.take();
      tokens_.take();
      ops.push_back(Op::NotIn);
    } else {
      break;
    }
    parts.push_back(sum());
  }
  if (ops.empty()) return parts[0];
  Expr* expr = make(ExprKind::Compare, line, std::move(parts));
  expr->ops = std::move(ops);
  return expr;
}

const Expr* ExpressionParser::sum() {
  const Expr* left = concatenation();
  while (const Spelling* known = find(kSums, tokens_)) {
    const uint32_t line = tokens_.take().line;
    Expr* expr = make(ExprKind::Binary, line, {left, concatenation()});
    expr->op = known->op;
    left = expr;
  }
  return left;
}

const Expr* ExpressionParser::concatenation() {
  const uint32_t line = tokens_.now().line;
  std::vector<const Expr*> parts{product()};
  while (tokens_.skip_operator("~")) parts.push_back(product());
  return parts.size() == 1 ? parts[0] : make(ExprKind::Concat, line, std::move(parts));
}

const Expr* ExpressionParser::product() {
  const Expr* left = power();
  while (const Spelling* known = find(kProducts, tokens_)) {
    const uint32_t line = tokens_.take().line;
    Expr* expr = make(ExprKind::Binary, line, {left, power()});
    expr->op = known->op;
    left = expr;
  }
  return left;
}

const Expr* ExpressionParser::power() {
  const Expr* left = unary();
  while (tokens_.is_operator("**")) {
    const uint32_t line = tokens_.take().line;
    Expr* expr = make(ExprKind::Binary, line, {left, unary()});
    expr->op = Op::Power;
    left = expr;
  }
  return left;
}

const Expr* ExpressionParser::unary(bool with_filters) {
  const Expr* expr = nullptr;
  if (tokens_.is_operator("-") || tokens_.is_operator("+")) {
    const Nesting nesting(*this);
    const Token& sign = tokens_.take();
    expr =
        make(sign.text == "-" ? ExprKind::Negative : ExprKind::Positive, sign.line, {unary(false)});
  } else {
    expr = primary();
  }
  expr = postfix(expr);
  return with_filters ? filtered(expr) : expr;
}

const Expr* ExpressionParser::primary() {
  const Token& token = tokens_.now();
  switch (token.kind) {
    case TokenKind::Name: {
      tokens_.take();
      const std::string& name = token.text;
      if (name == "true" || name == "True" || name == "false" || name == "False") {
        Expr* expr = make(ExprKind::Constant, token.line);
        expr->constant = Value::boolean(name == "true" || name == "True");
        return expr;
      }
      if (name == "none" || name == "None") {
        Expr* expr = make(ExprKind::Constant, token.line);
        expr->constant = Value::none();
        return expr;
      }
      Expr* expr = make(ExprKind::Name, token.line);
      expr->name = intern(name);
      return expr;
    }
    case TokenKind::String: {
      Expr* expr = make(ExprKind::Constant, token.line);
      std::string text;
      while (tokens_.is(TokenKind::String)) text += tokens_.take().text;
      expr->constant = Value::string(Text(std::move(text)));
      return expr;
    }
    case TokenKind::Integer:
    case TokenKind::Float:
      return number(tokens_.take());
    default:
      break;
  }
  if (tokens_.skip_operator("(")) {
    const Expr* expr = tuple(false, "", true);
    tokens_.expect_operator(")");
    return expr;
  }
  if (tokens_.is_operator("[")) return list();
  if (tokens_.is_operator("{")) return dict();
  tokens_.fail_here("unexpected {}", tokens_.shown());
}

const Expr* ExpressionParser::number(const Token& token) {
  Expr* expr = make(ExprKind::Constant, token.line);
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  if (token.kind == TokenKind::Float) {
    double value = 0;
    if (std::from_chars(begin, end, value).ec != std::errc()) {
      tokens_.fail_here("{} is outside the range of floats", token.text);
    }
    expr->constant = Value::real(value);
    return expr;
  }
  int base = 10;
  if (token.text.size() > 2 && token.text[0] == '0') {
    const char prefix = static_cast<char>(token.text[1] | 32);
    if (prefix == 'x') base = 16;
    if (prefix == 'o') base = 8;
    if (prefix == 'b') base = 2;
    if (base != 10) begin += 2;
  }
  int64_t value = 0;
  if (std::from_chars(begin, end, value, base).ec != std::errc()) {
    tokens_.fail_here("{} does not fit 64 bits", quoted(token.text, 40));
  }
  expr->constant = Value::integer(value);
  return expr;
}

const Expr* ExpressionParser::list() {
  Expr* expr = make(ExprKind::List, tokens_.take().line);
  while (!tokens_.is_operator("]")) {
    if (!expr->children.empty()) tokens_.expect_operator(",");
    if (tokens_.is_operator("]")) break;
    expr->children.push_back(expression());
  }
  tokens_.take();
  return expr;
}

const Expr* ExpressionParser::dict() {
  Expr* expr = make(ExprKind::Dict, tokens_.take().line);
  while (!tokens_.is_operator("}")) {
    if (!expr->children.empty()) tokens_.expect_operator(",");
    if (tokens_.is_operator("}")) break;
    expr->children.push_back(expression());
    tokens_.expect_operator(":");
    expr->children.push_back(expression());
  }
  tokens_.take();
  return expr;
}

const Expr* ExpressionParser::tuple(bool without_condition, std::string_view end,
                                    bool in_parentheses) {
  const uint32_t line = tokens_.now().line;
  const auto at_end = [&] {
    return tokens_.is(TokenKind::BlockEnd) || tokens_.is(TokenKind::VariableEnd) ||
           tokens_.is_operator(")") || (!end.empty() && tokens_.is_name(end));
  };
  std::vector<const Expr*> parts;
  bool is_tuple = false;
  while (!at_end()) {
    parts.push_back(expression(without_condition));
    if (!tokens_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (is_tuple || (parts.empty() && in_parentheses)) {
    return make(ExprKind::Tuple, line, std::move(parts));
  }
  if (parts.empty()) tokens_.fail_here("expected an expression, got {}", tokens_.shown());
  return parts[0];
}

const Expr* ExpressionParser::postfix(const Expr* expr) {
  for (uint32_t i = 0;; ++i) {
    if (i >= kMaxSyntaxDepth) tokens_.fail_here("a chain of more than {}", kMaxSyntaxDepth);
    if (tokens_.is_operator(".") || tokens_.is_operator("[")) {
      expr = subscript(expr);
    } else if (tokens_.is_operator("(")) {
      expr = call(expr);
    } else {
      return expr;
    }
  }
}

const Expr* ExpressionParser::filtered(const Expr* expr) {
  for (uint32_t i = 0;; ++i) {
    if (i >= kMaxSyntaxDepth) tokens_.fail_here("a chain of more than {}", kMaxSyntaxDepth);
    if (tokens_.is_operator("|")) {
      expr = filters(expr, false);
    } else if (tokens_.is_name("is")) {
      expr = test(expr);
    } else if (tokens_.is_operator("(")) {
      expr = call(expr);
    } else {
      return expr;
    }
  }
}

const Expr* ExpressionParser::subscript(const Expr* expr) {
  const Token& token = tokens_.take();
  if (token.text == ".") {
    if (tokens_.is(TokenKind::Name)) {
      Expr* attribute = make(ExprKind::Attribute, token.line, {expr});
      attribute->text = tokens_.take().text;
      return attribute;
    }
    if (!tokens_.is(TokenKind::Integer)) tokens_.fail_here("expected a name or a number");
    return make(ExprKind::Item, token.line, {expr, number(tokens_.take())});
  }
  const auto end_of_part = [&] { return tokens_.is_operator("]") || tokens_.is_operator(","); };
  std::vector<const Expr*> keys;
  while (!tokens_.is_operator("]")) {
    if (!keys.empty()) tokens_.expect_operator(",");
    const Expr* begin = tokens_.is_operator(":") ? nullptr : expression();
    if (!tokens_.skip_operator(":")) {
      keys.push_back(begin);
      continue;
    }
    const Expr* stop = end_of_part() || tokens_.is_operator(":") ? nullptr : expression();
    const Expr* step = nullptr;
    if (tokens_.skip_operator(":") && !end_of_part()) step = expression();
    if (!keys.empty() || !tokens_.is_operator("]")) tokens_.fail_here("slices take no tuples");
    tokens_.take();
    return make(ExprKind::Slice, token.line, {expr, begin, stop, step});
  }
  tokens_.take();
  if (keys.size() == 1) return make(ExprKind::Item, token.line, {expr, keys[0]});
  const Expr* key = make(ExprKind::Tuple, token.line, std::move(keys));
  return make(ExprKind::Item, token.line, {expr, key});
}

const Expr* ExpressionParser::call(const Expr* expr) {
  Expr* result = make(ExprKind::Call, tokens_.now().line, {expr});
  result->arguments = arguments();
  return result;
}

Arguments ExpressionParser::arguments() {
  Arguments out;
  tokens_.expect_operator("(");
  bool first = true;
  while (!tokens_.is_operator(")")) {
    if (!first) {
      tokens_.expect_operator(",");
      if (tokens_.is_operator(")")) break;
    }
    first = false;
    if (tokens_.skip_operator("*")) {
      if (out.star != nullptr || out.double_star != nullptr) tokens_.fail_here("a second *");
      out.star = expression();
    } else if (tokens_.skip_operator("**")) {
      if (out.double_star != nullptr) tokens_.fail_here("a second **");
      out.double_star = expression();
    } else if (tokens_.is(TokenKind::Name) && tokens_.ahead().kind == TokenKind::Operator &&
               tokens_.ahead().text == "=") {
      if (out.double_star != nullptr) tokens_.fail_here("an argument after **");
      std::string name = tokens_.take().text;
      tokens_.take();
      out.named.emplace_back(std::move(name), expression());
    } else {
      if (out.star != nullptr || out.double_star != nullptr || !out.named.empty()) {
        tokens_.fail_here("a positional argument after named ones");
      }
      out.positional.push_back(expression());
    }
  }
  tokens_.take();
  return out;
}

const Expr* ExpressionParser::filters(const Expr* input, bool starts_inline) {
  const Expr* expr = input;
  for (uint32_t i = 0; starts_inline || tokens_.is_operator("|"); ++i) {
    if (i >= kMaxSyntaxDepth) tokens_.fail_here("a chain of more than {}", kMaxSyntaxDepth);
    if (!starts_inline) tokens_.take();
    starts_inline = false;
    Expr* filter = make(ExprKind::Filter, tokens_.now().line, {expr});
    filter->text = dotted_name();
    filter->builtin = find_filter(filter->text);
    if (filter->builtin == nullptr && !in_branch) unknown_.push_back(filter);
    if (tokens_.is_operator("(")) filter->arguments = arguments();
    expr = filter;
  }
  return expr;
}

std::string ExpressionParser::dotted_name() {
  std::string name = tokens_.expect_any_name();
  while (tokens_.skip_operator(".")) name.append(".").append(tokens_.expect_any_name());
  return name;
}

const Expr* ExpressionParser::test(const Expr* expr) {
  tokens_.take();
  const bool is_negated = tokens_.skip_name("not");
  Expr* result = make(ExprKind::Test, tokens_.now().line, {expr});
  result->text = dotted_name();
  result->builtin = find_test(result->text);
  if (result->builtin == nullptr && !in_branch) unknown_.push_back(result);
  const bool is_word = tokens_.is_name("else") || tokens_.is_name("or") || tokens_.is_name("and");
  const bool starts_value = tokens_.is(TokenKind::Name) || tokens_.is(TokenKind::String) ||
                            tokens_.is(TokenKind::Integer) || tokens_.is(TokenKind::Float) ||
                            tokens_.is_operator("[") || tokens_.is_operator("{");
  if (tokens_.is_operator("(")) {
    result->arguments = arguments();
  } else if (starts_value && !is_word) {
    if (tokens_.is_name("is")) tokens_.fail_here("tests cannot be chained with is");
    result->arguments.positional.push_back(postfix(primary()));
  }
  return is_negated ? make(ExprKind::Not, result->line, {result}) : result;
}

}  // namespace tenon::jinja
