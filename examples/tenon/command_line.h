// Parses the command line, prints help, explains errors and runs the command.
#pragma once

#include <string>
#include <vector>

namespace tenon_program {

/// Throws Ending with exit code 2 for an invalid line; passes on the command's exceptions.
void run_command_line(std::vector<std::string> arguments);

}  // namespace tenon_program
