// tenon inspect of files that cannot run.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(Program, InspectShowsFilesThatCannotRun) {
  const Folder folder;
  std::string bytes = file_content(kDemo);
  const std::string key = "general.architecture";
  const size_t at = bytes.find("llama", bytes.find(key));
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 5, "lamma");
  const std::string path = folder.file("other.gguf", bytes);
  expect_error_line("tenon run " + path + " hello", "architecture \"lamma\" is not known");
  const std::string text = output_of("tenon inspect " + path);
  for (const char* word : {"lamma", "general.architecture", "token_embd.weight", "q8_0",
                           "This file cannot run: ", "architecture \"lamma\" is not known"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_NE(output_of("tenon inspect " + path + " --json").find("\"cannot_run\": "),
            std::string::npos);
}

}  // namespace
