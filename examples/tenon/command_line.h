// Reads the command line, tells help, names what was not understood, and runs the command.
#pragma once

#include <string>
#include <vector>

namespace tenon_program {

/// Throws Ending with exit code 2 for a line that cannot be understood, and what the command throws.
void run_command_line(std::vector<std::string> arguments);

}  // namespace tenon_program
