// Reads input files of commands: text, and lists of token ids.
#pragma once

#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon_program {

/// All bytes of a file, or of standard input for "-". Throws Failure naming the file, also if it
/// exceeds 256 MiB.
std::string read_file(const std::string& path);

/// Whitespace-separated token ids. Throws Failure naming the file and the invalid word.
std::vector<tenon::Token> read_token_ids(const std::string& path);

}  // namespace tenon_program
