#include "hub/download.h"

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "hub/partial_file.h"
#include "hub/reference.h"

namespace tenon::hub {
namespace {

constexpr uint64_t kMostPiecesPerRange = 16;
constexpr size_t kMaxIgnoredBytes = 65536;
/// Fewest bytes in Settings::stall_seconds of a connection that is kept.
constexpr uint64_t kStallBytes = 1024;
constexpr size_t kHashedAtOnce = size_t{4} << 20;
constexpr size_t kReadAtOnce = size_t{1} << 20;
/// Most bytes of a file whose size is not told, bytes after which the room for it is looked at, and
/// room that it leaves to others.
constexpr uint64_t kMostUntoldBytes = uint64_t{1} << 38;
constexpr uint64_t kLookedAtOnce = uint64_t{16} << 20;
constexpr uint64_t kRoomLeft = uint64_t{256} << 20;
/// Bytes after which the disk is waited for, so that it has little left to do at the end.
constexpr uint64_t kSyncedAtOnce = uint64_t{32} << 20;
constexpr uint64_t kMostPieces = uint64_t{1} << 20;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// An ETag without its marks of weakness and its quotes.
std::string_view bare_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

bool is_digest(std::string_view text) { return is_hex(text, 40) || is_hex(text, 64); }

/// Bytes that do not have the digest expected.
class WrongDigest : public Error {
 public:
  using Error::Error;
};

class FileDownload;

/// One connection: a range of whole pieces, or the whole file.
class Stream final : public HttpReceiver {
 public:
  Stream(FileDownload& owner, Url address, uint64_t first, uint64_t last, uint64_t owners_round,
         double now)
      : owner_(owner),
        url(std::move(address)),
        begin(first),
        limit(last),
        at(first),
        marked(first),
        round(owners_round),
        window_start(now) {}

  bool head(const HttpHead& told) override;
  bool body(std::span<const std::byte> bytes) override;
  void end(const std::string& told) override {
    has_ended = true;
    failure = told;
  }

  bool check_answer(const HttpHead& told);

  FileDownload& owner_;
  Url url;
  uint64_t begin;   ///< first byte asked for
  uint64_t limit;   ///< behind the last one
  uint64_t at;      ///< next byte to be written
  uint64_t marked;  ///< end of the pieces that have been marked
  uint64_t round;   ///< of the owner when it was started
  std::unique_ptr<Transfer> transfer;
  int redirects = 0;
  HttpHead answer;
  bool takes_body = false;
  size_t ignored = 0;
  bool has_ended = false;
  std::string failure;
  /// A failure of the answer that ends the download, or that asks for the whole file.
  std::optional<Error> fatal;
  bool is_changed = false;
  bool lacks_ranges = false;
  double window_start;
  uint64_t window_at = 0;
};

class FileDownload {
 public:
  FileDownload(Http& http, const Crypto& crypto, const FileJob& job)
      : http_(http),
        crypto_(crypto),
        job_(job),
        partial_(*http.settings().system, job.partial, job.knows_size ? job.size_bytes : 0,
                 std::max(http.settings().piece_bytes, job.size_bytes / kMostPieces),
                 job.validator),
        source_(parse_url(job.url)),
        most_done_(partial_.done_bytes()),
        base_bytes_(http.watch().progress.bytes_done) {
    reset_digest();
  }

  uint64_t run();

  void write(Stream& stream, std::span<const std::byte> bytes) {
    if (!job_.knows_size) check_room(stream.at + bytes.size());
    partial_.write(stream.at, bytes);
    stream.at += bytes.size();
    if (!job_.knows_size) return;
    for (uint64_t piece = stream.marked / partial_.piece_bytes();
         piece < partial_.num_pieces() && partial_.end_of(piece) <= stream.at &&
         stream.marked < partial_.end_of(piece);
         ++piece) {
      partial_.mark(piece);
      stream.marked = partial_.end_of(piece);
    }
    // What is fetched again is no progress: else a server that cuts each answer never ends.
    if (partial_.done_bytes() > most_done_) {
      most_done_ = partial_.done_bytes();
      failures_ = 0;
    }
  }

  [[nodiscard]] const FileJob& job() const { return job_; }
  [[nodiscard]] Http& http() { return http_; }
  /// The server answers a stream from the first byte on with the whole file. Pieces that were
  /// there go: bytes that have been hashed must not be written over.
  void take_whole(Stream& stream) {
    uses_ranges_ = false;
    whole_ = &stream;
    stream.limit = job_.knows_size ? job_.size_bytes : UINT64_MAX;
    partial_.clear();
    looked_at_ = 0;
    reset_digest();
  }
  /// Whether another stream brings the whole file.
  [[nodiscard]] bool is_replaced(const Stream& stream) const {
    return whole_ != nullptr && whole_ != &stream;
  }
  void note_ranges() { ranges_are_seen_ = true; }

 private:
  void check_room(uint64_t end);
  void reset_digest() {
    hashed_ = 0;
    synced_ = 0;
    digest_.reset();
    if (!job_.sha256.empty()) {
      digest_ = std::make_unique<Digest>(crypto_, Digest::Kind::Sha256, job_.size_bytes);
    } else if (!job_.git_sha1.empty()) {
      digest_ = std::make_unique<Digest>(crypto_, Digest::Kind::GitSha1, job_.size_bytes);
    }
  }

  [[nodiscard]] bool is_whole() const {
    return job_.knows_size ? partial_.done_bytes() == job_.size_bytes : has_end_;
  }
  void start_streams();
  void start(Stream& stream);
  bool next_range(uint64_t& begin, uint64_t& end) const;
  void settle(Stream& stream);
  void fail_stream(const Stream& stream, const Refusal& refusal);
  void start_over();
  void check_stalls();
  void hash_some(size_t at_most);
  void report();
  void verify();

  Http& http_;
  const Crypto& crypto_;
  const FileJob& job_;
  PartialFile partial_;
  Url source_;
  std::optional<Url> location_;  ///< signed address of this run, until it fails
  std::list<Stream> streams_;
  Stream* whole_ = nullptr;  ///< a stream of streams_ that brings the whole file
  bool uses_ranges_ = true;
  bool ranges_are_seen_ = false;
  bool has_end_ = false;
  uint32_t failures_ = 0;   ///< in a row
  uint64_t round_ = 0;      ///< failures counted; streams of one round fail by one cause
  uint64_t most_done_;      ///< highest number of bytes that have arrived
  uint64_t looked_at_ = 0;  ///< end of the bytes for which room has been seen
  double retry_at_ = 0;
  std::string last_failure_;
  std::unique_ptr<Digest> digest_;
  uint64_t hashed_ = 0;
  uint64_t synced_ = 0;  ///< hashed bytes that are on the disk
  std::vector<std::byte> hashed_bytes_;
  uint64_t base_bytes_;
};

bool Stream::check_answer(const HttpHead& told) {
  const FileJob& job = owner_.job();
  const auto refuse = [&](Code code, std::string text) {
    fatal.emplace(code, job.what + ": " + url.origin() + " " + text);
    return false;
  };
  const std::string_view encoding = told.header("content-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return refuse(Code::Io, "sends it compressed (" + tenon::quoted(encoding, 32) +
                                ") although that was not asked for");
  }
  // A hub's ETag is the digest; a storage host behind it has another one.
  const std::string_view etag = told.header("etag");
  const std::string_view linked = told.header("x-linked-etag");
  const std::string& expected = job.sha256.empty() ? job.git_sha1 : job.sha256;
  const std::string_view theirs = bare_etag(linked.empty() ? etag : linked);
  const bool is_hub = url.origin() == owner_.http().endpoint().origin();
  if (is_hub && is_digest(theirs) && theirs.size() == expected.size() && theirs != expected) {
    is_changed = true;
    return refuse(Code::Io, "now has another version of it");
  }
  if (!job.etag.empty() && !etag.empty() && etag != job.etag) {
    is_changed = true;
    return refuse(Code::Io, "now has another version of it");
  }
  if (told.status == 200) {
    uint64_t length = 0;
    const bool has_length = read_number(told.header("content-length"), length);
    if (job.knows_size && has_length && length != job.size_bytes) {
      is_changed = !job.etag.empty();
      return refuse(Code::Io, "has " + std::to_string(length) + " bytes of it, " +
                                  std::to_string(job.size_bytes) + " were announced");
    }
    if (!job.knows_size && !has_length && told.header("transfer-encoding") != "chunked") {
      return refuse(Code::Io,
                    "tells neither its length nor its end, so that a part of it would "
                    "look like the whole");
    }
    if (begin == 0) {
      owner_.take_whole(*this);
      return true;
    }
    lacks_ranges = true;
    return false;
  }
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t total = 0;
  if (!read_content_range(told.header("content-range"), first, last, total) || first != begin ||
      last > limit) {
    lacks_ranges = true;  // another range than the one asked for: ask for the whole file
    return false;
  }
  if (total != job.size_bytes) {
    is_changed = !job.etag.empty();
    return refuse(Code::Io, "has " + std::to_string(total) + " bytes of it, " +
                                std::to_string(job.size_bytes) + " were announced");
  }
  owner_.note_ranges();
  return true;
}

bool Stream::head(const HttpHead& told) {
  answer = told;
  window_at += kStallBytes;
  if (told.status == 200 || told.status == 206) {
    takes_body = check_answer(told);
    return takes_body;
  }
  if (is_redirect(told.status)) {
    const std::string_view linked = bare_etag(told.header("x-linked-etag"));
    const std::string& expected = owner_.job().sha256;
    if (is_hex(linked, 64) && is_hex(expected, 64) && linked != expected) {
      fatal.emplace(Code::Io,
                    owner_.job().what + ": " + url.origin() + " now has another version of it");
      return false;
    }
  }
  return true;
}

bool Stream::body(std::span<const std::byte> bytes) {
  window_at += bytes.size();
  if (!takes_body) {
    ignored += bytes.size();
    return ignored <= kMaxIgnoredBytes;
  }
  if (owner_.is_replaced(*this)) return false;
  if (bytes.size() > limit - at) {
    fatal.emplace(Code::Io,
                  owner_.job().what + ": " + url.origin() + " sends more bytes than it announced");
    return false;
  }
  owner_.write(*this, bytes);
  return true;
}

/// Refuses bytes of a file of unknown size that is too long, or for which there is no room.
void FileDownload::check_room(uint64_t end) {
  if (end > kMostUntoldBytes) {
    fail(Code::Limit, "{}: its length was not told, and it is longer than {} bytes", job_.what,
         kMostUntoldBytes);
  }
  if (end <= looked_at_ || !http_.settings().free_bytes) return;
  const std::string folder = job_.partial.substr(0, job_.partial.rfind('/') + 1);
  const int64_t found = http_.settings().free_bytes(folder.c_str());
  if (found >= 0 && static_cast<uint64_t>(found) < kRoomLeft + kLookedAtOnce) {
    fail(Code::Io, "{}: its length was not told, and {} is nearly full: make room", job_.what,
         folder);
  }
  looked_at_ = end + kLookedAtOnce;
}

/// The first run of missing pieces that no stream has.
bool FileDownload::next_range(uint64_t& begin, uint64_t& end) const {
  if (!uses_ranges_) {
    begin = 0;
    end = job_.knows_size ? job_.size_bytes : UINT64_MAX;
    return streams_.empty();
  }
  const uint64_t missing = (job_.size_bytes - partial_.done_bytes()) / partial_.piece_bytes() + 1;
  const uint64_t most = std::clamp<uint64_t>(
      missing / (2 * std::max(http_.settings().connections, 1U)), 1, kMostPiecesPerRange);
  const auto is_free = [&](uint64_t piece) {
    return !partial_.has(piece) && std::ranges::none_of(streams_, [&](const Stream& stream) {
      return partial_.begin_of(piece) >= stream.begin && partial_.begin_of(piece) < stream.limit;
    });
  };
  for (uint64_t piece = 0; piece < partial_.num_pieces(); ++piece) {
    if (!is_free(piece)) continue;
    uint64_t last = piece + 1;
    while (last < partial_.num_pieces() && last - piece < most && is_free(last)) ++last;
    begin = partial_.begin_of(piece);
    end = partial_.end_of(last - 1);
    return true;
  }
  return false;
}

void FileDownload::start(Stream& stream) {
  HttpRequest request{stream.url.text(), http_.headers_for(stream.url)};
  if (uses_ranges_ && job_.knows_size) {
    request.headers.push_back("Range: bytes=" + std::to_string(stream.begin) + "-" +
                              std::to_string(stream.limit - 1));
    if (!job_.etag.empty()) request.headers.push_back("If-Range: " + job_.etag);
  }
  stream.answer = {};
  stream.takes_body = false;
  stream.ignored = 0;
  stream.has_ended = false;
  stream.failure.clear();
  stream.transfer = http_.transport().start(request, stream);
}

void FileDownload::start_streams() {
  if (http_.watch().now() < retry_at_) return;
  // One connection until an answer shows that ranges work.
  const size_t most = ranges_are_seen_ ? std::max(http_.settings().connections, 1U) : 1;
  uint64_t begin = 0;
  uint64_t end = 0;
  while (streams_.size() < most && next_range(begin, end)) {
    Stream& stream = streams_.emplace_back(*this, location_.value_or(source_), begin, end, round_,
                                           http_.watch().now());
    start(stream);
    if (!uses_ranges_) break;
  }
}

/// Counts a failure, once for all streams that were there when it came; throws it if it was one too
/// many.
void FileDownload::fail_stream(const Stream& stream, const Refusal& refusal) {
  location_.reset();  // a signed address may have expired
  last_failure_ = refusal.text;
  if (!refusal.may_pass) throw Error(refusal.code, refusal.text);
  if (stream.round == round_) {
    ++failures_;
    ++round_;
  }
  if (failures_ >= http_.settings().retries) {
    fail(refusal.code, "{}; given up after {} attempts; run it again: what has arrived is kept",
         refusal.text, failures_);
  }
  if (refusal.retry_seconds > kMaxRetrySeconds) {
    fail(refusal.code, "{}; it asks to come again in {:.0f} seconds", refusal.text,
         refusal.retry_seconds);
  }
  const double pause = http_.settings().retry_seconds *
                       static_cast<double>(1U << (std::clamp(failures_, 1U, 7U) - 1));
  const double seconds = refusal.retry_seconds >= 0 ? refusal.retry_seconds : pause;
  retry_at_ = std::max(retry_at_, http_.watch().now() + seconds);
  if (&stream == whole_) whole_ = nullptr;
}

/// Begins again with the whole file, in one stream.
void FileDownload::start_over() {
  streams_.clear();
  whole_ = nullptr;
  uses_ranges_ = false;
  partial_.clear();
  reset_digest();
}

/// Handles a stream that has ended; it is removed by the caller unless it goes on.
void FileDownload::settle(Stream& stream) {
  stream.transfer.reset();
  if (stream.fatal) {
    if (stream.is_changed) throw Changed(stream.fatal->code(), stream.fatal->what());
    throw Error(*stream.fatal);
  }
  const HttpHead& head = stream.answer;
  if (is_redirect(head.status)) {
    if (++stream.redirects > kMaxRedirects) fail(Code::Io, "{}: redirected in a circle", job_.what);
    stream.url = resolve_redirect(stream.url, head.header("location"));
    location_ = stream.url;
    start(stream);
    return;
  }
  if (head.status == 416 || stream.lacks_ranges) {
    if (!uses_ranges_) {
      fail(Code::Io, "{}: {} refuses to send it (status {})", job_.what, stream.url.origin(),
           head.status);
    }
    stream.lacks_ranges = true;  // for the caller: start_over
    return;
  }
  if (head.status != 0 && head.status != 200 && head.status != 206) {
    fail_stream(stream, http_.explain(head, stream.url, job_.what));
    return;
  }
  if (!stream.failure.empty() || (job_.knows_size && stream.at < stream.limit)) {
    const std::string reason = stream.failure.empty() || stream.failure == "refused"
                                   ? "the answer ends too early"
                                   : stream.failure;
    fail_stream(stream,
                {.text = job_.what + ": " + stream.url.origin() + ": " + reason, .may_pass = true});
    return;
  }
  if (!job_.knows_size) {
    has_end_ = true;
    partial_.set_size(stream.at);
  }
}

void FileDownload::check_stalls() {
  const double now = http_.watch().now();
  for (Stream& stream : streams_) {
    if (stream.has_ended || now - stream.window_start < http_.settings().stall_seconds) continue;
    if (stream.window_at < kStallBytes) {
      stream.transfer.reset();
      stream.has_ended = true;
      stream.answer = {};
      stream.failure = fmt::format("sends nothing, or next to nothing, for {} seconds",
                                   http_.settings().stall_seconds);
    }
    stream.window_start = now;
    stream.window_at = 0;
  }
}

/// Adds bytes of the pieces that are there, in order, to the digest.
void FileDownload::hash_some(size_t at_most) {
  if (!digest_ || hashed_ == job_.size_bytes) return;
  // A whole file that came in one answer is written over: its end is where it has been written to.
  uint64_t end = hashed_;
  for (uint64_t piece = hashed_ / partial_.piece_bytes();
       piece < partial_.num_pieces() && partial_.has(piece) && end - hashed_ < at_most; ++piece) {
    end = partial_.end_of(piece);
  }
  if (end == hashed_) return;
  hashed_bytes_.resize(kReadAtOnce);
  while (hashed_ < end && at_most > 0) {
    const size_t size = static_cast<size_t>(
        std::min<uint64_t>({end - hashed_, hashed_bytes_.size(), static_cast<uint64_t>(at_most)}));
    const std::span<std::byte> part(hashed_bytes_.data(), size);
    if (partial_.read(hashed_, part) != size) {
      fail(Code::Io, "{}: {} was cut by somebody else", job_.what, job_.partial);
    }
    digest_->add(part);
    hashed_ += size;
    at_most -= size;
  }
  if (hashed_ >= synced_ + kSyncedAtOnce) {
    partial_.sync();
    synced_ = hashed_;
  }
}

void FileDownload::report() {
  uint64_t done = partial_.done_bytes();
  for (const Stream& stream : streams_) done += stream.at - stream.marked;
  http_.watch().progress.bytes_done = base_bytes_ + done;
  http_.watch().check();
}

void FileDownload::verify() {
  http_.watch().progress.phase = Phase::Verifying;
  while (digest_ && hashed_ < job_.size_bytes) {
    hash_some(kHashedAtOnce);
    http_.watch().check();
  }
  if (!digest_) return;
  const std::string found = digest_->hex();
  const std::string& expected = job_.sha256.empty() ? job_.git_sha1 : job_.sha256;
  if (found == expected) return;
  partial_.discard();
  throw WrongDigest(
      Code::Format,
      fmt::format("{}: what arrived has the {} {}, announced was {}: a mirror or proxy changes it, "
                  "or the disk is faulty; nothing of it was kept",
                  job_.what, job_.sha256.empty() ? "git digest" : "sha256", found, expected));
}

uint64_t FileDownload::run() {
  http_.watch().progress.phase = Phase::Downloading;
  if (!job_.knows_size || !job_.has_version) uses_ranges_ = false;
  while (!is_whole()) {
    start_streams();
    if (streams_.empty()) {
      http_.watch().sleep(std::min(kCheckSeconds, std::max(retry_at_ - http_.watch().now(), 0.0)));
    } else {
      http_.transport().wait(kCheckSeconds);
    }
    check_stalls();
    // Others have nothing to bring beside the whole file.
    if (whole_ != nullptr) {
      streams_.remove_if([this](const Stream& stream) { return &stream != whole_; });
    }
    bool starts_over = false;
    for (auto it = streams_.begin(); it != streams_.end();) {
      if (it->has_ended) settle(*it);
      starts_over = starts_over || it->lacks_ranges;
      if (it->has_ended && it->transfer == nullptr) {
        if (&*it == whole_) whole_ = nullptr;
        it = streams_.erase(it);
      } else {
        ++it;
      }
    }
    if (starts_over) start_over();
    hash_some(kHashedAtOnce);
    report();
  }
  streams_.clear();
  report();
  verify();
  const uint64_t size = job_.knows_size ? job_.size_bytes : partial_.size_bytes();
  partial_.finish(job_.target);
  http_.watch().progress.bytes_done = base_bytes_ + size;
  return size;
}

}  // namespace

bool read_content_range(std::string_view text, uint64_t& begin, uint64_t& end, uint64_t& total) {
  if (!text.starts_with("bytes ")) return false;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == text.npos || slash == text.npos || dash > slash) return false;
  uint64_t last = 0;
  if (!read_number(text.substr(0, dash), begin) ||
      !read_number(text.substr(dash + 1, slash - dash - 1), last) ||
      !read_number(text.substr(slash + 1), total)) {
    return false;
  }
  if (begin > last || last >= total) return false;
  end = last + 1;
  return true;
}

uint64_t download_file(Http& http, const Crypto& crypto, const FileJob& job) {
  const uint64_t before = http.watch().progress.bytes_done;
  for (int attempt = 0;; ++attempt) {
    try {
      http.watch().progress.bytes_done = before;
      return FileDownload(http, crypto, job).run();
    } catch (const WrongDigest& error) {
      if (attempt == 1) throw Error(error.code(), error.what());
    }
  }
}

}  // namespace tenon::hub
