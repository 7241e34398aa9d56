// Options of a session (session_options.def).
#pragma once

#include "base/option_kinds.h"
#include "engine/drafter.h"
#include "engine/scheduler.h"

namespace tenon {

/// Priority, client and weight apply to the session's calls; a generation may have others.
struct SessionOptions {
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "engine/session_options.def"
#undef OPTION
#undef OPTION_APART
};

}  // namespace tenon
