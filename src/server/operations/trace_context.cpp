#include "server/operations/trace_context.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "server/json/random_id.h"

namespace tenon_http {
namespace {

constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanDigits = 16;
/// "00-" trace "-" span "-" flags
constexpr size_t kHeaderLength = 3 + kTraceDigits + 1 + kSpanDigits + 3;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != text.npos;
}

std::string random_hex16() {
  std::array<char, kSpanDigits + 1> text{};
  const uint64_t number = random_number() | 1U;  // ids are not zero
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

}  // namespace

TraceContext continue_trace(std::string_view traceparent) {
  TraceContext trace{.trace_id = {}, .parent_id = {}, .span_id = random_hex16()};
  const std::string_view version = traceparent.substr(0, 2);
  const bool has_length =
      traceparent.size() == kHeaderLength ||
      (traceparent.size() > kHeaderLength && version != "00" && traceparent[kHeaderLength] == '-');
  if (has_length && is_hex(version) && version != "ff" && traceparent[2] == '-') {
    const std::string_view trace_id = traceparent.substr(3, kTraceDigits);
    const std::string_view parent_id = traceparent.substr(4 + kTraceDigits, kSpanDigits);
    const std::string_view flags = traceparent.substr(kHeaderLength - 2, 2);
    const bool has_dashes =
        traceparent[3 + kTraceDigits] == '-' && traceparent[4 + kTraceDigits + kSpanDigits] == '-';
    if (has_dashes && is_id(trace_id) && is_id(parent_id) && is_hex(flags)) {
      trace.trace_id = trace_id;
      trace.parent_id = parent_id;
      // Sampled flag: the lowest bit of the last digit.
      trace.is_sampled = std::string_view("13579bdf").find(flags[1]) != std::string_view::npos;
      return trace;
    }
  }
  trace.trace_id = random_hex16() + random_hex16();
  return trace;
}

std::string traceresponse_of(const TraceContext& trace) {
  return "00-" + trace.trace_id + "-" + trace.span_id + (trace.is_sampled ? "-01" : "-00");
}

}  // namespace tenon_http
