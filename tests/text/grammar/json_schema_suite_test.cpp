// Public JSON Schema suite: invalid documents are never accepted, and the numbers of accepted and
// refused tests may only improve on the expected file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "text/grammar/grammar.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
const fs::path kSuite = fs::path(TENON_SHARED_DIR) / "vectors/json-schema/tests/draft2020-12";
const fs::path kExpected = fs::path(TENON_TEST_DATA_DIR) / "grammar/json_schema_suite.txt";

struct Count {
  int invalid_accepted = 0;
  int valid_rejected = 0;
  int refused = 0;  // groups
};

Count run_file(const fs::path& path, std::ostream& log) {
  Count count;
  const auto groups = nlohmann::json::parse(std::ifstream(path));
  for (const auto& group : groups) {
    const std::string name =
        path.filename().string() + ": " + group["description"].get<std::string>();
    std::shared_ptr<const Grammar> grammar;
    try {
      grammar = Grammar::compile(GrammarKind::JsonSchema, group["schema"].dump());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Grammar) << name;
      log << "refused " << name << ": " << error.what() << "\n";
      ++count.refused;
      continue;
    }
    for (const auto& test : group["tests"]) {
      const bool valid = test["valid"].get<bool>();
      for (const bool ascii : {false, true}) {
        const std::string text = test["data"].dump(ascii ? 2 : -1, ' ', ascii);
        const bool accepted = grammar->accepts(text);
        if (accepted == valid) continue;
        ++(valid ? count.valid_rejected : count.invalid_accepted);
        log << (valid ? "rejected " : "ACCEPTED ") << name << ": "
            << test["description"].get<std::string>() << " " << text << "\n";
        break;
      }
    }
  }
  return count;
}

TEST(JsonSchemaSuite, OnlyImproves) {
  if (!fs::exists(kSuite)) GTEST_SKIP() << kSuite << " is not there";
  std::map<std::string, Count> expected;
  std::ifstream in(kExpected);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string file;
    Count count;
    words >> file >> count.invalid_accepted >> count.valid_rejected >> count.refused;
    expected[file] = count;
  }
  std::ostringstream log;
  int total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSuite)) {
    if (entry.path().extension() != ".json") continue;
    ++total;
    const std::string name = fs::relative(entry.path(), kSuite).generic_string();
    const Count count = run_file(entry.path(), log);
    const Count known = expected[name];
    EXPECT_LE(count.invalid_accepted, known.invalid_accepted) << name;
    EXPECT_LE(count.valid_rejected, known.valid_rejected) << name;
    EXPECT_LE(count.refused, known.refused) << name;
    if (count.invalid_accepted + count.valid_rejected + count.refused > 0) {
      log << "= " << name << " " << count.invalid_accepted << " " << count.valid_rejected << " "
          << count.refused << "\n";
    }
  }
  EXPECT_GT(total, 60);
  if (HasFailure()) std::ofstream("json_schema_suite.log") << log.str();
}

}  // namespace
}  // namespace tenon
