// Questions and answers in turn, in a terminal or through pipes.
#pragma once

#include "answering.h"

namespace tenon_program {

/// Reads questions and commands until the input ends or /quit.
void chat_loop(Talk& talk);

}  // namespace tenon_program
