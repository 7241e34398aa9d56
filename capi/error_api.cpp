// tenon_last_error, status names and the version; translation of exceptions.
#include "base/system_error.h"
#include "fence.h"
#include "last_error.h"

namespace tenon::capi {
namespace {
constinit thread_local LastError<Error> last_error;
}  // namespace

tenon_status status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const SystemError& error) {
    return last_error.report(TENON_ERROR_IO, error.what(), error.number());
  } catch (...) {
    return last_error.report_current_exception();
  }
}

}  // namespace tenon::capi

#define TENON_TEXT_OF_NUMBER(x) #x
#define TENON_TEXT_OF(x) TENON_TEXT_OF_NUMBER(x)

const char* tenon_status_name(tenon_status status) {
  return tenon::code_name(static_cast<tenon::Code>(status));
}

const char* tenon_last_error(void) { return tenon::capi::last_error.text(); }

int32_t tenon_last_system_error(void) { return tenon::capi::last_error.system_error(); }

uint32_t tenon_version(void) {
  return TENON_VERSION_MAJOR * 1000000u + TENON_VERSION_MINOR * 1000u + TENON_VERSION_PATCH;
}

const char* tenon_version_text(void) {
  return TENON_TEXT_OF(TENON_VERSION_MAJOR) "." TENON_TEXT_OF(
      TENON_VERSION_MINOR) "." TENON_TEXT_OF(TENON_VERSION_PATCH);
}
