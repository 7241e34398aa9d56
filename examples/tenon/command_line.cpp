#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <tenon/tenon.hpp>

#include "command_table.h"
#include "failure.h"
#include "flag_names.h"
#include "help.h"
#include "terminal.h"

namespace tenon_program {
namespace {

constexpr int kBadUse = 2;

[[noreturn]] void refuse(const std::string& line) { throw Ending(kBadUse, line); }

std::vector<std::string> command_names() {
  std::vector<std::string> names{"help"};
  for (const Command& command : command_table()) names.emplace_back(command.name);
  return names;
}

/// Refuses a word that is no command of this build.
[[noreturn]] void refuse_command(const std::string& word) {
  if (const Command* missing = find_command(word)) {
    refuse(std::string("tenon ") + missing->name + " is not here: " + missing->missing);
  }
  std::string line = "there is no command \"" + printable(word, 64) + "\"";
  if (const std::string_view hint = hint_of_command(word); !hint.empty()) {
    line += "; " + std::string(hint);
  } else if (const std::string near = nearest(word, command_names()); !near.empty()) {
    line += "; the nearest is \"" + near + "\"";
  }
  refuse(line + "; see tenon --help");
}

/// Flag as typed, without its value.
std::string flag_of(const std::string& word) {
  const bool is_long = word.starts_with("--");
  return is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_of("0123456789.") != 1;
}

/// Refuses the words that the command does not know, a flag first.
[[noreturn]] void refuse_words(const CLI::App& app, const Command& command,
                               const std::vector<std::string>& words) {
  const std::string see = std::string("; tenon ") + command.name + " --help lists what there is";
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  if (flag == words.end()) {
    refuse("\"" + printable(words.front(), 64) + "\" is one argument too many: \"" +
           usage_of(app, command) + "\"; put a text of several words in quotes");
  }
  const std::string name = flag_of(*flag);
  std::string line = std::string("tenon ") + command.name + " has no option " + printable(name, 64);
  std::vector<std::string> known;
  for (const FlagRow& row : rows_of(app, command)) {
    known.insert(known.end(), row.words.begin(), row.words.end());
  }
  if (const std::string_view hint = hint_of_flag(name); !hint.empty()) {
    refuse(line + "; " + std::string(hint));
  }
  if (const std::string near = name.size() > 2 ? nearest(name, known) : ""; !near.empty()) {
    line += "; the nearest is " + near;
  }
  refuse(line + see);
}

const Command* parsed_command(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? nullptr : find_command(parsed.front()->get_name());
}

void show_help(const CLI::App& app, const Command* command, bool all) {
  print(command == nullptr ? program_help(app, all) : command_help(app, *command, all));
  flush();
}

/// Turns `tenon help run` into `tenon run --help`; refuses an unknown command.
void look_at_first(std::vector<std::string>& arguments) {
  if (arguments.empty()) refuse("there is no command; see tenon --help");
  if (arguments.front() == "help") {
    if (arguments.size() == 1) {
      arguments.front() = "--help";
    } else {
      arguments.erase(arguments.begin());
      arguments.resize(1);
      arguments.emplace_back("--help");
    }
  }
  const std::string& word = arguments.front();
  if (is_flag(word)) {
    const std::vector<std::string> known{"--help", "-h", "--help-all", "--version"};
    if (std::find(known.begin(), known.end(), word) != known.end()) return;
    refuse("the command comes first: tenon COMMAND [OPTIONS]; see tenon --help");
  }
  const Command* command = find_command(word);
  if (command == nullptr || command->add == nullptr) refuse_command(word);
}

}  // namespace

void run_command_line(std::vector<std::string> arguments) {
  arguments = with_long_dashes(std::move(arguments));
  look_at_first(arguments);
  CLI::App app("", "tenon");
  app.allow_windows_style_options(false);  // "/x" is a path
  app.set_help_flag("-h,--help", "Print what most people want to know, and exit");
  app.set_help_all_flag("--help-all", "Print all options, and exit");
  app.set_version_flag("--version", std::string("tenon ") + tenon::version());
  app.require_subcommand(1);
  add_commands(app);
  std::reverse(arguments.begin(), arguments.end());  // order that CLI11 expects
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    show_help(app, parsed_command(app), false);
  } catch (const CLI::CallForAllHelp&) {
    show_help(app, parsed_command(app), true);
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    flush();
  } catch (const CLI::ParseError& error) {
    const Command* command = parsed_command(app);
    const std::vector<std::string> left = app.remaining(true);
    const bool has_flag = std::any_of(left.begin(), left.end(), is_flag);
    const bool too_many = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (command != nullptr && !left.empty() && (has_flag || too_many)) {
      refuse_words(app, *command, left);
    }
    std::string line = error.what();
    if (line.starts_with("--model is required")) line = "MODEL is missing: the path of a GGUF file";
    refuse(line + "; see tenon " + (command == nullptr ? "" : command->name + std::string(" ")) +
           "--help");
  }
}

}  // namespace tenon_program
