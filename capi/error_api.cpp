// tenon_last_error, status names and the version; translation of exceptions.
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/system_error.h"
#include "fence.h"

namespace tenon::capi {
namespace {

// Capacity for the longest message, allocated statically, since NO_MEMORY must be reportable.
constexpr size_t kErrorCapacity = 2048;
thread_local char last_error[kErrorCapacity] = "";
thread_local int32_t last_system_error = 0;

/// Longest prefix of at most `limit` bytes that does not end inside a UTF-8 character.
std::string_view whole_characters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end);
}

tenon_status report(Code code, std::string_view message, int32_t system_error = 0) noexcept {
  const std::string_view kept = whole_characters(message, kErrorCapacity - 1);
  // Use memmove: an exception made from tenon_last_error() overlaps the buffer.
  std::memmove(last_error, kept.data(), kept.size());
  last_error[kept.size()] = '\0';
  last_system_error = system_error;
  return static_cast<tenon_status>(code);
}

}  // namespace

tenon_status status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const SystemError& error) {
    return report(error.code(), error.what(), error.number());
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(Code::NoMemory, "out of memory");
  } catch (const std::length_error& error) {
    return report(Code::NoMemory, error.what());
  } catch (const std::exception& error) {
    return report(Code::Internal, error.what());
  } catch (...) {
    return report(Code::Internal, "an exception of unknown type");
  }
}

}  // namespace tenon::capi

#define TENON_TEXT_OF_NUMBER(x) #x
#define TENON_TEXT_OF(x) TENON_TEXT_OF_NUMBER(x)

const char* tenon_status_name(tenon_status status) {
  return tenon::code_name(static_cast<tenon::Code>(status));
}

const char* tenon_last_error(void) { return tenon::capi::last_error; }

int32_t tenon_last_system_error(void) { return tenon::capi::last_system_error; }

uint32_t tenon_version(void) {
  return TENON_VERSION_MAJOR * 1000000u + TENON_VERSION_MINOR * 1000u + TENON_VERSION_PATCH;
}

const char* tenon_version_text(void) {
  return TENON_TEXT_OF(TENON_VERSION_MAJOR) "." TENON_TEXT_OF(
      TENON_VERSION_MINOR) "." TENON_TEXT_OF(TENON_VERSION_PATCH);
}
