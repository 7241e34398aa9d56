#include "text/template/jinja_parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <utility>

#include "text/template/jinja_expression_parser.h"

namespace tenon::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

class Parser {
 public:
  Parser(std::string_view source, Syntax& out)
      : tokens_(lex(source)), out_(out), expressions_(tokens_, out) {}

  void run() {
    out_.body = block({});
    if (!tokens_.is(TokenKind::End)) tokens_.fail_here("unexpected {}", tokens_.shown());
  }

 private:
  using Method = void (Parser::*)(Stmt&);
  struct Tag {
    std::string_view name;
    Method parse;
  };
  static const std::array<Tag, 17> kTags;

  Stmt* make(StmtKind kind, uint32_t line) {
    return &out_.statements.emplace_back(Stmt{.kind = kind, .line = line});
  }

  /// Parses statements up to a tag with one of the names, and stops after its "{%".
  Block block(Names ends) {
    const ExpressionParser::Nesting nesting(expressions_);
    const uint32_t opened = tokens_.now().line;
    Block body;
    for (;;) {
      const Token& token = tokens_.now();
      if (token.kind == TokenKind::End) {
        if (ends.size() == 0) return body;
        fail(Code::Template, "line {}: unexpected end of template: the tag of line {} has no '{}'",
             token.line, opened, *ends.begin());
      }
      if (token.kind == TokenKind::Data) {
        Stmt* data = make(StmtKind::Data, token.line);
        data->constant = Value::string(Text(tokens_.take().text));
        body.push_back(data);
      } else if (token.kind == TokenKind::VariableBegin) {
        tokens_.take();
        Stmt* output = make(StmtKind::Output, token.line);
        output->expr = expressions_.tuple();
        expressions_.check_known();
        tokens_.expect(TokenKind::VariableEnd, "the end of the tag");
        body.push_back(output);
      } else {
        tokens_.take();
        if (std::any_of(ends.begin(), ends.end(), [&](auto end) { return tokens_.is_name(end); })) {
          return body;
        }
        body.push_back(statement());
        expressions_.check_known();
        tokens_.expect(TokenKind::BlockEnd, "the end of the tag");
      }
    }
  }

  /// Parses the body of a tag: "%}" statements "{% end", including the end.
  Block body_until(Names ends) {
    tokens_.expect(TokenKind::BlockEnd, "the end of the tag");
    return block(ends);
  }
  Block body_to_end(std::string_view end) {
    Block body = body_until({end});
    tokens_.take();
    return body;
  }

  const Stmt* statement() {
    if (!tokens_.is(TokenKind::Name)) tokens_.fail_here("expected a tag, got {}", tokens_.shown());
    const Token& name = tokens_.now();
    for (const Tag& tag : kTags) {
      if (tag.name != name.text) continue;
      tokens_.take();
      Stmt* made = make(StmtKind::Scope, name.line);
      (this->*tag.parse)(*made);
      return made;
    }
    tokens_.fail_here("unknown tag {}", quoted(name.text, 40));
  }

  void parse_if(Stmt& out) {
    out.kind = StmtKind::If;
    const bool outer = std::exchange(expressions_.in_branch, true);
    for (;;) {
      const Expr* condition = expressions_.tuple(true);
      out.branches.push_back({condition, body_until({"endif", "else", "elif"})});
      if (tokens_.skip_name("elif")) continue;
      if (tokens_.skip_name("else")) out.branches.push_back({nullptr, body_until({"endif"})});
      tokens_.take();
      break;
    }
    expressions_.in_branch = outer;
  }

  void parse_for(Stmt& out) {
    out.kind = StmtKind::For;
    const bool outer = std::exchange(expressions_.in_branch, false);
    out.target = target("in", false);
    tokens_.expect_name("in");
    out.expr = expressions_.tuple(true, "recursive");
    if (tokens_.skip_name("if")) out.condition = expressions_.expression();
    out.recursive = tokens_.skip_name("recursive");
    ++loops_;
    expressions_.check_known();
    out.body = body_until({"endfor", "else"});
    --loops_;
    if (tokens_.skip_name("else")) out.otherwise = body_until({"endfor"});
    tokens_.take();
    expressions_.in_branch = outer;
  }

  void parse_set(Stmt& out) {
    out.target = target("", true);
    if (tokens_.skip_operator("=")) {
      out.kind = StmtKind::Set;
      out.expr = expressions_.tuple();
      return;
    }
    out.kind = StmtKind::SetBlock;
    if (tokens_.is_operator("|")) out.expr = expressions_.filters(nullptr, false);
    out.body = scoped_body("endset");
  }

  void parse_macro(Stmt& out) {
    out.kind = StmtKind::Macro;
    out.target.name = expressions_.intern(tokens_.now().text);
    out.signature.name = tokens_.expect_any_name();
    signature(out.signature);
    const size_t names_before = mark_uses();
    out.body = scoped_body("endmacro");
    note_uses(out.signature, names_before);
  }

  void parse_call(Stmt& out) {
    out.kind = StmtKind::CallBlock;
    out.signature.name = kCallerName;
    if (tokens_.is_operator("(")) signature(out.signature);
    out.expr = expressions_.expression();
    if (out.expr->kind != ExprKind::Call) tokens_.fail_here("expected a call");
    const size_t before = mark_uses();
    out.body = scoped_body("endcall");
    note_uses(out.signature, before);
  }

  void parse_filter(Stmt& out) {
    out.kind = StmtKind::FilterBlock;
    out.expr = expressions_.filters(nullptr, true);
    out.body = scoped_body("endfilter");
  }

  void parse_with(Stmt& out) {
    out.kind = StmtKind::With;
    while (!tokens_.is(TokenKind::BlockEnd)) {
      if (!out.assignments.empty()) tokens_.expect_operator(",");
      Target name = target("", false);
      tokens_.expect_operator("=");
      out.assignments.emplace_back(std::move(name), expressions_.expression());
    }
    out.body = body_to_end("endwith");
  }

  void parse_generation(Stmt& out) { out.body = scoped_body("endgeneration"); }

  void parse_autoescape(Stmt& out) {
    (void)expressions_.expression();
    out.body = body_to_end("endautoescape");
  }

  void parse_block(Stmt& out) {
    const std::string name = tokens_.expect_any_name();
    if (!blocks_.insert(name).second) tokens_.fail_here("block {} defined twice", quoted(name, 40));
    (void)tokens_.skip_name("scoped");
    if (tokens_.is_name("required")) tokens_.fail_here("required blocks are not supported");
    out.body = scoped_body("endblock");
    (void)tokens_.skip_name(name);
  }

  void parse_print(Stmt& out) {
    out.kind = StmtKind::Output;
    out.expr = expressions_.tuple();
  }

  void load(Stmt& out, const char* tag) {
    out.kind = StmtKind::Load;
    out.constant = Value::string(Text(tag));
    (void)expressions_.expression();
  }
  void with_context() {
    const bool is_word = tokens_.is_name("with") || tokens_.is_name("without");
    if (!is_word || tokens_.ahead().text != "context") return;
    tokens_.take();
    tokens_.take();
  }

  void parse_include(Stmt& out) {
    load(out, "include");
    if (tokens_.skip_name("ignore")) tokens_.expect_name("missing");
    with_context();
  }
  void parse_extends(Stmt& out) { load(out, "extends"); }
  void parse_import(Stmt& out) {
    load(out, "import");
    tokens_.expect_name("as");
    (void)target_part(false);
    with_context();
  }
  void parse_from(Stmt& out) {
    load(out, "from");
    tokens_.expect_name("import");
    do {
      with_context();
      if (tokens_.is(TokenKind::BlockEnd)) break;
      (void)target_part(false);
      if (tokens_.skip_name("as")) (void)target_part(false);
      with_context();
    } while (tokens_.skip_operator(","));
  }

  void parse_break(Stmt& out) {
    out.kind = StmtKind::Break;
    if (loops_ == 0) tokens_.fail_here("break outside a loop");
  }

  void parse_continue(Stmt& out) {
    out.kind = StmtKind::Continue;
    if (loops_ == 0) tokens_.fail_here("continue outside a loop");
  }

  /// Parses a body that is a function: break and continue cannot reach loops outside.
  Block scoped_body(std::string_view end) {
    const uint32_t loops = std::exchange(loops_, 0);
    const bool outer = std::exchange(expressions_.in_branch, false);
    Block body = body_to_end(end);
    loops_ = loops;
    expressions_.in_branch = outer;
    return body;
  }

  void signature(Signature& out) {
    tokens_.expect_operator("(");
    while (!tokens_.is_operator(")")) {
      if (!out.parameters.empty()) tokens_.expect_operator(",");
      if (tokens_.is_operator(")")) break;
      out.parameters.push_back(expressions_.intern(tokens_.expect_any_name()));
      if (tokens_.skip_operator("=")) {
        out.defaults.push_back(expressions_.expression());
      } else if (!out.defaults.empty()) {
        tokens_.fail_here("a parameter without a default after one with a default");
      }
    }
    tokens_.take();
  }

  /// A macro takes further arguments only if its body names them.
  size_t mark_uses() const { return out_.expressions.size(); }
  void note_uses(Signature& out, size_t from) {
    for (size_t i = from; i < out_.expressions.size(); ++i) {
      const Expr& expr = out_.expressions[i];
      if (expr.kind != ExprKind::Name) continue;
      const std::string& name = out_.names[expr.name];
      out.uses_caller |= name == "caller";
      out.uses_varargs |= name == "varargs";
      out.uses_kwargs |= name == "kwargs";
    }
  }

  Target target(std::string_view end, bool with_namespace) {
    const ExpressionParser::Nesting nesting(expressions_);
    Target out;
    bool more = false;
    do {
      const bool at_end = (!end.empty() && tokens_.is_name(end)) || tokens_.is_operator("=") ||
                          tokens_.is_operator(")") || tokens_.is(TokenKind::BlockEnd);
      if (more && at_end) break;
      out.parts.push_back(target_part(with_namespace));
      more = tokens_.skip_operator(",");
      out.is_tuple |= more;
    } while (more);
    if (!out.is_tuple) {
      Target only = std::move(out.parts[0]);
      return only;
    }
    return out;
  }

  Target target_part(bool with_namespace) {
    if (tokens_.skip_operator("(")) {
      Target inner = target("", with_namespace);
      tokens_.expect_operator(")");
      return inner;
    }
    constexpr std::array<std::string_view, 6> kReserved{"true", "false", "none",
                                                        "True", "False", "None"};
    if (std::find(kReserved.begin(), kReserved.end(), tokens_.now().text) != kReserved.end()) {
      tokens_.fail_here("{} cannot be assigned", tokens_.shown());
    }
    Target out;
    out.name = expressions_.intern(tokens_.expect_any_name());
    if (with_namespace && tokens_.skip_operator(".")) out.attribute = tokens_.expect_any_name();
    return out;
  }

  TokenStream tokens_;
  Syntax& out_;
  ExpressionParser expressions_;
  uint32_t loops_ = 0;
  std::set<std::string, std::less<>> blocks_;
};

const std::array<Parser::Tag, 17> Parser::kTags{{{"if", &Parser::parse_if},
                                                 {"for", &Parser::parse_for},
                                                 {"set", &Parser::parse_set},
                                                 {"macro", &Parser::parse_macro},
                                                 {"call", &Parser::parse_call},
                                                 {"filter", &Parser::parse_filter},
                                                 {"with", &Parser::parse_with},
                                                 {"generation", &Parser::parse_generation},
                                                 {"autoescape", &Parser::parse_autoescape},
                                                 {"block", &Parser::parse_block},
                                                 {"print", &Parser::parse_print},
                                                 {"break", &Parser::parse_break},
                                                 {"continue", &Parser::parse_continue},
                                                 {"include", &Parser::parse_include},
                                                 {"extends", &Parser::parse_extends},
                                                 {"import", &Parser::parse_import},
                                                 {"from", &Parser::parse_from}}};

}  // namespace

Syntax parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    fail(Code::Template, "line 1: the template has {} bytes, the limit is {}", source.size(),
         kMaxSourceBytes);
  }
  Syntax syntax;
  Parser(source, syntax).run();
  return syntax;
}

}  // namespace tenon::jinja
