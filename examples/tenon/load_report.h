// How the result of a load is shown: a table for people, JSON for programs.
#pragma once

#include <string>

#include "bench_report.h"
#include "load_run.h"

namespace tenon_program {

/// report: of the model; its runs are not looked at but for the device of the first.
std::string load_table(const BenchReport& report, const LoadOptions& load,
                       const LoadResult& result);
std::string load_json(const BenchReport& report, const LoadOptions& load, const LoadResult& result);

/// What must never happen and did, one sentence; empty when nothing did.
std::string load_fault(const LoadResult& result);

}  // namespace tenon_program
