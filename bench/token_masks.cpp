// Time of grammars with a vocabulary of 128,000 tokens, over documents of random allowed tokens:
// per mask, and per token of a generation in which one draw in ten is refused.
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench bench_token_masks
//   build-bench/bin/bench_token_masks [VOCABULARY.gguf...]
//
// Joins the vocabularies of the files up to that size, then adds invented words.
#include <algorithm>
#include <bit>
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
// Tokens beyond the shortest text of a document that must end soon.
constexpr uint32_t kMostSpare = 80;

/// Bytes, then words of letters with and without a space, numbers, and combinations of JSON's
/// punctuation.
std::shared_ptr<const grammar::TokenSet> vocabulary(std::span<char*> paths) {
  std::mt19937 random(1);
  std::set<std::string> seen;
  std::vector<std::string> texts{""};
  const auto add = [&](const std::string& text) {
    if (seen.insert(text).second) texts.push_back(text);
  };
  for (const char* path : paths) {
    const auto tokenizer = make_tokenizer(read_gguf_vocabulary(path));
    for (size_t i = 0; i < tokenizer->size() && texts.size() < kVocabulary; ++i) {
      add(std::string(tokenizer->decode(static_cast<Token>(i))));
    }
    std::printf("%zu tokens with %s\n", texts.size(), path);
  }
  for (int b = 0; b < 256; ++b) add(std::string(1, static_cast<char>(b)));
  const std::vector<std::string> marks = {"\"",  "\":",  "\",",  "\"}", "{\"", "[\"",
                                          "\"]", ": \"", ", \"", "\\n", "\n",  "\n  ",
                                          "}",   "},",   "\\\"", "'"};
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
    {"schema of a tree", GrammarKind::JsonSchema,
     R"({"$defs":{"node":{"type":"object","properties":{
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
    {"GBNF of prose", GrammarKind::Gbnf, R"gbnf(
root ::= sentence (" " sentence)*
sentence ::= word ((", " | " ") word)* [.!?]
word ::= [A-Za-z]+ ("'" [a-z]+)?
)gbnf"},
    {"schema of a long text", GrammarKind::JsonSchema,
     R"({"type":"string","pattern":"^[a-z ,.]*$","maxLength":1500})"},
    {"schema of few names", GrammarKind::JsonSchema, R"({"type":"object","maxProperties":8,
      "additionalProperties":{"type":["string","number"],"maxLength":30}})"},
    {"schema of formats", GrammarKind::JsonSchema, R"({"type":"object","properties":{
      "id":{"format":"uuid","type":"string"},"mail":{"format":"email","type":"string"},
      "at":{"format":"date-time","type":"string"},"from":{"format":"ipv4","type":"string"},
      "link":{"format":"uri","type":"string"},"price":{"type":"number","multipleOf":0.01,"minimum":0}},
      "required":["id","mail","at","from","link","price"],"additionalProperties":false})"},
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
  for (size_t w = 0; w < mask.size(); ++w) {
    for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
      tokens.push_back(static_cast<Token>(w * 64 + static_cast<size_t>(std::countr_zero(bits))));
    }
  }
  return tokens;
}

void report(const char* what, Times& times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double t : times) sum += t;
  std::printf("  %-24s mean %7.1f us  p50 %7.1f  p99 %8.1f  max %8.1f  (%zu)\n", what,
              sum / static_cast<double>(times.size()), times[times.size() / 2],
              times[times.size() * 99 / 100], times.back(), times.size());
}

/// Draws a random allowed token; records the times of its masks.
Token next_token(GrammarMatcher& matcher, std::mt19937& random, Times* mask_us, Times* exact_us) {
  Times none;
  timed(mask_us != nullptr ? *mask_us : none, [&] { (void)matcher.mask(false); });
  std::vector<Token> allowed = tokens_of(matcher.mask(false));
  const Token token = allowed[random() % allowed.size()];
  // Otherwise the end is too far for the remaining tokens.
  if (matcher.allows(token)) return token;
  timed(exact_us != nullptr ? *exact_us : none, [&] { (void)matcher.mask(true); });
  allowed = tokens_of(matcher.mask(true));
  return allowed[random() % allowed.size()];
}

void run(const Case& test, const std::shared_ptr<const grammar::TokenSet>& tokens) {
  Times compile_us, bind_us, mask_us, first_us, exact_us, near_us, token_us;
  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const grammar::TokenMasks> masks;
  timed(compile_us, [&] { grammar = Grammar::compile(test.kind, test.text); });
  timed(bind_us, [&] { masks = std::make_shared<const grammar::TokenMasks>(grammar, tokens); });
  std::printf("%s: %u states, compiled in %.1f ms, bound in %.1f ms\n", test.name,
              grammar->automaton()->num_states(), compile_us[0] / 1000, bind_us[0] / 1000);
  std::mt19937 random(2);
  std::vector<std::vector<Token>> documents;
  for (int document = 0; document < kDocuments; ++document) {
    GrammarMatcher matcher(masks);
    matcher.set_token_limit(kTokens);
    documents.emplace_back();
    while (documents.back().size() < kTokens && !matcher.is_ended()) {
      const size_t before = mask_us.size();
      documents.back().push_back(next_token(matcher, random, &mask_us, &exact_us));
      if (document == 0) first_us.push_back(mask_us[before]);
      matcher.accept(documents.back().back());
    }
  }
  // Repeat the documents with new masks, as a sampler processes them.
  masks = std::make_shared<const grammar::TokenMasks>(grammar, tokens);
  for (const std::vector<Token>& document : documents) {
    GrammarMatcher matcher(masks);
    matcher.set_token_limit(kTokens);
    for (const Token token : document) {
      const bool refused = random() % 10 == 0;
      timed(token_us, [&] {
        if (refused || !matcher.allows(token)) {
          (void)matcher.mask(false);
          if (!matcher.allows(token)) (void)matcher.mask(true);
        }
        matcher.accept(token);
      });
    }
  }
  // Generate documents that must end soon, so every mask is exact.
  masks = std::make_shared<const grammar::TokenMasks>(grammar, tokens);
  for (int document = 0; document < kDocuments; ++document) {
    GrammarMatcher matcher(masks);
    matcher.set_token_limit(matcher.shortest_bytes() + random() % kMostSpare);
    while (matcher.token_limit() > 0 && !matcher.is_ended()) {
      timed(near_us, [&] { (void)matcher.mask(true); });
      const std::vector<Token> allowed = tokens_of(matcher.mask(true));
      matcher.accept(allowed[random() % allowed.size()]);
    }
  }
  report("masks, first document", first_us);
  report("masks, all", mask_us);
  report("masks near the limit", near_us);
  report("of these documents", exact_us);
  report("tokens, 1 in 10 refused", token_us);
}

}  // namespace

int main(int argc, char** argv) {
  const auto tokens = vocabulary(std::span(argv + 1, static_cast<size_t>(argc - 1)));
  for (const Case& test : kCases) run(test, tokens);
}
