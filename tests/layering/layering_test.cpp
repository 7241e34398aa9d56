// The rules of the house hold in this tree, and each rule is shown to catch what it is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "layering/house_rules.h"

namespace tenon::layering {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFloors = "# ground up\nbase\nquant abi\nfile text\nbackend\nengine\n";
constexpr const char* kOpening = "// What lives here.\n";

struct Text {
  std::string path;
  std::string text;
};

std::vector<Finding> check(const std::vector<Text>& texts) {
  std::vector<SourceFile> files;
  for (const Text& t : texts) files.push_back(scan_source(t.path, t.text));
  return check_house(files, Floors::parse(kFloors));
}

auto finding(const std::string& path, size_t line, const std::string& text) {
  return AllOf(Field(&Finding::path, path), Field(&Finding::line, line),
               Field(&Finding::text, HasSubstr(text)));
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(Layering, ThisTreeKeepsTheRules) {
  const std::filesystem::path root = TENON_SOURCE_DIR;
  const Floors floors = Floors::parse(read(root / "cmake/floors.txt"));
  const std::vector<SourceFile> files = read_tree(root);
  for (const Finding& f : check_house(files, floors)) {
    ADD_FAILURE() << f.path << ":" << f.line << ": " << f.text;
  }
  for (const std::string& room : floors.rooms()) {
    const std::string head = "src/" + room + "/";
    EXPECT_TRUE(std::ranges::any_of(files, [&](auto& f) { return f.path.starts_with(head); }))
        << "no source was read in " << head;
  }
}

TEST(Layering, ServerIncludesPublicHeadersAndItsOwnFolder) {
  const auto found = [](const std::string& include) {
    const std::string text = "#include " + include + "\n";
    const Floors floors = Floors::parse("base\nengine\nserver\n");
    return check_house({scan_source("src/server/router.cpp", text),
                        scan_source("src/server/json/fields.h", kOpening),
                        scan_source("src/base/error.h", kOpening)},
                       floors);
  };
  EXPECT_THAT(found("<tenon/chat.hpp>"), IsEmpty());
  EXPECT_THAT(found("\"server/json/fields.h\""), IsEmpty());
  EXPECT_THAT(found("\"base/error.h\""),
              ElementsAre(finding("src/server/router.cpp", 1, "public headers")));
  EXPECT_THAT(found("<tenon/backend.h>"),
              ElementsAre(finding("src/server/router.cpp", 1, "public headers")));
}

TEST(Layering, HubIncludesPublicHeadersBaseAndJson) {
  const auto found = [](const std::string& include) {
    const std::string text = "#include " + include + "\n";
    const Floors floors = Floors::parse("base\njson\nengine\nhub\n");
    return check_house(
        {scan_source("src/hub/cache.cpp", text), scan_source("src/hub/url.h", kOpening),
         scan_source("src/base/error.h", kOpening), scan_source("src/engine/session.h", kOpening)},
        floors);
  };
  EXPECT_THAT(found("<tenon/hub.h>"), IsEmpty());
  EXPECT_THAT(found("\"hub/url.h\""), IsEmpty());
  EXPECT_THAT(found("\"base/error.h\""), IsEmpty());
  EXPECT_THAT(found("\"engine/session.h\""),
              ElementsAre(finding("src/hub/cache.cpp", 1, "base, json")));
  EXPECT_THAT(found("<tenon/backend.h>"),
              ElementsAre(finding("src/hub/cache.cpp", 1, "base, json")));
}

TEST(Layering, DecodersIncludePublicHeadersAndBase) {
  const auto found = [](const std::string& include) {
    const std::string text = "#include " + include + "\n";
    const Floors floors = Floors::parse("base\njson media\nengine\ndecode\n");
    return check_house(
        {scan_source("src/decode/png.cpp", text), scan_source("src/decode/bits.h", kOpening),
         scan_source("src/base/error.h", kOpening), scan_source("src/media/mel.h", kOpening)},
        floors);
  };
  EXPECT_THAT(found("<tenon/media.h>"), IsEmpty());
  EXPECT_THAT(found("\"decode/bits.h\""), IsEmpty());
  EXPECT_THAT(found("\"base/error.h\""), IsEmpty());
  EXPECT_THAT(found("\"media/mel.h\""),
              ElementsAre(finding("src/decode/png.cpp", 1, "base and their own folder")));
}

TEST(Layering, OneFileMayJump) {
  const auto found = [](const char* path) {
    const Floors floors = Floors::parse("base\ndecode\n");
    return check_house({scan_source(path, "void f() { std::longjmp(place, 1); }\n")}, floors);
  };
  EXPECT_THAT(found("src/decode/jpeg.cpp"), IsEmpty());
  EXPECT_THAT(found("src/decode/png.cpp"),
              ElementsAre(finding("src/decode/png.cpp", 1, "longjmp has no place")));
}

TEST(Layering, AllowsOwnFolderAndLowerFloors) {
  EXPECT_THAT(check({{"src/file/gguf.cpp",
                      "#include \"file/gguf.h\"\n#include \"base/error.h\"\n"
                      "#include \"gguf.h\"\n#include <vector>\n#include <fmt/core.h>\n"},
                     {"src/file/gguf.h", kOpening},
                     {"src/base/error.h", kOpening}}),
              IsEmpty());
}

TEST(Layering, RefusesSidewaysAndUp) {
  EXPECT_THAT(check({{"src/file/a.cpp", "\n#include \"text/b.h\"\n"}}),
              ElementsAre(finding("src/file/a.cpp", 2, "lower floors")));
  EXPECT_THAT(check({{"src/base/a.cpp", "#include <engine/b.h>\n"}}),
              ElementsAre(finding("src/base/a.cpp", 1, "lower floors")));
  EXPECT_THAT(check({{"src/file/a.cpp", "#include \"../base/b.h\"\n"}}),
              ElementsAre(finding("src/file/a.cpp", 1, "'..'")));
  EXPECT_THAT(check({{"src/engine/a.cpp", "#include <tenon/tenon.h>\n"}}),
              ElementsAre(finding("src/engine/a.cpp", 1, "public headers")));
  EXPECT_THAT(check({{"src/engine/a.cpp", "#include \"backends/cpu/b.h\"\n"}}),
              ElementsAre(finding("src/engine/a.cpp", 1, "lower floors")));
  EXPECT_THAT(check({{"src/cellar/a.cpp", ""}}),
              ElementsAre(finding("src/cellar/a.cpp", 0, "no room")));
}

TEST(Layering, HeadersOfQuantStandAlone) {
  const std::string text = std::string(kOpening) + "#include \"base/b.h\"\n";
  EXPECT_THAT(check({{"src/quant/a.h", text}}), ElementsAre(finding("src/quant/a.h", 2, "quant")));
  EXPECT_THAT(check({{"src/quant/a.cpp", text}}), IsEmpty());
}

TEST(Layering, BackendsSeeThePluginAbiOnly) {
  EXPECT_THAT(check({{"src/backends/cpu/a.cpp",
                      "#include \"tenon/backend.h\"\n#include \"backends/cpu/b.h\"\n"
                      "#include \"quant/q4_0.h\"\n"},
                     {"src/backends/cpu/plugin/a.cpp", "#include \"backends/cpu/b.h\"\n"}}),
              IsEmpty());
  EXPECT_THAT(check({{"src/backends/cpu/a.cpp", "#include \"base/error.h\"\n"}}),
              ElementsAre(finding("src/backends/cpu/a.cpp", 1, "a backend includes")));
  EXPECT_THAT(
      check({{"src/backends/cpu/a.cpp", "#include \"backends/common/b.h\"\n#include \"abi/c.h\"\n"},
             {"src/backends/common/b.h", "// B.\n#include \"abi/c.h\"\n"},
             {"src/file/a.cpp", "#include \"abi/c.h\"\n"}}),
      IsEmpty());
  EXPECT_THAT(check({{"src/base/a.cpp", "#include \"abi/b.h\"\n"}}), testing::SizeIs(1));
  EXPECT_THAT(check({{"src/file/a.cpp", "#include \"backends/common/b.h\"\n"}}),
              testing::SizeIs(1));
  EXPECT_THAT(check({{"src/abi/a.h", "// A.\n#include \"tenon/backend.h\"\n"},
                     {"src/abi/b.h", "// B.\n#include \"base/error.h\"\n"},
                     {"src/abi/c.cpp", ""}}),
              ElementsAre(finding("src/abi/b.h", 2, "tenon/backend.h only"),
                          finding("src/abi/c.cpp", 0, "header-only")));
  EXPECT_THAT(check({{"src/backends/common/a.h", "// A.\n#include \"quant/half.h\"\n"}}),
              ElementsAre(finding("src/backends/common/a.h", 2, "what backends share includes")));
  EXPECT_THAT(check({{"src/backends/common/plain/a.h",
                      "// A.\n#include \"quant/half.h\"\n#include \"backends/common/b.h\"\n"},
                     {"src/backends/common/b.h", "// B.\n"}}),
              IsEmpty());
  EXPECT_THAT(check({{"src/backends/common/a.h", "// A.\n#include \"backends/common/plain/b.h\"\n"},
                     {"src/backends/common/plain/b.h", "// B.\n#include \"base/error.h\"\n"}}),
              ElementsAre(finding("src/backends/common/a.h", 2, "stands on the rest"),
                          finding("src/backends/common/plain/b.h", 2, "a backend includes")));
  EXPECT_THAT(check({{"src/backends/common/a.cpp", ""}}),
              ElementsAre(finding("src/backends/common/a.cpp", 0, "header-only")));
  EXPECT_THAT(check({{"src/backends/vulkan/a.cpp", "#include \"backends/gpu/b.h\"\n"},
                     {"src/backends/gpu/b.h", "// B.\n#include \"backends/common/c.h\"\n"},
                     {"src/backends/common/c.h", "// C.\n"}}),
              IsEmpty());
  EXPECT_THAT(check({{"src/backends/cpu/a.cpp", "#include \"backends/gpu/b.h\"\n"}}),
              ElementsAre(finding("src/backends/cpu/a.cpp", 1, "a backend includes")));
  EXPECT_THAT(check({{"src/backends/gpu/a.cpp", "#include \"backends/vulkan/b.h\"\n"}}),
              ElementsAre(finding("src/backends/gpu/a.cpp", 1, "a backend includes")));
  EXPECT_THAT(check({{"src/backends/cpu/a.cpp", "#include \"backends/reference/b.h\"\n"}}),
              ElementsAre(finding("src/backends/cpu/a.cpp", 1, "a backend includes")));
}

TEST(Layering, FacesUsePublicHeadersOnly) {
  EXPECT_THAT(check({{"examples/tenon/a.cpp",
                      "#include <tenon/tenon.hpp>\n#include \"render.h\"\n#include <cstdio>\n"},
                     {"examples/tenon/render.h", kOpening}}),
              IsEmpty());
  EXPECT_THAT(check({{"examples/tenon/a.cpp", "#include \"base/error.h\"\n"}}),
              ElementsAre(finding("examples/tenon/a.cpp", 1, "public headers")));
  EXPECT_THAT(check({{"include/tenon/a.hpp", std::string(kOpening) + "#include \"base/b.h\"\n"}}),
              ElementsAre(finding("include/tenon/a.hpp", 2, "public headers")));
  EXPECT_THAT(check({{"capi/include/tenon/backend.h",
                      std::string(kOpening) + "#include \"tenon/tenon.h\"\n"}}),
              ElementsAre(finding("capi/include/tenon/backend.h", 2, "stands alone")));
  EXPECT_THAT(check({{"capi/model.cpp", "#include \"engine/a.h\"\n#include \"tenon/tenon.h\"\n"}}),
              IsEmpty());
}

TEST(Layering, ThirdPartyHeadersStandInAngles) {
  EXPECT_THAT(check({{"src/text/a.cpp", "#include \"utf8proc.h\"\n"}}),
              ElementsAre(finding("src/text/a.cpp", 1, "no header of this project")));
}

TEST(Layering, SystemsAreKnownInTheirFoldersOnly) {
  for (const char* header : {"<unistd.h>", "<sys/mman.h>", "<windows.h>", "<pthread.h>"}) {
    const std::string text = std::string("#include ") + header + "\n";
    EXPECT_THAT(check({{"src/file/a.cpp", text}}),
                ElementsAre(finding("src/file/a.cpp", 1, "systems are known")));
    EXPECT_THAT(check({{"examples/tenon/a.cpp", text}}),
                ElementsAre(finding("examples/tenon/a.cpp", 1, "systems are known")));
    EXPECT_THAT(check({{"src/base/windows/a.cpp", text}, {"src/base/posix/b.cpp", text}}),
                IsEmpty());
  }
  EXPECT_THAT(check({{"src/file/a.cpp", "#include <system_error>\n#include <ctime>\n"}}),
              IsEmpty());
  EXPECT_THAT(check({{"examples/tenon/windows/a.cpp", "#include \"host.h\"\n"},
                     {"examples/tenon/host.h", kOpening}}),
              IsEmpty());
  EXPECT_THAT(check({{"examples/tenon/windows/a.cpp", "#include \"host.h\"\n"}}),
              testing::SizeIs(1));
}

TEST(Layering, RefusesCirclesOfIncludes) {
  EXPECT_THAT(check({{"src/base/a.h", std::string(kOpening) + "#include \"base/b.h\"\n"},
                     {"src/base/b.h", std::string(kOpening) + "\n#include \"base/a.h\"\n"}}),
              ElementsAre(finding("src/base/b.h", 3, "circle")));
}

class BannedCode : public testing::TestWithParam<const char*> {};

TEST_P(BannedCode, IsFound) {
  EXPECT_THAT(check({{"src/base/a.cpp", std::string("\n") + GetParam() + "\n"}}),
              ElementsAre(finding("src/base/a.cpp", 2, "no place here")));
}

INSTANTIATE_TEST_SUITE_P(Layering, BannedCode,
                         testing::Values("auto* v = getenv(\"X\");", "std::getenv(name);",
                                         "::abort();", "if (bad) exit (1);", "std::regex pattern;",
                                         "#include <iostream>", "std::cerr << 1;",
                                         "f(::printf(\"x\"));", "std::terminate();"));

TEST(Layering, SparesMembersCommentsAndLiterals) {
  EXPECT_THAT(check({{"src/base/a.cpp",
                      "// exit( the loop\n/* abort(\n exit( */ team.exit(1); job->abort();\n"
                      "Team::signal(2); snprintf(b, 1, \"exit(\"); auto r = R\"(abort())\";\n"
                      "char c = '\"'; int n = 1'000; int exit_code = 0; // abort()\n"}}),
              IsEmpty());
}

constexpr const char* kManual =
    "/* The manual. */\n"
    "typedef void (*tenon_log_callback)(void* user, uint32_t level);\n"
    "typedef void (*tenon_task)(void* arg);\n"
    "typedef void (*tenon_post_callback)(void* user, tenon_task task, void* arg);\n"
    "typedef struct tenon_callbacks { tenon_log_callback log; void* user; } tenon_callbacks;\n"
    "tenon_status f(tenon_post_callback post, void* user);\n";

std::vector<Finding> check_capi(const std::string& text) {
  return check({{"capi/a_api.cpp", text}, {"capi/include/tenon/tenon.h", kManual}});
}

TEST(Layering, CallsOfTheHostAreInCallHost) {
  EXPECT_THAT(
      check_capi("auto f = [&] { return call_host(\"log\", [&] { return log(user, 1); }); };\n"
                 "call_host_quietly([&] {\n  host.log(host.user, level);\n});\n"
                 "if (given.log == nullptr || host->log() != 0) options.log = &write_log;\n"
                 "auto& self = *static_cast<Self*>(user); sink_to(log, user);\n"),
      IsEmpty());
  for (const char* call :
       {"host.log(host.user, level);", "post(user, task, arg);", "(void)now_(user_);",
        "notify(generation->options.user);", "call_host(\"log\", [&] {}); log(user, 1);",
        "given.log (given\n.user, 1);"}) {
    EXPECT_THAT(check_capi(std::string("\n") + call + "\n"),
                ElementsAre(finding("capi/a_api.cpp", 2, "outside call_host")))
        << call;
  }
}

TEST(Layering, FunctionsOfTheHostAreNotHandedOnBare) {
  for (const char* use : {"options.log_to = given.log;", "Clock clock(host->log, 1);"}) {
    EXPECT_THAT(check_capi(std::string("\n") + use + "\n"),
                ElementsAre(finding("capi/a_api.cpp", 2, "hands on log")))
        << use;
  }
}

TEST(Layering, TypesOfCallbacksAreNamed) {
  const std::string manual(kManual);
  EXPECT_THAT(check({{"capi/include/tenon/tenon.h", manual}}), IsEmpty());
  for (const char* use : {"typedef struct a { void* user;\nvoid (*log)(void* user); } a;",
                          "tenon_status g(void* user,\n  int32_t (*progress)(double fraction));",
                          "typedef void* (*get_fn)(void* user,\nvoid (*task)(void* arg));"}) {
    EXPECT_THAT(check({{"capi/include/tenon/tenon.h", manual + use + "\n"}}),
                ElementsAre(finding("capi/include/tenon/tenon.h", 8, "a typedef")))
        << use;
  }
}

TEST(Layering, RefusesConditionsThatAConstantDecides) {
  for (const char* line : {"EXPECT_FALSE(f(x) && false);", "EXPECT_TRUE(f(x) || true) << x;",
                           "ASSERT_TRUE(true || f(x));", "EXPECT_FALSE(false &&f(x));"}) {
    EXPECT_THAT(check({{"tests/base/a_test.cpp", std::string("\n") + line + "\n"}}),
                ElementsAre(finding("tests/base/a_test.cpp", 2, "a constant decides")))
        << line;
  }
  EXPECT_THAT(check({{"tests/base/a_test.cpp",
                      "EXPECT_TRUE(a && falsely); // && false\nf(\"|| true\", a || truth);\n"}}),
              IsEmpty());
}

TEST(Layering, AHeaderOpensWithASentence) {
  EXPECT_THAT(check({{"src/base/a.h", "#pragma once\n// Late.\n"}}),
              ElementsAre(finding("src/base/a.h", 1, "sentence")));
}

}  // namespace
}  // namespace tenon::layering
