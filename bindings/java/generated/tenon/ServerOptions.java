package tenon;

import java.util.List;

/** Options of a server: {@code new ServerOptions()} and what is to differ from the defaults. Generated
 * by generate.py from the descriptions in bindings; not to be edited. */
public final class ServerOptions extends StructOptions<ServerOptions> {
  private static final List<Field> FIELDS = List.of(
      new Field("without_page", FieldKind.FLAG, 4, 0),
      new Field("api_keys", FieldKind.TEXT, 8, 16),
      new Field("cors_origin", FieldKind.NAME, 24, 0),
      new Field("max_body_bytes", FieldKind.INT64, 32, 0),
      new Field("max_header_bytes", FieldKind.INT64, 40, 0),
      new Field("max_connections", FieldKind.INT64, 48, 0),
      new Field("header_seconds", FieldKind.FLOAT64, 56, 0),
      new Field("body_seconds", FieldKind.FLOAT64, 64, 0),
      new Field("idle_seconds", FieldKind.FLOAT64, 72, 0),
      new Field("write_seconds", FieldKind.FLOAT64, 80, 0),
      new Field("request_seconds", FieldKind.FLOAT64, 88, 0),
      new Field("memory_bytes", FieldKind.INT64, 96, 0),
      new Field("model_control", FieldKind.FLAG, 104, 0),
      new Field("log_level", FieldKind.INT32, 108, 0),
      new Field("log", FieldKind.LOG, 112, 120),
      new Field("otlp_address", FieldKind.NAME, 128, 0),
      new Field("tls_certificate_file", FieldKind.NAME, 136, 0),
      new Field("tls_key_file", FieldKind.NAME, 144, 0),
      new Field("echo_bytes", FieldKind.INT64, 152, 0),
      new Field("response_bytes", FieldKind.INT64, 160, 0),
      new Field("no_echo_repair", FieldKind.FLAG, 168, 0),
      new Field("max_pending_bytes", FieldKind.INT64, 176, 0),
      new Field("max_connections_per_address", FieldKind.INT64, 184, 0),
      new Field("allowed_hosts", FieldKind.NAME, 192, 0));

  public ServerOptions() {
    super(200, FIELDS);
  }

  /** 1: no chat page at "/" */
  public ServerOptions withoutPage(boolean value) {
    return set("without_page", value);
  }

  /** one a line: "KEY [NAME] [weight=W] [requests=N]". The client of that name has weight W in the
   * engines' fair shares (1) and N requests at once (any). Empty lines and those after '#' do not count.
   * NULL: no key is asked for. */
  public ServerOptions apiKeys(String value) {
    return set("api_keys", value);
  }

  /** of pages in browsers that may ask, "https://chat.example.org"; others are answered 403; NULL:
   * "loopback", those of this machine; "*": all; "": none */
  public ServerOptions corsOrigin(String value) {
    return set("cors_origin", value);
  }

  /** of a request; 32 MiB; more is answered with 413 */
  public ServerOptions maxBodyBytes(long value) {
    return set("max_body_bytes", value);
  }

  /** 32 KiB; 431 */
  public ServerOptions maxHeaderBytes(long value) {
    return set("max_header_bytes", value);
  }

  /** 4096; one more takes the place of one that waits for a request, else 503 */
  public ServerOptions maxConnections(long value) {
    return set("max_connections", value);
  }

  /** from the first byte of a request to the end of its headers; 10 */
  public ServerOptions headerSeconds(double value) {
    return set("header_seconds", value);
  }

  /** for its body; 60 */
  public ServerOptions bodySeconds(double value) {
    return set("body_seconds", value);
  }

  /** that a connection may wait for the next request; 75 */
  public ServerOptions idleSeconds(double value) {
    return set("idle_seconds", value);
  }

  /** that a client may take nothing of its answer; 60 */
  public ServerOptions writeSeconds(double value) {
    return set("write_seconds", value);
  }

  /** of a generation, from when it is queued to its end; else 504, in a stream an error event; 0: any */
  public ServerOptions requestSeconds(double value) {
    return set("request_seconds", value);
  }

  /** of the models of tenon_server_add_file that are loaded at a time; 0: any */
  public ServerOptions memoryBytes(long value) {
    return set("memory_bytes", value);
  }

  /** 1: clients may ask for POST /v1/models/NAME/load and /unload */
  public ServerOptions modelControl(boolean value) {
    return set("model_control", value);
  }

  /** the most detailed TENON_LOG_* wanted: INFO has a line for each request */
  public ServerOptions logLevel(long value) {
    return set("log_level", value);
  }

  /** gets lines of JSON from a thread of the server's, until tenon_server_destroy returns. It should not
   * wait: lines for which there is no room are dropped and counted, and a stop leaves a call that takes
   * longer than half a second behind. NULL: none */
  public ServerOptions log(ModelCallbacks.Log value) {
    return set("log", value);
  }

  /** of an OpenTelemetry collector, "http://HOST:PORT": gets a span for each request; NULL: none */
  public ServerOptions otlpAddress(String value) {
    return set("otlp_address", value);
  }

  /** Both, in PEM, the first with its chain: connections over TCP are then HTTPS. IO where they cannot be
   * used, UNSUPPORTED in a library without TLS. */
  public ServerOptions tlsCertificateFile(String value) {
    return set("tls_certificate_file", value);
  }

  public ServerOptions tlsKeyFile(String value) {
    return set("tls_key_file", value);
  }

  /** of answers that are remembered as tokens, so that conversations that come back in other words
   * (docs/server.md) reuse what was computed; 64 MiB */
  public ServerOptions echoBytes(long value) {
    return set("echo_bytes", value);
  }

  /** of responses that "previous_response_id" may name; 64 MiB */
  public ServerOptions responseBytes(long value) {
    return set("response_bytes", value);
  }

  /** 1: no answer is remembered, prompts are what the template makes of them */
  public ServerOptions noEchoRepair(boolean value) {
    return set("no_echo_repair", value);
  }

  /** of all bodies and all answers that clients have not taken, together; 512 MiB; beyond it requests and
   * whole answers are refused with 503, and streams wait */
  public ServerOptions maxPendingBytes(long value) {
    return set("max_pending_bytes", value);
  }

  /** from one address, of IPv6 from one network of 64 bits; half of max_connections, and any number from
   * this machine */
  public ServerOptions maxConnectionsPerAddress(long value) {
    return set("max_connections_per_address", value);
  }

  /** names by which clients may ask ("Host") where the server listens on a loopback address, "a.example,
   * b.example"; "*": all; NULL: "localhost", addresses, names without a dot and the one listened on;
   * others are answered 403 */
  public ServerOptions allowedHosts(String value) {
    return set("allowed_hosts", value);
  }
}
