// What embed and rerank read and print: lists of texts, rows as text and in files.
#pragma once

#include <span>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon_program {

/// The lines of a file ("-": standard input), without their ends; empty ones are left out. Throws
/// Failure when there are none.
std::vector<std::string> read_lines(const std::string& path);
/// The same as lists of token ids. Throws Failure naming the line.
std::vector<std::vector<tenon::Token>> read_token_lines(const std::string& path);

/// A number as short as it can be read back from.
std::string number_text(float value);

/// Writes rows as little-endian f32; what is unfinished is removed. Throws Failure.
void write_rows(const std::string& path, std::span<const float> values);

}  // namespace tenon_program
