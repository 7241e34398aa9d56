#include "hub/http.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon::hub {
namespace {

/// Collects a small answer.
class TextReceiver final : public HttpReceiver {
 public:
  TextReceiver(size_t max_bytes, double now) : max_bytes_(max_bytes), last_(now) {}

  bool head(const HttpHead& told) override {
    answer.head = told;
    return true;
  }
  bool body(std::span<const std::byte> bytes) override {
    if (answer.body.size() + bytes.size() > max_bytes_) {
      is_too_long = true;
      return false;
    }
    answer.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }
  void end(const std::string& told) override {
    failure = told;
    has_ended = true;
  }

  /// Whether nothing came for that long.
  bool has_stalled(double now, double seconds) {
    const size_t size = answer.body.size() + (answer.head.status != 0 ? 1 : 0);
    if (size != seen_) last_ = now;
    seen_ = size;
    return now - last_ > seconds;
  }

  Http::Text answer;
  std::string failure;
  bool has_ended = false;
  bool is_too_long = false;

 private:
  size_t max_bytes_;
  double last_;
  size_t seen_ = 0;
};

/// "/OWNER/NAME" in the path of a request to a hub whose own path is `base`; empty if there is none.
std::string repository_in(std::string_view path, std::string_view base) {
  while (base.ends_with('/')) base.remove_suffix(1);
  if (!path.starts_with(base)) return {};
  path.remove_prefix(base.size());
  constexpr std::string_view kApi = "/api/models";
  if (path.starts_with(kApi)) path.remove_prefix(kApi.size());
  const size_t name = path.find('/', 1);
  if (name == path.npos) return {};
  return std::string(path.substr(0, path.find('/', name + 1)));
}

}  // namespace

bool read_number(std::string_view text, uint64_t& into) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  into = value;
  return true;
}

void check_token(const Settings& settings) {
  const Url endpoint = parse_url(settings.endpoint);
  if (!settings.token.empty() && endpoint.scheme != "https" && !endpoint.is_loopback()) {
    fail(Code::Argument, "the token is not sent to {}, which is without TLS", endpoint.origin());
  }
}

Http::Http(const Settings& settings, Watch& watch)
    : settings_(&settings), watch_(&watch), endpoint_(parse_url(settings.endpoint)) {
  check_token(settings);
  transport_ = settings.open_transport();
}

std::vector<std::string> Http::headers_for(const Url& url) const {
  std::vector<std::string> headers{"Accept-Encoding: identity", "Accept: */*"};
  if (!settings_->token.empty() && url.origin() == endpoint_.origin()) {
    headers.push_back("Authorization: Bearer " + settings_->token);
  }
  return headers;
}

Refusal Http::explain(const HttpHead& head, const Url& url, std::string_view what) const {
  Refusal refusal;
  const std::string_view kind = head.header("x-error-code");
  const std::string_view said = head.header("x-error-message");
  const std::string name(what);
  const bool is_ours = url.origin() == endpoint_.origin();
  const std::string page = endpoint_.text();
  const std::string site = page.ends_with('/') ? page.substr(0, page.size() - 1) : page;
  const bool is_gated = kind == "GatedRepo" || said.find("gated") != said.npos ||
                        said.find("restricted") != said.npos;
  const std::string give = "make one at " + site +
                           "/settings/tokens and give it (tenon: the environment variable "
                           "HF_TOKEN)";
  if (head.status == 401 || head.status == 403) {
    refusal.code = Code::Argument;
    if (!is_ours) {
      refusal.code = Code::Io;
      refusal.may_pass = true;  // a signed address that has expired; the next one is new
      refusal.text = name + ": " + url.origin() + " refuses the signed address (status " +
                     std::to_string(head.status) + ")";
    } else if (is_gated) {
      refusal.text = name +
                     ": its authors give access on request: accept their terms on its page, " +
                     site + repository_in(url.path, endpoint_.path) +
                     (settings_->token.empty()
                          ? ", then " + give
                          : "; the token given is of an account without access, or may not "
                            "read gated models");
    } else if (settings_->token.empty()) {
      refusal.text = name +
                     ": there is no such model, or it is private or gated, which takes a "
                     "token: " +
                     give;
    } else {
      refusal.text = name +
                     ": there is no such model, or the token given may not read it (status " +
                     std::to_string(head.status) + ")";
    }
  } else if (head.status == 404) {
    refusal.code = Code::Argument;
    refusal.text = name + ": not found at " + url.origin();
    if (kind == "RevisionNotFound") refusal.text = name + ": there is no such revision";
  } else {
    refusal.may_pass = head.status == 408 || head.status == 429 || head.status >= 500;
    refusal.text = name + ": " + url.origin() + " answers with status " +
                   std::to_string(head.status) + (head.status == 429 ? " (too many requests)" : "");
    uint64_t seconds = 0;
    if (read_number(head.header("retry-after"), seconds)) {
      refusal.retry_seconds = static_cast<double>(std::min<uint64_t>(seconds, 1'000'000));
    }
  }
  if (!said.empty()) refusal.text += " (the server says: " + tenon::quoted(said, 200) + ")";
  return refusal;
}

void Http::pause_or_throw(const Passing& failure, uint32_t attempt) {
  if (attempt + 1 >= settings_->retries) {
    throw Error(failure.code(), failure.what() + std::string("; given up after ") +
                                    std::to_string(attempt + 1) + " attempts");
  }
  if (failure.retry_seconds() > kMaxRetrySeconds) {
    throw Error(failure.code(), fmt::format("{}; it asks to come again in {:.0f} seconds",
                                            failure.what(), failure.retry_seconds()));
  }
  const double pause = settings_->retry_seconds * std::pow(2.0, std::min(attempt, 6U));
  watch_->sleep(failure.retry_seconds() >= 0 ? failure.retry_seconds() : pause);
}

Http::Text Http::get_once(const std::string& address, std::string_view what, size_t max_bytes,
                          const std::string& range) {
  Url url = parse_url(address);
  for (int redirects = 0;; ++redirects) {
    TextReceiver receiver(max_bytes, watch_->now());
    HttpRequest request{url.text(), headers_for(url)};
    if (!range.empty()) request.headers.push_back("Range: bytes=" + range);
    const auto transfer = transport_->start(request, receiver);
    while (!receiver.has_ended) {
      transport_->wait(kCheckSeconds);
      watch_->check();
      if (!receiver.has_ended && receiver.has_stalled(watch_->now(), settings_->stall_seconds)) {
        throw Passing(Code::Io, fmt::format("{}: {} sends nothing for {} seconds", what,
                                            url.origin(), settings_->stall_seconds));
      }
    }
    const HttpHead& head = receiver.answer.head;
    if (receiver.is_too_long && head.status < 300) {
      fail(Code::Limit, "{}: the answer of {} is longer than {} bytes", what, url.origin(),
           max_bytes);
    }
    if (!receiver.failure.empty() && !receiver.is_too_long) {
      throw Passing(Code::Io, fmt::format("{}: {}: {}", what, url.origin(), receiver.failure));
    }
    const bool moves = head.status == 301 || head.status == 302 || head.status == 303 ||
                       head.status == 307 || head.status == 308;
    if (moves) {
      if (redirects == kMaxRedirects) fail(Code::Io, "{}: redirected in a circle", what);
      url = resolve_redirect(url, head.header("location"));
      continue;
    }
    if (head.status != 200 && !(head.status == 206 && !range.empty())) {
      const Refusal refusal = explain(head, url, what);
      if (refusal.may_pass) throw Passing(refusal.code, refusal.text, refusal.retry_seconds);
      throw Error(refusal.code, refusal.text);
    }
    const std::string_view encoding = head.header("content-encoding");
    if (!encoding.empty() && encoding != "identity") {
      fail(Code::Io, "{}: {} sends it compressed ({}) although that was not asked for", what,
           url.origin(), tenon::quoted(encoding, 32));
    }
    return std::move(receiver.answer);
  }
}

Http::Text Http::get_with_retries(const std::string& url, std::string_view what, size_t max_bytes,
                                  const std::string& range) {
  for (uint32_t attempt = 0;; ++attempt) {
    try {
      return get_once(url, what, max_bytes, range);
    } catch (const Passing& failure) {
      pause_or_throw(failure, attempt);
    }
  }
}

Http::Text Http::get(const std::string& url, std::string_view what, size_t max_bytes) {
  return get_with_retries(url, what, max_bytes, "");
}

std::string Http::get_range(const std::string& url, std::string_view what, uint64_t begin,
                            uint64_t size) {
  const Text text = get_with_retries(
      url, what, size, std::to_string(begin) + "-" + std::to_string(begin + size - 1));
  const std::string wanted = "bytes " + std::to_string(begin) + "-";
  if (text.head.status != 206 || !text.head.header("content-range").starts_with(wanted)) {
    fail(Code::Unsupported, "{}: the server does not send parts of files", what);
  }
  return text.body;
}

}  // namespace tenon::hub
