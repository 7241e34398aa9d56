#include "layering/house_rules.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "layering/host_calls.h"

namespace tenon::layering {
namespace {

constexpr std::string_view kPluginAbi = "tenon/backend.h";
constexpr std::string_view kManual = "capi/include/tenon/tenon.h";

/// Functions that end the process, read the environment, write to the host's streams or change
/// state of the whole process: none has a place inside a library.
constexpr std::array kBannedCalls{
    "getenv", "secure_getenv", "setenv",  "putenv",    "abort",  "exit",      "_exit",
    "_Exit",  "quick_exit",    "atexit",  "terminate", "printf", "fprintf",   "vprintf",
    "puts",   "fputs",         "putchar", "perror",    "signal", "sigaction", "setlocale",
    "rand",   "srand",         "longjmp", "setjmp",    "alloca",
};
/// The same for names that are no calls.
constexpr std::array kBannedNames{"cout", "cerr", "clog", "regex", "iostream", "environ"};

/// Headers that all C interfaces share: how structures grow, how errors are told.
bool is_shared_by_interfaces(std::string_view header) {
  return header == "capi/host_struct.h" || header == "capi/last_error.h";
}

/// libjpeg reports errors by a function that must not return.
constexpr std::string_view kMayJump = "src/decode/jpeg.cpp";

/// Folders whose files are compiled for one system.
constexpr std::array kSystemFolders{"posix", "linux", "darwin", "windows"};

/// Headers of operating systems, besides those in folders of theirs.
constexpr std::array kSystemHeaders{
    "aio.h",    "dirent.h",  "dlfcn.h",    "elf.h",      "execinfo.h", "fcntl.h",  "glob.h",
    "grp.h",    "ifaddrs.h", "io.h",       "link.h",     "mach-o",     "malloc.h", "mqueue.h",
    "netdb.h",  "poll.h",    "process.h",  "pthread.h",  "pwd.h",      "sched.h",  "semaphore.h",
    "signal.h", "spawn.h",   "strings.h",  "syslog.h",   "termios.h",  "time.h",   "ucontext.h",
    "unistd.h", "windows.h", "winsock2.h", "ws2tcpip.h",
};
constexpr std::array kSystemHeaderFolders{"sys/",  "linux/", "net/",    "netinet/",
                                          "arpa/", "mach/",  "mach-o/", "asm/"};

/// Files that know the operating system outside these folders: the list only gets shorter. Those of
/// the server and the hub, which are built for POSIX alone, come next.
constexpr std::array kKnowTheSystem{
    "src/backends/common/driver_library.h",
    "src/backends/cpu/device.cpp",
    "src/hub/cache.cpp",
    "src/hub/curl_transport.cpp",
    "src/hub/digest.cpp",
    "src/hub/hub.cpp",
    "src/hub/partial_file.cpp",
    "src/server/http/client_address.cpp",
    "src/server/http/client_address.h",
    "src/server/http/host_names.cpp",
    "src/server/http/http_loop.cpp",
    "src/server/http/http_post.cpp",
    "src/server/http/tls_stream.cpp",
    "src/server/json/json_memory.cpp",
    "src/server/work/work_limit.cpp",
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(), [&](auto head) { return text.starts_with(head); });
}

std::string_view first_folder(std::string_view path) {
  const size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// Whether a file lies in a folder of one system.
bool is_of_one_system(std::string_view path) {
  const std::string_view folder = folder_of(path);
  const std::string_view last = folder.substr(folder.rfind('/') + 1);
  return std::ranges::find(kSystemFolders, last) != kSystemFolders.end();
}

bool is_system_header(std::string_view name) {
  return std::ranges::find(kSystemHeaders, name) != kSystemHeaders.end() ||
         std::ranges::any_of(kSystemHeaderFolders,
                             [&](auto head) { return name.starts_with(head); });
}

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".hpp"); }

bool is_library(std::string_view path) {
  return starts_with_any(path, {"src/", "capi/", "include/"});
}

/// Why the file at `path` must not include `name`, a header of this project; empty when it may.
std::string refuse_include(std::string_view path, std::string_view name, const Floors& floors) {
  const std::string_view target = first_folder(name);
  if (path.starts_with("src/backends/")) {
    const std::string_view backend =
        first_folder(path.substr(std::string_view("src/backends/").size()));
    const bool common = name.starts_with("backends/common/");
    if (target == "abi") return "";
    const bool format = target == "quant" && is_header(name);
    // The plain implementation reads weights; it is a backend but for its functions of the table.
    const bool plain = path.starts_with("src/backends/common/plain/");
    if (backend == "common" && !plain && name.starts_with("backends/common/plain/")) {
      return "the plain implementation stands on the rest of what backends share";
    }
    if (name.starts_with("backends/" + std::string(backend) + "/") || name == kPluginAbi) return "";
    if (backend == "common" && !plain)
      return "what backends share includes tenon/backend.h and abi only";
    if (common || format) return "";
    // What the backends of GPUs share of the host's side, and no driver.
    const bool of_gpu = backend == "vulkan" || backend == "cuda";
    if (of_gpu && name.starts_with("backends/gpu/")) return "";
    return "a backend includes tenon/backend.h, its own folder, backends/common, abi and headers "
           "of quant only";
  }
  if (path.starts_with("src/")) {
    const std::string_view room = first_folder(path.substr(4));
    // A library of its own, above the public interface.
    if (room == "server") {
      if (is_shared_by_interfaces(name)) return "";
      return target == room || (target == "tenon" && name != kPluginAbi)
                 ? ""
                 : "the server includes public headers and its own folder only";
    }
    // Another one, which has the rooms base and json inside it.
    if (room == "hub") {
      if (is_shared_by_interfaces(name)) return "";
      return target == room || target == "base" || target == "json" ||
                     (target == "tenon" && name != kPluginAbi)
                 ? ""
                 : "the hub includes public headers, base, json and its own folder only";
    }
    // A third one, with base inside it.
    if (room == "decode") {
      if (is_shared_by_interfaces(name)) return "";
      return target == room || target == "base" || (target == "tenon" && name != kPluginAbi)
                 ? ""
                 : "the decoders include public headers, base and their own folder only";
    }
    if (room == "abi") {
      return target == room || name == kPluginAbi ? "" : "abi includes tenon/backend.h only";
    }
    if (name == kPluginAbi && floors.may_include(room, "abi")) return "";
    if (target == "tenon") return "the engine knows nothing of the public headers";
    if (room == "quant" && is_header(path) && target != "quant") {
      return "headers of quant depend on the standard library only";
    }
    if (!floors.may_include(room, target)) {
      return "'" + std::string(room) + "' may include its own folder and lower floors only";
    }
    return "";
  }
  if (path == "capi/include/tenon/backend.h") return "the plugin ABI stands alone";
  if (path.starts_with("capi/include/") && target != "tenon") {
    return "the C header includes no engine header";
  }
  if (starts_with_any(path, {"include/", "examples/"}) && target != "tenon") {
    return "only the public headers may be used here";
  }
  return "";
}

class Checker {
 public:
  Checker(const std::vector<SourceFile>& files, const Floors& floors)
      : files_(files), floors_(floors) {
    for (const SourceFile& file : files) by_path_.emplace(file.path, &file);
  }

  std::vector<Finding> run() {
    for (const SourceFile& file : files_) {
      if (starts_with_any(file.path, {"src/", "capi/", "include/", "examples/"})) {
        check_room(file);
        check_includes(file);
      }
      if (is_library(file.path)) {
        check_opening(file);
        check_words(file);
      }
      if (file.path.starts_with("tests/")) check_conditions(file);
      find_cycle(file);
    }
    check_callbacks();
    return std::move(findings_);
  }

 private:
  void report(const SourceFile& file, size_t line, std::string text) {
    findings_.push_back({file.path, line, std::move(text)});
  }

  void check_room(const SourceFile& file) {
    if (starts_with_any(file.path, {"src/backends/common/", "src/abi/"}) && !is_header(file.path)) {
      report(file, 0, "what backends share is header-only");
    }
    if (!file.path.starts_with("src/") || file.path.starts_with("src/backends/")) return;
    const std::string_view room = first_folder(std::string_view(file.path).substr(4));
    if (!floors_.has(room)) report(file, 0, "lies in no room of cmake/floors.txt");
  }

  void check_opening(const SourceFile& file) {
    if (!is_header(file.path)) return;
    if (file.lines.empty() || !starts_with_any(file.lines[0], {"// ", "/* ", "/// "})) {
      report(file, 1, "a header opens with a sentence on what lives here");
    }
  }

  void check_includes(const SourceFile& file) {
    for (const Include& include : file.includes) {
      if (include.name.find("..") != std::string::npos) {
        report(file, include.line, "includes through '..'");
        continue;
      }
      const std::string_view target = first_folder(include.name);
      if (is_system_header(include.name) && !may_know_the_system(file.path)) {
        report(
            file, include.line,
            "includes " + include.name + ": systems are known in src/base/{posix,linux,...} only");
      }
      const bool ours = floors_.has(target) || target == "tenon" || target == "backends" ||
                        target == "capi" || !resolve(file, include).empty();
      if (!ours && include.quoted) {
        report(file, include.line, "\"" + include.name + "\" is no header of this project; use <>");
      }
      if (!ours || beside(file, include)) continue;
      const std::string reason = refuse_include(file.path, include.name, floors_);
      if (!reason.empty()) report(file, include.line, "includes " + include.name + ": " + reason);
    }
  }

  void check_words(const SourceFile& file) {
    for (size_t i = 0; i < file.code.size(); ++i) {
      for (const std::string_view word : kBannedCalls) {
        const bool is_jump = word == "setjmp" || word == "longjmp";
        if (calls(file.code[i], word) && !(is_jump && file.path == kMayJump)) {
          report(file, i + 1, std::string(word) + " has no place here");
        }
      }
      for (const std::string_view word : kBannedNames) {
        if (find_identifier(file.code[i], word) != std::string_view::npos) {
          report(file, i + 1, std::string(word) + " has no place here");
        }
      }
    }
  }

  void check_callbacks() {
    const auto manual = by_path_.find(kManual);
    if (manual == by_path_.end()) return;
    for (Finding& found : check_callback_types(*manual->second)) {
      findings_.push_back(std::move(found));
    }
    const auto callbacks = callbacks_of(*manual->second);
    for (const SourceFile& file : files_) {
      if (!file.path.starts_with("capi/") || file.path.starts_with("capi/include/")) continue;
      for (Finding& found : check_host_calls(file, callbacks)) {
        findings_.push_back(std::move(found));
      }
    }
  }

  /// A condition that a constant decides makes an assertion that cannot fail.
  void check_conditions(const SourceFile& file) {
    static const std::regex kDecided(R"(&&\s*false\b|\|\|\s*true\b|\bfalse\s*&&|\btrue\s*\|\|)");
    for (size_t i = 0; i < file.code.size(); ++i) {
      if (std::regex_search(file.code[i], kDecided)) {
        report(file, i + 1, "a constant decides this condition");
      }
    }
  }

  /// Whether `code` calls the free function `word`; a member of that name is another matter.
  static bool calls(std::string_view code, std::string_view word) {
    for (size_t at = find_identifier(code, word); at != std::string_view::npos;
         at = find_identifier(code, word, at + 1)) {
      const size_t next = code.find_first_not_of(' ', at + word.size());
      if (next == std::string_view::npos || code[next] != '(') continue;
      const std::string_view before = code.substr(0, at);
      if (before.ends_with('.') || before.ends_with("->")) continue;
      if (!before.ends_with("::") || before.ends_with("std::")) return true;
      const char last = before.size() > 2 ? before[before.size() - 3] : ' ';
      if (last == ' ' || last == '(') return true;
    }
    return false;
  }

  /// Whether the file may include headers of operating systems.
  static bool may_know_the_system(std::string_view path) {
    return is_of_one_system(path) || path.starts_with("include/") ||
           (path.starts_with("examples/") && !path.starts_with("examples/tenon/")) ||
           std::ranges::find(kKnowTheSystem, path) != kKnowTheSystem.end();
  }

  static bool beside(const SourceFile& file, const Include& include) {
    return include.quoted && include.name.find('/') == std::string::npos &&
           !file.path.starts_with("capi/include/tenon/backend.h");
  }

  /// The file of this project that an include names; empty when it is none.
  [[nodiscard]] std::string resolve(const SourceFile& file, const Include& include) const {
    const std::string own = std::string(folder_of(file.path)) + "/" + include.name;
    // A program's folder of a system includes headers of the program.
    const std::string_view folder = folder_of(file.path);
    const std::string above =
        is_of_one_system(file.path) ? std::string(folder_of(folder)) + "/" + include.name : own;
    if (include.quoted && by_path_.contains(above)) return above;
    for (const std::string& path :
         {own, "src/" + include.name, "capi/include/" + include.name, "include/" + include.name,
          "tests/" + include.name, include.name}) {
      if ((path != own || include.quoted) && by_path_.contains(path)) return path;
    }
    return "";
  }

  /// Reports each pair of headers that reach each other, at the include that closes the circle.
  void find_cycle(const SourceFile& file) {
    if (!visited_.insert(file.path).second) return;
    open_.insert(file.path);
    for (const Include& include : file.includes) {
      const std::string next = resolve(file, include);
      if (next.empty()) continue;
      if (open_.contains(next)) {
        report(file, include.line, "includes " + include.name + ": a circle of includes");
      } else {
        find_cycle(*by_path_.at(next));
      }
    }
    open_.erase(file.path);
  }

  const std::vector<SourceFile>& files_;
  const Floors& floors_;
  std::map<std::string, const SourceFile*, std::less<>> by_path_;
  std::set<std::string> visited_, open_;
  std::vector<Finding> findings_;
};

}  // namespace

Floors Floors::parse(std::string_view text) {
  Floors floors;
  size_t floor = 0;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    bool any = false;
    for (std::string room; words >> room; any = true) floors.floor_.emplace(room, floor);
    if (any) ++floor;
  }
  return floors;
}

bool Floors::may_include(std::string_view room, std::string_view other) const {
  const auto from = floor_.find(room);
  const auto to = floor_.find(other);
  if (from == floor_.end() || to == floor_.end()) return false;
  return room == other || to->second < from->second;
}

std::vector<std::string> Floors::rooms() const {
  std::vector<std::string> names;
  for (const auto& [room, floor] : floor_) names.push_back(room);
  return names;
}

std::vector<SourceFile> read_tree(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  static constexpr std::array kEndings{".h", ".hpp", ".c", ".cpp", ".cu", ".inl"};
  std::vector<SourceFile> files;
  for (const char* part : {"src", "capi", "include", "examples", "tests", "bench"}) {
    if (!fs::exists(root / part)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
      const std::string ending = entry.path().extension().string();
      if (!entry.is_regular_file() || std::ranges::find(kEndings, ending) == kEndings.end()) {
        continue;
      }
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(in), {});
      files.push_back(scan_source(fs::relative(entry.path(), root).generic_string(), text));
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<Finding> check_house(const std::vector<SourceFile>& files, const Floors& floors) {
  return Checker(files, floors).run();
}

}  // namespace tenon::layering
