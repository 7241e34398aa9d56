// tenon plan, and warnings of the library on standard error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

const std::string kPlan = "tenon plan " TENON_DEMO_MODEL;

TEST(Plan, RefusesWhatCannotBe) {
  expect_error_line("tenon plan", "MODEL");
  expect_error_line("tenon plan /nowhere.gguf", "/nowhere.gguf");
  expect_error_line(kPlan + " --sessions 0", "sessions");
  expect_error_line(kPlan + " --context 9999999999 --no-speed", "context is 9999999999");
  expect_error_line(kPlan + " --cache-type f99", "f99");
  expect_error_line(kPlan + " --measure --no-speed", "excludes");
}

TEST(Plan, ShowsMemoryByKindAndSpeeds) {
  const std::string text = output_of(kPlan + " --context 256 --sessions 2 --threads 2");
  for (const char* word : {"2 sessions of 256 positions, 2 threads", "weights", "scratch",
                           "--cache-bytes", "peak", "fits; so do", "prefill", "decode"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
  EXPECT_EQ(output_of(kPlan + " --no-speed").find("prefill"), std::string::npos);
}

TEST(Plan, SaysWhatWouldFit) {
  // A fixed size for the process: the program's own varies between builds.
  const std::string plan = kPlan + " --no-speed --process-bytes 4000000";
  const std::string json = output_of(plan + " --json --context 512 --sessions 64");
  EXPECT_EQ(number_in(json, "process_bytes"), 4000000);
  const auto all = static_cast<long long>(number_in(json, "total_bytes"));
  const std::string half = " --memory " + std::to_string(all / 2);
  const std::string text = output_of(plan + " --context 512 --sessions 64" + half);
  EXPECT_NE(text.find("does not fit; one of these would"), std::string::npos) << text;
  const std::pair<const char*, const char*> changes[] = {
      {"  --context ", " --sessions 64"},
      {"  --sessions ", " --context 512"},
      {"  --cache-type ", " --context 512 --sessions 64"},
  };
  for (const auto& [flag, others] : changes) {
    const size_t at = text.find(flag);
    ASSERT_NE(at, std::string::npos) << flag << "\n" << text;
    const std::string change = text.substr(at, text.find('\n', at) - at);
    const std::string changed = output_of(plan + change + others + half);
    EXPECT_NE(changed.find("\nfits"), std::string::npos) << change << "\n" << changed;
  }
  EXPECT_NE(output_of(plan + " --memory 1000").find("smaller model"), std::string::npos);
}

TEST(Plan, NeedsNoWeights) {
  const Folder folder;
  const std::string whole = folder.path("whole.gguf");
  output_of("tenon make-model tiny q4_0 " + whole);
  // The tensors of a tiny model with 512 words begin far after this offset.
  const auto size = std::filesystem::file_size(whole);
  const std::string content = file_content(whole);
  const std::string sparse = folder.file("sparse.gguf", content.substr(0, 64 * 1024));
  std::filesystem::resize_file(sparse, size);
  const auto weights = [](const std::string& path) {
    return number_in(output_of("tenon plan " + path + " --no-speed --json"), "weights_bytes");
  };
  EXPECT_GT(weights(sparse), 0);
  EXPECT_EQ(weights(sparse), weights(whole));
}

TEST(Plan, MeasuresWhatItPredicts) {
  const std::string json = output_of(kPlan + " --measure --context 100 --sessions 3 --json");
  EXPECT_EQ(number_in(json, "context"), 100);
  EXPECT_GT(number_in(json, "peak_bytes"), 3e6);
  EXPECT_GT(number_in(json, "decode_tokens_per_second"), 0);
  EXPECT_GT(number_in(json, "prefill_tokens_per_second"), 0);
  EXPECT_NE(output_of(kPlan + " --measure --context 2").find("peak"), std::string::npos);
  // More sessions than an engine runs or queues by default.
  EXPECT_NE(output_of(kPlan + " --measure --context 2 --sessions 1100").find("peak"),
            std::string::npos);
}

TEST(Warnings, GoToStandardErrorAndTheWorkGoesOn) {
  const Folder folder;
  const std::string plugin = folder.file("libtenon-bad.so", "no library");
  const Outcome outcome =
      run_program("tenon run " TENON_DEMO_MODEL " Once -n 2 --plugin " + plugin);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("tenon: warning: plugin " + plugin + " is not used: ", 0), 0u)
      << outcome.err;
  const Outcome relative = run_program("tenon run " TENON_DEMO_MODEL " Once -n 2 --plugin x.so");
  EXPECT_NE(relative.err.find("x.so is not used"), std::string::npos) << relative.err;
}

}  // namespace
