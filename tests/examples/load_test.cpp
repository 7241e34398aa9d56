// tenon bench --clients: measurements and refusals.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

const std::string kLoad = "tenon bench " TENON_DEMO_MODEL " --clients 3";

/// Rest of a JSON text from `key` on.
std::string part_of(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\": {");
  EXPECT_NE(at, std::string::npos) << key << "\n" << json;
  return at == std::string::npos ? "" : json.substr(at);
}

TEST(Load, RefusesWhatItCannotRun) {
  expect_error_line("tenon bench " TENON_DEMO_MODEL " --clients 0", "clients");
  expect_error_line("tenon bench " TENON_DEMO_MODEL " --rate 2", "--rate requires --clients");
  expect_error_line("tenon bench " TENON_DEMO_MODEL " --cache-bytes 5", "--clients");
  expect_error_line(kLoad + " -p 3", "excludes");
  expect_error_line(kLoad + " --rate -1", "rate");
  expect_error_line(kLoad + " --rate nan", "rate");
  expect_error_line(kLoad + " --shared-prefix 1.5", "shared-prefix");
  expect_error_line(kLoad + " --duration 0", "duration");
  expect_error_line(kLoad + " --prompt-tokens uniform:9-5", "\"uniform:9-5\" is no distribution");
  expect_error_line(kLoad + " --output-tokens 0", "\"0\" is no distribution");
  expect_error_line(kLoad + " --cache-type f16,int8", "one --cache-type");
  expect_error_line(kLoad + " --cache-bytes -1", "cache_bytes");
}

TEST(Load, ClosedLoopAnswersEveryRequestWholly) {
  const std::string json = output_of(
      kLoad + " --duration 0.3 --prompt-tokens 100 --output-tokens 3 --shared-prefix 0.64 --json");
  const double finished = number_in(json, "finished");
  EXPECT_GT(finished, 3);
  EXPECT_EQ(number_in(json, "arrived"), finished);
  EXPECT_EQ(number_in(json, "lost"), 0);
  EXPECT_EQ(number_in(json, "budget_exceeded"), 0);
  const std::string prefix = part_of(json, "prefix");
  EXPECT_EQ(number_in(prefix, "prompt_tokens"), 100 * finished);
  // All prompts share two blocks of 32; the first three requests may come before these are
  // computed.
  EXPECT_LE(number_in(prefix, "reused_tokens"), 64 * finished);
  EXPECT_GE(number_in(prefix, "reused_tokens"), 64 * (finished - 3));
  for (const char* times : {"time_to_first_token_ms", "time_per_output_token_ms"}) {
    const std::string part = part_of(json, times);
    EXPECT_EQ(number_in(part, "count"), finished);
    EXPECT_GT(number_in(part, "p50"), 0);
    EXPECT_LE(number_in(part, "p50"), number_in(part, "p95"));
    EXPECT_LE(number_in(part, "p95"), number_in(part, "p99"));
  }
  EXPECT_EQ(number_in(part_of(json, "between_tokens_ms"), "count"), 2 * finished);
  const std::string memory = part_of(json, "memory");
  EXPECT_GT(number_in(part_of(memory, "first_tenth"), "resident_bytes"), 1e6);
  EXPECT_GT(number_in(part_of(memory, "last_tenth"), "kv_held_bytes"), 0);
  EXPECT_GE(number_in(memory, "peak_resident_bytes"), number_in(memory, "resident_bytes"));
}

TEST(Load, ArrivalsKeepToTheirRateAndSeed) {
  const auto arrived = [](const std::string& seed) {
    const std::string json =
        output_of(kLoad +
                  " --rate 400 --duration 0.25 --prompt-tokens uniform:4-8 --output-tokens 2"
                  " --no-prefix-cache --json --seed " +
                  seed);
    EXPECT_EQ(number_in(part_of(json, "prefix"), "reused_tokens"), 0);
    EXPECT_EQ(number_in(json, "finished"), number_in(json, "arrived"));
    return number_in(json, "arrived");
  };
  const double first = arrived("1");
  // Tolerance of six standard deviations.
  EXPECT_NEAR(first, 100, 60);
  EXPECT_EQ(arrived("1"), first);
}

TEST(Load, AFullQueueRefusesAndLosesNothing) {
  const std::string json =
      output_of(kLoad +
                " --rate 2000 --duration 0.1 --running 1 --queue 1 --prompt-tokens 64"
                " --output-tokens 16 --json");
  EXPECT_GT(number_in(json, "refused"), 0);
  EXPECT_EQ(number_in(json, "arrived"), number_in(json, "finished") + number_in(json, "refused"));
  EXPECT_EQ(number_in(json, "lost"), 0);
}

TEST(Load, ALostRequestIsAFailureAfterTheReport) {
  const Outcome outcome = run_program(kLoad + " --duration 0.1 --cache-bytes 1000");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("0 finished"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("requests were lost; the first: 128 tokens"), std::string::npos)
      << outcome.err;
}

TEST(Load, TheTableShowsWhatMatters) {
  const std::string table = output_of(kLoad +
                                      " --duration 0.2 --warmup 0.1 --output-tokens 2"
                                      " --cache-bytes 2000000");
  for (const char* word :
       {"to the first token", "per output token", "p99", "output tokens/s", "reused", "preemptions",
        "peak", "last tenth", "0 lost", "cache_bytes=2000000", "over its budget 0 times"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << "\n" << table;
  }
}

}  // namespace
