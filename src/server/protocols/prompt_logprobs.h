// How likely each token of a prompt was after those before it.
#pragma once

#include <vector>

#include "server/answers/answer_plan.h"
#include "server/answers/generation.h"
#include "server/http/exchange.h"

namespace tenon_http {

/// One for each token; the first has no logprob. Computes the prompt; throws tenon::Error, Cancelled
/// when its client has gone or the server stops.
std::vector<DrawnToken> prompt_logprobs(const ServedModel& model, const Tokens& prompt,
                                        uint32_t num_top, const HttpRequest& request);

}  // namespace tenon_http
