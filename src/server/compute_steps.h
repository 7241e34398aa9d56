// Answers that are computed while somebody waits, without holding a thread that others need.
#pragma once

#include <functional>
#include <optional>

#include "router.h"

namespace tenon_http {

/// A part of the computing; the answer after the last one. Throws ApiError, tenon::Error.
using AnswerStep = std::function<std::optional<HttpAnswer>()>;

/// Runs the steps on the lanes of long tasks, in turns with those of other clients, until there is an
/// answer or nobody wants it. What `step` holds lives as long as the request.
Start compute_in_steps(AnswerStep step, ServerState& state);

}  // namespace tenon_http
