#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "hub/choose.h"
#include "hub/digest.h"
#include "hub/download.h"
#include "hub/listing.h"
#include "hub/reference.h"
#include "hub/url.h"

namespace tenon::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HubReference, HasRepositoryRevisionAndChoice) {
  const Reference whole = parse_reference("hf:Owner/na_me-1.5@refs/pr/3:Q4_K_M/m.gguf");
  EXPECT_EQ(whole.id, "Owner/na_me-1.5");
  EXPECT_EQ(whole.revision, "refs/pr/3");
  EXPECT_EQ(whole.choice, "Q4_K_M/m.gguf");
  const Reference plain = parse_reference("hf:a/b");
  EXPECT_EQ(plain.revision, "main");
  EXPECT_EQ(plain.choice, "");
  EXPECT_EQ(parse_reference("ollama:qwen3:0.6b").choice, "0.6b");
  EXPECT_EQ(parse_reference("https://A.Example:443/x/m.gguf?d=1#part").url,
            "https://a.example/x/m.gguf?d=1");
}

TEST(HubReference, PathsStayInTheirFolder) {
  for (const char* bad :
       {"", "..", "a/../b", "/a", "a//b", "a/", "./a", "a\\b", "a:b", "a\nb", "a\x7f", "\xff"}) {
    EXPECT_NE(why_bad_path(bad), nullptr) << bad;
  }
  for (const char* good : {"a", "a/b.c", "..a/b..", "\xc3\xa4.gguf", ".hidden"}) {
    EXPECT_EQ(why_bad_path(good), nullptr) << good;
  }
}

TEST(HubUrl, RedirectsResolveAndKeepTls) {
  const Url from = parse_url("https://hub.example/a/b?c");
  EXPECT_EQ(resolve_redirect(from, "/x?y").text(), "https://hub.example/x?y");
  EXPECT_EQ(resolve_redirect(from, "x").text(), "https://hub.example/a/x");
  EXPECT_EQ(resolve_redirect(from, "//cdn.example/x").text(), "https://cdn.example/x");
  EXPECT_EQ(resolve_redirect(from, "https://CDN.example:444/x").origin(),
            "https://cdn.example:444");
  EXPECT_THAT(message_of([&] { (void)resolve_redirect(from, "http://hub.example/x"); }),
              HasSubstr("without TLS"));
  for (const char* bad : {"https://u@hub.example/", "https://", "https://a b/", "gopher://a/",
                          "https://a:b/", "https://a:123456/"}) {
    EXPECT_NE(message_of([&] { (void)resolve_redirect(from, bad); }), "no error") << bad;
  }
}

TEST(HubUrl, AnotherPortIsAnotherOrigin) {
  EXPECT_EQ(parse_url("https://a.example/").origin(),
            parse_url("https://A.example:443/x").origin());
  EXPECT_NE(parse_url("https://a.example/").origin(), parse_url("https://a.example:444/").origin());
  EXPECT_NE(parse_url("https://a.example/").origin(), parse_url("http://a.example:443/").origin());
  EXPECT_NE(parse_url("https://a.example/").origin(), parse_url("https://b.a.example/").origin());
}

TEST(HubUrl, ThisMachineIsKnownByFourNumbers) {
  for (const char* ours : {"127.0.0.1", "127.255.3.1", "[::1]", "localhost", "LOCALHOST"}) {
    EXPECT_TRUE(parse_url(std::string("http://") + ours + ":8080/x").is_loopback()) << ours;
  }
  for (const char* theirs : {"127.evil.example", "127.0.0.1.example", "127.0.0.256", "127.0.0",
                             "127.0.0.1.", "127.0.0.1.1", "127..0.1", "127.0.0.0001", "128.0.0.1",
                             "localhost.example", "[::2]", "a127.0.0.1"}) {
    EXPECT_FALSE(parse_url(std::string("http://") + theirs + "/x").is_loopback()) << theirs;
  }
}

TEST(HubUrl, EncodesEachPart) {
  EXPECT_EQ(percent_encoded("a b/\xc3\xa4+#?", true), "a%20b/%C3%A4%2B%23%3F");
  EXPECT_EQ(percent_encoded("refs/pr/3", false), "refs%2Fpr%2F3");
  EXPECT_EQ(parse_url("https://a/b%2Fc%41.gguf?x=/y").file_name(), "b/cA.gguf");
  EXPECT_EQ(parse_url("https://a/%4").file_name(), "%4");
}

TEST(HubListing, FindsTheNextPage) {
  EXPECT_EQ(next_page("<https://a/x,y>; rel=\"next\""), "https://a/x,y");
  EXPECT_EQ(next_page("<a>; rel=\"last\", <b>; rel=next"), "b");
  for (const char* none : {"", "<", "<a", "<a>", "<a>; rel=\"prev\"", ">a<; rel=\"next\"", ",,,"}) {
    EXPECT_EQ(next_page(none), "") << none;
  }
}

TEST(HubDownload, ReadsContentRanges) {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t total = 0;
  EXPECT_TRUE(read_content_range("bytes 5-9/100", begin, end, total));
  EXPECT_EQ(begin, 5u);
  EXPECT_EQ(end, 10u);
  EXPECT_EQ(total, 100u);
  for (const char* bad :
       {"", "bytes", "bytes */100", "bytes 5-9/*", "bytes 9-5/100", "bytes 5-100/100",
        "bytes 5-9/99999999999999999999", "bytes -5-9/100", "items 5-9/100", "bytes 5-9/100 "}) {
    EXPECT_FALSE(read_content_range(bad, begin, end, total)) << bad;
  }
}

TEST(HubDigest, IsThatOfTheSystemsTools) {
  // sha256sum and `git hash-object` say so of "hello\n".
  const Crypto crypto(*System::real());
  const std::string text = "hello\n";
  EXPECT_EQ(sha256_of(crypto, text),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  Digest git(crypto, Digest::Kind::GitSha1, text.size());
  git.add(std::as_bytes(std::span(text)));
  EXPECT_EQ(git.hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(HubChoice, KnowsQuantisationsByTheirNames) {
  EXPECT_EQ(quantisation_of("name-1.5B-Q4_K_M.gguf"), "Q4_K_M");
  EXPECT_EQ(quantisation_of("IQ2_XS/name-IQ2_XS-00001-of-00002.gguf"), "IQ2_XS");
  EXPECT_EQ(quantisation_of("Q8_0/weights.gguf"), "Q8_0");
  EXPECT_EQ(quantisation_of("name.bf16.gguf"), "bf16");
  EXPECT_EQ(quantisation_of("gpt-MXFP4_MOE.gguf"), "MXFP4_MOE");
  EXPECT_EQ(quantisation_of("Qwen-quiet.gguf"), "");
}

TEST(HubChoice, TagsAreWholeNames) {
  EXPECT_TRUE(has_tag("a-Q4_K_M.gguf", "q4_k_m"));
  EXPECT_TRUE(has_tag("Q4_0/a.gguf", "Q4_0"));
  EXPECT_TRUE(has_tag("a-UD-Q4_0-00001-of-00002.gguf", "Q4_0"));
  EXPECT_FALSE(has_tag("a-Q4_K_M.gguf", "Q4_K"));
  EXPECT_FALSE(has_tag("a-IQ4_0.gguf", "Q4_0"));
  EXPECT_FALSE(has_tag("a-Q4_K_M.gguf", ""));
}

TEST(HubChoice, CompanionsAreNoModels) {
  const auto models = gguf_models({{"a-Q8_0.gguf", 1},
                                   {"mmproj-F16.gguf", 1},
                                   {"a.imatrix.gguf", 1},
                                   {"mtp-a.gguf", 1},
                                   {"eagle3-a.gguf", 1},
                                   {"b-00002-of-00002.gguf", 2},
                                   {"b-00001-of-00002.gguf", 1},
                                   {"c-00001-of-00003.gguf", 1},
                                   {"d-00004-of-00003.gguf", 1}});
  std::vector<std::string> paths;
  for (const GgufModel& model : models) paths.push_back(model.path);
  EXPECT_THAT(paths, ElementsAre("a-Q8_0.gguf", "b-00001-of-00002.gguf", "c-00001-of-00003.gguf",
                                 "d-00004-of-00003.gguf"));
  EXPECT_EQ(models[1].size_bytes, 3u);
  EXPECT_EQ(models[1].num_missing, 0u);
  EXPECT_EQ(models[2].num_missing, 2u);
}

TEST(HubChoice, MissingPartsAreRefused) {
  const auto choose = [] {
    (void)choose_files({{"c-00001-of-00003.gguf", 1}}, "", "hf:a/b", decide_by_name,
                       [](const std::string&) { return std::string(); });
  };
  EXPECT_THAT(message_of(choose), HasSubstr("2 of the parts of \"c-00001-of-00003.gguf\""));
}

}  // namespace
}  // namespace tenon::hub
