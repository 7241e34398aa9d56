#include "help.h"

#include <algorithm>
#include <sstream>

#include "terminal.h"

namespace tenon_program {
namespace {

std::string heading(const std::string& text) {
  return styled(stdout_style(), Style::Heading, text) + "\n";
}

/// Row of two columns: names and their description.
std::string row_text(const std::string& names, const std::string& text, size_t width,
                     size_t column = 26) {
  std::string line = "  " + names;
  if (line.size() + 1 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line += std::string(column - line.size(), ' ');
  }
  return line + wrapped(text, width, column, column) + "\n";
}

std::string flag_text(const FlagRow& row, bool all) {
  constexpr size_t kLongList = 400;
  std::string text = row.text;
  const size_t list = text.find(": ");
  if (!all && text.size() > kLongList && list != text.npos) {
    return text.substr(0, list) + " (--help-all lists them)";
  }
  if (!all) return text;
  if (!row.range.empty()) text += " [" + row.range + "]";
  if (!row.also.empty()) text += " (also " + row.also + ")";
  return text;
}

std::vector<std::string> groups_of(const std::vector<FlagRow>& rows) {
  std::vector<std::string> groups;
  for (const FlagRow& row : rows) {
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) {
      groups.push_back(row.group);
    }
  }
  return groups;
}

std::string examples_text(const Command& command) {
  std::string text;
  for (const Example& example : command.examples) {
    text += "  " + std::string(example.line) + "\n      " + example.what + "\n";
  }
  return text;
}

}  // namespace

size_t help_width() {
  constexpr size_t kLeast = 50, kMost = 100, kElsewhere = 80;
  const size_t columns = terminal_columns();
  return columns == 0 ? kElsewhere : std::clamp(columns, kLeast, kMost);
}

std::string wrapped(const std::string& text, size_t width, size_t indent, size_t used) {
  std::istringstream words(text);
  std::string out;
  size_t column = used;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty() && column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string usage_of(const CLI::App& app, const Command& command) {
  std::string usage = std::string("tenon ") + command.name;
  for (const CLI::Option* option : app.get_subcommand(command.name)->get_options({})) {
    if (!option->get_positional() || option->get_group().empty()) continue;
    std::string name = option->get_name(true, false);
    if (option->get_items_expected_max() > 1) name += "...";
    // MODEL may come from -m instead, but is still required.
    const bool required = option->get_required() || name == "MODEL";
    usage += required ? " " + name : " [" + name + "]";
  }
  return usage + " [OPTIONS]";
}

std::string program_help(const CLI::App& app, bool all) {
  constexpr size_t kNames = 14;
  const size_t width = help_width();
  std::string text = "Runs, measures and serves language models from GGUF files.\n\n";
  text += heading("Usage") + "  tenon COMMAND [OPTIONS]\n";
  std::string group;
  for (const Command& command : command_table()) {
    if (group != command.group) {
      group = command.group;
      text += "\n" + heading(group);
    }
    const bool missing = command.add == nullptr;
    text += row_text(
        command.name,
        missing ? std::string("(not built) ") + command.summary : std::string(command.summary),
        width, kNames);
    if (!all || missing) continue;
    std::string names;
    for (const FlagRow& row : rows_of(app, command)) {
      if (!row.positional) names += (names.empty() ? "" : " ") + row.words.back();
    }
    text += std::string(kNames, ' ') + wrapped(names, width, kNames, kNames) + "\n";
  }
  text += "\n" + heading("Examples");
  for (const char* name : {"run", "chat", "serve"}) {
    const Example& example = find_command(name)->examples.front();
    text += "  " + std::string(example.line) + "\n";
  }
  text += "\n" + heading("Environment");
  text += row_text("NO_COLOR", "Anything: no colours", width, kNames);
  text +=
      "\n" +
      wrapped("`tenon COMMAND --help` shows the usual options, `--help-all` all.", width, 0, 0) +
      "\n";
  return text;
}

std::string command_help(const CLI::App& app, const Command& command, bool all) {
  const size_t width = help_width();
  std::string text = wrapped(app.get_subcommand(command.name)->get_description(), width, 0, 0);
  text += "\n\n" + heading("Usage") + "  " + wrapped(usage_of(app, command), width, 6, 2) + "\n";
  const std::vector<FlagRow> rows = rows_of(app, command);
  bool more = false;
  for (const std::string& group : groups_of(rows)) {
    std::string part;
    for (const FlagRow& row : rows) {
      if (row.group != group) continue;
      if (all || row.first) {
        part += row_text(row.names, flag_text(row, all), width);
      } else {
        more = true;
      }
    }
    if (!part.empty()) text += "\n" + heading(group.empty() ? "Options" : group) + part;
  }
  if (!command.examples.empty()) text += "\n" + heading("Examples") + examples_text(command);
  if (more) {
    text += "\n`tenon " + std::string(command.name) + " --help-all` lists all options.\n";
  }
  return text;
}

}  // namespace tenon_program
