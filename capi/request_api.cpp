// tenon_session_submit and tenon_request_*: generations that run by themselves.
#include <algorithm>
#include <cmath>

#include "engine_handle.h"
#include "fence.h"
#include "sampler_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

tenon::GenerationOptions generation_options(const tenon_submission& given,
                                            const tenon::SessionOptions& of_session) {
  tenon::GenerationOptions options;
  options.max_tokens = given.max_tokens;
  options.timeout_ns = nanoseconds(given.timeout_seconds, "timeout_seconds");
  if (given.timeout_seconds > 0 && options.timeout_ns == 0) options.timeout_ns = 1;
  options.priority = given.has_priority != 0 ? given.priority : of_session.priority;
  if (options.priority < -tenon::Scheduler::kMaxPriority ||
      options.priority > tenon::Scheduler::kMaxPriority) {
    tenon::fail(tenon::Code::Argument, "priority is {}, not in {}..{}", options.priority,
                -tenon::Scheduler::kMaxPriority, tenon::Scheduler::kMaxPriority);
  }
  options.client = given.client == nullptr
                       ? of_session.client
                       : std::string(text_in(given.client, given.client_length, "client"));
  options.weight = given.weight == 0 ? of_session.weight : given.weight;
  if (!(options.weight >= 0.001 && options.weight <= 1000)) {
    tenon::fail(tenon::Code::Argument, "weight is {}, not in 0.001..1000", options.weight);
  }
  if (given.sampler != nullptr) options.ends = checked(given.sampler).ends;
  options.ends.ignore_end = (given.flags & TENON_IGNORE_END) != 0;
  options.logprobs = {(given.flags & TENON_LOGPROBS) != 0, given.num_top,
                      array_in(given.logprob_tokens, given.num_logprob_tokens, "logprob_tokens")};
  if (given.speculation < TENON_SPECULATION_DEFAULT ||
      given.speculation > TENON_SPECULATION_FORCED) {
    tenon::fail(tenon::Code::Argument, "speculation is {}, not a TENON_SPECULATION_*",
                given.speculation);
  }
  options.speculate = static_cast<tenon::Guessing>(given.speculation);
  if (given.draft_max > 0) {
    options.draft_max = std::min(given.draft_max, tenon::Drafter::kMostGuesses);
  }
  options.prediction = array_in(given.prediction, given.num_prediction, "prediction");
  return options;
}

/// Notifies the host of a request about a piece.
void notify_host(void* user) noexcept {
  const auto& request = *static_cast<const tenon_request*>(user);
  (void)request.host->call_host_logged("notify", [&] { request.notify(request.user); });
}

/// Appends a submission's texts. Appends nothing if it throws.
void append(tenon::Session& session, const tenon_submission& given) {
  const uint64_t before = session.position();
  try {
    if (given.text != nullptr) {
      session.append(text_in(given.text, given.text_length, "text"),
                     {.add_special = (given.flags & TENON_ADD_SPECIAL) != 0,
                      .parse_special = (given.flags & TENON_PARSE_SPECIAL) != 0});
    }
    session.append(array_in(given.tokens, given.num_tokens, "tokens"));
  } catch (...) {
    session.rewind(before);
    throw;
  }
}

}  // namespace

tenon_status tenon_session_submit(tenon_session* session, const tenon_submission* submission,
                                  tenon_request** request) {
  return fence([&] {
    const SessionCall call(session);
    tenon_request*& out = checked_out(request, "request");
    const tenon_submission given = struct_in(submission, "tenon_submission");
    check_flags(given.flags,
                TENON_ADD_SPECIAL | TENON_PARSE_SPECIAL | TENON_IGNORE_END | TENON_LOGPROBS);
    auto options = generation_options(given, call->session->options());
    tenon::Session& text = *call->session;
    const tenon::Sampler* draws =
        given.sampler != nullptr ? &checked(given.sampler).sampler : &call->default_sampler();
    const uint64_t before = text.position();
    append(text, given);
    if (given.text != nullptr && (given.flags & TENON_PARSE_SPECIAL) == 0) {
      call->host->note_text(text.model(), text_in(given.text, given.text_length, "text"));
    }
    try {
      // Allocate first, so that nothing can fail after queueing.
      auto made = std::make_unique<tenon_request>(call->host, text.engine(), given);
      if (made->notify != nullptr) {
        options.notify = &notify_host;
        options.user = made.get();
      }
      made->generation = text.submit(*draws, options);
      out = made.release();
    } catch (...) {
      if (text.position() != before) text.rewind(before);
      throw;
    }
  });
}

void tenon_request_destroy(tenon_request* request) { destroy(request); }

tenon_status tenon_request_wait(tenon_request* request, double timeout_seconds,
                                tenon_piece* piece) {
  return fence([&] {
    tenon_request& waited = checked(request);
    (void)checked_struct_size(piece, "tenon_piece");
    tenon::Engine& engine = *waited.engine;
    if (timeout_seconds != 0) {
      const bool forever = timeout_seconds < 0;
      engine.wait(*waited.generation,
                  forever ? UINT64_MAX : nanoseconds(timeout_seconds, "timeout_seconds"));
    }
    const tenon::Engine::Fetched fetched = engine.fetch(*waited.generation);
    if (fetched.failure) std::rethrow_exception(fetched.failure);
    tenon_piece out{};
    out.token = TENON_NO_TOKEN;
    out.finish = static_cast<int32_t>(fetched.finish);
    if (fetched.has_token) out.token = fetched.token;
    out.text = fetched.text.data() != nullptr ? fetched.text.data() : "";
    out.length = fetched.text.size();
    struct_out(out, piece, "tenon_piece");
  });
}

tenon_status tenon_request_logprobs(tenon_request* request, float* logprob, tenon_token* top_tokens,
                                    float* top_logprobs, size_t num_top) {
  return fence([&] {
    tenon_request& asked = checked(request);
    float& out = checked_out(logprob, "logprob");
    const auto tokens = array_out(top_tokens, num_top, "top_tokens");
    const auto values = array_out(top_logprobs, num_top, "top_logprobs");
    asked.engine->logprobs(*asked.generation, out, tokens, values);
  });
}

tenon_status tenon_request_logprobs_of(tenon_request* request, float* logprobs, size_t count) {
  return fence([&] {
    tenon_request& asked = checked(request);
    asked.engine->chosen_logprobs(*asked.generation, array_out(logprobs, count, "logprobs"));
  });
}

tenon_status tenon_request_seed(tenon_request* request, int64_t* seed) {
  return fence([&] {
    const tenon_request& asked = checked(request);
    checked_out(seed, "seed") = static_cast<int64_t>(asked.generation->seed);
  });
}

tenon_status tenon_request_cancel(tenon_request* request) {
  return fence([&] {
    tenon_request& cancelled = checked(request);
    cancelled.engine->cancel(*cancelled.generation);
  });
}

tenon_status tenon_request_get_stats(tenon_request* request, tenon_request_stats* stats) {
  return fence([&] {
    tenon_request& asked = checked(request);
    const tenon::ReuseReport report = asked.engine->report(*asked.generation);
    tenon_request_stats out{};
    out.reuse_miss = static_cast<int32_t>(report.miss.cause);
    out.prompt_tokens = report.prompt_tokens;
    out.reused_tokens = report.reused_tokens;
    out.miss_position = report.miss.position;
    const auto drafts = asked.engine->draft_report(*asked.generation);
    out.drafted_tokens = drafts.drafted;
    out.accepted_tokens = drafts.accepted;
    out.drafter = static_cast<int32_t>(drafts.source);
    out.predicted_tokens = drafts.predicted;
    struct_out(out, stats, "tenon_request_stats");
  });
}
