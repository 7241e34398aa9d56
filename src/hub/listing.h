// Listing of a repository: its commit and its files, with their digests, over the two routes that
// mirrors have as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hub/http.h"
#include "hub/reference.h"

namespace tenon::hub {

/// A file of a repository. Its path has been checked (why_bad_path).
struct RemoteFile {
  std::string path;
  uint64_t size_bytes = 0;
  std::string sha256;    ///< of files in LFS or Xet; else empty
  std::string git_sha1;  ///< of other files; empty if the mirror tells none

  /// Name of its blob; empty without a digest.
  [[nodiscard]] const std::string& etag() const { return sha256.empty() ? git_sha1 : sha256; }
};

struct Listing {
  std::string commit;  ///< 40 hexadecimal digits
  std::vector<RemoteFile> files;
  uint64_t num_skipped = 0;  ///< files whose names could not be files here
};

/// The commit of an answer of .../revision/REVISION. Throws Format.
std::string read_commit(std::string_view json, std::string_view what);
/// Adds the files of one page of .../tree/REVISION. Throws Format or Limit.
void read_tree_page(std::string_view json, std::string_view what, Listing& into);
/// The address of the next page in a Link header; empty if there is none.
std::string next_page(std::string_view link_header);

/// Asks for the listing. Throws Argument for what does not exist, and as Http::get.
Listing list_repository(Http& http, const Reference& reference);

/// Address of a file: E/ID/resolve/REVISION/PATH.
std::string file_url(const Http& http, const std::string& id, std::string_view revision,
                     std::string_view path);

}  // namespace tenon::hub
