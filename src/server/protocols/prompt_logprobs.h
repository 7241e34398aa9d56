// Logprobs of a prompt's tokens.
#pragma once

#include <vector>

#include "server/answers/answer_plan.h"
#include "server/answers/generation.h"
#include "server/http/exchange.h"

namespace tenon_http {

/// Computes the prompt; returns its tokens, the first without a logprob. Throws tenon::Error,
/// Cancelled if the client has gone or the server stops.
std::vector<DrawnToken> prompt_logprobs(const ServedModel& model, const Tokens& prompt,
                                        uint32_t num_top, const HttpRequest& request);

}  // namespace tenon_http
