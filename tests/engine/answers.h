// Ways to ask an engine for an answer, and the answers. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/tiny_engine.h"
#include "text/grammar/grammar.h"
#include "text/grammar/mask_cache.h"

namespace tenon {

/// A host's view of a request.
struct WholeAnswer {
  std::vector<Token> tokens;
  std::string text;
  Finish finish = Finish::None;
  std::vector<float> logprobs;
  bool operator==(const WholeAnswer&) const = default;
};

inline WholeAnswer whole_answer(Engine& engine, Generation& generation,
                                const std::function<void()>& host = {}) {
  WholeAnswer answer;
  for (;;) {
    EXPECT_TRUE(engine.wait(generation, UINT64_MAX));
    const Engine::Fetched fetched = engine.fetch(generation);
    if (fetched.failure) std::rethrow_exception(fetched.failure);
    answer.text += fetched.text;
    if (fetched.finish != Finish::None) answer.finish = fetched.finish;
    if (fetched.ended) return answer;
    answer.tokens.push_back(fetched.token);
    if (generation.logprobs.are_wanted()) {
      float logprob = 0;
      engine.logprobs(generation, logprob, {}, {});
      answer.logprobs.push_back(logprob);
    }
    if (host) host();
  }
}

/// A named way to ask: a sampler and rules.
struct Way {
  const char* name;
  /// True if steps run ahead on tokens that only the device knows.
  bool goes_ahead;
  /// True if the host needs all logits of each token.
  bool takes_rows;
  std::function<void(Sampler&, GenerationOptions&, const Model&)> set;
};

inline std::unique_ptr<GrammarMatcher> list_grammar(const Model& model) {
  // Refuses most tokens of a model of random weights.
  grammar::MaskCache masks(model.tokenizer());
  return std::make_unique<GrammarMatcher>(
      masks.of(Grammar::compile(GrammarKind::Regex, "[0-9]+(,[0-9a-z]+)*")));
}

inline const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"Greedy", true, false,
       [](Sampler& s, GenerationOptions&, const Model&) { s.set("temperature", 0.0); }},
      {"Drawn", true, false,
       [](Sampler& s, GenerationOptions&, const Model&) {
         s.set("temperature", 0.9);
         s.set("seed", int64_t{7});
       }},
      {"Biased", true, false,
       [](Sampler& s, GenerationOptions& o, const Model&) {
         s.set("temperature", 1.0);
         s.set("min_tokens", int64_t{6});
         s.set_logit_bias(40, 8.0F);
         s.set_logit_bias(41, -std::numeric_limits<float>::infinity());
         o.ends.ignore_end = false;
         o.ends.stop_tokens = {40, 41};
       }},
      {"WithLogprobs", true, true,
       [](Sampler& s, GenerationOptions& o, const Model&) {
         s.set("temperature", 0.7);
         o.logprobs.of_drawn = true;
       }},
      {"Penalised", false, false,
       [](Sampler& s, GenerationOptions&, const Model&) {
         s.set("temperature", 0.8);
         s.set("repeat_penalty", 1.3);
         s.set("presence_penalty", 0.5);
       }},
      {"PenalisedGreedy", false, false,
       [](Sampler& s, GenerationOptions&, const Model&) {
         s.set("temperature", 0.0);
         s.set("frequency_penalty", 0.5);
         s.set("repeat_last_n", int64_t{-1});
         s.set("dry_multiplier", 0.8);
         s.set_logit_bias(40, 3.0F);
       }},
      {"Chosen", false, false,
       [](Sampler& s, GenerationOptions&, const Model&) {
         s.set("typical_p", 0.8);
         s.set("xtc_probability", 0.5);
         s.set("dynatemp_range", 0.3);
         s.set("adaptive_target", 0.4);
       }},
      {"Raised", false, true,
       [](Sampler& s, GenerationOptions&, const Model&) { s.set("presence_penalty", -0.5); }},
      {"Steered", false, true,
       [](Sampler& s, GenerationOptions&, const Model&) { s.set("mirostat", int64_t{2}); }},
      {"WithinGrammar", true, false,
       [](Sampler& s, GenerationOptions&, const Model& model) {
         s.set("temperature", 0.8);
         s.set_grammar(list_grammar(model));
       }},
      {"WithBans", false, true,
       [](Sampler& s, GenerationOptions& o, const Model& model) {
         s.set("temperature", 0.0);
         const std::string banned[] = {"a", "e", "the"};
         o.ends.banned = std::make_shared<BannedTexts>(banned);
         (void)model;
       }},
      {"Stopped", true, false,
       [](Sampler& s, GenerationOptions& o, const Model&) {
         s.set("temperature", 1.0);
         s.set("seed", int64_t{3});
         const std::string stops[] = {"e", "o", "7"};
         o.ends.stops = std::make_shared<StopStrings>(stops);
       }},
  };
  return all;
}

inline WholeAnswer ask_way(Engine& engine, const Way& way, uint32_t prompt, uint64_t count) {
  Session session(engine.shared_from_this());
  session.append(make_tokens(prompt, prompt));
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  GenerationOptions options = limits(count);
  way.set(sampler, options, engine.model());
  const auto generation = session.submit(sampler, options);
  return whole_answer(engine, *generation);
}

}  // namespace tenon
