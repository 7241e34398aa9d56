// W3C Trace Context: where a request stands in a trace that other programs began.
#pragma once

#include <string>
#include <string_view>

namespace tenon_http {

struct TraceContext {
  std::string trace_id;   ///< 32 hexadecimal digits
  std::string parent_id;  ///< 16, of the caller's span; "" where the trace begins here
  std::string span_id;    ///< 16, of ours
  bool is_sampled = true;
};

/// Goes on with the trace of a header "traceparent"; begins one where it is absent or malformed
/// (recommendation of 2021, 3.2).
TraceContext continue_trace(std::string_view traceparent);

/// For a header "traceresponse" (Level 2): which span answered.
std::string traceresponse_of(const TraceContext& trace);

}  // namespace tenon_http
