#include "line_reader.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "terminal.h"

namespace tenon_program {
namespace {

/// libedit's interface (histedit.h), as far as needed. Loaded at run time, so that the program runs
/// without libedit.
class LibEdit {
 public:
  struct HistoryEvent {
    int number;
    const char* text;
  };
  using Function = unsigned char (*)(void* editor, int key);

  static constexpr int kEditor = 2, kBind = 4, kTerminalModes = 8, kAddFunction = 9, kHistory = 10;
  static constexpr int kPrepareTerminal = 16, kPromptEscaped = 21;
  static constexpr int kSetSize = 1, kEnter = 10, kSetUnique = 20;
  static constexpr unsigned char kEndOfFile = 2, kRefresh = 4, kRedisplay = 8;

  LibEdit() {
    // Debian's soname, that of other systems, and macOS's own.
    for (const char* name : {"libedit.so.2", "libedit.so.0", "/usr/lib/libedit.3.dylib"}) {
      library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library_ != nullptr) break;
    }
    if (library_ == nullptr) return;
    has_all_ = find("el_init", init) && find("el_end", end) && find("el_set", set) &&
               find("el_gets", get_line) && find("el_getc", get_character) &&
               find("el_insertstr", insert) && find("history_init", history_init) &&
               find("history_end", history_end) && find("history", history);
  }
  [[nodiscard]] bool has_all() const { return has_all_; }

  void* (*init)(const char*, std::FILE*, std::FILE*, std::FILE*) = nullptr;
  void (*end)(void*) = nullptr;
  int (*set)(void*, int, ...) = nullptr;
  const char* (*get_line)(void*, int*) = nullptr;
  int (*get_character)(void*, char*) = nullptr;
  int (*insert)(void*, const char*) = nullptr;
  void* (*history_init)() = nullptr;
  void (*history_end)(void*) = nullptr;
  int (*history)(void*, HistoryEvent*, int, ...) = nullptr;

 private:
  template <typename F>
  bool find(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    return function != nullptr;
  }
  void* library_ = nullptr;  // never unloaded, since it has installed handlers
  bool has_all_ = false;
};

const LibEdit& libedit() {
  static const LibEdit library;
  return library;
}

std::string& shown_prompt() {
  static std::string prompt;
  return prompt;
}

bool ctrl_c_was_typed = false;  // at the current prompt

unsigned char take_ctrl_c(void*, int) {
  ctrl_c_was_typed = true;
  return LibEdit::kEndOfFile;
}

unsigned char take_ctrl_z(void* editor, int) {
  (void)libedit().set(editor, LibEdit::kPrepareTerminal, 0);
  (void)kill(0, SIGTSTP);  // the whole job, as a terminal does
  (void)libedit().set(editor, LibEdit::kPrepareTerminal, 1);
  return LibEdit::kRedisplay;
}

// Bracketed paste: asks the terminal to mark pasted text.
constexpr const char* kAskForPastes = "\x1b[?2004h";
constexpr const char* kNoMorePastes = "\x1b[?2004l";
constexpr std::string_view kPasteEnd = "\x1b[201~";

/// Inserts the whole paste into the line, line breaks included.
unsigned char take_paste(void* editor, int) {
  constexpr size_t kMost = size_t{1} << 20;
  std::string text;
  char c = 0;
  while (text.size() < kMost && libedit().get_character(editor, &c) == 1) {
    text += c == '\r' ? '\n' : c;
    if (text.ends_with(kPasteEnd)) {
      text.resize(text.size() - kPasteEnd.size());
      break;
    }
  }
  while (text.ends_with('\n')) text.pop_back();
  for (char& at : text) {
    if (static_cast<unsigned char>(at) < 0x20 && at != '\n' && at != '\t') at = ' ';
  }
  if (!text.empty()) (void)libedit().insert(editor, text.c_str());
  return LibEdit::kRefresh;
}

const char* prompt_of(void*) { return shown_prompt().c_str(); }

/// Removes the escape sequences of keys such as arrow up, if no editor handles them.
std::string without_keys(const std::string& line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
    } else if (i + 1 < line.size() && (line[i + 1] == '[' || line[i + 1] == 'O')) {
      i += 2;
      while (i < line.size() && (line[i] < 0x40 || line[i] > 0x7e)) ++i;
    }
  }
  return out;
}

void tell_terminal(const char* sequence) {
  (void)std::fputs(sequence, stdout);
  (void)std::fflush(stdout);
}

}  // namespace

class LineReader::Editor {
 public:
  Editor() {
    (void)std::setlocale(LC_CTYPE, "");  // enables multibyte characters
    const LibEdit& library = libedit();
    editor_ = library.init("tenon", stdin, stdout, stderr);
    if (editor_ == nullptr) return;
    history_ = library.history_init();
    library.set(editor_, LibEdit::kPromptEscaped, prompt_of, 1);
    library.set(editor_, LibEdit::kEditor, "emacs");
    LibEdit::HistoryEvent event{};
    library.history(history_, &event, LibEdit::kSetSize, 500);
    library.history(history_, &event, LibEdit::kSetUnique, 1);
    library.set(editor_, LibEdit::kHistory, library.history, history_);
    library.set(editor_, LibEdit::kAddFunction, "tenon-paste", "Takes a paste", take_paste);
    bind("\x1b[200~", "tenon-paste");
    // Read Ctrl-C as a key: a signal just before a read would be lost.
    library.set(editor_, LibEdit::kTerminalModes, "-d", "-isig", nullptr);
    library.set(editor_, LibEdit::kAddFunction, "tenon-ctrl-c", "Ends the line", take_ctrl_c);
    library.set(editor_, LibEdit::kAddFunction, "tenon-ctrl-z", "Stops the program", take_ctrl_z);
    bind("^C", "tenon-ctrl-c");
    bind("^Z", "tenon-ctrl-z");
    bind("\x1b[3~", "ed-delete-next-char");
    bind("\x1b[H", "ed-move-to-beg");
    bind("\x1b[F", "ed-move-to-end");
    bind("^R", "em-inc-search-prev");
  }
  ~Editor() {
    if (editor_ != nullptr) libedit().end(editor_);
    if (history_ != nullptr) libedit().history_end(history_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  void bind(const char* keys, const char* command) {
    libedit().set(editor_, LibEdit::kBind, keys, command, nullptr);
  }
  [[nodiscard]] bool works() const { return editor_ != nullptr && history_ != nullptr; }

  std::optional<std::string> read(const std::string& prompt, bool& interrupted) {
    shown_prompt() = prompt;
    // Prepare the terminal before libedit shows the prompt, so that an early Ctrl-C is read as a
    // key.
    (void)libedit().set(editor_, LibEdit::kPrepareTerminal, 1);
    tell_terminal(kAskForPastes);
    int count = 0;
    errno = 0;
    ctrl_c_was_typed = false;
    const char* const line = libedit().get_line(editor_, &count);
    const int error = errno;
    tell_terminal(kNoMorePastes);
    interrupted = line == nullptr && (ctrl_c_was_typed || error == EINTR);
    if (line == nullptr) return interrupted ? std::optional<std::string>("") : std::nullopt;
    std::string text(line, static_cast<size_t>(count));
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  void remember(const std::string& text) {
    LibEdit::HistoryEvent event{};
    libedit().history(history_, &event, LibEdit::kEnter, text.c_str());
  }

 private:
  void* editor_ = nullptr;
  void* history_ = nullptr;
};

LineReader::LineReader() {
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  if (isatty(STDIN_FILENO) != 1 || !stdout_is_terminal() || is_dumb) return;
  if (!libedit().has_all()) return;
  editor_ = std::make_unique<Editor>();
  if (!editor_->works()) editor_.reset();
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::read(const std::string& prompt) {
  flush();
  if (!editor_) return read_plain(prompt);
  // libedit ignores the width of text between two 0x01 bytes.
  const std::string shown =
      stdout_style() ? "\x01\x1b[1;36m\x01" + prompt + "\x01\x1b[0m\x01" : prompt;
  std::optional<std::string> text = editor_->read(shown, interrupted_);
  if (interrupted_) print("\n");
  return text;
}

std::optional<std::string> LineReader::read_plain(const std::string& prompt) {
  if (stdout_is_terminal()) print(styled(stdout_style(), Style::Prompt, prompt));
  flush();
  interrupted_ = false;
  std::string line;
  if (std::getline(std::cin, line)) return isatty(STDIN_FILENO) == 1 ? without_keys(line) : line;
  if (std::feof(stdin) != 0) return std::nullopt;
  std::cin.clear();  // after Ctrl-C at the prompt
  std::clearerr(stdin);
  interrupted_ = true;
  print("\n");
  return "";
}

void LineReader::remember(const std::string& text) {
  if (editor_ && !text.empty()) editor_->remember(text);
}

}  // namespace tenon_program
