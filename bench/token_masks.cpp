// The time of token masks with a vocabulary of 128,000 tokens: documents of several grammars made of
// random allowed tokens, with the mask of every token built and the drawn token checked, as for a
// model whose every first draw is refused.
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench bench_token_masks
//   build-bench/bin/bench_token_masks [VOCABULARY.gguf]
//
// A smaller vocabulary of a file is filled up with made-up words; without a file all are.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>

#include "tests/text/gguf_vocabulary.h"
#include "text/grammar/matcher.h"

namespace {

using namespace tenon;
using Clock = std::chrono::steady_clock;

constexpr size_t kVocabulary = 128'000;
constexpr int kDocuments = 20;
constexpr uint64_t kTokens = 300;

/// Bytes, then words of letters with and without a space, numbers, and JSON's punctuation joined.
std::shared_ptr<const grammar::TokenSet> vocabulary(const char* path) {
  std::mt19937 random(1);
  std::set<std::string> seen;
  std::vector<std::string> texts{""};
  const auto add = [&](const std::string& text) {
    if (seen.insert(text).second) texts.push_back(text);
  };
  if (path != nullptr) {
    const auto tokenizer = make_tokenizer(testing::read_gguf_vocabulary(path));
    for (size_t i = 0; i < tokenizer->size() && texts.size() < kVocabulary; ++i) {
      add(std::string(tokenizer->decode(static_cast<Token>(i))));
    }
    std::printf("%zu tokens of %s\n", texts.size(), path);
  }
  for (int b = 0; b < 256; ++b) add(std::string(1, static_cast<char>(b)));
  const std::vector<std::string> marks = {"\"", "\":", "\",", "\"}", "{\"", "[\"", "\"]", ": \"",
                                          ", \"", "\\n", "\n", "\n  ", "}", "},", "\\\"", "'"};
  for (const auto& a : marks) {
    for (const auto& b : marks) add(a + b);
  }
  while (texts.size() < kVocabulary) {
    std::string word = random() % 2 != 0 ? " " : "";
    const size_t letters = 2 + random() % 9;
    for (size_t i = 0; i < letters; ++i) {
      if (random() % 16 == 0) word += "\xC3\xA9";
      word += static_cast<char>('a' + random() % 26);
    }
    if (random() % 24 == 0) word += marks[random() % marks.size()];
    add(random() % 24 == 0 ? std::to_string(random() % 100000) : word);
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const grammar::TokenSet>(views, std::vector<Token>{0});
}

struct Case {
  const char* name;
  GrammarKind kind;
  const char* text;
};
constexpr Case kCases[] = {
    {"schema of a person", GrammarKind::JsonSchema, R"({"type":"object","properties":{
      "name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
      "email":{"type":"string","maxLength":60},
      "tags":{"type":"array","items":{"type":"string","minLength":2},"maxItems":5},
      "address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"string",
        "pattern":"^[0-9]{5}$"},"kind":{"enum":["home","work","other"]}},
        "required":["street","zip"],"additionalProperties":false}},
      "required":["name","age","tags","address"],"additionalProperties":false})"},
    {"schema of a tree", GrammarKind::JsonSchema, R"({"$defs":{"node":{"type":"object","properties":{
      "label":{"type":"string","pattern":"^[A-Z][a-z]+( [a-z]+)*$"},"weight":{"type":"number"},
      "children":{"type":"array","items":{"$ref":"#/$defs/node"},"maxItems":4}},
      "required":["label","children"],"additionalProperties":false}},"$ref":"#/$defs/node"})"},
    {"any JSON", GrammarKind::JsonSchema, "{}"},
    {"GBNF of JSON", GrammarKind::Gbnf, R"gbnf(
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\n" [ \t]{0,20}
)gbnf"},
    {"GBNF of sums", GrammarKind::Gbnf, R"gbnf(
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
)gbnf"},
    {"pattern of words", GrammarKind::Regex, R"(([A-Z][a-z]{2,12}(, [a-z]{1,10}){0,20}\. ){1,40})"},
    {"pattern of addresses", GrammarKind::Regex,
     R"((\w+@\w+\.(com|org|net)|https?://[a-z0-9./?=_-]+|\+\d{2} \d{3,10})(\n(\w+@\w+\.(com|org)|\d+))*)"},
};

using Times = std::vector<double>;

template <typename Action>
void timed(Times& times, Action action) {
  const auto start = Clock::now();
  action();
  times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
}

std::vector<Token> tokens_of(std::span<const uint64_t> mask) {
  std::vector<Token> tokens;
  for (size_t t = 0; t < mask.size() * 64; ++t) {
    if ((mask[t / 64] >> (t % 64) & 1) != 0) tokens.push_back(static_cast<Token>(t));
  }
  return tokens;
}

void report(const char* name, const char* what, Times& times) {
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double t : times) sum += t;
  std::printf("  %-22s %-6s mean %7.1f us  p50 %7.1f  p99 %8.1f  max %8.1f  (%zu)\n", name, what,
              sum / static_cast<double>(times.size()), times[times.size() / 2],
              times[times.size() * 99 / 100], times.back(), times.size());
}

void run(const Case& test, const std::shared_ptr<const grammar::TokenSet>& tokens) {
  Times compile_us, mask_us, exact_us, check_us, first_us;
  std::shared_ptr<const Grammar> grammar;
  timed(compile_us, [&] { grammar = Grammar::compile(test.kind, test.text); });
  const auto masks = std::make_shared<const grammar::TokenMasks>(grammar, tokens);
  std::printf("%s: %u states, compiled in %.1f ms\n", test.name,
              grammar->automaton()->num_states(), compile_us[0] / 1000);
  std::mt19937 random(2);
  for (int document = 0; document < kDocuments; ++document) {
    GrammarMatcher matcher(masks);
    matcher.set_token_limit(kTokens);
    for (uint64_t i = 0; i < kTokens && !matcher.is_ended(); ++i) {
      std::vector<Token> allowed;
      timed(document == 0 ? first_us : mask_us, [&] { (void)matcher.mask(false); });
      allowed = tokens_of(matcher.mask(false));
      Token token = allowed[random() % allowed.size()];
      bool fits = false;
      timed(check_us, [&] { fits = matcher.allows(token); });
      if (!fits) {  // too far from the end for the tokens that are left
        timed(exact_us, [&] { (void)matcher.mask(true); });
        allowed = tokens_of(matcher.mask(true));
        token = allowed[random() % allowed.size()];
      }
      matcher.accept(token);
    }
  }
  report("first document", "mask", first_us);
  report("the others", "mask", mask_us);
  if (!exact_us.empty()) report("near the token limit", "mask", exact_us);
  report("all", "check", check_us);
}

}  // namespace

int main(int argc, char** argv) {
  const auto tokens = vocabulary(argc > 1 ? argv[1] : nullptr);
  for (const Case& test : kCases) run(test, tokens);
}
