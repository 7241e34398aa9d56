// Handlers of all routes, each in a file of its name.
#pragma once

#include "server/router.h"

namespace tenon_http {

Start handle_page(const HttpRequest& request, ServerState& state);
Start handle_health(const HttpRequest& request, ServerState& state);
Start handle_ready(const HttpRequest& request, ServerState& state);
Start handle_metrics(const HttpRequest& request, ServerState& state);
Start handle_slots(const HttpRequest& request, ServerState& state);
Start handle_models(const HttpRequest& request, ServerState& state);
Start handle_model(const HttpRequest& request, ServerState& state);
Start handle_model_control(const HttpRequest& request, ServerState& state);
Start handle_adapters(const HttpRequest& request, ServerState& state);
Start handle_adapter_scales(const HttpRequest& request, ServerState& state);
Start handle_chat_completions(const HttpRequest& request, ServerState& state);
Start handle_completions(const HttpRequest& request, ServerState& state);
Start handle_embeddings(const HttpRequest& request, ServerState& state);
Start handle_rerank(const HttpRequest& request, ServerState& state);
Start handle_score(const HttpRequest& request, ServerState& state);
Start handle_tokenize(const HttpRequest& request, ServerState& state);
Start handle_detokenize(const HttpRequest& request, ServerState& state);
Start handle_messages(const HttpRequest& request, ServerState& state);
Start handle_batches(const HttpRequest& request, ServerState& state);
Start handle_count_tokens(const HttpRequest& request, ServerState& state);
Start handle_decisions(const HttpRequest& request, ServerState& state);
Start handle_responses(const HttpRequest& request, ServerState& state);
Start handle_input_tokens(const HttpRequest& request, ServerState& state);
Start handle_compact(const HttpRequest& request, ServerState& state);
Start handle_stored_response(const HttpRequest& request, ServerState& state);
Start handle_delete_response(const HttpRequest& request, ServerState& state);

}  // namespace tenon_http
