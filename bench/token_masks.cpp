// The time of token masks: a synthetic vocabulary of 128,000 tokens, documents of a schema made of
// random allowed tokens; the mask of every token, built without a cache of whole masks.
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench bench_token_masks
//   build-bench/bin/bench_token_masks
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>

#include "text/grammar/matcher.h"

namespace {

using namespace tenon;
using Clock = std::chrono::steady_clock;

/// Bytes, then words of letters with and without a space, numbers, and JSON's punctuation joined.
std::shared_ptr<const grammar::TokenSet> vocabulary(size_t size) {
  std::mt19937 random(1);
  std::set<std::string> seen;
  std::vector<std::string> texts{""};
  const auto add = [&](const std::string& text) {
    if (seen.insert(text).second) texts.push_back(text);
  };
  for (int b = 0; b < 256; ++b) add(std::string(1, static_cast<char>(b)));
  const std::vector<std::string> marks = {"\"", "\":", "\",", "\"}", "{\"", "[\"", "\"]", ": \"",
                                          ", \"", "\\n", "\n", "\n  ", "}", "},", "\\\"", "'"};
  for (const auto& a : marks) {
    for (const auto& b : marks) add(a + b);
  }
  while (texts.size() < size) {
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

constexpr const char* kSchema = R"({"type":"object","properties":{
  "name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
  "email":{"type":"string","maxLength":60},
  "tags":{"type":"array","items":{"type":"string","minLength":2},"maxItems":5},
  "address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"string",
    "pattern":"^[0-9]{5}$"},"kind":{"enum":["home","work","other"]}},
    "required":["street","zip"],"additionalProperties":false}},
  "required":["name","age","tags","address"],"additionalProperties":false})";

}  // namespace

int main() {
  const auto tokens = vocabulary(128'000);
  const auto masks = std::make_shared<const grammar::TokenMasks>(
      Grammar::compile(GrammarKind::JsonSchema, kSchema), tokens);
  std::mt19937 random(2);
  for (const bool warm : {false, true}) {
    std::vector<double> build_us, check_us;
    for (int document = 0; document < 20; ++document) {
      GrammarMatcher matcher(masks);
      matcher.set_token_limit(300);
      for (int i = 0; i < 300 && !matcher.is_ended(); ++i) {
        const auto start = Clock::now();
        const auto mask = matcher.mask(false);
        build_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
        std::vector<Token> allowed;
        for (size_t t = 0; t < tokens->size(); ++t) {
          if ((mask[t / 64] >> (t % 64) & 1) != 0) allowed.push_back(static_cast<Token>(t));
        }
        Token token = 0;
        for (int attempt = 0;; ++attempt) {
          token = allowed[random() % allowed.size()];
          const auto begin = Clock::now();
          const bool fits = matcher.allows(token);
          check_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
          if (fits) break;
          if (attempt == 50) {
            const auto exact = matcher.mask(true);
            allowed.clear();
            for (size_t t = 0; t < tokens->size(); ++t) {
              if ((exact[t / 64] >> (t % 64) & 1) != 0) allowed.push_back(static_cast<Token>(t));
            }
          }
        }
        matcher.accept(token);
      }
    }
    for (auto* times : {&build_us, &check_us}) {
      std::sort(times->begin(), times->end());
      double sum = 0;
      for (const double t : *times) sum += t;
      std::printf("%s %s: %zu, mean %.1f us, p50 %.1f, p99 %.1f, max %.1f\n",
                  warm ? "second round" : "first round", times == &build_us ? "mask" : "check",
                  times->size(), sum / static_cast<double>(times->size()),
                  (*times)[times->size() / 2], (*times)[times->size() * 99 / 100], times->back());
    }
  }
}
