// Input and output of embed and rerank: lists of texts, rows as text and in files.
#pragma once

#include <span>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon_program {

/// Non-empty lines of a file ("-" for standard input), without line ends. Throws Failure if there
/// are none.
std::vector<std::string> read_lines(const std::string& path);
/// Lines as lists of token ids. Throws Failure naming the line.
std::vector<std::vector<tenon::Token>> read_token_lines(const std::string& path);

/// Shortest text that parses back to the number.
std::string number_text(float value);

/// Writes rows as little-endian f32, and removes an unfinished file. Throws Failure.
void write_rows(const std::string& path, std::span<const float> values);

}  // namespace tenon_program
