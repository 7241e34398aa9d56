// Help as text: of the program, and of a command in two lengths.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command_table.h"

namespace tenon_program {

/// Columns that help is wrapped to: the terminal's, 100 at most; 80 where there is none.
size_t help_width();

/// `text` in lines of at most `width` columns; all but the first begin with `indent` spaces, and the
/// first is already `used` columns long. A word longer than a line has one of its own.
std::string wrapped(const std::string& text, size_t width, size_t indent, size_t used);

/// How arguments follow a command: "tenon run MODEL [QUESTION] [OPTIONS]".
std::string usage_of(const CLI::App& app, const Command& command);

/// The list of commands; with `all` each with the names of its flags.
std::string program_help(const CLI::App& app, bool all);
/// The flags most people want, or all of them.
std::string command_help(const CLI::App& app, const Command& command, bool all);

}  // namespace tenon_program
