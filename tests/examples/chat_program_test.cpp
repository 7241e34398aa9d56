// tenon render, tenon chat, and the examples that chat.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

const std::string kDemo = TENON_DEMO_MODEL;

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
                                            saved + "\n/nosuch\n/quit\nnot read\n");
  const Outcome outcome =
      run_program("tenon chat " + kDemo + " --system Hello --temperature 0 < " + input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string history = file_content(saved);
  EXPECT_NE(history.find("France"), std::string::npos) << history;
  EXPECT_NE(history.find("Paris"), std::string::npos) << history;
  EXPECT_EQ(history.find("Norway"), std::string::npos) << history;
  EXPECT_NE(outcome.out.find("/undo"), std::string::npos);
}

TEST(ChatProgram, RefusesBadFiles) {
  const Folder folder;
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
