#include "bench_cells.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "failure.h"
#include "random.h"

namespace tenon_program {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<tenon::Token> some_tokens(uint64_t count, const tenon::Model& model, uint64_t seed) {
  std::vector<tenon::Token> tokens(count);
  spread_tokens(tokens, model.info().vocabulary, seed);
  return tokens;
}

/// A session that holds `depth` computed tokens.
tenon::Session session_at(const tenon::Model& model, uint64_t depth, uint64_t room, uint64_t seed) {
  tenon::Session session(model, {.context = static_cast<int64_t>(depth + room)});
  if (depth != 0) {
    session.append(some_tokens(depth, model, seed));
    session.prefill();
  }
  return session;
}

void draw(tenon::Session& session, tenon::Sampler& sampler) {
  for (const tenon::Piece& piece : session.generate(sampler, 1)) (void)piece;
}

void run_prefill(const tenon::Model& model, uint64_t repetitions, BenchResult& result,
                 const std::function<void(double)>& progress) {
  const BenchCell& cell = result.cell;
  const std::vector<tenon::Token> prompt = some_tokens(cell.tokens, model, cell.depth + 7);
  tenon::Session session = session_at(model, cell.depth, cell.tokens + 1, 0);
  tenon::Sampler greedy({.temperature = 0.0});
  for (uint64_t round = 0; round <= repetitions; ++round) {
    session.rewind(cell.depth);
    const auto start = Clock::now();
    session.append(prompt);
    session.prefill();
    const double prefill = seconds_since(start);
    draw(session, greedy);
    const double first = seconds_since(start);
    progress(static_cast<double>(round + 1) / static_cast<double>(repetitions + 1));
    if (round == 0) continue;
    result.rates.push_back(static_cast<double>(cell.tokens) / prefill);
    result.first_token.push_back(first);
  }
}

/// One sequence of a decode cell.
struct Sequence {
  tenon::Session session;
  std::optional<tenon::Request> request{};
  Clock::time_point last{};
};

/// All sequences generate together, as requests of the model's engine: every step has a token of
/// each.
void run_decode(const tenon::Model& model, uint64_t repetitions, BenchResult& result,
                const std::function<void(double)>& progress) {
  const BenchCell& cell = result.cell;
  const tenon::Sampler greedy({.temperature = 0.0});
  std::vector<Sequence> sequences;
  for (uint64_t i = 0; i < cell.sequences; ++i) {
    sequences.push_back({session_at(model, cell.depth, cell.tokens + 1, i)});
  }
  for (uint64_t round = 0; round <= repetitions; ++round) {
    for (Sequence& sequence : sequences) sequence.session.rewind(cell.depth);
    const auto start = Clock::now();
    for (uint64_t i = 0; i < cell.sequences; ++i) {
      const std::vector<tenon::Token> first = some_tokens(1, model, i + 1);
      sequences[i].request = tenon::submit(
          sequences[i].session,
          {.tokens = first, .ignore_end = true, .sampler = &greedy, .max_tokens = cell.tokens});
      sequences[i].last = start;
    }
    for (uint64_t token = 0; token < cell.tokens; ++token) {
      for (Sequence& sequence : sequences) {
        if (!sequence.request->next()) throw Failure("a sequence ended before its last token");
        const auto now = Clock::now();
        if (round != 0) {
          result.per_token.push_back(std::chrono::duration<double>(now - sequence.last).count());
        }
        sequence.last = now;
      }
    }
    const double seconds = seconds_since(start);
    for (Sequence& sequence : sequences) sequence.request.reset();
    progress(static_cast<double>(round + 1) / static_cast<double>(repetitions + 1));
    if (round != 0) {
      result.rates.push_back(static_cast<double>(cell.tokens * cell.sequences) / seconds);
    }
  }
}

}  // namespace

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(values.size())));
  return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

BenchResult run_cell(const tenon::Model& model, const BenchCell& cell, uint64_t repetitions,
                     const std::function<void(double)>& progress) {
  BenchResult result;
  result.cell = cell;
  if (cell.decode) {
    run_decode(model, repetitions, result, progress);
  } else {
    run_prefill(model, repetitions, result, progress);
  }
  return result;
}

}  // namespace tenon_program
