// Whether `tenon bench` can measure what it is asked for, found out before anything is measured.
#pragma once

#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "bench_cells.h"

namespace tenon_program {

/// Opens the model with each set of options, without its weights, and looks whether each cell fits
/// into memory and into a step. Throws Failure, and what opening the model throws. Warns on
/// standard error of contexts beyond the model's.
void check_cells(const std::string& path, const std::vector<tenon::ExtraOptions>& variants,
                 const std::vector<BenchCell>& cells);

}  // namespace tenon_program
