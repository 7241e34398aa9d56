// Loaded tiny models, their engines and sessions, and logits to compare. For tests only.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/session.h"
#include "model/model.h"
#include "sampler/logprobs.h"
#include "tests/engine/tiny_model.h"

namespace tenon {

inline std::shared_ptr<const Model> load_source(std::shared_ptr<const ByteSource> source,
                                                ModelOptions options = {}) {
  return Model::load(std::span(&source, 1), std::move(options));
}

inline std::shared_ptr<const Model> load_tiny(const TinyModel& tiny = {},
                                              ModelOptions options = {}) {
  if (options.threads == 0) options.threads = 2;
  return load_source(tiny_source(tiny), std::move(options));
}

/// A model without its weights.
inline std::shared_ptr<const Model> header_of(const TinyModel& tiny = {},
                                              ModelOptions options = {}) {
  options.inspect = true;
  return load_tiny(tiny, std::move(options));
}

inline std::shared_ptr<Engine> tiny_engine(const TinyModel& tiny = {}, ModelOptions options = {},
                                           EngineOptions engine = unbounded_engine()) {
  return Engine::create(load_tiny(tiny, std::move(options)), engine);
}

/// Irregular tokens below `vocab`.
inline std::vector<Token> make_tokens(uint32_t count, uint32_t seed = 1, uint32_t vocab = 300) {
  std::vector<Token> tokens;
  uint32_t state = seed * 2654435761u + 1;
  for (uint32_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    tokens.push_back(static_cast<Token>((state >> 8) % vocab));
  }
  return tokens;
}

/// Limits an answer to exactly `max_tokens` tokens.
inline GenerationOptions limits(uint64_t max_tokens, int32_t priority = 0) {
  GenerationOptions options;
  options.max_tokens = max_tokens;
  options.priority = priority;
  options.ends.ignore_end = true;
  return options;
}

/// Appends `tokens` to the session; returns the logits [tokens, vocab] after each.
inline std::vector<float> evaluate_all(Session& session, std::span<const Token> tokens) {
  std::vector<float> all;
  session.evaluate(tokens, [&all](uint64_t, std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
    return true;
  });
  return all;
}

/// Copies the logits after the last token.
inline std::vector<float> last_logits(Session& session) {
  const std::span<const float> row = session.logits();
  return {row.begin(), row.end()};
}

/// Logprobs of a continuation's tokens, by teacher forcing in a separate engine.
inline std::vector<float> forced_logprobs(const std::shared_ptr<const Model>& model,
                                          std::span<const Token> text,
                                          std::span<const Token> continuation) {
  Session session(Engine::create(model));
  session.append(text);
  std::vector<float> rows = last_logits(session);
  const size_t vocab = rows.size();
  const std::vector<float> more = evaluate_all(session, continuation);
  rows.insert(rows.end(), more.begin(), more.end());
  std::vector<float> logprobs(continuation.size());
  for (size_t i = 0; i < continuation.size(); ++i) {
    logprobs_of(std::span(rows).subspan(i * vocab, vocab), continuation.subspan(i, 1),
                std::span(logprobs).subspan(i, 1), {}, {});
  }
  return logprobs;
}

/// True if both hold the same bits.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// A sampler that draws the most likely token.
inline Sampler greedy_sampler() {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 0.0);
  return sampler;
}

/// Appends `count` greedy tokens to the session and returns them.
inline std::vector<Token> generate(Session& session, uint32_t count) {
  Sampler sampler = greedy_sampler();
  std::vector<Token> out;
  while (out.size() < count) out.push_back(session.next(sampler));
  return out;
}

}  // namespace tenon
