// Example that answers its user and other programs from one engine.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(ServeInApp, AnswersItsUserAndHttpClients) {
  // Keep standard input open while a client asks; the first line shows the address.
  const Folder folder;
  const std::string client = folder.file("client.sh", R"(
read -r line
address=${line##* }
echo "What is the capital of Norway?" >&3
read -r answer
echo "user: $answer"
python3 - "$address" <<'PY'
import json, sys, urllib.request
body = {"messages": [{"role": "user", "content": "What is the capital of Italy?"}], "temperature": 0,
        "max_tokens": 24}
request = urllib.request.Request(sys.argv[1] + "/v1/chat/completions", json.dumps(body).encode(),
                                 {"Content-Type": "application/json"})
print("client:", json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
PY
exec 3>&-
cat
)");
  const std::string pipe = folder.path("pipe");
  const Outcome outcome =
      run_program("serve_in_app 2>/dev/null; mkfifo " + pipe +
                  "; { " TENON_PROGRAMS_DIR "/serve_in_app " TENON_DEMO_MODEL " < " + pipe +
                  " | bash " + client + " 3> " + pipe + "; }");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("user: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Oslo"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("client: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Rome"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" tokens for other programs"), std::string::npos) << outcome.out;
}

TEST(ServeInApp, SaysWhatIsWrong) {
  EXPECT_EQ(run_program("serve_in_app").exit_code, 1);
  EXPECT_EQ(run_program("serve_in_app /nowhere.gguf").exit_code, 1);
}

}  // namespace
