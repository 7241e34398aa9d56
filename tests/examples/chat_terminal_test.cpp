// `tenon chat` and its colours on a terminal, through a pseudo-terminal.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

/// Program in a terminal with `columns`.
class Terminal {
 public:
  explicit Terminal(std::vector<std::string> command, const char* no_color = nullptr,
                    unsigned short columns = 90) {
    winsize size{40, columns, 0, 0};
    child_ = forkpty(&master_, nullptr, nullptr, &size);
    if (child_ == 0) {
      setenv("TERM", "xterm", 1);
      unsetenv("NO_COLOR");
      if (no_color != nullptr) setenv("NO_COLOR", no_color, 1);
      std::vector<char*> words;
      for (std::string& word : command) words.push_back(word.data());
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
  }
  ~Terminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) {
    EXPECT_EQ(write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// Reads until `text` appears after the previous match; false at the end or after minutes.
  bool wait_for(const std::string& text) {
    for (;;) {
      const size_t at = read_.find(text, from_);
      if (at != read_.npos) {
        from_ = at + text.size();
        return true;
      }
      if (!read_more()) return false;
    }
  }
  /// Reads all output until the program ends; returns its exit code.
  int wait() {
    while (read_more()) {
    }
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] const std::string& output() const { return read_; }

 private:
  bool read_more() {
    constexpr int kMinutes = 5;
    pollfd input{master_, POLLIN, 0};
    if (poll(&input, 1, kMinutes * 60'000) <= 0) return false;
    char piece[4096];
    const ssize_t count = read(master_, piece, sizeof piece);
    if (count <= 0) return false;
    read_.append(piece, static_cast<size_t>(count));
    return true;
  }

  int master_ = -1;
  pid_t child_ = -1;
  std::string read_;
  size_t from_ = 0;
};

const std::string kProgram = TENON_PROGRAMS_DIR "/tenon";

Terminal chat() {
  return Terminal({kProgram, "chat", kDemo, "--temperature", "0", "-n", "12", "--threads", "1"});
}

bool edits() {
  return dlopen("libedit.so.2", RTLD_NOW) != nullptr || dlopen("libedit.so.0", RTLD_NOW) != nullptr;
}

TEST(ChatTerminal, SaysWhatItTalksTo) {
  Terminal terminal = chat();
  ASSERT_TRUE(terminal.wait_for("Talking to ")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("llama")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("parameters")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.output();
  terminal.type("/quit\r");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST(ChatTerminal, ArrowUpFindsTheLastQuestion) {
  if (!edits()) GTEST_SKIP() << "libedit is not installed";
  Terminal terminal = chat();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("What is the capital of Norway?\r");
  ASSERT_TRUE(terminal.wait_for("Oslo")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.output();
  terminal.type("\x1b[A");
  ASSERT_TRUE(terminal.wait_for("Norway?")) << terminal.output();
  terminal.type("\r");
  ASSERT_TRUE(terminal.wait_for("Oslo")) << terminal.output();
  // Ctrl-D ends the input only at a prompt.
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.output();
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST(ChatTerminal, APasteOfTwoLinesIsOneQuestion) {
  if (!edits()) GTEST_SKIP() << "libedit is not installed";
  Terminal terminal = chat();
  ASSERT_TRUE(terminal.wait_for("\x1b[?2004h")) << "the terminal is asked to mark pastes";
  terminal.type("\x1b[200~What is the\rcapital of Norway?\x1b[201~");
  ASSERT_TRUE(terminal.wait_for("Norway?")) << terminal.output();
  terminal.type("\r");
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.output();
  terminal.type("/history\r");
  ASSERT_TRUE(terminal.wait_for("What is the\\ncapital of Norway?")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("\x1b[?2004h"));
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.output();
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_TRUE(terminal.output().find("\x1b[?2004l") != std::string::npos);
}

TEST(ChatTerminal, CtrlCEndsALineAndNotTheProgram) {
  if (!edits()) GTEST_SKIP() << "libedit is not installed";
  Terminal terminal = chat();
  ASSERT_TRUE(terminal.wait_for("> "));
  // Type immediately: text after Ctrl-C counts, however soon it comes.
  terminal.type("half a quest\x03/history\r");
  ASSERT_TRUE(terminal.wait_for("half a quest")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("[]")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST(ChatTerminal, RunWithoutAQuestionTalks) {
  Terminal terminal({kProgram, "run", kDemo, "--temperature", "0", "-n", "12"});
  ASSERT_TRUE(terminal.wait_for("Talking to ")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("What is the capital of Norway?\r");
  ASSERT_TRUE(terminal.wait_for("Oslo")) << terminal.output();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("/quit\r");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST(TerminalColours, AreThereUnlessRefused) {
  Terminal coloured({kProgram, "--help"});
  EXPECT_EQ(coloured.wait(), 0);
  EXPECT_NE(coloured.output().find("\x1b[1mUsage\x1b[0m"), std::string::npos) << coloured.output();
  Terminal plain({kProgram, "--help"}, "1");
  EXPECT_EQ(plain.wait(), 0);
  EXPECT_EQ(plain.output().find('\x1b'), std::string::npos) << plain.output();
  Terminal error({kProgram, "rnu"});
  EXPECT_EQ(error.wait(), 2);
  EXPECT_NE(error.output().find("\x1b[1;31mtenon:\x1b[0m there is no"), std::string::npos)
      << error.output();
}

TEST(TerminalWidth, HelpIsWrappedToIt) {
  Terminal narrow({kProgram, "run", "--help-all"}, "1", 60);
  EXPECT_EQ(narrow.wait(), 0);
  size_t longest = 0, begin = 0;
  const std::string& text = narrow.output();
  for (size_t end = 0; (end = text.find("\r\n", begin)) != text.npos; begin = end + 2) {
    if (text.compare(begin, 8, "  tenon ") != 0) longest = std::max(longest, end - begin);
  }
  EXPECT_LE(longest, 60u) << text;
  EXPECT_GT(longest, 50u);
}

}  // namespace
