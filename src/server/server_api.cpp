// C interface of the server: tenon/server.h.
#include <interface_json.h>
#include <tenon/server.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>

#include "capi/host_struct.h"
#include "capi/last_error.h"
#include "server/http/host_names.h"
#include "server/http/http_head.h"
#include "server/http_server.h"
#include "server/operations/api_keys.h"

struct tenon_server {
  explicit tenon_server(::tenon_http::ServerOptions options) : server(std::move(options)) {}
  ::tenon_http::HttpServer server;
  std::atomic<bool> has_run{false};
  std::atomic<bool> has_stopped{false};
};

struct tenon_server_call {
  std::shared_ptr<::tenon_http::LocalExchange> exchange;
  ::tenon_http::LocalExchange::Part part{};  ///< part returned by the latest call
};

namespace {

using namespace tenon_http;

constinit thread_local tenon::capi::LastError<tenon::Error> server_error;

/// Runs `body` and turns its exceptions into a status.
template <typename Body>
tenon_status server_fence(Body&& body) noexcept {
  return server_error.fence([&] {
    try {
      body();
    } catch (const ApiError& error) {
      throw tenon::Error(tenon::Code::Argument, error.what());
    } catch (const ListenError& error) {
      throw tenon::Error(tenon::Code::Io, error.what());
    }
  });
}

[[noreturn]] void refuse_argument(const std::string& message) {
  throw tenon::Error(tenon::Code::Argument, message);
}

template <typename T>
T struct_in(const T* given, const char* type) {
  return tenon::capi::host_struct_in(given, type, tenon::capi::kRefuse<tenon::Error>);
}

tenon_server& checked_server(tenon_server* server) {
  if (server == nullptr) refuse_argument("server is NULL");
  return *server;
}

tenon_server& not_running(tenon_server* server) {
  if (checked_server(server).has_run) {
    throw tenon::Error(tenon::Code::State, "the server runs already");
  }
  return *server;
}

std::string checked_name(const char* name, size_t length) {
  if (name == nullptr || length == 0) refuse_argument("the name of a model is empty");
  const std::string text(name, length);
  if (std::any_of(text.begin(), text.end(),
                  [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    refuse_argument("the name of a model has a control character");
  }
  return text;
}

/// Sets a time from the options, or keeps its default.
void set_seconds(double& into, double seconds) {
  if (!(seconds >= 0)) refuse_argument("a time must not be negative");
  if (seconds > 0) into = std::min(seconds, 1e8);
}

ServerOptions options_of(const tenon_server_options& given) {
  ServerOptions options;
  if (given.api_keys != nullptr) {
    options.clients = read_api_keys({given.api_keys, static_cast<size_t>(given.api_keys_length)});
    if (options.clients.empty()) refuse_argument("api_keys holds no key");
  }
  if (given.cors_origin != nullptr) options.http.cors = given.cors_origin;
  if (given.max_body_bytes > 0) options.http.body_bytes = given.max_body_bytes;
  if (given.max_header_bytes > 0) {
    options.http.header_bytes = std::min<uint64_t>(given.max_header_bytes, size_t{1} << 30);
  }
  if (given.max_connections > 0) options.http.connections = given.max_connections;
  if (given.max_connections_per_address > 0) {
    options.http.connections_per_address = given.max_connections_per_address;
  }
  if (given.max_pending_bytes > 0) options.http.pending_bytes = given.max_pending_bytes;
  if (given.allowed_hosts != nullptr) options.http.hosts = read_host_names(given.allowed_hosts);
  options.limits.serves_page = given.without_page == 0;
  options.limits.controls_models = given.model_control != 0;
  if ((given.tls_certificate_file == nullptr) != (given.tls_key_file == nullptr)) {
    refuse_argument("TLS needs both a certificate and its key");
  }
  if (given.tls_certificate_file != nullptr) {
    options.http.tls = open_tls(given.tls_certificate_file, given.tls_key_file);
  }
  options.memory_bytes = given.memory_bytes;
  options.log = ServerLog(given.log, given.log_user, given.log_level);
  if (given.otlp_address != nullptr) options.otlp_address = given.otlp_address;
  set_seconds(options.http.header_seconds, given.header_seconds);
  set_seconds(options.http.body_seconds, given.body_seconds);
  set_seconds(options.http.idle_seconds, given.idle_seconds);
  set_seconds(options.http.write_seconds, given.write_seconds);
  set_seconds(options.limits.request_seconds, given.request_seconds);
  if (given.echo_bytes > 0) options.limits.echo_bytes = given.echo_bytes;
  if (given.response_bytes > 0) options.limits.response_bytes = given.response_bytes;
  if (given.no_echo_repair != 0) options.limits.echo_bytes = 0;
  return options;
}

}  // namespace

tenon_status tenon_server_create(const tenon_server_options* options, tenon_server** server) {
  return server_fence([&] {
    if (server == nullptr) refuse_argument("server is NULL");
    *server = std::make_unique<tenon_server>(
                  options == nullptr ? ServerOptions()
                                     : options_of(struct_in(options, "tenon_server_options")))
                  .release();
  });
}

void tenon_server_destroy(tenon_server* server) { delete server; }

tenon_status tenon_server_add_model(tenon_server* server, const char* name, size_t name_length,
                                    const tenon_model* model, const tenon_options* engine_options,
                                    uint64_t context) {
  return server_fence([&] {
    not_running(server).server.add(std::make_unique<ServedModel>(checked_name(name, name_length),
                                                                 model, engine_options, context));
  });
}

tenon_status tenon_server_add_engine(tenon_server* server, const char* name, size_t name_length,
                                     const tenon_model* model, tenon_engine* engine,
                                     uint64_t context) {
  return server_fence([&] {
    if (engine == nullptr) refuse_argument("engine is NULL");
    not_running(server).server.add(
        std::make_unique<ServedModel>(checked_name(name, name_length), model, engine, context));
  });
}

tenon_status tenon_server_add_file(tenon_server* server, const char* name, size_t name_length,
                                   const tenon_server_model_file* file) {
  return server_fence([&] {
    const auto known = struct_in(file, "tenon_server_model_file");
    if (known.path == nullptr) refuse_argument("the path of the file is NULL");
    ModelFile model{.path = known.path,
                    .model_options = read_option_lines(known.model_options),
                    .engine_options = read_option_lines(known.engine_options),
                    .context = known.context};
    measure(model, known.cache_bytes);
    not_running(server).server.add(checked_name(name, name_length), std::move(model));
  });
}

tenon_status tenon_server_add_adapter(tenon_server* server, const char* name, size_t name_length,
                                      const char* model, const char* path, double scale) {
  return server_fence([&] {
    if (checked_server(server).has_stopped) {
      throw tenon::Error(tenon::Code::State, "the server was stopped");
    }
    if (path == nullptr) refuse_argument("the path of the adapter is NULL");
    if (!std::isfinite(static_cast<float>(scale))) refuse_argument("the scale is no number");
    ServedAdapter adapter{.name = checked_name(name, name_length), .path = path, .scale = scale};
    const std::string of_model = model == nullptr ? "" : model;
    server->server.add_adapter(model == nullptr ? nullptr : &of_model, std::move(adapter));
  });
}

tenon_status tenon_server_remove_adapter(tenon_server* server, const char* name,
                                         size_t name_length) {
  return server_fence(
      [&] { checked_server(server).server.remove_adapter(checked_name(name, name_length)); });
}

tenon_status tenon_server_listen_tcp(tenon_server* server, const char* host, uint16_t port,
                                     uint16_t* bound) {
  return server_fence([&] {
    if (host == nullptr) refuse_argument("host is NULL");
    const uint16_t found = not_running(server).server.listen_tcp(host, port);
    if (bound != nullptr) *bound = found;
  });
}

tenon_status tenon_server_listen_unix(tenon_server* server, const char* path) {
  return server_fence([&] {
    if (path == nullptr) refuse_argument("path is NULL");
    not_running(server).server.listen_unix(path);
  });
}

tenon_status tenon_server_start(tenon_server* server, uint32_t num_threads) {
  return server_fence([&] {
    if (checked_server(server).has_stopped) {
      throw tenon::Error(tenon::Code::State, "the server was stopped");
    }
    server->has_run = true;
    server->server.start(num_threads);
  });
}

tenon_status tenon_server_run(tenon_server* server) {
  return server_fence([&] {
    checked_server(server).has_run = true;
    server->server.run();
  });
}

tenon_status tenon_server_stop(tenon_server* server, double seconds) {
  return server_fence([&] {
    checked_server(server).has_run = true;
    server->has_stopped = true;
    server->server.stop(seconds);
  });
}

tenon_status tenon_server_submit(tenon_server* server, const tenon_server_request* request,
                                 tenon_server_call** call) {
  return server_fence([&] {
    if (call == nullptr) refuse_argument("call is NULL");
    const auto known = struct_in(request, "tenon_server_request");
    if (known.method == nullptr || known.target == nullptr) {
      refuse_argument("method or target is NULL");
    }
    HttpRequest asked;
    asked.method = known.method;
    set_target(asked, known.target);
    asked.shape = shape_of(asked);
    if (known.body != nullptr) {
      asked.body.assign(known.body, static_cast<size_t>(known.body_length));
    }
    if (known.api_key != nullptr) asked.api_key = known.api_key;
    asked.record->method = asked.method;
    asked.record->path = asked.path;
    std::function<void()> notify;
    if (known.notify != nullptr) {
      notify = [told = known.notify, user = known.user] { told(user); };
    }
    auto made = std::make_unique<tenon_server_call>();
    made->exchange = checked_server(server).server.submit(std::move(asked), std::move(notify));
    *call = made.release();
  });
}

void tenon_server_call_destroy(tenon_server_call* call) {
  if (call != nullptr) call->exchange->leave();
  delete call;
}

tenon_status tenon_server_call_wait(tenon_server_call* call, double timeout_seconds,
                                    tenon_server_part* part) {
  return server_fence([&] {
    if (call == nullptr) refuse_argument("call is NULL");
    (void)tenon::capi::host_struct_size(part, "tenon_server_part",
                                        tenon::capi::kRefuse<tenon::Error>);
    call->part = call->exchange->take(timeout_seconds);
    tenon_server_part told{};
    told.http_status = call->part.status;
    told.is_last = call->part.is_last ? 1 : 0;
    told.content_type = call->part.content_type.c_str();
    told.headers = call->part.headers.c_str();
    told.bytes = call->part.bytes.data();
    told.length = call->part.bytes.size();
    tenon::capi::host_struct_out(told, part, "tenon_server_part",
                                 tenon::capi::kRefuse<tenon::Error>);
  });
}

const char* tenon_server_last_error(void) { return server_error.text(); }

const char* tenon_server_interface_description(void) { return tenon::kInterfaceJson; }
