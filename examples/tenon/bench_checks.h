// Checks before measuring that `tenon bench` can run all cells.
#pragma once

#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "bench_cells.h"

namespace tenon_program {

/// Opens the model with each set of options, without its weights, and checks that each cell fits
/// into memory and into a step. Throws Failure, and errors of opening the model. Warns on standard
/// error of contexts beyond the model's.
void check_cells(const std::string& path, const std::vector<tenon::ExtraOptions>& variants,
                 const std::vector<BenchCell>& cells);

}  // namespace tenon_program
