#include "hub/reference.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "hub/url.h"

namespace tenon::hub {
namespace {

constexpr std::string_view kForm =
    "a model is named hf:OWNER/NAME[@REVISION][:FILE or :QUANTISATION], for example "
    "hf:owner/name:Q4_K_M";
constexpr size_t kMaxReferenceBytes = 2048;
constexpr size_t kMaxIdBytes = 192;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxPartBytes = 255;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

/// Whether `text` is a branch, tag, commit, or "refs/pr/3".
bool is_revision(std::string_view text) {
  const bool all = std::ranges::all_of(
      text, [](char c) { return is_word(c) || c == '.' || c == '-' || c == '/' || c == '+'; });
  return all && !text.empty() && text.size() <= kMaxPartBytes && why_bad_path(text) == nullptr;
}

void read_hub(Reference& into, std::string_view rest) {
  const size_t end = std::min(rest.find_first_of("@:"), rest.size());
  into.id = rest.substr(0, end);
  into.revision = "main";
  rest.remove_prefix(end);
  if (rest.starts_with('@')) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    into.revision = rest.substr(1, colon - 1);
    if (!is_revision(into.revision)) {
      fail(Code::Argument, "{}: {} is no branch, tag or commit", tenon::quoted(into.text),
           tenon::quoted(into.revision));
    }
    rest.remove_prefix(colon);
  }
  if (!is_repository_id(into.id)) fail(Code::Argument, "{}: {}", tenon::quoted(into.text), kForm);
  if (rest.empty()) return;
  into.choice = rest.substr(1);
  if (const char* reason = why_bad_path(into.choice)) {
    fail(Code::Argument, "{}: the file or quantisation after \":\" {}", tenon::quoted(into.text),
         reason);
  }
}

}  // namespace

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_repository_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxIdBytes || std::ranges::count(id, '/') != 1) return false;
  bool was_word = false;
  for (const char c : id) {
    const bool between = c == '/' || c == '.' || c == '-';
    if (!is_word(c) && !(between && was_word)) return false;
    was_word = !between;
  }
  return was_word;
}

const char* why_bad_path(std::string_view path) {
  if (path.empty()) return "is empty";
  if (path.size() > kMaxPathBytes) return "is too long";
  if (!is_utf8(path)) return "is not UTF-8";
  if (has_control(path)) return "has a control character";
  if (path.find_first_of("\\:") != path.npos) return "has a backslash or a colon";
  for (size_t begin = 0, parts = 0; begin <= path.size(); ++parts) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == "..") return "leaves the folder";
    if (part.empty() || part == ".") return "has an empty part";
    if (part.size() > kMaxPartBytes) return "has a part that is too long";
    if (parts == 16) return "is too deep";
    begin = end + 1;
  }
  return nullptr;
}

bool is_reference(std::string_view text) {
  constexpr std::array<std::string_view, 6> kSchemes{"hf:",     "https://",  "http://",
                                                     "ollama:", "lmstudio:", "llama.cpp:"};
  return std::ranges::any_of(kSchemes, [&](auto scheme) { return text.starts_with(scheme); });
}

Reference parse_reference(std::string_view text) {
  Reference read;
  read.text = text;
  if (text.size() > kMaxReferenceBytes) {
    fail(Code::Argument, "{}: longer than {} bytes", tenon::quoted(text, 48), kMaxReferenceBytes);
  }
  if (!is_utf8(text) || has_control(text)) {
    fail(Code::Argument, "{}: control characters or bytes that are not UTF-8", tenon::quoted(text));
  }
  if (text.starts_with("hf:")) {
    read_hub(read, text.substr(3));
    return read;
  }
  if (text.starts_with("https://") || text.starts_with("http://")) {
    read.kind = Reference::Kind::Url;
    const Url url = parse_url(text);
    read.url = url.text();
    const std::string name = url.file_name();
    if (!name.ends_with(".gguf") || why_bad_path(name) != nullptr) {
      fail(Code::Argument,
           "{}: the address of a .gguf file is wanted; folders are pulled by hf:OWNER/NAME",
           tenon::quoted(text));
    }
    read.id = name;
    return read;
  }
  constexpr std::array kOthers{
      std::pair{std::string_view("ollama:"), Reference::Kind::Ollama},
      std::pair{std::string_view("lmstudio:"), Reference::Kind::LmStudio},
      std::pair{std::string_view("llama.cpp:"), Reference::Kind::LlamaCpp}};
  for (const auto& [scheme, kind] : kOthers) {
    if (!text.starts_with(scheme)) continue;
    read.kind = kind;
    read.id = text.substr(scheme.size());
    // Ollama writes NAME:TAG, and the others have no colon in a name.
    if (const size_t colon = read.id.find(':'); colon != read.id.npos) {
      read.choice = read.id.substr(colon + 1);
      read.id.resize(colon);
    }
    const bool bad = why_bad_path(read.id) != nullptr ||
                     (!read.choice.empty() && why_bad_path(read.choice) != nullptr);
    if (bad) fail(Code::Argument, "{}: no name of a model", tenon::quoted(text));
    return read;
  }
  fail(Code::Argument, "{}: {}, or by an https:// address", tenon::quoted(text), kForm);
}

}  // namespace tenon::hub
