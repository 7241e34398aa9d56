// tenon_session_score.
#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/call_watch.h"
#include "fence.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

tenon_continuations continuations_in(const tenon_continuations* given) {
  const tenon_continuations read = struct_in(given, "tenon_continuations");
  check_flags(read.flags, TENON_PARSE_SPECIAL);
  if (read.texts != nullptr) {
    (void)array_in(read.texts, read.count, "continuations.texts");
  } else {
    (void)array_in(read.tokens, read.count, "continuations.tokens");
    (void)array_in(read.num_tokens, read.count, "continuations.num_tokens");
  }
  return read;
}

std::vector<tenon::Token> tokens_of(const tenon_continuations& given, size_t index,
                                    const tenon::Tokenizer& tokenizer) {
  if (given.texts == nullptr) {
    const auto tokens =
        array_in(given.tokens[index], given.num_tokens[index], "tokens of a continuation");
    return {tokens.begin(), tokens.end()};
  }
  const uint64_t length = given.lengths == nullptr ? TENON_NUL_TERMINATED : given.lengths[index];
  return tokenizer.encode(text_in(given.texts[index], length, "text of a continuation"),
                          {.parse_special = (given.flags & TENON_PARSE_SPECIAL) != 0});
}

uint64_t score_deadline(const tenon::Session& session, double timeout_seconds) {
  const uint64_t timeout = nanoseconds(timeout_seconds, "timeout_seconds");
  if (timeout_seconds == 0) return UINT64_MAX;
  const uint64_t now = session.model().options().system->now_ns();
  return now + std::min(timeout, UINT64_MAX - now);
}

}  // namespace

tenon_status tenon_session_score(tenon_session* session, const tenon_continuations* continuations,
                                 float* logprobs, size_t capacity, size_t* num_logprobs) {
  return fence([&] {
    const SessionCall call(session);
    size_t& needed = checked_out(num_logprobs, "num_logprobs");
    (void)array_in(logprobs, capacity, "logprobs");
    const tenon_continuations given = continuations_in(continuations);
    tenon::Session& text = *call->session;
    const uint64_t deadline_ns = score_deadline(text, given.timeout_seconds);
    std::vector<std::vector<tenon::Token>> tokens;
    size_t num_tokens = 0;
    tenon::CallWatch watch(*text.model().options().system, deadline_ns, nullptr);
    for (size_t i = 0; i < given.count; ++i) {
      watch.look();
      tokens.push_back(tokens_of(given, i, *text.model().tokenizer()));
      num_tokens += tokens.back().size();
    }
    if (num_tokens <= capacity) {
      std::vector<tenon::Continuation> asked;
      for (const auto& one : tokens) {
        asked.push_back({one, logprobs});
        logprobs += one.size();
      }
      text.score(asked, deadline_ns);
    }
    for (size_t i = 0; i < tokens.size() && given.num_logprobs != nullptr; ++i) {
      given.num_logprobs[i] = tokens[i].size();
    }
    needed = num_tokens;
  });
}
