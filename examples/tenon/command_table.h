// Table of commands. Help, completion and manual pages are generated from it and from each
// command's flags.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon_program {

struct Example {
  const char* line;  ///< command line of an example
  const char* what;
};

struct Command {
  const char* name;
  const char* group;
  const char* summary;             ///< line in the list of commands
  void (*add)(CLI::App& app);      ///< null if missing from this build
  const char* missing;             ///< reason if missing, and the remedy
  std::vector<const char*> first;  ///< flags of the short help; empty means all but the library's
  std::vector<Example> examples;
};

/// All commands in the order of the help.
const std::vector<Command>& command_table();
/// Returns null for an unknown command.
const Command* find_command(std::string_view name);

/// Row of help about an argument of a command.
struct FlagRow {
  std::string names;                 ///< "-n, --max-tokens N", "MODEL"
  std::string also;                  ///< other spellings: "--n-predict"
  std::string text;                  ///< description, with the default
  std::string range;                 ///< "0..100", for the long help; may be empty
  std::string group;                 ///< such as "Sampler"; empty for the command's own
  std::vector<std::string> words;    ///< all names as typed: "-n", "--max-tokens"
  std::vector<std::string> choices;  ///< accepted words; empty for any value
  bool takes_value = false;
  bool takes_file = false;
  bool positional = false;
  bool first = false;  ///< shown in the short help
};

/// All arguments of a command in the order of their addition. app: the program.
std::vector<FlagRow> rows_of(const CLI::App& app, const Command& command);

/// Adds all commands of this build to the program.
void add_commands(CLI::App& app);

}  // namespace tenon_program
