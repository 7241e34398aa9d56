// tenon serve: serves models over HTTP until a signal.
#include <tenon/server.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "hub_access.h"
#include "input_files.h"
#include "interruption.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct ServeFlags {
  std::vector<std::string> given;   ///< as typed
  std::vector<std::string> models;  ///< paths
  bool offline = false;
  std::vector<std::string> names;
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  std::string unix_path;
  std::string api_key_file;
  std::vector<std::string> api_keys;
  std::string cors = "loopback";
  std::vector<std::string> allowed_hosts;
  bool no_page = false;
  std::string log_level = "warning";
  std::string otlp_address;
  std::string certificate;
  std::string key;
  uint64_t memory_bytes = 0;
  bool on_demand = false;
  bool model_control = false;
  uint64_t context = 0;
  double request_seconds = 0;
  double stop_seconds = 10;
  bool no_echo_repair = false;
  std::vector<std::string> adapters;  ///< NAME=PATH[:SCALE]
  OptionFlags model_options;
  OptionFlags engine_options;
};

/// Throws Failure with the server's last error.
void check_server(tenon_status status) {
  if (status != TENON_OK) throw Failure(tenon_server_last_error());
}

struct DestroyServer {
  void operator()(tenon_server* server) const noexcept { tenon_server_destroy(server); }
};
using ServerHandle = std::unique_ptr<tenon_server, DestroyServer>;

constexpr auto kLogLevels = std::to_array<const char*>({"error", "warning", "info", "debug"});

/// Writes a line to standard error in one call, since other threads write as well.
void write_log_line(void*, uint32_t, const char* text, uint64_t length) {
  const std::string line = std::string(text, length) + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

ServerHandle make_server(const ServeFlags& flags) {
  tenon_server_options options{};
  options.struct_size = sizeof options;
  std::string keys;
  if (!flags.api_key_file.empty()) keys = read_file(flags.api_key_file) + "\n";
  for (const std::string& key : flags.api_keys) {
    if (key.empty() || key.find_first_of(" \t\r\n#") != key.npos) {
      throw Failure("--api-key: a key has no spaces and no #; --api-key-file takes names as well");
    }
    keys += key + "\n";
  }
  if (!keys.empty()) {
    options.api_keys = keys.c_str();
    options.api_keys_length = keys.size();
  }
  options.without_page = flags.no_page ? 1 : 0;
  options.cors_origin = flags.cors.c_str();
  std::string hosts;
  for (const std::string& host : flags.allowed_hosts) hosts += host + ",";
  if (!hosts.empty()) options.allowed_hosts = hosts.c_str();
  options.request_seconds = flags.request_seconds;
  if (!flags.certificate.empty()) options.tls_certificate_file = flags.certificate.c_str();
  if (!flags.key.empty()) options.tls_key_file = flags.key.c_str();
  options.memory_bytes = flags.memory_bytes;
  options.model_control = flags.model_control ? 1 : 0;
  if (!flags.otlp_address.empty()) options.otlp_address = flags.otlp_address.c_str();
  const auto level = std::find(kLogLevels.begin(), kLogLevels.end(), flags.log_level);
  if (level != kLogLevels.end()) {
    options.log = write_log_line;
    options.log_level = static_cast<uint32_t>(level - kLogLevels.begin());
  }
  options.no_echo_repair = flags.no_echo_repair ? 1 : 0;
  tenon_server* raw = nullptr;
  check_server(tenon_server_create(&options, &raw));
  return ServerHandle(raw);
}

std::string name_of(const ServeFlags& flags, size_t model) {
  if (model < flags.names.size()) return flags.names[model];
  if (is_reference(flags.given[model]))
    return flags.given[model].substr(flags.given[model].find(':') + 1);
  std::filesystem::path file = flags.models[model];
  if (!file.has_filename()) file = file.parent_path();  // "folder/"
  file = file.filename();
  return file.extension() == ".gguf" ? file.stem().string() : file.string();
}

/// Listens, and prints the address on standard output, for which a parent process may wait.
void listen(tenon_server* server, const ServeFlags& flags) {
  if (!flags.unix_path.empty()) {
    check_server(tenon_server_listen_unix(server, flags.unix_path.c_str()));
    print("listening on " + flags.unix_path + "\n");
  } else {
    uint16_t port = 0;
    check_server(tenon_server_listen_tcp(server, flags.host.c_str(), flags.port, &port));
    const bool is_v6 = flags.host.find(':') != std::string::npos;
    print(
        std::string(flags.certificate.empty() ? "listening on http://" : "listening on https://") +
        (is_v6 ? "[" + flags.host + "]" : flags.host) + ":" + std::to_string(port) + "\n");
  }
}

/// Context of the models if --context is given.
std::optional<int64_t> context_of(const ServeFlags& flags) {
  if (flags.context == 0) return std::nullopt;
  return static_cast<int64_t>(flags.context);
}

struct AdapterFlag {
  std::string name;
  std::string path;
  double scale = 1;
};

/// Parses NAME=PATH[:SCALE]. A colon with no number after it is part of the path.
AdapterFlag read_adapter_flag(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    throw Failure("--adapter: \"" + text + "\" is not of the form NAME=PATH[:SCALE]");
  }
  AdapterFlag flag{text.substr(0, equals), text.substr(equals + 1)};
  const size_t colon = flag.path.rfind(':');
  if (colon == flag.path.npos) return flag;
  const char* begin = flag.path.c_str() + colon + 1;
  char* end = nullptr;
  const double scale = std::strtod(begin, &end);
  if (end == begin || *end != '\0') return flag;
  flag.scale = scale;
  flag.path.resize(colon);
  return flag;
}

/// Options of the models, with slots for the adapters.
tenon::ExtraOptions model_options_of(const ServeFlags& flags) {
  tenon::ExtraOptions options = flags.model_options.values();
  const bool has_slots = std::any_of(options.begin(), options.end(), [](const auto& option) {
    return option.first == "adapter_slots";
  });
  if (!flags.adapters.empty() && !has_slots) {
    options.emplace_back("adapter_slots",
                         std::to_string(std::max<size_t>(flags.adapters.size(), 4)));
  }
  return options;
}

void add_adapters(tenon_server* server, const ServeFlags& flags) {
  if (!flags.adapters.empty() && flags.models.size() != 1) {
    throw Failure("--adapter: there must be one model, whose adapters they are");
  }
  for (const std::string& text : flags.adapters) {
    const AdapterFlag adapter = read_adapter_flag(text);
    check_server(tenon_server_add_adapter(server, adapter.name.data(), adapter.name.size(), nullptr,
                                          adapter.path.c_str(), adapter.scale));
    print("serving " + printable(adapter.name, 200) + ", an adapter\n");
  }
}

/// Loads all models now. log: receives the library's messages.
void add_models(tenon_server* server, const ServeFlags& flags, std::deque<tenon::Model>& models,
                const tenon::Log& log) {
  tenon::Options engine;
  engine.parse(flags.engine_options.values());
  for (size_t i = 0; i < flags.models.size(); ++i) {
    ProgressBar loading("loading");
    const tenon::Model& model = models.emplace_back(
        flags.models[i], tenon::ModelOptions{.default_context = context_of(flags),
                                             .extra = model_options_of(flags),
                                             .progress =
                                                 [&loading](double fraction) {
                                                   loading.update(fraction);
                                                   Interruption::check();
                                                   return true;
                                                 },
                                             .log = &log});
    loading.clear();
    const std::string name = name_of(flags, i);
    check_server(tenon_server_add_model(server, name.data(), name.size(), model.get(), engine.get(),
                                        flags.context));
    print("serving " + printable(name, 200) + "\n");
  }
}

std::string lines_of(const tenon::ExtraOptions& options) {
  std::string lines;
  for (const auto& [key, value] : options) lines.append(key).append("=").append(value).append("\n");
  return lines;
}

/// Lets the server load models on request.
void add_files(tenon_server* server, const ServeFlags& flags) {
  const std::string model_options = lines_of(model_options_of(flags));
  const std::string engine_options = lines_of(flags.engine_options.values());
  for (size_t i = 0; i < flags.models.size(); ++i) {
    tenon_server_model_file file{};
    file.struct_size = sizeof file;
    file.path = flags.models[i].c_str();
    file.model_options = model_options.c_str();
    file.engine_options = engine_options.c_str();
    file.context = flags.context;
    const std::string name = name_of(flags, i);
    check_server(tenon_server_add_file(server, name.data(), name.size(), &file));
    print("serving " + printable(name, 200) + " on demand\n");
  }
}

void wait_for_signal() {
  for (;;) {
    Interruption::check();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void serve(const ServeFlags& flags) {
  if (flags.names.size() > flags.models.size()) {
    throw Failure("there are more --name than models");
  }
  const Interruption interruption;
  const tenon::Log log = warnings();
  std::deque<tenon::Model> models;  // before the server, which uses them
  const ServerHandle server = make_server(flags);
  if (flags.on_demand || flags.memory_bytes > 0) {
    add_files(server.get(), flags);
  } else {
    add_models(server.get(), flags, models, log);
  }
  add_adapters(server.get(), flags);
  listen(server.get(), flags);
  check_server(tenon_server_start(server.get(), 0));
  flush();
  try {
    wait_for_signal();
  } catch (const Interrupted&) {
    check_server(tenon_server_stop(server.get(), flags.stop_seconds));
    throw;
  }
}

}  // namespace

void add_serve(CLI::App& app) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand(
      "serve", "Serve models over HTTP, to clients of OpenAI's interfaces, until a signal ends it");
  command->add_option("-m,--model,MODEL", flags->given, "GGUF files")->required();
  command->add_option("--name,--alias,-a", flags->names,
                      "Name under which clients ask for the model (default: that of its file "
                      "without .gguf); one for each model, in their order");
  command
      ->add_option(
          "--adapter", flags->adapters,
          "Adapter (LoRA) under a name that clients give as the model, or by its number in "
          "\"lora\"; --lora adds one to all answers instead")
      ->type_name("NAME=PATH[:SCALE]")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--host", flags->host, "Name or address to listen on")
      ->type_name("HOST")
      ->capture_default_str();
  command->add_option("--port", flags->port, "Port to listen on; 0: any that is free")
      ->capture_default_str();
  command->add_option("--unix", flags->unix_path, "Listen on this Unix socket instead");
  command
      ->add_option("--api-key", flags->api_keys,
                   "Ask clients for this key; other users of the machine see it in the list of "
                   "processes, and --api-key-file hides it")
      ->type_name("KEY")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--api-key-file", flags->api_key_file,
                      "Ask clients for one of the keys in this file, a line for each: KEY [NAME] "
                      "[weight=W] [requests=N]");
  command
      ->add_option(
          "--cors", flags->cors,
          "Origin of web pages that may ask; \"loopback\": those of this machine, \"*\": all, "
          "empty: none")
      ->capture_default_str()
      ->type_name("ORIGIN");
  command
      ->add_option("--allow-host", flags->allowed_hosts,
                   "Name by which a server on a loopback address may be asked besides localhost, "
                   "as behind a proxy (Host); * for all")
      ->type_name("NAME");
  command
      ->add_option("--log", flags->log_level,
                   "Most detailed kind of lines, in JSON, on standard error; info has one for each "
                   "request")
      ->check(CLI::IsMember({"off", "error", "warning", "info", "debug"}))
      ->capture_default_str();
  command
      ->add_option(
          "--otlp", flags->otlp_address,
          "Collector of OpenTelemetry that gets a span for each request (http://HOST:PORT)")
      ->type_name("ADDRESS");
  command->add_option("--tls-certificate", flags->certificate,
                      "Serve HTTPS with this certificate (PEM, with its chain)");
  command->add_option("--tls-key", flags->key, "Its key (PEM)");
  add_offline(*command, flags->offline);
  command->add_flag("--on-demand", flags->on_demand, "Load models when requests ask for them");
  command
      ->add_option(
          "--memory-bytes", flags->memory_bytes,
          "The same, and never more than this at a time: what was not asked for the longest "
          "goes (8GiB)")
      ->transform(CLI::AsSizeValue(false));
  command->add_flag("--model-control", flags->model_control,
                    "Clients may load and unload models: POST /v1/models/NAME/load, /unload");
  command->add_flag("--no-page", flags->no_page, "Without the chat page at /");
  command->add_option("-c,--context,--ctx-size,--num-ctx", flags->context,
                      "Most tokens of a prompt with its answer; 0: as the model says");
  command->add_option("--request-seconds", flags->request_seconds,
                      "Longest time for an answer; 0: any");
  command
      ->add_option("--stop-seconds", flags->stop_seconds,
                   "How long answers under way may go on after a signal")
      ->capture_default_str();
  command->add_flag("--no-echo-repair", flags->no_echo_repair,
                    "Take conversations that come back as their template renders them, not in the "
                    "tokens that were computed");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  flags->engine_options.add(*command, TENON_SCOPE_ENGINE, "Engine");
  command->callback([flags] {
    for (const std::string& model : flags->given) {
      flags->models.push_back(model_path(model, flags->offline));
    }
    serve(*flags);
  });
}

}  // namespace tenon_program
