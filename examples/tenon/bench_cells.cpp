#include "bench_cells.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <thread>

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

/// One sequence of a decode cell, on a thread of its own.
struct Sequence {
  tenon::Session session;
  tenon::Sampler sampler;
  std::vector<double> seconds;  ///< of each token of a round
  std::exception_ptr failure;

  void generate(uint64_t tokens) {
    seconds.clear();
    auto last = Clock::now();
    for (uint64_t i = 0; i < tokens; ++i) {
      draw(session, sampler);
      (void)session.logits();  // the step of this token
      const auto now = Clock::now();
      seconds.push_back(std::chrono::duration<double>(now - last).count());
      last = now;
    }
  }
};

void run_decode(const tenon::Model& model, uint64_t repetitions, BenchResult& result,
                const std::function<void(double)>& progress) {
  const BenchCell& cell = result.cell;
  // A text has at least one token to go on from.
  const uint64_t depth = std::max<uint64_t>(cell.depth, 1);
  std::vector<Sequence> sequences;
  for (uint64_t i = 0; i < cell.sequences; ++i) {
    sequences.push_back({session_at(model, depth, cell.tokens + 1, i),
                         tenon::Sampler({.temperature = 0.0}),
                         {},
                         nullptr});
  }
  for (uint64_t round = 0; round <= repetitions; ++round) {
    for (Sequence& sequence : sequences) {
      sequence.session.rewind(depth);
      (void)sequence.session.logits();
    }
    // The clock starts when all threads are there.
    Clock::time_point start;
    std::barrier ready(static_cast<std::ptrdiff_t>(cell.sequences),
                       [&start]() noexcept { start = Clock::now(); });
    const auto work = [&](Sequence& sequence) {
      ready.arrive_and_wait();
      try {
        sequence.generate(cell.tokens);
      } catch (...) {
        sequence.failure = std::current_exception();
      }
    };
    std::vector<std::thread> others;
    for (size_t i = 1; i < sequences.size(); ++i) {
      others.emplace_back(work, std::ref(sequences[i]));
    }
    work(sequences[0]);
    for (std::thread& other : others) other.join();
    const double seconds = seconds_since(start);
    for (const Sequence& sequence : sequences) {
      if (sequence.failure) std::rethrow_exception(sequence.failure);
    }
    progress(static_cast<double>(round + 1) / static_cast<double>(repetitions + 1));
    if (round == 0) continue;
    result.rates.push_back(static_cast<double>(cell.tokens * cell.sequences) / seconds);
    for (const Sequence& sequence : sequences) {
      result.per_token.insert(result.per_token.end(), sequence.seconds.begin(),
                              sequence.seconds.end());
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
