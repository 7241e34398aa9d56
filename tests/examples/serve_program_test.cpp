// `tenon serve` as a user starts it: effects of its flags, and its output.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

/// Starts `tenon serve DEMO FLAGS`, runs `client` (a bash script, with $address) and ends the
/// server. Returns the output of both on both streams.
std::string serve_and(const std::string& flags, const std::string& client) {
  const Folder folder;
  const std::string script = folder.file("script.sh", R"(
program=$1 model=$2 out=$3/out err=$3/err
$program serve $model --port 0 --context 512 --threads 2 $4 > $out 2> $err &
server=$!
for _ in $(seq 400); do
  address=$(sed -n 's/^listening on //p' $out)
  [ -n "$address" ] || { kill -0 $server 2> /dev/null && sleep 0.02 && continue; }
  break
done
get() { curl -s -m 20 "$@"; }
chat() {
  get "$address/v1/chat/completions" -d '{"messages": [{"role": "user", "content": "What is the capital of Norway?"}],
    "max_tokens": 24, "temperature": 0}' "$@"
}
)" + client + R"(
kill $server 2> /dev/null
wait $server
cat $out $err
)");
  const std::string line = "tenon --version >/dev/null 2>&1; bash " + script + " " +
                           TENON_PROGRAMS_DIR "/tenon " TENON_DEMO_MODEL " " + folder.path("") +
                           " " + quoted(flags);
  return run_program(line).out;
}

bool has_curl() { return std::system("curl --version >/dev/null 2>&1") == 0; }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ServeProgram, WritesALogLineForEachRequest) {
  if (!has_curl()) GTEST_SKIP() << "there is no curl";
  const std::string said = serve_and("--log info", "chat");
  EXPECT_TRUE(contains(said, "Oslo")) << said;
  EXPECT_TRUE(contains(said, R"("level":"info","event":"request","request_id":"req_)")) << said;
  EXPECT_TRUE(contains(said, R"("model":"demo-q8_0","prompt_tokens":)")) << said;
  EXPECT_FALSE(contains(serve_and("", "chat"), "\"event\"")) << "warnings alone";
}

TEST(ServeProgram, LoadsOnDemandWithinItsMemory) {
  if (!has_curl()) GTEST_SKIP() << "there is no curl";
  const std::string said = serve_and("--memory-bytes 1GiB --model-control --name demo --log info",
                                     "get $address/v1/models; chat; get $address/v1/models; "
                                     "get -X POST $address/v1/models/demo/unload");
  EXPECT_TRUE(contains(said, "serving demo on demand")) << said;
  EXPECT_TRUE(contains(said, R"("state":"unloaded")")) << said;
  EXPECT_TRUE(contains(said, R"("state":"loaded")")) << said;
  EXPECT_TRUE(contains(said, "Oslo")) << said;
  EXPECT_TRUE(contains(said, R"("event":"model loaded")")) << said;
  EXPECT_TRUE(contains(said, R"("event":"model unloaded")")) << said;
  EXPECT_TRUE(contains(serve_and("--memory-bytes 1KiB", "true"), "more than the budget"));
}

TEST(ServeProgram, AsksForKeysAndLeavesThePageOut) {
  if (!has_curl()) GTEST_SKIP() << "there is no curl";
  const Folder folder;
  const std::string keys = folder.file("keys", "# keys\nsecret anna weight=2 requests=4\n");
  const std::string said = serve_and(
      "--api-key-file " + keys + " --no-page --log info",
      R"(chat; chat -H 'Authorization: Bearer secret'; get $address/ -w 'page %{http_code}')");
  EXPECT_TRUE(contains(said, "invalid_api_key")) << said;
  EXPECT_TRUE(contains(said, "Oslo")) << said;
  EXPECT_TRUE(contains(said, R"("client":"anna")")) << said;
  EXPECT_TRUE(contains(said, "page 404")) << said;
  EXPECT_TRUE(contains(serve_and("", "get $address/"), "<title>Tenon</title>"));
  const std::string wrong = folder.file("wrong", "secret wight=2\n");
  EXPECT_TRUE(contains(serve_and("--api-key-file " + wrong, "true"), "line 1"));
}

}  // namespace
