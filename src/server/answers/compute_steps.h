// Computes answers in steps between other requests, so that no thread is blocked.
#pragma once

#include <functional>
#include <optional>

#include "server/router.h"

namespace tenon_http {

/// Runs one step; returns the answer after the last. Throws ApiError, tenon::Error.
using AnswerStep = std::function<std::optional<HttpAnswer>()>;

/// Runs the steps on the lanes of long tasks, in turn with other clients, until an answer or a
/// cancel. `step` lives as long as the request.
Start compute_in_steps(AnswerStep step, ServerState& state);

}  // namespace tenon_http
