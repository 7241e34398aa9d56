// How likely each token of a prompt was after those before it.
#pragma once

#include <vector>

#include "answer_plan.h"
#include "exchange.h"
#include "generation.h"

namespace tenon_http {

/// One for each token; the first has no logprob. Computes the prompt; throws tenon::Error, Cancelled
/// when interest is lost meanwhile.
std::vector<DrawnToken> prompt_logprobs(const ServedModel& model, const Tokens& prompt,
                                        uint32_t num_top, Interest& interest);

}  // namespace tenon_http
