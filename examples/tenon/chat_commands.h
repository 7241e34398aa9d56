// What lines that begin with a slash do in a chat.
#pragma once

#include <string>

#include "answering.h"

namespace tenon_program {

enum class AfterCommand { GoOn, Answer, End };

/// Runs "/name argument". Prints what it has to say; what cannot be done is said as well and costs
/// nothing. Answer: the conversation's last question is to be answered (again).
AfterCommand run_chat_command(const std::string& line, Talk& talk);

}  // namespace tenon_program
