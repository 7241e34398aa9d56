// tenon grammar, and generation under a grammar, as a user runs them.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(GrammarCommand, ExitCodeTellsTheAnswer) {
  const Folder folder;
  const std::string schema = folder.file("schema", R"({"type":"integer"})");
  const std::string gbnf = folder.file("gbnf", "root ::= [0-9]+\n");
  const std::string number = folder.file("number", "12");
  const std::string word = folder.file("word", "twelve");
  for (const std::string& grammar :
       {"--json-schema " + schema, "--gbnf " + gbnf, std::string("--regex '[0-9]+'")}) {
    const std::string command = "tenon grammar " + grammar + " --accepts ";
    EXPECT_EQ(run_program(command + number).exit_code, 0) << grammar;
    EXPECT_EQ(run_program(command + word).exit_code, 1) << grammar;
  }
  const std::string broken = folder.file("broken", R"({"properties":{"a":{"type":"zzz"}}})");
  const Outcome refused =
      run_program("tenon grammar --json-schema " + broken + " --accepts " + number);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("#/properties/a/type"), std::string::npos) << refused.err;
}

TEST(GrammarCommand, WhatCannotBeReadIsNotRejected) {
  const Folder folder;
  const std::string number = folder.file("number", "12");
  const std::string any = folder.file("any", "true");
  EXPECT_EQ(run_program("tenon grammar --json-schema /nowhere --accepts " + number).exit_code, 2);
  EXPECT_EQ(run_program("tenon grammar --regex a --accepts /nowhere").exit_code, 2);
  EXPECT_EQ(run_program("tenon grammar --regex a --accepts " + folder.path("")).exit_code, 2);
  // Deep nesting is answered or refused with the limit, and not after hours.
  const std::string deep = folder.file("deep", std::string(100'000, '['));
  EXPECT_EQ(run_program("tenon grammar --json-schema " + any + " --accepts " + deep).exit_code, 1);
  const std::string deeper = folder.file("deeper", std::string(2'000'000, '['));
  EXPECT_EQ(run_program("tenon grammar --json-schema " + any + " --accepts " + deeper).exit_code,
            2);
}

TEST(GrammarCommand, RunObeysTheSchemaWhateverTheTokenLimit) {
  const Folder folder;
  const std::string schema = folder.file(
      "schema", R"({"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array",
      "items":{"type":"string"}}},"required":["name","tags"],"additionalProperties":false})");
  for (const char* limit : {"24", "40", "100"}) {
    const std::string text =
        output_of("tenon complete " + kDemo + " 'Once upon a time' --seed 3 -n " + limit +
                  " --json-schema " + schema);
    const std::string file = folder.file("answer", text);
    EXPECT_EQ(run_program("tenon grammar --json-schema " + schema + " --accepts " + file).exit_code,
              0)
        << text;
  }
}

TEST(JsonExtract, AnswersWithADocumentOfItsSchema) {
  const std::string text =
      output_of("json_extract " + kDemo + " 'Tom is 34 years old and lives in Oslo.'");
  for (const char* key : {"\"name\"", "\"age\"", "\"city\""}) {
    EXPECT_NE(text.find(key), std::string::npos) << text;
  }
  EXPECT_NE(text.find('}'), std::string::npos) << text;
}

}  // namespace
