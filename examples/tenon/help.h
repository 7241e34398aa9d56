// Help texts of the program, and short and long ones of each command.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command_table.h"

namespace tenon_program {

/// Width of help in columns: the terminal's, at most 100; 80 without a terminal.
size_t help_width();

/// Wraps `text` at `width` columns. The first line already has `used` columns; later lines begin
/// with `indent` spaces. A longer word gets its own line.
std::string wrapped(const std::string& text, size_t width, size_t indent, size_t used);

/// Usage line of a command: "tenon run MODEL [QUESTION] [OPTIONS]".
std::string usage_of(const CLI::App& app, const Command& command);

/// Help with the list of commands. all: includes each command's flags.
std::string program_help(const CLI::App& app, bool all);
/// Help of a command: the most common flags, or all.
std::string command_help(const CLI::App& app, const Command& command, bool all);

}  // namespace tenon_program
