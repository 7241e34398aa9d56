#include "hub/listing.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_tree.h"

namespace tenon::hub {
namespace {

constexpr size_t kMaxAnswerBytes = size_t{16} << 20;
constexpr size_t kMaxListedFiles = 100'000;
constexpr size_t kMaxPages = 200;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 46;

std::string base_of(const Http& http) {
  const std::string text = http.endpoint().text();
  return text.ends_with('/') ? text.substr(0, text.size() - 1) : text;
}

std::string api_url(const Http& http, const Reference& reference, std::string_view route,
                    std::string_view revision) {
  return base_of(http) + "/api/models/" + percent_encoded(reference.id, true) + "/" +
         std::string(route) + "/" + percent_encoded(revision, false);
}

/// One file of a tree; false if its name could not be a file here.
bool read_file_entry(const JsonNode& node, std::string_view what, RemoteFile& file) {
  file.path = node.text_of("path");
  const JsonNode* size = node.find("size");
  if (size == nullptr || !size->is_count || size->count > kMaxFileBytes) {
    fail(Code::Format, "{}: the listing tells no valid size of {}", what, tenon::quoted(file.path));
  }
  file.size_bytes = size->count;
  if (const std::string_view oid = node.text_of("oid"); is_hex(oid, 40)) file.git_sha1 = oid;
  if (const JsonNode* lfs = node.find("lfs"); lfs != nullptr && lfs->is(JsonNode::Kind::Object)) {
    // The git digest is that of the pointer.
    file.git_sha1.clear();
    if (const std::string_view oid = lfs->text_of("oid"); is_hex(oid, 64)) file.sha256 = oid;
    const JsonNode* lfs_size = lfs->find("size");
    if (lfs_size != nullptr && lfs_size->is_count && lfs_size->count != file.size_bytes) {
      if (lfs_size->count > kMaxFileBytes) {
        fail(Code::Format, "{}: the listing tells no valid size of {}", what,
             tenon::quoted(file.path));
      }
      file.size_bytes = lfs_size->count;
    }
  }
  return why_bad_path(file.path) == nullptr;
}

}  // namespace

std::string read_commit(std::string_view json, std::string_view what) {
  const JsonNode root = parse_json_tree(json, what, {.max_bytes = kMaxAnswerBytes});
  const std::string_view commit = root.text_of("sha");
  if (!is_hex(commit, 40)) {
    fail(Code::Format, "{}: the server's answer has no commit; is the endpoint a hub?", what);
  }
  return std::string(commit);
}

void read_tree_page(std::string_view json, std::string_view what, Listing& into) {
  const JsonNode root = parse_json_tree(json, what, {.max_bytes = kMaxAnswerBytes});
  if (!root.is(JsonNode::Kind::Array)) {
    fail(Code::Format, "{}: the listing is no list; is the endpoint a hub?", what);
  }
  for (const JsonNode& node : root.items) {
    if (node.text_of("type") != "file") continue;
    RemoteFile file;
    if (!read_file_entry(node, what, file)) {
      ++into.num_skipped;
      continue;
    }
    if (into.files.size() >= kMaxListedFiles) {
      fail(Code::Limit, "{}: more than {} files", what, kMaxListedFiles);
    }
    into.files.push_back(std::move(file));
  }
}

std::string next_page(std::string_view link) {
  while (!link.empty()) {
    const size_t open = link.find('<');
    const size_t close = link.find('>', open == link.npos ? 0 : open);
    if (open == link.npos || close == link.npos) return {};
    const std::string_view target = link.substr(open + 1, close - open - 1);
    const size_t comma = std::min(link.find(",", close), link.size());
    const std::string_view parameters = link.substr(close + 1, comma - close - 1);
    const bool is_next = parameters.find("rel=\"next\"") != parameters.npos ||
                         parameters.find("rel=next") != parameters.npos;
    if (is_next) return std::string(target);
    link.remove_prefix(comma == link.size() ? comma : comma + 1);
  }
  return {};
}

Listing list_repository(Http& http, const Reference& reference) {
  Listing listing;
  http.watch().progress.phase = Phase::Asking;
  listing.commit = read_commit(http.get(api_url(http, reference, "revision", reference.revision),
                                        reference.text, kMaxAnswerBytes)
                                   .body,
                               reference.text);
  std::string url = api_url(http, reference, "tree", listing.commit) + "?recursive=true";
  for (size_t page = 0; !url.empty(); ++page) {
    if (page == kMaxPages) fail(Code::Limit, "{}: more than {} pages", reference.text, kMaxPages);
    const Http::Text answer = http.get(url, reference.text, kMaxAnswerBytes);
    read_tree_page(answer.body, reference.text, listing);
    const std::string next = next_page(answer.head.header("link"));
    if (next.empty()) break;
    const Url resolved = resolve_redirect(parse_url(url), next);
    if (resolved.origin() != http.endpoint().origin()) {
      fail(Code::Format, "{}: the listing goes on at another host, {}", reference.text,
           resolved.origin());
    }
    url = resolved.text();
  }
  std::ranges::sort(listing.files, {}, &RemoteFile::path);
  const auto twice = std::ranges::adjacent_find(listing.files, {}, &RemoteFile::path);
  if (twice != listing.files.end()) {
    fail(Code::Format, "{}: the listing has {} twice", reference.text, tenon::quoted(twice->path));
  }
  return listing;
}

std::string file_url(const Http& http, const std::string& id, std::string_view revision,
                     std::string_view path) {
  return base_of(http) + "/" + percent_encoded(id, true) + "/resolve/" +
         percent_encoded(revision, false) + "/" + percent_encoded(path, true);
}

}  // namespace tenon::hub
