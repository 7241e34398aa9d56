// Converts a host's options to the rooms' structs: keys to members, seconds and milliseconds to
// nanoseconds. Options of sessions are in session_handle.h.
#pragma once

#include <memory>

#include "engine/embedder.h"
#include "engine/engine.h"
#include "host.h"
#include "model/model.h"
#include "option_set.h"
#include "text/chat/chat.h"

namespace tenon::capi {

/// Scope MODEL, with the host's callbacks.
tenon::ModelOptions model_options(const OptionSet& set, const std::shared_ptr<Host>& host);
/// Scope ENGINE.
tenon::EngineOptions engine_options(const OptionSet& set, tenon::System& system);
/// Scope EMBEDDER.
tenon::EmbedderOptions embedder_options(const OptionSet& set);
/// Scope CHAT. Takes the template from the model if the options have none. Throws Argument without
/// both, State if the model has no template of that name.
///   model  may be NULL
tenon::ChatOptions chat_options(const OptionSet& set, const tenon::Model* model);

}  // namespace tenon::capi
