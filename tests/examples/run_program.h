// Runs a program through the shell and keeps its output; for tests only.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace tenon_test {

inline const std::string kDemo = TENON_DEMO_MODEL;

inline std::string file_content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Number after `"key": `; -1 if absent.
inline double number_in(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\": ");
  return at == std::string::npos ? -1 : std::strtod(json.c_str() + at + key.size() + 4, nullptr);
}

/// Temporary folder, removed with the object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_cli_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Writes a file in the folder.
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path(name);
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int exit_code;  ///< -1 if a signal ended it
  std::string out;
  std::string err;
};

/// Runs build/bin/<command>; the shell parses the command.
inline Outcome run_program(const std::string& command) {
  const Folder folder;
  const std::string line = "{ " TENON_PROGRAMS_DIR "/" + command + " ; } >" + folder.path("out") +
                           " 2>" + folder.path("err") + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_content(folder.path("out")),
          file_content(folder.path("err"))};
}

/// Quotes a word for the shell.
inline std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

/// Expects success and returns standard output.
inline std::string output_of(const std::string& command) {
  const Outcome outcome = run_program(command);
  EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
  EXPECT_EQ(outcome.err, "") << command;
  return outcome.out;
}

/// Expects a failure with exactly one line "tenon: ..." that contains `text`, and no output.
inline void expect_error_line(const std::string& command, const std::string& text) {
  const Outcome outcome = run_program(command);
  EXPECT_GT(outcome.exit_code, 0) << command;
  EXPECT_EQ(outcome.out, "") << command;
  EXPECT_EQ(outcome.err.rfind("tenon: ", 0), 0u) << command << "\n" << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << command << "\n" << outcome.err;
  EXPECT_NE(outcome.err.find(text), std::string::npos) << command << "\n" << outcome.err;
}

}  // namespace tenon_test
