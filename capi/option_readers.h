// From the options that a host has set to the structs of the rooms: keys become members, and seconds and
// milliseconds become nanoseconds. Those of a session are in session_handle.h.
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
/// Scope CHAT; the template is looked for in the model where the options give none. Throws Argument without
/// both, State where the model has none of the name.
///   model  may be NULL
tenon::ChatOptions chat_options(const OptionSet& set, const tenon::Model* model);

}  // namespace tenon::capi
