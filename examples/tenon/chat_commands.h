// Chat commands: lines that begin with a slash.
#pragma once

#include <string>

#include "answering.h"

namespace tenon_program {

enum class AfterCommand { GoOn, Answer, End };

/// Runs "/name argument" and prints the result. Failures are printed and change nothing. Returns
/// Answer if the last question must be answered (again).
AfterCommand run_chat_command(const std::string& line, Talk& talk);

}  // namespace tenon_program
