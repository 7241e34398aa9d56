// The transport over libcurl, which is opened at run time. Its interface (curl/curl.h), stable since
// libcurl.so.4, is declared here as far as it is used, so that no header is needed to build.
#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "base/system_library.h"
#include "hub/transport.h"
#include "hub/url.h"

namespace tenon::hub {
namespace {

constexpr size_t kMaxHeaderBytes = 65536;

// Numbers of curl/curl.h: options by kind, since each kind has a range of its own.
constexpr int kLong = 0, kObject = 10000, kFunction = 20000;
constexpr int kWriteData = kObject + 1, kUrl = kObject + 2, kProxy = kObject + 4,
              kErrorBuffer = kObject + 10, kUserAgent = kObject + 18, kHttpHeader = kObject + 23,
              kHeaderData = kObject + 29, kCaInfo = kObject + 65, kPrivate = kObject + 103,
              kNoProxyHosts = kObject + 177;
constexpr int kWriteFunction = kFunction + 11, kHeaderFunction = kFunction + 79;
constexpr int kHttpVersion = kLong + 84, kNoSignal = kLong + 99, kConnectTimeoutMs = kLong + 156,
              kContentDecoding = kLong + 158, kProtocols = kLong + 181,
              kSuppressConnectHeaders = kLong + 265, kQuickExit = kLong + 322;
constexpr long kHttp11 = 2, kHttpAndHttps = 3;
constexpr int kResponseOk = 0, kWriteError = 23, kMessageDone = 1;
constexpr long kGlobalAll = 3;

struct CurlMessage {
  int kind;
  void* easy;
  union {
    void* whatever;
    int result;
  } data;
};

using DataFunction = size_t (*)(char*, size_t, size_t, void*);

/// The functions that are used, by their types in curl/curl.h.
struct Curl {
  int (*global_init)(long) = nullptr;
  void* (*easy_init)() = nullptr;
  int (*easy_setopt)(void*, int, ...) = nullptr;
  void (*easy_cleanup)(void*) = nullptr;
  int (*easy_getinfo)(void*, int, ...) = nullptr;
  const char* (*easy_strerror)(int) = nullptr;
  void* (*slist_append)(void*, const char*) = nullptr;
  void (*slist_free_all)(void*) = nullptr;
  void* (*multi_init)() = nullptr;
  int (*multi_add_handle)(void*, void*) = nullptr;
  int (*multi_remove_handle)(void*, void*) = nullptr;
  int (*multi_perform)(void*, int*) = nullptr;
  int (*multi_poll)(void*, void*, unsigned, int, int*) = nullptr;
  CurlMessage* (*multi_info_read)(void*, int*) = nullptr;
  int (*multi_cleanup)(void*) = nullptr;
};

Curl load_curl(System& system) {
  const SystemLibrary library(system, {"libcurl.so.4", "libcurl-gnutls.so.4"},
                              "nothing can be fetched without libcurl (Debian: libcurl4)");
  Curl curl;
  library.find("curl_global_init", curl.global_init);
  library.find("curl_easy_init", curl.easy_init);
  library.find("curl_easy_setopt", curl.easy_setopt);
  library.find("curl_easy_cleanup", curl.easy_cleanup);
  library.find("curl_easy_getinfo", curl.easy_getinfo);
  library.find("curl_easy_strerror", curl.easy_strerror);
  library.find("curl_slist_append", curl.slist_append);
  library.find("curl_slist_free_all", curl.slist_free_all);
  library.find("curl_multi_init", curl.multi_init);
  library.find("curl_multi_add_handle", curl.multi_add_handle);
  library.find("curl_multi_remove_handle", curl.multi_remove_handle);
  library.find("curl_multi_perform", curl.multi_perform);
  library.find("curl_multi_poll", curl.multi_poll);
  library.find("curl_multi_info_read", curl.multi_info_read);
  library.find("curl_multi_cleanup", curl.multi_cleanup);
  // Not thread-safe in older versions; the library stays initialised, as it stays loaded.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (curl.global_init(kGlobalAll) != 0) fail(Code::Unsupported, "libcurl could not be started");
  return curl;
}

/// Blocks SIGPIPE on this thread: TLS libraries write to sockets that the peer has closed.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() {
    sigset_t pending;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlocked() {
    const timespec now{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

class CurlTransfer final : public Transfer {
 public:
  CurlTransfer(const Curl& curl, void* multi, const HttpRequest& request,
               const CurlOptions& options, HttpReceiver& receiver)
      : curl_(curl), multi_(multi), receiver_(receiver), easy_(curl.easy_init()) {
    if (easy_ == nullptr) throw std::bad_alloc();
    for (const std::string& header : request.headers) {
      void* longer = curl_.slist_append(headers_, header.c_str());
      if (longer == nullptr) {
        release();
        throw std::bad_alloc();
      }
      headers_ = longer;
    }
    set(kUrl, request.url.c_str());
    set(kHttpHeader, headers_);
    set(kUserAgent, "tenon");
    // An empty proxy keeps libcurl from reading the environment.
    // This machine is reached without one: a token without TLS would go through it in the clear.
    set(kProxy, parse_url(request.url).is_loopback() ? "" : options.proxy.c_str());
    set(kNoProxyHosts, options.no_proxy.c_str());
    if (!options.ca_file.empty()) set(kCaInfo, options.ca_file.c_str());
    set(kErrorBuffer, error_.data());
    set(kPrivate, static_cast<void*>(this));
    set(kWriteFunction, static_cast<DataFunction>(&take_body));
    set(kWriteData, static_cast<void*>(this));
    set(kHeaderFunction, static_cast<DataFunction>(&take_header));
    set(kHeaderData, static_cast<void*>(this));
    set(kHttpVersion, kHttp11);  // several connections by ranges, each with a window of its own
    set(kNoSignal, 1L);
    set(kConnectTimeoutMs, static_cast<long>(options.connect_seconds * 1000));
    set(kContentDecoding, 0L);
    set(kProtocols, kHttpAndHttps);
    set(kSuppressConnectHeaders, 1L);
    set(kQuickExit, 1L);
    if (curl_.multi_add_handle(multi_, easy_) != 0) {
      release();
      throw std::bad_alloc();
    }
  }
  ~CurlTransfer() override {
    const PipeSignalBlocked blocked;
    curl_.multi_remove_handle(multi_, easy_);
    release();
  }
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  void end(int result) {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
    if (result == kResponseOk) return receiver_.end("");
    if (result == kWriteError && refused_) return receiver_.end("refused");
    receiver_.end(error_[0] != '\0' ? error_.data() : curl_.easy_strerror(result));
  }

 private:
  template <typename Value>
  void set(int option, Value value) {
    curl_.easy_setopt(easy_, option, value);
  }

  void release() {
    curl_.easy_cleanup(easy_);
    curl_.slist_free_all(headers_);
  }

  static size_t take_body(char* bytes, size_t size, size_t count, void* user) {
    return static_cast<CurlTransfer*>(user)->guard(size * count, [&](CurlTransfer& self) {
      return self.receiver_.body(std::as_bytes(std::span(bytes, size * count)));
    });
  }

  static size_t take_header(char* bytes, size_t size, size_t count, void* user) {
    return static_cast<CurlTransfer*>(user)->guard(size * count, [&](CurlTransfer& self) {
      return self.read_header({bytes, size * count});
    });
  }

  /// Bytes taken, for libcurl, through whose C code no exception may pass.
  template <typename Take>
  size_t guard(size_t size, const Take& take) noexcept {
    bool wanted = false;
    try {
      wanted = take(*this);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    refused_ = refused_ || !wanted;
    return wanted ? size : 0;
  }

  /// One line of the head; the empty line ends it.
  bool read_header(std::string_view line) {
    header_bytes_ += line.size();
    if (header_bytes_ > kMaxHeaderBytes) return false;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      head_ = {};
      const size_t space = line.find(' ');
      for (size_t i = space; i != line.npos && i + 1 < line.size() && i < space + 3; ++i) {
        if (line[i + 1] < '0' || line[i + 1] > '9') break;
        head_.status = head_.status * 10 + (line[i + 1] - '0');
      }
      return true;
    }
    if (line.empty()) {
      if (head_.status < 200 || is_told_) return true;  // 100 Continue, or trailers
      is_told_ = true;
      return receiver_.head(head_);
    }
    const size_t colon = line.find(':');
    if (colon == line.npos || is_told_) return true;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](char c) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
    head_.headers.emplace_back(std::move(name), std::string(value));
    return true;
  }

  const Curl& curl_;
  void* multi_;
  HttpReceiver& receiver_;
  void* easy_;
  void* headers_ = nullptr;
  HttpHead head_;
  size_t header_bytes_ = 0;
  bool is_told_ = false;
  bool refused_ = false;
  std::exception_ptr thrown_;
  std::array<char, 256> error_{};  // CURL_ERROR_SIZE
};

class CurlTransport final : public Transport {
 public:
  CurlTransport(const Curl& curl, const CurlOptions& options)
      : curl_(curl), options_(options), multi_(curl_.multi_init()) {
    if (multi_ == nullptr) throw std::bad_alloc();
  }
  ~CurlTransport() override {
    const PipeSignalBlocked blocked;
    curl_.multi_cleanup(multi_);
  }
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  std::unique_ptr<Transfer> start(const HttpRequest& request, HttpReceiver& receiver) override {
    const PipeSignalBlocked blocked;
    return std::make_unique<CurlTransfer>(curl_, multi_, request, options_, receiver);
  }

  void wait(double seconds) override {
    const PipeSignalBlocked blocked;
    int running = 0;
    if (curl_.multi_perform(multi_, &running) != 0) fail(Code::Io, "libcurl failed");
    int events = 0;
    if (!tell_ends()) {
      curl_.multi_poll(multi_, nullptr, 0, static_cast<int>(seconds * 1000), &events);
      curl_.multi_perform(multi_, &running);
      tell_ends();
    }
  }

 private:
  /// True if a transfer ended.
  bool tell_ends() {
    std::vector<std::pair<void*, int>> ended;  // told when libcurl's list is read
    int left = 0;
    while (const CurlMessage* message = curl_.multi_info_read(multi_, &left)) {
      if (message->kind == kMessageDone) ended.emplace_back(message->easy, message->data.result);
    }
    constexpr int kPrivateInfo = 0x100000 + 21;
    for (const auto& [easy, result] : ended) {
      char* transfer = nullptr;
      curl_.easy_getinfo(easy, kPrivateInfo, &transfer);
      if (transfer != nullptr) reinterpret_cast<CurlTransfer*>(transfer)->end(result);
    }
    return !ended.empty();
  }

  Curl curl_;
  CurlOptions options_;
  void* multi_;
};

}  // namespace

std::string_view HttpHead::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, [](const auto& h) { return h.first; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::unique_ptr<Transport> open_curl(System& system, const CurlOptions& options) {
  return std::make_unique<CurlTransport>(load_curl(system), options);
}

}  // namespace tenon::hub
