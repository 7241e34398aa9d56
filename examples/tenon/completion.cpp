// tenon completion: scripts that make bash, zsh and fish complete commands and flags.
#include <memory>
#include <string>

#include "command_table.h"
#include "commands.h"
#include "failure.h"
#include "terminal.h"

namespace tenon_program {
namespace {

std::string words_in_a_row(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> flag_words(const std::vector<FlagRow>& rows) {
  std::vector<std::string> words;
  for (const FlagRow& row : rows) words.insert(words.end(), row.words.begin(), row.words.end());
  return words;
}

std::string names_of_commands() {
  std::string names;
  for (const Command& command : command_table()) {
    if (command.add != nullptr) names += (names.empty() ? "" : " ") + std::string(command.name);
  }
  return names;
}

/// "-s|--seed" of all flags that satisfy `wanted`; empty if none.
template <typename Wanted>
std::string pattern_of(const std::vector<FlagRow>& rows, Wanted wanted) {
  std::string pattern;
  for (const FlagRow& row : rows) {
    if (!wanted(row)) continue;
    for (const std::string& word : row.words) pattern += (pattern.empty() ? "" : "|") + word;
  }
  return pattern;
}

std::string bash_script(const CLI::App& app) {
  std::string text =
      "# bash completion for tenon, from `tenon completion bash`\n_tenon() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"" +
      names_of_commands() +
      " help --help --help-all --version\" -- \"$word\"))\n"
      "    return\n  fi\n  local flags=\n  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : command_table()) {
    if (command.add == nullptr) continue;
    const std::vector<FlagRow> rows = rows_of(app, command);
    text += std::string("    ") + command.name + ")\n      case $before in\n";
    for (const FlagRow& row : rows) {
      if (row.choices.empty() || row.words.empty()) continue;
      text += "        " + pattern_of(rows, [&](const FlagRow& at) { return &at == &row; }) +
              ") COMPREPLY=($(compgen -W \"" + words_in_a_row(row.choices) +
              "\" -- \"$word\")); return ;;\n";
    }
    const std::string other = pattern_of(rows, [](const FlagRow& row) {
      return row.takes_value && row.choices.empty() && !row.takes_file;
    });
    if (!other.empty()) text += "        " + other + ") return ;;\n";
    text += "      esac\n      flags=\"" + words_in_a_row(flag_words(rows)) + "\"\n";
    for (const FlagRow& row : rows) {
      if (!row.positional || row.choices.empty()) continue;
      text += "      [[ $word == -* ]] || flags=\"" + words_in_a_row(row.choices) + "\"\n";
    }
    text += "      ;;\n";
  }
  return text + "    help) flags=\"" + names_of_commands() +
         "\" ;;\n  esac\n"
         "  if [ \"${COMP_WORDS[1]}\" = help ] || [[ $word == -* ]] || [[ $flags && $flags != -* "
         "]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n  fi\n}\n"
         "complete -o default -F _tenon tenon\n";
}

/// Text in single quotes, for a shell.
std::string shell_quoted(const std::string& text, const std::string& also = "") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (also.find(c) != also.npos) out += '\\';
      out += c;
    }
  }
  return out + "'";
}

/// First sentence of the text, for a list.
std::string short_text(const FlagRow& row) {
  constexpr size_t kMost = 70;
  std::string text = row.text.substr(0, row.text.find_first_of(";:("));
  if (text.size() > kMost) text.resize(text.rfind(' ', kMost));
  while (!text.empty() && (text.back() == ' ' || text.back() == ',')) text.pop_back();
  return text;
}

std::string zsh_script(const CLI::App& app) {
  std::string text =
      "#compdef tenon\n# zsh completion for tenon, from `tenon completion zsh`\n"
      "_tenon() {\n  local -a commands\n  commands=(\n";
  for (const Command& command : command_table()) {
    if (command.add == nullptr) continue;
    text += "    " + shell_quoted(std::string(command.name) + ":" + command.summary) + "\n";
  }
  text +=
      "    'help:Tell the options of a command'\n  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const Command& command : command_table()) {
    if (command.add == nullptr) continue;
    text += std::string("    ") + command.name + ")\n      _arguments -S";
    for (const FlagRow& row : rows_of(app, command)) {
      std::string value;
      if (row.takes_value) {
        value = row.choices.empty() ? (row.takes_file ? ":file:_files" : ":value: ")
                                    : ":word:(" + words_in_a_row(row.choices) + ")";
      }
      for (const std::string& word : row.words) {
        text +=
            " \\\n        " + shell_quoted("*" + word + "[" + short_text(row) + "]" + value, "");
      }
      if (row.positional) {
        const bool many = row.names.ends_with("...");
        const std::string kind = row.choices.empty() ? (row.takes_file ? "_files" : " ")
                                                     : "(" + words_in_a_row(row.choices) + ")";
        text += " \\\n        " + shell_quoted((many ? "*:" : ":") + row.names + ":" + kind);
      }
    }
    text += "\n      ;;\n";
  }
  return text +
         "    help) _describe command commands ;;\n  esac\n}\n"
         "if [ \"$funcstack[1]\" = _tenon ]; then _tenon \"$@\"; else compdef _tenon tenon; fi\n";
}

std::string fish_script(const CLI::App& app) {
  // Detect the command as the second word: other words may equal a command, such as the prompt
  // "chat".
  std::string text =
      "# fish completion for tenon, from `tenon completion fish`\n"
      "function __tenon_command\n  set -l words (commandline -opc)\n"
      "  test (count $words) -gt 1; and test \"$words[2]\" = $argv[1]\nend\n";
  for (const Command& command : command_table()) {
    if (command.add == nullptr) continue;
    text += std::string("complete -c tenon -n __fish_use_subcommand -f -a ") + command.name +
            " -d " + shell_quoted(command.summary) + "\n";
  }
  text +=
      "complete -c tenon -n __fish_use_subcommand -f -a help -d 'Tell the options of a command'\n"
      "complete -c tenon -n '__tenon_command help' -f -a '" +
      names_of_commands() + "'\n";
  for (const Command& command : command_table()) {
    if (command.add == nullptr) continue;
    for (const FlagRow& row : rows_of(app, command)) {
      const std::string begin =
          std::string("complete -c tenon -n '__tenon_command ") + command.name + "'";
      if (row.positional && !row.choices.empty()) {
        text += begin + " -f -a '" + words_in_a_row(row.choices) + "'\n";
      }
      if (row.words.empty()) continue;
      text += begin;
      for (const std::string& word : row.words) {
        text += word.starts_with("--") ? " -l " + word.substr(2) : " -s " + word.substr(1);
      }
      if (row.takes_value) text += row.takes_file ? " -r" : " -x";
      if (!row.choices.empty()) text += " -a '" + words_in_a_row(row.choices) + "'";
      text += " -d " + shell_quoted(short_text(row)) + "\n";
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print the script that makes a shell complete commands, flags and their words");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app] {
    print(*shell == "bash"  ? bash_script(app)
          : *shell == "zsh" ? zsh_script(app)
                            : fish_script(app));
    flush();
  });
}

}  // namespace tenon_program
