// The table of commands: from it, and from the flags that each command adds, help, completion and
// manual pages are made.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon_program {

struct Example {
  const char* line;  ///< what is typed
  const char* what;
};

struct Command {
  const char* name;
  const char* group;
  const char* summary;             ///< a line of the list of commands
  void (*add)(CLI::App& app);      ///< null: this build has it not
  const char* missing;             ///< then: why, and how to get it
  std::vector<const char*> first;  ///< flags of the short help; empty: all but the library's
  std::vector<Example> examples;
};

/// In the order of the help.
const std::vector<Command>& command_table();
/// Null: there is none.
const Command* find_command(std::string_view name);

/// One argument of a command.
struct FlagRow {
  std::string names;                 ///< "-n, --max-tokens N", "MODEL"
  std::string also;                  ///< other spellings: "--n-predict"
  std::string text;                  ///< what it does, with its default
  std::string range;                 ///< "0..100", for the long help; may be empty
  std::string group;                 ///< "Sampler"; empty: the command's own
  std::vector<std::string> words;    ///< all names as typed: "-n", "--max-tokens"
  std::vector<std::string> choices;  ///< the words that it takes; empty: others
  bool takes_value = false;
  bool takes_file = false;
  bool positional = false;
  bool first = false;  ///< in the short help
};

/// All arguments of a command, in the order in which they were added. app: the program's.
std::vector<FlagRow> rows_of(const CLI::App& app, const Command& command);

/// The program with all commands that this build has.
void add_commands(CLI::App& app);

}  // namespace tenon_program
