// Converts a host's options to the rooms' structs by the tables *_options.def.
#pragma once

#include <memory>
#include <type_traits>

#include "engine/embedder.h"
#include "engine/engine.h"
#include "engine/session_options.h"
#include "host.h"
#include "model/model.h"
#include "option_set.h"
#include "text/chat/chat.h"

namespace tenon::capi {

/// Option's value for its room: the given value or the default, converted.
template <typename Kind>
typename Kind::Value option_in(const OptionSet& set, const char* key, const Kind& kind) {
  using Given = typename Kind::Given;
  if constexpr (std::is_same_v<Given, int64_t>) {
    return kind.value(set.integer(key));
  } else if constexpr (std::is_same_v<Given, double>) {
    return kind.value(set.real(key));
  } else if constexpr (std::is_same_v<Given, bool>) {
    return kind.value(set.boolean(key));
  } else if constexpr (std::is_same_v<Given, std::string>) {
    return kind.value(set.string(key));
  } else {
    return kind.value(set.strings(key));
  }
}

/// Reads scope MODEL, with the host's callbacks.
tenon::ModelOptions model_options(const OptionSet& set, const std::shared_ptr<Host>& host);
/// Reads scope SESSION.
tenon::SessionOptions session_options(const OptionSet& set);
/// Reads scope ENGINE.
tenon::EngineOptions engine_options(const OptionSet& set, tenon::System& system);
/// Reads scope EMBEDDER.
tenon::EmbedderOptions embedder_options(const OptionSet& set);
/// Reads scope CHAT. Takes the template from the model if the options have none. Throws Argument if
/// both lack a template, State if the model has no template of that name.
///   model  may be NULL
tenon::ChatOptions chat_options(const OptionSet& set, const tenon::Model* model);

}  // namespace tenon::capi
