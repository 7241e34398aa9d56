#include "plan_check.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "bench_machine.h"
#include "random.h"
#include "stopwatch.h"
#include "terminal.h"

namespace tenon_program {
namespace {

/// Tokens that each session decodes at the end of its context.
constexpr uint64_t kDecoded = 32;

}  // namespace

PlanCheck check_plan(const std::string& path, const tenon::ExtraOptions& options, uint64_t context,
                     uint64_t sessions) {
  const tenon::Log log = warnings();
  const tenon::Model model(path, {.extra = options, .log = &log});
  // Let all sessions decode together, beyond an engine's default.
  const auto all = static_cast<int64_t>(sessions);
  tenon::Engine engine(model, {.running = all, .queue = all, .prefix_cache = false});
  std::vector<tenon::Session> texts;
  for (uint64_t i = 0; i < sessions; ++i) {
    texts.push_back(engine.open_session({.context = static_cast<int64_t>(context)}));
  }
  PlanCheck check;
  check.context = texts[0].context();
  // Give an encoder the longest source; answers begin after it with a token of their own.
  std::vector<tenon::Token> source(model.info().source_tokens);
  for (tenon::Session& text : texts) {
    if (source.empty()) break;
    spread_tokens(source, model.info().vocabulary, 1);
    text.set_source(source);
  }
  const uint64_t left = check.context - texts[0].position();
  const uint64_t decoded = std::min(kDecoded, std::max<uint64_t>(left, 1) - 1);
  std::vector<tenon::Token> prompt(left - decoded);
  auto start = Clock::now();
  for (uint64_t i = 0; i < sessions; ++i) {
    spread_tokens(prompt, model.info().vocabulary, i);
    texts[i].append(prompt);
    texts[i].prefill();
  }
  check.prefill_tokens_per_second =
      static_cast<double>(sessions * prompt.size()) / seconds_since(start);
  std::vector<tenon::Request> requests;
  for (tenon::Session& text : texts) {
    tenon::Submission what;
    what.ignore_end = true;
    what.max_tokens = decoded;
    requests.push_back(tenon::submit(text, what));
  }
  // Start the clock after the first step, which recomputes the last token of each prompt.
  for (tenon::Request& request : requests) (void)request.next();
  start = Clock::now();
  const uint64_t before = engine.stats().generated_tokens;
  for (tenon::Request& request : requests) {
    while (request.wait(-1).finish == TENON_FINISH_NONE) {
    }
  }
  const uint64_t tokens = engine.stats().generated_tokens - before;
  check.decode_tokens_per_second = static_cast<double>(tokens) / seconds_since(start);
  check.peak_bytes = PeakMemory().bytes();
  return check;
}

}  // namespace tenon_program
