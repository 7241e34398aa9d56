// Command line of `tenon`: help, aliases of other programs' flags, suggestions, completion, manual
// pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

const std::string kNorway = "'What is the capital of Norway?'";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Commands listed by the help.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  bool listing = false;
  for (const std::string& line : lines_of(output_of("tenon --help"))) {
    if (line == "Examples") break;
    listing = listing || line == "Use a model";
    std::smatch match;
    if (listing && line.find("(not built)") == line.npos &&
        std::regex_search(line, match, std::regex("^  ([a-z-]+) +\\S"))) {
      names.push_back(match[1]);
    }
  }
  return names;
}

TEST(RunCommand, AnswersByTheTemplate) {
  EXPECT_EQ(output_of("tenon run " + kDemo + " " + kNorway + " --temperature 0"),
            "The capital of Norway is Oslo.\n");
  EXPECT_EQ(output_of("tenon complete " + kDemo + " 'Once upon a time' -n 4 --temperature 0"),
            output_of("tenon complete " + kDemo + " -p 'Once upon a time' -n 4 --temp 0"));
}

TEST(RunCommand, TakesTheSpellingsOfOtherPrograms) {
  const std::string oslo = "The capital of Norway is Oslo.\n";
  for (const std::string& flags : {"-m " + kDemo + " -p " + kNorway, kDemo + " --prompt " + kNorway,
                                   kNorway + " -m " + kDemo, "--model " + kDemo + " " + kNorway}) {
    EXPECT_EQ(output_of("tenon run " + flags + " --temp 0"), oslo) << flags;
  }
  EXPECT_EQ(output_of("tenon run " + kDemo + " " + kNorway +
                      " --temp 0 -ngl 0 -c 256 -t 1 --n-predict 30 --repeat-penalty 1"),
            oslo);
  EXPECT_EQ(output_of("tenon run " + kDemo + " " + kNorway + " --temp 0 --ctx-size 256 -ngl=0"),
            oslo);
  expect_error_line("tenon run -m " + kDemo + " " + kDemo + " " + kNorway, "leave one out");
  expect_error_line("tenon run " + kDemo + " x -p y", "leave one out");
}

TEST(RunCommand, ReadsStandardInput) {
  const Folder folder;
  const std::string question = folder.file("question", "What is the capital of Norway?");
  const std::string run = "tenon run " + kDemo + " --temperature 0";
  const std::string oslo = "The capital of Norway is Oslo.\n";
  EXPECT_EQ(output_of(run + " < " + question), oslo);
  EXPECT_EQ(output_of(run + " -f " + question), oslo);
  EXPECT_EQ(output_of("tenon --version > /dev/null; cat " + question +
                      " | " TENON_PROGRAMS_DIR "/" + run),
            oslo);
  // Standard input precedes the question; the answer is to both.
  const std::string both = folder.file("both", "What is the");
  const std::string asked =
      output_of("tenon run " + kDemo + " 'capital of Norway?' --temperature 0 < " + both);
  EXPECT_EQ(asked, output_of("tenon run " + kDemo +
                             " 'What is the\n\ncapital of Norway?' --temperature 0"));
  const std::string text = folder.file("text", "Once upon a time");
  EXPECT_EQ(output_of("tenon complete " + kDemo + " -n 4 --temperature 0 < " + text),
            output_of("tenon complete " + kDemo + " -n 4 --temperature 0 -f " + text));
  expect_error_line(run, "there is no question");
}

TEST(RunCommand, SaysWhenItContinuesForWantOfATemplate) {
  const Folder folder;
  const std::string path = folder.path("tiny.gguf");
  ASSERT_EQ(run_program("tenon make-model tiny f32 " + path).exit_code, 0);
  const Outcome outcome = run_program("tenon run " + path + " 'the cat' -n 3 --temperature 0");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("has no chat template, so the text is continued"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out,
            run_program("tenon complete " + path + " 'the cat' -n 3 --temperature 0").out);
  expect_error_line("tenon chat " + path + " --message x", "has no chat template");
}

TEST(RunCommand, TimingsAndErrorsBeginOnALineOfTheirOwn) {
  const std::string timed =
      run_program("tenon complete " + kDemo + " Once -n 4 --timings 2>&1 | cat").out;
  EXPECT_TRUE(std::regex_search(timed, std::regex("\nload +[0-9.]+ s\n"))) << timed;
  const std::string full =
      run_program("tenon complete " + kDemo +
                  " 'Once upon a time' --min-tokens 90 --context 16 2>&1 | cat")
          .out;
  EXPECT_NE(full.find("\ntenon: "), std::string::npos) << full;
}

TEST(CommandLine, NamesWhatWasMeant) {
  expect_error_line("tenon rnu", "there is no command \"rnu\"; the nearest is \"run\"");
  expect_error_line("tenon pull llama", "a model is named hf:OWNER/NAME");
  expect_error_line("tenon xyzzy", "there is no command \"xyzzy\"; see tenon --help");
  expect_error_line("tenon run " + kDemo + " x --temperatur 0", "the nearest is --temperature;");
  expect_error_line("tenon run " + kDemo + " x --max-token 3", "the nearest is --max-tokens;");
  expect_error_line("tenon run " + kDemo + " x --xyzzy 3",
                    "has no option --xyzzy; tenon run --help");
  expect_error_line("tenon run " + kDemo + " x --n_ctx 9", "--n_ctx; --context N sets it");
  expect_error_line("tenon run " + kDemo + " x --max_new_tokens 9", "--max-tokens N sets it");
  expect_error_line("tenon run " + kDemo + " x --n_gpu_layers 9", "the nearest is --n-gpu-layers;");
  expect_error_line("tenon run " + kDemo + " x -hf a/b", "give hf:OWNER/NAME:QUANTISATION");
  expect_error_line("tenon run " + kDemo + " x --jinja", "leave it out");
  expect_error_line("tenon chat " + kDemo + " -i", "talks");
  expect_error_line("tenon run " + kDemo + " what is this", "in quotes");
  expect_error_line("tenon --threads 2 run", "the command comes first");
  expect_error_line("tenon run", "MODEL is missing");
  expect_error_line("tenon run " + kDemo + " x -n 9e", "see tenon run --help");
  EXPECT_EQ(run_program("tenon rnu").exit_code, 2);
}

TEST(CommandLine, ACommandThatIsNotBuiltSaysWhy) {
  if (run_program("tenon serve --help").exit_code == 0) GTEST_SKIP() << "this build has the server";
  expect_error_line("tenon serve " + kDemo, "without the server: install libboost-dev");
}

TEST(Help, IsAScreenAndFitsTheWidth) {
  for (const std::string& name : commands()) {
    const std::string help = output_of("tenon " + name + " --help");
    const std::string all = output_of("tenon " + name + " --help-all");
    for (const std::string& text : {help, all}) {
      for (const std::string& line : lines_of(text)) {
        const bool is_example = line.starts_with("  tenon ");
        EXPECT_LE(line.size(), is_example ? 100u : 80u) << name << ": " << line;
      }
      EXPECT_EQ(text.find("9223372036854775807"), text.npos) << name;
      EXPECT_NE(text.find("\nUsage\n  tenon " + name), text.npos) << text;
      EXPECT_NE(text.find("\nExamples\n"), text.npos) << text;
      EXPECT_EQ(text.find('\x1b'), text.npos) << "colours are for terminals";
    }
    EXPECT_LE(lines_of(help).size(), 66u) << help;
    EXPECT_GE(all.size(), help.size() - 60) << name;
    EXPECT_EQ(output_of("tenon help " + name), help);
  }
  EXPECT_LE(lines_of(output_of("tenon --help")).size(), 48u);
  EXPECT_EQ(output_of("tenon help"), output_of("tenon --help"));
  EXPECT_EQ(output_of("tenon run --help").find("--min-p"), std::string::npos);
  EXPECT_NE(output_of("tenon run --help-all").find("--min-p"), std::string::npos);
}

TEST(Help, ExamplesBeginWithACommand) {
  const std::vector<std::string> names = commands();
  ASSERT_GE(names.size(), 15u);
  for (const std::string& name : names) {
    for (const std::string& line : lines_of(output_of("tenon " + name + " --help"))) {
      if (!line.starts_with("  tenon ")) continue;
      EXPECT_TRUE(line.starts_with("  tenon " + name)) << line;
    }
  }
}

TEST(ManualPages, ListCommandsAndFlags) {
  const std::string page = output_of("tenon man");
  for (const std::string& name : commands()) {
    std::string in_roff = name;
    if (const size_t dash = name.find('-'); dash != name.npos) in_roff.insert(dash, "\\");
    EXPECT_NE(page.find("\n.B " + in_roff + "\n"), page.npos) << name;
    const std::string of_command = output_of("tenon man " + name);
    EXPECT_TRUE(of_command.starts_with(".TH TENON-")) << name;
    EXPECT_NE(of_command.find("\\-\\-help\\-all"), of_command.npos) << name;
  }
  EXPECT_NE(output_of("tenon man run").find("\\-\\-min\\-p"), std::string::npos);
  expect_error_line("tenon man nosuch", "no command \"nosuch\"");
  if (run_program("tenon man > /dev/null; man --version").exit_code != 0) return;
  for (const std::string& name : {std::string(), std::string("run"), std::string("make-model")}) {
    const Outcome read =
        run_program("tenon man " + name + " | man --warnings -E UTF-8 -l - > /dev/null");
    EXPECT_EQ(read.err, "") << name;
  }
}

/// Completions that bash offers for the line's last word.
std::string offered(const std::vector<std::string>& words) {
  const Folder folder;
  std::string typed;
  for (const std::string& word : words) typed += " " + quoted(word);
  const std::string script =
      folder.file("complete.sh",
                  "source \"$1\"\nshift\nCOMP_WORDS=(\"$@\")\nCOMP_CWORD=$(($# - 1))\n"
                  "_tenon\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const std::string functions = folder.file("tenon.bash", output_of("tenon completion bash"));
  return output_of("tenon --version > /dev/null; bash " + script + " " + functions + " tenon" +
                   typed);
}

TEST(Completion, OfBashOffersCommandsFlagsAndWords) {
  EXPECT_EQ(offered({"cha"}), "chat\n");
  EXPECT_EQ(offered({"run", "model.gguf", "--temper"}), "--temperature\n");
  EXPECT_EQ(offered({"completion", "fi"}), "fish\n");
  EXPECT_EQ(offered({"embed", "m.gguf", "--role", "q"}), "query\n");
  EXPECT_EQ(offered({"run", "m.gguf", "--seed", ""}), "\n") << "a number is nothing to offer";
  EXPECT_EQ(offered({"help", "perp"}), "perplexity\n");
}

TEST(Completion, OfOtherShellsIsWhatTheyRead) {
  for (const char* shell : {"zsh", "fish"}) {
    const Folder folder;
    const std::string text = output_of(std::string("tenon completion ") + shell);
    EXPECT_NE(text.find("perplexity"), text.npos);
    EXPECT_NE(text.find("temperature"), text.npos);
    const std::string file = folder.file("script", text);
    const std::string there = std::string("tenon --version > /dev/null; command -v ") + shell;
    if (run_program(there).exit_code != 0) continue;
    EXPECT_EQ(
        run_program("tenon --version > /dev/null; " + std::string(shell) + " -n " + file).exit_code,
        0);
  }
  expect_error_line("tenon completion tcsh", "tcsh");
}

}  // namespace
