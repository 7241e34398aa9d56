#include "server/work/fence.h"

#include <new>
#include <system_error>
#include <tenon/error.hpp>

namespace tenon_http {

Failure failure_of_current_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Failure::Memory;
  } catch (const tenon::Error& error) {
    return error.code() == tenon::Code::NoMemory ? Failure::Memory : Failure::Defect;
  } catch (const std::system_error& error) {
    return error.code() == std::errc::not_enough_memory ? Failure::Memory : Failure::Defect;
  } catch (...) {
    return Failure::Defect;
  }
}

}  // namespace tenon_http
