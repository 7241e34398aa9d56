// W3C Trace Context: position of a request in a trace that another program began.
#pragma once

#include <string>
#include <string_view>

namespace tenon_http {

struct TraceContext {
  std::string trace_id;   ///< 32 hexadecimal digits
  std::string parent_id;  ///< 16 digits: the caller's span; "" if the trace begins at this server
  std::string span_id;    ///< 16 digits: the server's span
  bool is_sampled = true;
};

/// Continues the trace of a header "traceparent". Begins a new trace if the header is absent or
/// malformed (recommendation of 2021, 3.2).
TraceContext continue_trace(std::string_view traceparent);

/// Header value "traceresponse" (Level 2), which names the answering span.
std::string traceresponse_of(const TraceContext& trace);

}  // namespace tenon_http
