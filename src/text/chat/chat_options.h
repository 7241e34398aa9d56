// Options of a chat (chat_options.def), and the templates found for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/option_kinds.h"

namespace tenon {

struct ChatOptions {
  std::string source{};       ///< template; empty means the format's, if any
  std::string source_name{};  ///< name of the source for messages
  std::string tool_source{};  ///< template for conversations with tools; empty means `source`
  std::string tool_source_name{};
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "text/chat/chat_options.def"
#undef OPTION
#undef OPTION_APART
  std::function<uint64_t()> thread_time_ns{};  ///< see base/system.h; empty means no time limit
};

}  // namespace tenon
