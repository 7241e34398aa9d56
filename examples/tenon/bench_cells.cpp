#include "bench_cells.h"

#include <algorithm>
#include <optional>

#include "failure.h"
#include "random.h"

namespace tenon_program {
namespace {

std::vector<tenon::Token> some_tokens(uint64_t count, const tenon::Model& model, uint64_t seed) {
  std::vector<tenon::Token> tokens(count);
  spread_tokens(tokens, model.info().vocabulary, seed);
  return tokens;
}

/// Computes `depth` tokens of the session's text. Rounds continue in forks of the session:
/// rewinding would make models with recurrent states recompute from the last checkpoint.
void fill(tenon::Session& session, const tenon::Model& model, uint64_t depth, uint64_t seed) {
  if (depth == 0) return;
  session.append(some_tokens(depth, model, seed));
  session.prefill();
}

tenon::SessionOptions room_for(const BenchCell& cell) {
  return {.context = static_cast<int64_t>(context_of(cell))};
}

void draw(tenon::Session& session, tenon::Sampler& sampler) {
  for (const tenon::Piece& piece : session.generate(sampler, 1)) (void)piece;
}

void run_prefill(const tenon::Model& model, uint64_t repetitions, BenchResult& result,
                 const std::function<void(double)>& progress, const Now& now) {
  const BenchCell& cell = result.cell;
  const std::vector<tenon::Token> prompt = some_tokens(cell.tokens, model, cell.depth + 7);
  tenon::Session filled(model, room_for(cell));
  fill(filled, model, cell.depth, 0);
  tenon::Sampler greedy({.temperature = 0.0});
  for (uint64_t round = 0; round <= repetitions; ++round) {
    tenon::Session session = filled.fork();
    const auto start = now();
    session.append(prompt);
    session.prefill();
    const double prefill = seconds_between(start, now());
    draw(session, greedy);
    const double first = seconds_between(start, now());
    progress(static_cast<double>(round + 1) / static_cast<double>(repetitions + 1));
    if (round == 0) continue;
    result.rates.push_back(static_cast<double>(cell.tokens) / prefill);
    result.first_token.push_back(first);
  }
}

/// Sequence of a decode cell.
struct Sequence {
  tenon::Session session;
  std::optional<tenon::Request> request{};
  Clock::time_point last{};
};

/// Engine that computes all sequences in every step, unlike an engine with a host's limits.
tenon::Engine engine_for(const tenon::Model& model, uint64_t sequences,
                         const std::string& speculation) {
  const auto all = static_cast<int64_t>(sequences);
  return tenon::Engine(model, {.cache_bytes = INT64_MAX,
                               .running = all,
                               .queue = all,
                               .prefix_cache = false,
                               .speculation = speculation});
}

void submit_all(std::vector<Sequence>& sequences, const tenon::Model& model,
                const tenon::Sampler& sampler, uint64_t max_tokens, Clock::time_point start) {
  for (uint64_t i = 0; i < sequences.size(); ++i) {
    const std::vector<tenon::Token> first = some_tokens(1, model, i + 1);
    sequences[i].request = tenon::submit(
        sequences[i].session,
        {.tokens = first, .ignore_end = true, .sampler = &sampler, .max_tokens = max_tokens});
    sequences[i].last = start;
  }
}

/// Computes a step and records the time of each new token; returns the number of new tokens.
uint64_t take_step(tenon::Engine& engine, std::vector<Sequence>& sequences,
                   std::vector<double>& per_token, const Now& now) {
  if (!engine.step()) throw Failure("a sequence ended before its last token");
  const auto end = now();
  uint64_t count = 0;
  for (Sequence& sequence : sequences) {
    // Guesses that come true are more than one.
    uint64_t tokens = 0;
    while (sequence.request->poll().token != TENON_NO_TOKEN) ++tokens;
    if (tokens == 0) continue;
    const double seconds = seconds_between(sequence.last, end) / static_cast<double>(tokens);
    per_token.insert(per_token.end(), tokens, seconds);
    sequence.last = end;
    count += tokens;
  }
  return count;
}

void run_decode(const tenon::Model& model, uint64_t repetitions, BenchResult& result,
                const std::function<void(double)>& progress, const Now& now) {
  const BenchCell& cell = result.cell;
  const tenon::Sampler greedy({.temperature = 0.0});
  tenon::Engine engine = engine_for(model, cell.sequences, cell.speculation);
  std::vector<tenon::Session> filled;
  for (uint64_t i = 0; i < cell.sequences; ++i) {
    filled.push_back(engine.open_session(room_for(cell)));
    fill(filled.back(), model, cell.depth, i);
  }
  const uint64_t tokens = cell.tokens * cell.sequences;
  for (uint64_t round = 0; round <= repetitions; ++round) {
    std::vector<Sequence> sequences;
    for (tenon::Session& session : filled) sequences.push_back({session.fork()});
    const auto start = now();
    submit_all(sequences, model, greedy, cell.tokens, start);
    for (uint64_t done = 0; done < tokens;) {
      done += take_step(engine, sequences, result.per_token, now);
    }
    const double seconds = seconds_between(start, now());
    progress(static_cast<double>(round + 1) / static_cast<double>(repetitions + 1));
    if (round == 0) {
      result.per_token.clear();
    } else {
      result.rates.push_back(static_cast<double>(tokens) / seconds);
    }
  }
  if (cell.speculation != "off") result.drafters = engine.drafters_text();
}

}  // namespace

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

BenchResult run_cell(const tenon::Model& model, const BenchCell& cell, uint64_t repetitions,
                     const std::function<void(double)>& progress, const Now& now) {
  BenchResult result;
  result.cell = cell;
  if (cell.decode) {
    run_decode(model, repetitions, result, progress, now);
  } else {
    run_prefill(model, repetitions, result, progress, now);
  }
  return result;
}

}  // namespace tenon_program
