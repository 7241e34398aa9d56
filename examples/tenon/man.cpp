// tenon man: manual pages, generated from the help's rows.
#include <memory>
#include <string>

#include "command_table.h"
#include "commands.h"
#include "failure.h"
#include "help.h"
#include "terminal.h"

namespace tenon_program {
namespace {

/// Escapes text for roff: hyphens, and lines that would be requests.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (out.starts_with(".") || out.starts_with("'")) out.insert(0, "\\&");
  return out;
}

std::string title(const std::string& name, const std::string& summary) {
  std::string text = "." + std::string("TH ");
  for (const char c : name) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text + " 1 \"\" \"tenon " + tenon::version() + "\"\n.SH NAME\n" + roff(name) + " \\- " +
         roff(summary) + "\n";
}

std::string lower_first(std::string text) {
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string examples(const Command& command) {
  std::string text;
  for (const Example& example : command.examples) {
    text += ".TP\n" + roff(example.what) + "\n.nf\n" + roff(example.line) + "\n.fi\n";
  }
  return text;
}

std::string program_page() {
  std::string text =
      title("tenon", "run language models from GGUF files") +
      ".SH SYNOPSIS\n.B tenon\n.I COMMAND\n.RI [ OPTION ...]\n.br\n.B tenon\n.I COMMAND\n"
      ".B \\-\\-help\n.SH DESCRIPTION\n.B tenon\nruns, measures and serves language models. Each "
      "command has a page of its own:\n.BR tenon\\-run (1)\nand so on.\n.SH COMMANDS\n";
  for (const Command& command : command_table()) {
    if (command.add == nullptr) continue;
    text += ".TP\n.B " + roff(command.name) + "\n" + roff(command.summary) + "\n";
  }
  text +=
      ".SH OPTIONS\n.TP\n.B \\-h, \\-\\-help\nPrint the commands, or after a command the options "
      "that most people want, and exit.\n.TP\n.B \\-\\-help\\-all\nPrint all options.\n"
      ".TP\n.B \\-\\-version\nPrint the version and exit.\n"
      ".SH EXIT STATUS\n0 if all went well, 1 if it did not, 2 if the command line is wrong.\n"
      ".B tenon grammar\nends with 1 where a text is rejected.\n"
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nSet to anything: no colours.\n"
      ".SH FILES\n.TP\n.I LIBRARY_FOLDER/tenon/libtenon\\-*.so\nPlugins: further backends. "
      "LIBRARY_FOLDER is where libtenon.so lies.\n.B tenon backends\nlists them, and says why one "
      "was refused.\n.SH EXAMPLES\n";
  for (const char* name : {"run", "chat", "complete", "plan", "serve"}) {
    if (find_command(name)->add != nullptr) text += examples(*find_command(name));
  }
  return text;
}

std::string command_page(const CLI::App& app, const Command& command) {
  std::string text = title(std::string("tenon-") + command.name, lower_first(command.summary));
  text += ".SH SYNOPSIS\n" + roff(usage_of(app, command)) + "\n.SH DESCRIPTION\n" +
          roff(app.get_subcommand(command.name)->get_description()) + "\n.SH OPTIONS\n";
  std::string group;
  for (const FlagRow& row : rows_of(app, command)) {
    if (row.group != group) {
      group = row.group;
      text += ".SS " + roff(group.empty() ? "Further options" : group) + "\n";
    }
    text += ".TP\n.B " + roff(row.names) + "\n" + roff(row.text);
    if (!row.range.empty()) text += " [" + roff(row.range) + "]";
    if (!row.also.empty()) text += " (also " + roff(row.also) + ")";
    text += "\n";
  }
  if (!command.examples.empty()) text += ".SH EXAMPLES\n" + examples(command);
  return text + ".SH SEE ALSO\n.BR tenon (1)\n";
}

}  // namespace

void add_man(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("man", "Print the manual page of the program, or of one of its commands");
  command->add_option("COMMAND", *name, "The command (default: the program)");
  command->callback([name, &app] {
    const Command* of = find_command(*name);
    if (!name->empty() && (of == nullptr || of->add == nullptr)) {
      throw Failure("there is no command \"" + printable(*name, 64) + "\"; see tenon --help");
    }
    print(name->empty() ? program_page() : command_page(app, *of));
    flush();
  });
}

}  // namespace tenon_program
