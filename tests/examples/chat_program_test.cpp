// tenon render, tenon chat, and the examples that chat.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(Render, ATemplateFileAndAModel) {
  const Folder folder;
  const std::string source =
      folder.file("t.jinja",
                  "{{ bos_token }}{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}"
                  "{{ who }}{{ strftime_now('%Y') }}");
  const std::string conversation = folder.file(
      "case.json", R"({"messages": [{"role": "user", "content": "Hi"}], "bos_token": "<s>",)"
                   R"("now": "2026-01-02T03:04:05", "who": "me", "name": "n", "expected": ""})");
  EXPECT_EQ(output_of("tenon render " + source + " --case " + conversation), "<s>[user:Hi]me2026");
  EXPECT_EQ(output_of("tenon render " + kDemo + " --case " + conversation),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Render, ErrorsAreOneLine) {
  const Folder folder;
  const std::string bad = folder.file("bad.jinja", "a\n{% if %}");
  const std::string raising = folder.file("r.jinja", "\n{{ raise_exception('no') }}");
  const std::string conversation = folder.file("case.json", R"({"messages": []})");
  const std::string no_json = folder.file("no.json", "{");
  expect_error_line("tenon render " + bad + " --case " + conversation, "line 2");
  expect_error_line("tenon render " + raising + " --case " + conversation, "line 2: no");
  expect_error_line("tenon render " + raising + " --case " + no_json, "no.json");
  expect_error_line("tenon render /nowhere --case " + conversation, "/nowhere");
}

TEST(Render, OddCasesAreOneLineToo) {
  const Folder folder;
  const std::string source = folder.file("t.jinja", "{{ messages }}");
  const std::pair<std::string, const char*> cases[] = {
      {R"({"cases": 3})", "no list"},
      {R"({"cases": [1, {"name": 5}]})", "no case"},
      {R"({"messages": )" + std::string(2'000'000, '[') + "}", "nested deeper than 512"},
      {R"({"messages": "\xff"})", "t.json"},
      {"[]", "no JSON object"},
  };
  for (const auto& [text, error] : cases) {
    const std::string file = folder.file("t.json", text);
    expect_error_line("tenon render " + source + " --case " + file + " --name x", error);
  }
}

TEST(ChatProgram, RefusesOddArgumentsInOneLine) {
  const Folder folder;
  const std::string deep = folder.file("deep", std::string(2'000'000, '['));
  const std::string chat = "tenon chat " + kDemo + " --message Hi ";
  expect_error_line(chat + "--tools " + deep, "nested deeper than 512");
  expect_error_line(chat + "--json-schema " + deep, "nested deeper than 512");
  expect_error_line(chat + "--tools /nowhere", "/nowhere");
  EXPECT_NE(run_program(chat + "-n -3").exit_code, 0);
  EXPECT_NE(run_program("tenon run " + kDemo + " Hi -n -3").exit_code, 0);
  // A byte that is not UTF-8 becomes U+FFFD.
  EXPECT_EQ(run_program(chat.substr(0, chat.size() - 3) + "\"$(printf 'a\\377b')\" -n 2").exit_code,
            0);
}

TEST(ChatProgram, OutlivesAQuestionTooLong) {
  const Folder folder;
  std::string words;
  for (int i = 0; i < 200; ++i) words += "word ";
  const std::string input = folder.file("in", words + "\nHi\n/history\n");
  const Outcome outcome =
      run_program("tenon chat " + kDemo + " --context 64 --temperature 0 -n 8 < " + input);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("> context 64; the question is forgotten"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out.find("word word"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\"content\": \"Hi\""), std::string::npos) << outcome.out;
}

TEST(ChatProgram, AnswersOneMessage) {
  const std::string answer = output_of("tenon chat " + kDemo +
                                       " --message 'What is the capital of Norway?' "
                                       "--temperature 0");
  EXPECT_NE(answer.find("Oslo"), std::string::npos) << answer;
}

TEST(ChatProgram, KeepsAHistoryThatCanBeUndoneAndSaved) {
  const Folder folder;
  const std::string saved = folder.path("saved.json");
  const std::string input = folder.file("in",
                                        "What is the capital of Norway?\n/undo\n"
                                        "What is the capital of France?\n/save " +
                                            saved + "\n/histroy\n/quit\nnot read\n");
  const Outcome outcome =
      run_program("tenon chat " + kDemo + " --system Hello --temperature 0 < " + input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string history = file_content(saved);
  EXPECT_NE(history.find("France"), std::string::npos) << history;
  EXPECT_NE(history.find("Paris"), std::string::npos) << history;
  EXPECT_EQ(history.find("Norway"), std::string::npos) << history;
  EXPECT_NE(outcome.out.find("no command /histroy; the nearest is /history"), std::string::npos)
      << outcome.out;
}

TEST(ChatProgram, AnswersObeyASchema) {
  const Folder folder;
  const std::string schema = folder.file(
      "schema.json", R"({"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]},)"
                     R"("n": {"type": "integer", "minimum": 3, "maximum": 9}},)"
                     R"("required": ["city", "n"], "additionalProperties": false})");
  const std::string answer = folder.path("answer.json");
  const Outcome outcome = run_program("tenon chat " + kDemo + " --message 'Hello' --json-schema " +
                                      schema + " --temperature 0 > " + answer);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(output_of("tenon grammar --json-schema " + schema + " --accepts " + answer), "");
  // Each answer of a conversation obeys the schema.
  const std::string input = folder.file("in", "Hello\nWhat is the capital of France?\n");
  const std::string two =
      output_of("tenon chat " + kDemo + " --json-schema " + schema + " < " + input);
  size_t documents = 0;
  for (size_t at = two.find("\"city\""); at != two.npos; at = two.find("\"city\"", at + 1)) {
    ++documents;
  }
  EXPECT_EQ(documents, 2u) << two;
}

TEST(ChatProgram, CallsObeyTheSchemasOfTheTools) {
  const Folder folder;
  const std::string tools = folder.file(
      "tools.json", R"([{"type": "function", "function": {"name": "get_weather", "parameters": {)"
                    R"("type": "object", "properties": {"city": {"enum": ["Bonn", "Paris"]}},)"
                    R"("required": ["city"], "additionalProperties": false}}}])");
  const std::string command = "tenon chat " + kDemo + " --temperature 0 --tools " + tools;
  // The model was never trained on these two, so the constraint decides.
  const std::string called = output_of(command + " --message 'What is the weather in Lima?'");
  EXPECT_EQ(called.rfind("[get_weather {", 0), 0u) << called;
  EXPECT_TRUE(called.find("Bonn") != called.npos || called.find("Paris") != called.npos) << called;
  const std::string text = output_of(command + " --message 'What is the capital of Norway?'");
  EXPECT_NE(text.find("Oslo"), text.npos) << text;
  const std::string required =
      output_of(command + " --tool-choice required --message 'What is the capital of Norway?'");
  EXPECT_EQ(required.rfind("[get_weather {", 0), 0u) << required;
  expect_error_line(command + " --tool-choice nosuch --message x", "nosuch");
}

TEST(ChatProgram, ForgetsTheOldestQuestionsWhereTheContextIsFull) {
  const Folder folder;
  std::string lines;
  for (int i = 0; i < 8; ++i) lines += "What is the capital of Norway?\n";
  const std::string input = folder.file("in", lines + "/history\n");
  const Outcome outcome = run_program("tenon chat " + kDemo +
                                      " --context 128 --temperature 0 --system Hello < " + input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("forgotten: the oldest 1 question "), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("the question is forgotten"), std::string::npos) << outcome.err;
  size_t answers = 0;
  for (size_t at = 0; (at = outcome.out.find("is Oslo.\n", at)) != std::string::npos; ++at)
    ++answers;
  EXPECT_EQ(answers, 8u) << "each is answered: " << outcome.out;
  const std::string history = outcome.out.substr(outcome.out.find("[\n"));
  EXPECT_NE(history.find("\"content\": \"Hello\""), std::string::npos) << "the system's stays";
  size_t kept = 0;
  for (size_t at = 0; (at = history.find("\"user\"", at)) != std::string::npos; ++at) ++kept;
  EXPECT_GE(kept, 1u);
  EXPECT_LT(kept, 8u) << history;
}

TEST(ChatProgram, CommandsChangeWhatFollows) {
  const Folder folder;
  const std::string tools = folder.file(
      "tools.json",
      R"([{"type": "function", "function": {"name": "get_weather", "parameters": {}}}])");
  const std::string saved = folder.path("saved.json");
  const std::string norway = "What is the capital of Norway?\n";
  const std::string input = folder.file(
      "in", "/set temperature 0\n/set\n/set temperatur 1\n/set top-k minus\n/set max-tokens 2\n" +
                norway + "/set max-tokens 0\n/again\n/system Be brief.\n/system\n/tools " + tools +
                "\n/tools\n/tools off\n/tools\n/tools /nowhere\n/save " + saved +
                "\n/clear\n/history\n/load " + saved + "\n//etc\n/bye\n");
  const Outcome outcome = run_program("tenon chat " + kDemo + " < " + input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* said :
       {"temperature is 0 from the next answer on.", "temperature 0\n",
        "the nearest is temperature", "max_tokens is 2", "The capital of Norway is Oslo.",
        "The system message is set.", "Be brief.\n", "1 tool from", "get_weather\n",
        "The tools are gone.", "There are no tools", "\"content\": \"Be brief.\"",
        "Loaded 1 question."}) {
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << "\n" << outcome.out;
  }
  EXPECT_NE(outcome.err.find("top_k"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("/nowhere"), std::string::npos) << outcome.err;
  EXPECT_NE(file_content(saved).find("Oslo"), std::string::npos) << file_content(saved);
  const std::string after_clear = outcome.out.substr(outcome.out.find("All questions are"));
  const std::string history = after_clear.substr(0, after_clear.find("Loaded"));
  EXPECT_EQ(history.find("Norway"), std::string::npos) << history;
}

TEST(ChatProgram, QuotesHoldAQuestionOfSeveralLines) {
  const Folder folder;
  const std::string input =
      folder.file("in", "\"\"\"\nWhat is the\ncapital of Norway?\n\"\"\"\n/history\n");
  const Outcome outcome = run_program("tenon chat " + kDemo + " -n 4 --temperature 0 < " + input);
  EXPECT_NE(outcome.out.find(R"("content": "What is the\ncapital of Norway?")"), std::string::npos)
      << outcome.out;
}

TEST(ChatProgram, TemplatesAreTextsFilesOrNames) {
  const Folder folder;
  const std::string ask =
      "tenon chat " + kDemo + " --temperature 0 --message 'What is the capital of Norway?' ";
  EXPECT_NE(output_of(ask + "--template chatml").find("Oslo"), std::string::npos);
  const std::string file = folder.file(
      "t.jinja",
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "<|im_start|>assistant\n");
  EXPECT_NE(output_of(ask + "--chat-template " + file).find("Oslo"), std::string::npos);
  EXPECT_NE(output_of(ask + "--template \"$(cat " + file + ")\"").find("Oslo"), std::string::npos);
  expect_error_line(ask + "--template /nowhere.jinja", "there is no such file");
  expect_error_line(ask + "--template nosuch", "nosuch");
}

/// Program with pipes of the test as input and output.
class Piped {
 public:
  explicit Piped(std::vector<std::string> command) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in) | pipe(out), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      std::vector<char*> words;
      for (std::string& word : command) words.push_back(word.data());
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  ~Piped() {
    if (child_ > 0) kill(child_, SIGKILL);
    close(in_);
    close(out_);
  }

  void write(const std::string& text) {
    EXPECT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// Reads until `text` appears; false at the end of the output.
  bool read_until(const std::string& text) {
    for (;;) {
      if (read_.find(text, from_) != read_.npos) {
        from_ = read_.find(text, from_) + text.size();
        return true;
      }
      char piece[4096];
      const ssize_t count = ::read(out_, piece, sizeof piece);
      if (count <= 0) return false;
      read_.append(piece, static_cast<size_t>(count));
    }
  }
  void interrupt() { kill(child_, SIGINT); }
  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] const std::string& output() const { return read_; }

 private:
  pid_t child_ = -1;
  int in_ = -1, out_ = -1;
  std::string read_;
  size_t from_ = 0;
};

TEST(ChatProgram, CtrlCStopsTheAnswerAndNotTheProgram) {
  // Only the signal ends this answer within hours.
  Piped chat({TENON_PROGRAMS_DIR "/tenon", "chat", kDemo, "--min-tokens", "1000000", "--context",
              "1000000"});
  chat.write("What is the capital of Norway?\n");
  ASSERT_TRUE(chat.read_until("Oslo"));
  chat.interrupt();
  chat.write("/history\n");
  ASSERT_TRUE(chat.read_until("\"role\": \"assistant\"")) << "the history holds what was said";
  chat.write("/undo\n");
  ASSERT_TRUE(chat.read_until("forgotten"));
  // At the prompt, Ctrl-C only ends the line.
  chat.interrupt();
  chat.write("/history\n");
  ASSERT_TRUE(chat.read_until("[]"));
  chat.write("/quit\n");
  EXPECT_EQ(chat.wait(), 0);
}

TEST(ChatProgram, RefusesBadFiles) {
  const Folder folder;
  const std::string schema = folder.file("schema.json", R"({"type": "zzz"})");
  expect_error_line("tenon chat " + kDemo + " --message x --json-schema " + schema, "zzz");
  const std::string no_json = folder.file("no.json", "{");
  expect_error_line("tenon chat " + kDemo + " --message x --json-schema " + no_json, "no.json");
  const std::string tools = folder.file("tools.json", "{}");
  expect_error_line("tenon chat " + kDemo + " --message x --tools " + tools, "tools.json");
  expect_error_line("tenon chat /nowhere.gguf --message x", "/nowhere.gguf");
  expect_error_line("tenon chat " + kDemo + " --message x --chat-format nosuch", "nosuch");
}

TEST(ExampleChat, AnswersEachLine) {
  const Folder folder;
  const std::string input =
      folder.file("in", "What is the capital of Norway?\nWhat is the capital of France?\n");
  const Outcome outcome = run_program("chat " + kDemo + " < " + input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Oslo"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Paris"), std::string::npos) << outcome.out;
}

TEST(ExampleToolCalling, CallsTheTool) {
  const std::string answer = output_of("tool_calling " + kDemo);
  EXPECT_NE(answer.find("calling get_weather({\"city\": \"Lima\"})"), std::string::npos) << answer;
}

}  // namespace
