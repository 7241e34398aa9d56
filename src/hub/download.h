// Download of one file: several connections by ranges, resumed, verified, renamed when whole.
#pragma once

#include <cstdint>
#include <string>

#include "hub/digest.h"
#include "hub/http.h"

namespace tenon::hub {

/// A file to fetch.
struct FileJob {
  std::string url;
  std::string what;     ///< for messages: "hf:owner/name: model.gguf"
  std::string partial;  ///< path of the file under way
  std::string target;   ///< path of the whole file
  bool knows_size = true;
  uint64_t size_bytes = 0;
  std::string sha256;     ///< expected; empty: unknown
  std::string git_sha1;   ///< expected if sha256 is empty; empty: only the size is checked
  std::string validator;  ///< of this version, without blanks: its digest, or one of its ETag
  std::string etag;       ///< strong ETag of a plain URL, as sent; empty for files of a hub
  /// False if nothing tells whether two answers are of one version: one answer brings it all.
  bool has_version = true;
};

/// The file at the server is another version than the job's.
class Changed : public Error {
 public:
  using Error::Error;
};

/// Fetches the file; returns its size. The caller holds the lock on its name. Throws Cancelled, Io
/// (network or disk; what has arrived is kept), Changed, Format for bytes that are not those of the
/// digest after two tries, and as Http::get.
uint64_t download_file(Http& http, const Crypto& crypto, const FileJob& job);

/// Begin, end (exclusive) and total size of a Content-Range; false if it is malformed or the total
/// is unknown.
bool read_content_range(std::string_view text, uint64_t& begin, uint64_t& end, uint64_t& total);

}  // namespace tenon::hub
