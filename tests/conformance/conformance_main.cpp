// test_conformance [--backend NAME | --plugin PATH] [--isa NAME] [--option KEY=VALUE]...: runs the
// suite on a built-in backend (default cpu) or a plugin. Exits with 77 if this machine cannot run
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "backend/plugin.h"
#include "backend/registry.h"
#include "base/error.h"
#include "tests/conformance/target.h"

namespace tenon::conformance {
namespace {

constexpr int kUsage = 2;
constexpr int kSkipped = 77;

Backend load(const std::string& path) {
  const Plugin plugin = load_plugin(path);
  if (plugin.reason != PluginReason::None) {
    fail(Code::Plugin, "{}: {}", path, plugin.text);
  }
  return plugin.backend;
}

/// Parses the command line; throws Error for invalid arguments.
Target parse(int argc, char** argv) {
  std::string name = "cpu";
  std::string plugin;
  Target chosen;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    const std::string value = argv[i + 1];
    if (key == "--backend") {
      name = value;
    } else if (key == "--plugin") {
      plugin = value;
    } else if (key == "--isa") {
      chosen.options.emplace_back("isa", value);
    } else if (key == "--option") {
      const size_t end = std::min(value.find('='), value.size());
      chosen.options.emplace_back(value.substr(0, end),
                                  value.substr(std::min(end + 1, value.size())));
    } else {
      fail(Code::Argument, "unknown argument {}", key);
    }
  }
  chosen.backend = plugin.empty() ? BackendRegistry().find(name) : load(plugin);
  return chosen;
}

class ReleasesDevices : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Failed()) release_shared_devices();
  }
};

int run(int argc, char** argv) {
  try {
    set_target(parse(argc, argv));
  } catch (const Error& error) {
    std::fprintf(stderr, "test_conformance: %s\n", error.what());
    return kUsage;
  }
  try {
    std::printf("on %s\n", make_device(target())->description().c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "test_conformance: %s\n", error.what());
    return kSkipped;
  }
  testing::UnitTest::GetInstance()->listeners().Append(new ReleasesDevices);
  const int status = RUN_ALL_TESTS();
  release_shared_devices();
  return status;
}

}  // namespace
}  // namespace tenon::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return tenon::conformance::run(argc, argv);
}
