#include "server/compat/lark_pattern.h"

#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "server/work/work_limit.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxPatternBytes = size_t{256} << 10;
/// Bound on all intermediate texts; each level of groups writes its own copy.
constexpr size_t kMaxWrittenBytes = size_t{16} << 20;
constexpr size_t kMaxNesting = 200;

/// Lark's library grammar "common", as far as patterns express it.
struct CommonTerminal {
  std::string_view name;
  std::string_view pattern;
};
constexpr auto kCommonTerminals = std::to_array<CommonTerminal>({
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"WS_INLINE", "[ \\t]+"},
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+\\-]?[0-9]+"},
    {"DECIMAL", "(?:[0-9]+\\.[0-9]*|\\.[0-9]+)"},
    {"FLOAT", "(?:[0-9]+[eE][+\\-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+\\-]?[0-9]+)?)"},
    {"NUMBER",
     "(?:[0-9]+[eE][+\\-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+\\-]?[0-9]+)?|[0-9]+)"},
    {"SIGNED_NUMBER",
     "[+\\-]?(?:[0-9]+[eE][+\\-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+\\-]?[0-9]+)?|[0-9]+"
     ")"},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[_A-Za-z][_A-Za-z0-9]*"},
    // Without unescaped inner quotes, which no lexer would include.
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
});

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Pattern that matches the character `c`.
std::string escaped(char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\v':
      return "\\v";
    default:
      break;
  }
  static constexpr std::string_view kSyntax = "^$\\.*+?()[]{}|/";
  return kSyntax.find(c) == kSyntax.npos ? std::string(1, c) : std::string{'\\', c};
}

/// Parses the body of a definition and writes its pattern. `name` resolves names. All readers of a
/// grammar share the budget and spend before they write.
class Expression {
 public:
  template <typename Name, typename Fail>
  static std::string read(std::string_view text, Name name, Fail fail, GrowthBudget& budget) {
    Reader<Name, Fail> reader{text, name, fail, budget};
    std::string pattern = reader.alternatives(0);
    if (!reader.at_end()) fail("there is \"" + std::string(1, text[reader.at]) + "\"");
    return pattern;
  }

 private:
  template <typename Name, typename Fail>
  struct Reader {
    std::string_view text;
    Name name;
    Fail fail;
    GrowthBudget& budget;
    size_t at = 0;

    /// Checks the bounds before `bytes` more are appended to `text_so_far`.
    void grow(const std::string& text_so_far, size_t bytes) {
      if (bytes > kMaxPatternBytes || text_so_far.size() > kMaxPatternBytes - bytes) {
        fail("it becomes longer than 256 KiB");
      }
      if (!budget.spend(bytes)) fail("writing it out takes more than 16 MiB");
    }
    void append(std::string& to, std::string_view more) {
      grow(to, more.size());
      to += more;
    }
    /// Concatenates before + inner + after.
    std::string wrapped(std::string_view before, std::string_view inner, std::string_view after) {
      std::string whole;
      grow(whole, before.size() + inner.size() + after.size());
      whole.reserve(before.size() + inner.size() + after.size());
      return std::move(whole.append(before).append(inner).append(after));
    }

    void skip() {
      while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    }
    bool at_end() {
      skip();
      return at == text.size();
    }
    [[nodiscard]] bool next_is(std::string_view what) const {
      return text.substr(at).starts_with(what);
    }
    bool take(std::string_view what) {
      skip();
      if (!next_is(what)) return false;
      at += what.size();
      return true;
    }
    std::string identifier() {
      const size_t begin = at;
      while (at < text.size() && is_name_character(text[at])) ++at;
      return std::string(text.substr(begin, at - begin));
    }
    size_t number() {
      skip();
      size_t value = 0;
      const size_t begin = at;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at) {
        value = value * 10 + static_cast<size_t>(text[at] - '0');
        if (value > 100000) fail("a count is beyond 100000");
      }
      if (at == begin) fail("a number is missing after ~");
      return value;
    }

    std::string alternatives(size_t depth) {
      if (depth > kMaxNesting) fail("groups are nested deeper than 200");
      std::string pattern = "(?:";
      append(pattern, sequence(depth));
      while (take("|")) {
        append(pattern, "|");
        append(pattern, sequence(depth));
      }
      append(pattern, ")");
      return pattern;
    }

    std::string sequence(size_t depth) {
      std::string pattern;
      for (;;) {
        if (at_end() || next_is("|") || next_is(")") || next_is("]")) return pattern;
        if (take("->")) {  // alias: name of a tree's node
          skip();
          (void)identifier();
          continue;
        }
        append(pattern, item(depth));
      }
    }

    std::string item(size_t depth) {
      std::string pattern = atom(depth);
      for (;;) {
        skip();
        if (next_is("?") || next_is("*") || next_is("+")) {
          pattern = wrapped("(?:", pattern, std::string{')', text[at]});
          ++at;
        } else if (take("~")) {
          const size_t least = number();
          std::string most = std::to_string(least);
          if (take("..")) most = std::to_string(number());
          pattern = wrapped("(?:", pattern, "){" + std::to_string(least) + "," + most + "}");
        } else {
          return pattern;
        }
      }
    }

    std::string atom(size_t depth) {
      skip();
      const char c = text[at];
      if (c == '(') {
        ++at;
        std::string group = alternatives(depth + 1);
        if (!take(")")) fail("\")\" is missing");
        return group;
      }
      if (c == '[') {
        ++at;
        std::string group = alternatives(depth + 1);
        if (!take("]")) fail("\"]\" is missing");
        return wrapped("(?:", group, ")?");
      }
      if (c == '"') return string_or_range();
      if (c == '/') return regular_expression();
      if (!is_name_character(c)) fail("there is \"" + std::string(1, c) + "\"");
      const std::string called = identifier();
      if (next_is("{")) fail("templates are not taken");
      return name(called);
    }

    std::string string_or_range() {
      const std::string from = string();
      if (!take("..")) {
        const bool ignores_case = next_is("i") && !is_name_character(next_after());
        if (ignores_case) ++at;
        std::string pattern;
        for (const char c : from) {
          const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
          const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
          append(pattern,
                 ignores_case && upper != lower ? std::string{'[', upper, lower, ']'} : escaped(c));
        }
        return wrapped("(?:", pattern, ")");
      }
      skip();
      const std::string to = string();
      if (from.size() != 1 || to.size() != 1 || from[0] > to[0]) {
        fail("a range must be of two characters of ASCII, in order");
      }
      const auto end_of_range = [](char c) { return c == '-' ? std::string("\\-") : escaped(c); };
      return "[" + end_of_range(from[0]) + "-" + end_of_range(to[0]) + "]";
    }
    [[nodiscard]] char next_after() const { return at + 1 < text.size() ? text[at + 1] : ' '; }

    std::string string() {
      if (at >= text.size() || text[at] != '"') fail("a string is missing");
      std::string value;
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        grow(value, 1);
        if (text[at] != '\\') {
          value += text[at];
          continue;
        }
        if (++at == text.size()) break;
        static constexpr std::string_view kEscapes = "nrtfv\\\"/";
        static constexpr std::string_view kMeanings = "\n\r\t\f\v\\\"/";
        const size_t kind = kEscapes.find(text[at]);
        if (kind == kEscapes.npos) {
          fail(std::string("the escape \\") + text[at] + " in a string is not taken");
        }
        value += kMeanings[kind];
      }
      if (at == text.size()) fail("a string does not end");
      ++at;
      if (value.empty()) fail("a string is empty");
      return value;
    }

    /// Copies the expression. Its dots exclude line feeds only, unlike those of ECMA-262.
    std::string regular_expression() {
      std::string pattern;
      std::vector<size_t> dots;  // in order of position
      bool in_class = false;
      for (++at;; ++at) {
        if (at == text.size()) fail("a regular expression does not end");
        grow(pattern, 2);
        const char c = text[at];
        if (c == '\\' && at + 1 < text.size()) {
          pattern += c;
          pattern += text[++at];
          continue;
        }
        if (c == '/' && !in_class) break;
        if (c == '[') in_class = true;
        if (c == ']') in_class = false;
        if (c == '.' && !in_class) dots.push_back(pattern.size());
        pattern += c;
      }
      ++at;
      bool takes_all = false;
      while (at < text.size() && std::islower(static_cast<unsigned char>(text[at])) != 0) {
        if (text[at] != 's') fail(std::string("the flag ") + text[at] + " is not taken");
        takes_all = true;
        ++at;
      }
      const std::string_view any = takes_all ? "[\\s\\S]" : "[^\\n]";
      std::string whole = "(?:";
      size_t copied = 0;
      for (const size_t dot : dots) {
        append(whole, std::string_view(pattern).substr(copied, dot - copied));
        append(whole, any);
        copied = dot + 1;
      }
      append(whole, std::string_view(pattern).substr(copied));
      append(whole, ")");
      return whole;
    }
  };
};

class LarkGrammar {
 public:
  explicit LarkGrammar(std::string_view text) { read(text); }

  const std::string& pattern_of(const std::string& name, size_t line) {
    const auto found = definitions_.find(name);
    if (found == definitions_.end()) fail(line, "\"" + name + "\" is not defined");
    Definition& definition = found->second;
    if (definition.is_being_read) {
      fail(definition.line, "\"" + name + "\" needs itself: recursive rules are not taken");
    }
    if (definition.pattern) return *definition.pattern;
    if (++depth_ > kMaxNesting) fail(definition.line, "rules are nested deeper than 200");
    definition.is_being_read = true;
    const size_t at = definition.line;
    std::string pattern = Expression::read(
        definition.body, [this, at](const std::string& used) { return pattern_of(used, at); },
        [at](const std::string& message) { fail(at, message); }, budget_);
    definition.is_being_read = false;
    --depth_;
    definition.pattern = std::move(pattern);
    return *definition.pattern;
  }

 private:
  struct Definition {
    std::string body;
    size_t line = 0;
    bool is_being_read = false;
    std::optional<std::string> pattern{};
  };

  [[noreturn]] static void fail(size_t line, const std::string& message) {
    throw LarkError("line " + std::to_string(line) + ": " + message);
  }

  static std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
  }

  /// Cuts a comment outside of strings and regular expressions.
  static std::string_view without_comment(std::string_view line) {
    char open = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (open != 0) {
        if (c == '\\') ++i;
        if (c == open) open = 0;
      } else if (line.substr(i).starts_with("//") || c == '#') {
        return line.substr(0, i);
      } else if (c == '"' || c == '/') {
        open = c;
      }
    }
    return line;
  }

  void read(std::string_view text) {
    size_t number = 0;
    Definition* open = nullptr;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const std::string_view line = trimmed(without_comment(text.substr(0, end)));
      text = end == text.npos ? std::string_view() : text.substr(end + 1);
      ++number;
      WorkLimit::look();
      if (line.empty()) continue;
      if (line.starts_with("%")) {
        read_directive(line, number);
        open = nullptr;
      } else if (line.starts_with("|") && open != nullptr) {
        open->body += "\n" + std::string(line);
      } else if (Definition* begun = begin_definition(line, number); begun != nullptr) {
        open = begun;
      } else if (open != nullptr) {
        open->body += "\n" + std::string(line);
      } else {
        fail(number, "a rule \"name: ...\" is missing");
      }
    }
  }

  /// Parses "NAME.2: BODY", with tree-shaping marks before the name. Returns null for other lines.
  Definition* begin_definition(std::string_view line, size_t number) {
    size_t at = line.find_first_not_of("?!");
    if (at == line.npos) return nullptr;
    const size_t begin = at;
    while (at < line.size() && is_name_character(line[at])) ++at;
    const std::string name(line.substr(begin, at - begin));
    if (at < line.size() && line[at] == '{') fail(number, "templates are not taken");
    if (at < line.size() && line[at] == '.') {
      for (++at; at < line.size() &&
                 (std::isdigit(static_cast<unsigned char>(line[at])) != 0 || line[at] == '-');) {
        ++at;
      }
    }
    while (at < line.size() && line[at] == ' ') ++at;
    if (name.empty() || at == line.size() || line[at] != ':') return nullptr;
    return &define(name, std::string(line.substr(at + 1)), number);
  }

  Definition& define(const std::string& name, std::string body, size_t line) {
    const auto [place, is_new] = definitions_.emplace(name, Definition{std::move(body), line});
    if (!is_new) fail(line, "\"" + name + "\" is defined twice");
    return place->second;
  }

  void read_directive(std::string_view line, size_t number) {
    constexpr std::string_view kImport = "%import";
    if (!line.starts_with(kImport)) {
      fail(number, std::string(line.substr(0, line.find(' '))) + " is not taken");
    }
    std::string_view what = trimmed(line.substr(kImport.size()));
    if (!what.starts_with("common")) fail(number, "only terminals of common can be imported");
    what = trimmed(what.substr(std::string_view("common").size()));
    if (what.starts_with(".")) {
      what = what.substr(1);
      const size_t arrow = what.find("->");
      const std::string name(trimmed(what.substr(0, arrow)));
      import(name, arrow == what.npos ? name : std::string(trimmed(what.substr(arrow + 2))),
             number);
    } else if (what.starts_with("(") && what.ends_with(")")) {
      what = what.substr(1, what.size() - 2);
      while (!what.empty()) {
        const size_t comma = what.find(',');
        const std::string name(trimmed(what.substr(0, comma)));
        import(name, name, number);
        what = comma == what.npos ? std::string_view() : what.substr(comma + 1);
      }
    } else {
      fail(number, "%import must be common.NAME or common (NAME, ...)");
    }
  }

  void import(const std::string& name, const std::string& as, size_t line) {
    for (const CommonTerminal& terminal : kCommonTerminals) {
      if (terminal.name != name) continue;
      define(as, "", line).pattern = "(?:" + std::string(terminal.pattern) + ")";
      return;
    }
    fail(line, "common." + name + " is not known here");
  }

  std::map<std::string, Definition> definitions_;
  GrowthBudget budget_{kMaxWrittenBytes};
  size_t depth_ = 0;
};

}  // namespace

std::string lark_pattern(std::string_view grammar) {
  return LarkGrammar(grammar).pattern_of("start", 1);
}

}  // namespace tenon_http
