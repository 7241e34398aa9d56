// Figures of `tenon bench` from invented times and sizes.
#include "bench_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

using namespace tenon_program;

/// Run with one cell, on a device of 2 threads at 1 GHz.
BenchReport report_of(const BenchResult& result) {
  BenchRun run;
  run.execution.threads = 2;
  run.execution.step_bytes = 1000;
  run.execution.token_multiplications = 4000;
  run.execution.output_multiplications = 800;
  run.frequency = 1e9;
  run.results = {result};
  BenchReport report;
  report.runs = {run};
  return report;
}

nlohmann::json cell_of(const BenchReport& report) {
  return nlohmann::json::parse(bench_json(report))["runs"][0]["cells"][0];
}

BenchResult decode_result() {
  BenchResult result;
  result.cell = {.decode = true, .tokens = 8, .sequences = 1, .depth = 96};
  result.rates = {30, 20, 10};
  result.per_token = {0.04, 0.05, 0.06};
  result.cache_bytes = 1000;
  result.stream_rate = 1e5;
  return result;
}

TEST(BenchReport, TellsTheTimesOfTokensInMilliseconds) {
  const nlohmann::json cell = cell_of(report_of(decode_result()));
  EXPECT_DOUBLE_EQ(cell["time_per_output_token_ms"]["p50"], 50);
  EXPECT_DOUBLE_EQ(cell["time_per_output_token_ms"]["p95"], 59);
  EXPECT_DOUBLE_EQ(cell["time_per_output_token_ms"]["p99"], 59.8);
  EXPECT_DOUBLE_EQ(cell["median_tokens_per_second"], 20);
  EXPECT_EQ(cell["tokens_per_second"], (std::vector<double>{30, 20, 10}));
}

TEST(BenchReport, TellsWhatATokenReadsOfWhatMemoryGives) {
  const nlohmann::json cell = cell_of(report_of(decode_result()));
  // Reads the matrices and the cache.
  EXPECT_EQ(cell["cache_bytes_per_token"], 1000);
  EXPECT_DOUBLE_EQ(cell["bytes_per_token"], 2000);
  EXPECT_DOUBLE_EQ(cell["fraction_of_stream_read"], 2000 / 0.05 / 1e5);
}

TEST(BenchReport, TellsThePrefillByItsPrompt) {
  BenchResult result;
  result.cell = {.decode = false, .tokens = 8};
  result.rates = {1e6};
  result.first_token = {0.25};
  const nlohmann::json cell = cell_of(report_of(result));
  EXPECT_DOUBLE_EQ(cell["time_to_first_token_ms"]["p50"], 250);
  EXPECT_DOUBLE_EQ(cell["median_tokens_per_second"], 1e6);
  // 4,000 and an eighth of 800 multiplications per token, over the cycles of two threads.
  EXPECT_DOUBLE_EQ(cell["multiplications_per_cycle"], 1e6 * 4100 / 2e9);
}

TEST(BenchReport, ShowsTheSameInItsTable) {
  const std::string table = bench_table(report_of(decode_result()));
  for (const char* figure :
       {"    20.00     10.00     30.00     50.00     59.00     59.80", "40 % of 0.0 GB/s"}) {
    EXPECT_NE(table.find(figure), std::string::npos) << figure << "\n" << table;
  }
}

}  // namespace
