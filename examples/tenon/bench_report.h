// Formats the results of `tenon bench`: a table for people, JSON for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "bench_cells.h"

namespace tenon_program {

/// Cells measured with one load of the model.
struct BenchRun {
  std::string cache_type;
  tenon_execution execution{};  ///< its texts are invalid, since the model is gone
  std::string device;
  double load_seconds = 0;
  double frequency = 0;  ///< cycles per second of a core; 0 if unknown
  std::vector<BenchResult> results;
};

/// Values common to all runs.
struct BenchReport {
  std::string path;
  std::string name;
  std::string architecture;
  std::string backend;
  std::string formats;  ///< shares of bytes: "q4_K 73 %, q6_K 27 %"
  std::string options;  ///< options as given
  uint64_t parameters = 0;
  uint64_t tensor_bytes = 0;
  uint64_t repetitions = 0;
  std::vector<BenchRun> runs;
};

/// Fills in the properties of a loaded model.
void describe_model(const tenon::Model& model, BenchReport& report, BenchRun& run);

/// Header lines about the model, common to all reports.
std::string model_lines(const BenchReport& report);
nlohmann::ordered_json model_json(const BenchReport& report);
/// Indented JSON; ill-formed UTF-8 in a file's names becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

std::string bench_table(const BenchReport& report);
std::string bench_json(const BenchReport& report);

}  // namespace tenon_program
