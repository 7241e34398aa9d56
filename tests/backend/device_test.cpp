// A backend that throws across the C border, against its rules, costs its user an Error.
#include "backend/device.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "base/error.h"

extern "C" const tenon_backend_api* tenon_reference_backend_entry(uint32_t major, uint32_t minor);

namespace tenon {
namespace {

Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::Ok;
}

TEST(Device, FunctionsThatThrowArePluginErrors) {
  tenon_backend_api api = *tenon_reference_backend_entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
  api.supports = [](tenon_device*, const tenon_program*, uint32_t) -> int32_t {
    throw std::runtime_error("supports");
  };
  api.compile = [](tenon_device*, const tenon_program*, tenon_executable**) -> tenon_status {
    throw 1;
  };
  auto services =
      std::make_unique<HostServices>(System::real(), Log{}, std::make_unique<ThreadTeam>(1));
  const auto device = Device::create({&api, nullptr}, std::move(services), {});
  tenon_program program{};
  program.num_ops = 1;
  EXPECT_EQ(code_of([&] { static_cast<void>(device->first_unsupported(program)); }), Code::Plugin);
  EXPECT_EQ(code_of([&] { Executable executable(device, program); }), Code::Plugin);
}

}  // namespace
}  // namespace tenon
