// tenon_session_best_of.
#include <algorithm>
#include <string>
#include <vector>

#include "fence.h"
#include "sampler/logprobs.h"
#include "sampler_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

// Bound on the candidates of a call.
constexpr uint32_t kMaxCandidates = 128;

struct Candidate {
  std::vector<tenon::Token> tokens;
  std::string text;
  tenon::Finish finish = tenon::Finish::None;
  double logprob = 0;
  uint64_t num_drawn = 0;
  int64_t seed = 0;

  [[nodiscard]] double per_token() const {
    return num_drawn == 0 ? 0 : logprob / static_cast<double>(num_drawn);
  }
};

/// Generates an answer with its own seed. The session is at the end of the prompt.
Candidate generate(tenon::Session& session, const tenon::Sampler& from, tenon::EndRules& ends,
                   int64_t seed, uint64_t max_tokens) {
  tenon::Sampler sampler(from);
  sampler.set("seed", seed);
  ends.min_tokens = static_cast<uint64_t>(sampler.values().integer("min_tokens"));
  const uint64_t room = session.context() - session.position();
  // Without any room, the first draw fails and reports both numbers of the limit.
  const uint64_t limit = max_tokens != 0 ? max_tokens : std::max<uint64_t>(room, 1);
  sampler.set_token_limit(std::min(limit, room));
  Candidate made;
  made.seed = seed;
  ends.tokens_left = limit;
  while (made.finish == tenon::Finish::None) {
    const tenon::AnswerPiece piece = session.next_piece(sampler, ends);
    if (piece.token >= 0) made.tokens.push_back(piece.token);
    made.text += piece.text;
    made.finish = piece.finish;
    if (piece.token < 0 || !session.has_drawn_logits()) continue;  // the grammar left no choice
    float logprob = 0;
    tenon::logprobs_of(session.drawn_logits(), {&piece.token, 1}, {&logprob, 1}, {}, {});
    made.logprob += logprob;
    ++made.num_drawn;
  }
  return made;
}

}  // namespace

tenon_status tenon_session_best_of(tenon_session* session, tenon_sampler* sampler, uint32_t count,
                                   uint64_t max_tokens, tenon_candidate_callback on_candidate,
                                   void* user, uint32_t* best) {
  return fence([&] {
    const SessionCall call(session);
    const tenon::Sampler& draws =
        sampler == nullptr ? call->default_sampler() : checked(sampler).sampler;
    tenon::EndRules ends = sampler == nullptr ? tenon::EndRules() : sampler->ends;
    if (count < 1 || count > kMaxCandidates) {
      tenon::fail(tenon::Code::Limit, "best_of: {} answers, not 1..{}", count, kMaxCandidates);
    }
    tenon::Session& text = *call->session;
    const uint64_t prompt = text.position();
    tenon::Sampler first(draws);
    first.renew_seed();
    const uint64_t seed = first.seed();
    Candidate chosen;
    uint32_t chosen_index = 0;
    try {
      for (uint32_t i = 0; i < count; ++i) {
        text.rewind(prompt);
        Candidate made =
            generate(text, draws, ends, static_cast<int64_t>((seed + i) & INT64_MAX), max_tokens);
        tenon_candidate out{};
        out.struct_size = sizeof out;
        out.finish = static_cast<int32_t>(made.finish);
        out.tokens = made.tokens.data();
        out.num_tokens = made.tokens.size();
        out.text = made.text.c_str();
        out.length = made.text.size();
        out.logprob = made.logprob;
        out.seed = made.seed;
        bool enough = false;
        if (on_candidate != nullptr) {
          enough = call_host("on_candidate", [&] { return on_candidate(user, &out); }) != 0;
        }
        if (i == 0 || made.per_token() > chosen.per_token()) {
          chosen = std::move(made);
          chosen_index = i;
        }
        if (enough) break;
      }
    } catch (...) {
      text.rewind(prompt);
      throw;
    }
    text.rewind(prompt);
    text.append(chosen.tokens);
    text.set_latest_seed(static_cast<uint64_t>(chosen.seed));
    if (best != nullptr) *best = chosen_index;
  });
}
