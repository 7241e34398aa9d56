// HTTP requests as the downloads need them: started, driven and cancelled on one thread. Redirects,
// tokens and retries are decided above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system.h"

namespace tenon::hub {

/// Status and headers of an answer.
struct HttpHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case

  /// The first header of that name (lower case); empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
};

/// Receives an answer. Called within Transport::wait only. A function that returns false ends the
/// transfer, after which end() is called. They start and drop no transfers.
class HttpReceiver {
 public:
  virtual bool head(const HttpHead& head) = 0;
  virtual bool body(std::span<const std::byte> bytes) = 0;
  /// failure: empty if the answer is complete as far as the protocol can tell, else a sentence.
  virtual void end(const std::string& failure) = 0;

 protected:
  ~HttpReceiver() = default;
};

/// A request under way; destruction cancels it, without a call of end().
class Transfer {
 public:
  virtual ~Transfer() = default;
};

/// One thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts a GET. The receiver must outlive the transfer.
  virtual std::unique_ptr<Transfer> start(const HttpRequest& request, HttpReceiver& receiver) = 0;
  /// Drives all transfers; returns after activity or after that time.
  virtual void wait(double seconds) = 0;
};

struct CurlOptions {
  std::string proxy;     ///< not used for this machine; empty: none; the environment is not read
  std::string no_proxy;  ///< hosts without the proxy, separated by commas
  std::string ca_file;   ///< certificates; empty: the system's
  double connect_seconds = 20;
};

/// Opens libcurl through `system`. Throws Unsupported, naming the package, if it is missing.
std::unique_ptr<Transport> open_curl(System& system, const CurlOptions& options);

}  // namespace tenon::hub
