#include "chat_commands.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <vector>

#include "failure.h"
#include "flag_names.h"
#include "format_text.h"
#include "host.h"
#include "number_lists.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct ChatCommand {
  const char* name;
  const char* argument;
  const char* what;
  AfterCommand (*run)(const std::string& argument, Talk& talk);
};

AfterCommand reply_with(const std::string& line) {
  print(line + "\n");
  return AfterCommand::GoOn;
}

/// Library key of an option as users write it: "top-k", "temp".
std::string key_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  if (name == "temp") return "temperature";
  if (name == "num_predict" || name == "n_predict") return "max_tokens";
  return name;
}

std::vector<std::string> sampler_keys() {
  std::vector<std::string> keys{"max_tokens", "thinking", "timings"};
  for (const tenon_option_info& option : tenon::option_list()) {
    if (option.scope == TENON_SCOPE_SAMPLER) keys.emplace_back(option.name);
  }
  return keys;
}

std::string settings_text(const Talk& talk) {
  std::string text;
  for (const auto& [key, value] : talk.sampler_options) text += key + " " + value + "\n";
  if (talk.max_tokens != 0) text += "max_tokens " + std::to_string(talk.max_tokens) + "\n";
  text += "Keys:";
  for (const std::string& key : sampler_keys()) text += " " + key;
  return text;
}

bool is_on(const std::string& value) { return value == "on" || value == "true" || value == "1"; }

AfterCommand do_set(const std::string& argument, Talk& talk) {
  if (argument.empty()) return reply_with(settings_text(talk));
  const size_t space = argument.find_first_of(" =");
  const std::string key = key_of(argument.substr(0, space));
  const size_t begin = argument.find_first_not_of(" =", space);
  const std::string value = begin == argument.npos ? "" : argument.substr(begin);
  const std::vector<std::string> keys = sampler_keys();
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
    const std::string near = nearest(key, keys);
    return reply_with("There is nothing called " + printable(key, 64) +
                      (near.empty() ? "" : "; the nearest is " + near) +
                      "; /set lists what there is.");
  }
  if (value.empty()) return reply_with("Give a value: /set " + key + " VALUE");
  if (key == "thinking") {
    talk.conversation.set_thinking(is_on(value));
  } else if (key == "timings") {
    talk.timings = is_on(value);
  } else if (key == "max_tokens") {
    uint64_t tokens = 0;
    const std::string fault = number_fault(value, 0, INT64_MAX, tokens);
    if (!fault.empty()) return reply_with(fault);
    talk.max_tokens = tokens;
  } else {
    tenon::ExtraOptions options = talk.sampler_options;
    const bool is_list = key == "stop" || key == "banned_strings";
    if (!is_list) std::erase_if(options, [&](const auto& option) { return option.first == key; });
    options.emplace_back(key, value);
    const tenon::Sampler tried(tenon::SamplerOptions{.extra = options});  // throws for a bad value
    talk.sampler_options = std::move(options);
  }
  return reply_with(key + " is " + value + " from the next answer on.");
}

AfterCommand do_system(const std::string& argument, Talk& talk) {
  if (argument.empty()) {
    const std::string text = talk.conversation.system();
    return reply_with(text.empty() ? "There is no system message." : text);
  }
  talk.conversation.set_system(argument == "off" ? "" : argument);
  return reply_with(argument == "off" ? "The system message is gone."
                                      : "The system message is set.");
}

AfterCommand do_tools(const std::string& argument, Talk& talk) {
  if (argument.empty()) {
    const Json& tools = talk.conversation.tools();
    if (tools.is_null())
      return reply_with("There are no tools; /tools FILE takes a JSON list of them.");
    for (const Json& tool : tools) {
      const Json& function = tool.contains("function") ? tool["function"] : tool;
      print(printable(function.value("name", "?"), 64) + "\n");
    }
    return AfterCommand::GoOn;
  }
  if (argument == "off") {
    talk.conversation.clear_tools();
    return reply_with("The tools are gone.");
  }
  talk.conversation.set_tools(argument);
  return reply_with(counted(talk.conversation.tools().size(), "tool") +
                    " from the next answer on.");
}

AfterCommand do_save(const std::string& argument, Talk& talk) {
  if (argument.empty()) return reply_with("Give a file: /save FILE");
  std::ofstream file(path_of(argument), std::ios::binary);
  file << talk.conversation.history();
  file.close();
  return reply_with(file ? "Saved to " + argument : "Cannot write " + argument);
}

AfterCommand do_load(const std::string& argument, Talk& talk) {
  if (argument.empty()) return reply_with("Give a file that /save wrote: /load FILE");
  talk.conversation.load(argument);
  return reply_with("Loaded " + counted(talk.conversation.questions(), "question") + ".");
}

AfterCommand do_undo(const std::string&, Talk& talk) {
  return reply_with(talk.conversation.undo() ? "The last question is forgotten."
                                             : "There is no question.");
}

AfterCommand do_again(const std::string&, Talk& talk) {
  if (talk.conversation.undo_answer()) return AfterCommand::Answer;
  return reply_with("There is no question.");
}

AfterCommand do_clear(const std::string&, Talk& talk) {
  talk.conversation.clear();
  return reply_with("All questions are forgotten; the system message stays.");
}

AfterCommand do_history(const std::string&, Talk& talk) {
  print(talk.conversation.history());
  return AfterCommand::GoOn;
}

AfterCommand do_quit(const std::string&, Talk&) { return AfterCommand::End; }
AfterCommand do_help(const std::string&, Talk&);

constexpr auto kCommands = std::to_array<ChatCommand>({
    {"/help", "", "this list", do_help},
    {"/set", "[KEY VALUE]", "change how answers are drawn: /set temperature 0.2", do_set},
    {"/system", "[TEXT|off]", "change what the model is told first", do_system},
    {"/tools", "[FILE|off]", "the tools that the model may call", do_tools},
    {"/undo", "", "forget the last question and its answer", do_undo},
    {"/again", "", "another answer to the last question", do_again},
    {"/clear", "", "forget all questions", do_clear},
    {"/history", "", "all messages as JSON", do_history},
    {"/save", "FILE", "write them to a file", do_save},
    {"/load", "FILE", "go on with those of a file", do_load},
    {"/quit", "", "end; so do Ctrl-D, /exit and /bye", do_quit},
});

AfterCommand do_help(const std::string&, Talk&) {
  for (const ChatCommand& command : kCommands) {
    const std::string usage = std::string(command.name) + " " + command.argument;
    print(format_text("  %-20s %s\n", usage.c_str(), command.what));
  }
  return reply_with(
      "Three double quotes begin and end a question of several lines. A question that "
      "begins\nwith a slash is asked by two: //etc. Where the context is full, the oldest "
      "questions are\nforgotten with their answers, until a quarter of it is free.");
}

}  // namespace

AfterCommand run_chat_command(const std::string& line, Talk& talk) {
  const size_t space = line.find(' ');
  std::string name = line.substr(0, space);
  const size_t begin = line.find_first_not_of(' ', space);
  std::string argument = begin == line.npos || space == line.npos ? "" : line.substr(begin);
  while (argument.ends_with(' ')) argument.pop_back();
  if (name == "/exit" || name == "/bye") name = "/quit";
  if (name == "/?") name = "/help";
  if (name == "/regenerate" || name == "/retry") name = "/again";
  std::vector<std::string> names;
  for (const ChatCommand& command : kCommands) {
    names.emplace_back(command.name);
    if (name != command.name) continue;
    try {
      return command.run(argument, talk);
    } catch (const Failure& failure) {
      say(Style::Error, failure.what());
    } catch (const tenon::Error& error) {
      say(Style::Error, error.what());
    }
    return AfterCommand::GoOn;
  }
  const std::string near = nearest(name, names);
  return reply_with("There is no command " + printable(name, 64) +
                    (near.empty() ? "" : "; the nearest is " + near) + "; /help lists them.");
}

}  // namespace tenon_program
