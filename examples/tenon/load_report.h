// Formats the result of a load: a table for people, JSON for programs.
#pragma once

#include <string>

#include "bench_report.h"
#include "load_run.h"

namespace tenon_program {

/// report: about the model; of its runs, only the first one's device is used.
std::string load_table(const BenchReport& report, const LoadOptions& load,
                       const LoadResult& result);
std::string load_json(const BenchReport& report, const LoadOptions& load, const LoadResult& result);

/// Sentence about a violated guarantee; empty if none was violated.
std::string load_fault(const LoadResult& result);

}  // namespace tenon_program
