// Desktop example on a virtual display: draws, streams text, and prints its frame times.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

/// Xvfb on a free display.
class VirtualDisplay {
 public:
  VirtualDisplay() {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 9);
      close(ends[0]);
      close(ends[1]);
      if (freopen("/dev/null", "w", stderr) == nullptr) _exit(127);
      execlp("Xvfb", "Xvfb", "-displayfd", "9", "-screen", "0", "800x600x24", "-nolisten", "tcp",
             static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    // Read the whole line: closing the pipe earlier would end the server.
    std::string line;
    char c = 0;
    while (read(ends[0], &c, 1) == 1 && c != '\n') line += c;
    close(ends[0]);
    if (!line.empty()) name_ = ":" + line;
  }
  ~VirtualDisplay() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  VirtualDisplay(const VirtualDisplay&) = delete;
  VirtualDisplay& operator=(const VirtualDisplay&) = delete;
  /// Name such as ":1"; empty without Xvfb.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  pid_t pid_ = -1;
  std::string name_;
};

class EmbedUi : public testing::Test {
 protected:
  void SetUp() override {
    if (display_.name().empty()) GTEST_SKIP() << "Xvfb is not installed";
    setenv("DISPLAY", display_.name().c_str(), 1);
  }
  const VirtualDisplay display_;
};

TEST_F(EmbedUi, DrawsWhileTextStreamsIn) {
  const std::string out =
      output_of("embed_ui " TENON_DEMO_MODEL " 'What is the capital of Norway?'");
  EXPECT_NE(out.find("Oslo"), std::string::npos) << out;
  int tokens = 0;
  int pixels = 0;
  const size_t figures = out.find('\n') + 1;
  ASSERT_EQ(sscanf(out.c_str() + figures, "%d tokens, %d pixels", &tokens, &pixels), 2) << out;
  EXPECT_GT(tokens, 1);
  EXPECT_GT(pixels, 100);
  EXPECT_NE(out.find(" frames: p50 "), std::string::npos) << out;
}

TEST_F(EmbedUi, SaysWhatIsWrongWithAModel) {
  const Outcome outcome = run_program("embed_ui /nowhere/model.gguf hello");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("/nowhere/model.gguf"), std::string::npos) << outcome.err;
}

TEST(EmbedUiAlone, NeedsADisplay) {
  setenv("DISPLAY", "", 1);
  const Outcome outcome = run_program("embed_ui " TENON_DEMO_MODEL " hello");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("display"), std::string::npos) << outcome.err;
}

}  // namespace
