#include "backend/kernel_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "backend/host_services.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const std::optional<std::vector<std::byte>>& bytes) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "-";
}

class KernelCacheFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string get(std::string_view key) { return text_of(cache_.get(bytes_of(key))); }
  void put(std::string_view key, std::string_view bytes) {
    cache_.put(bytes_of(key), bytes_of(bytes));
  }
  [[nodiscard]] size_t num_files() const {
    const auto begin = std::filesystem::directory_iterator(folder_.path(""));
    return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
  }
  /// The only file.
  [[nodiscard]] std::string file() const {
    return std::filesystem::directory_iterator(folder_.path(""))->path().string();
  }

  TempFolder folder_;
  KernelCache cache_{System::real(), folder_.path(""), Log{}};
};

TEST_F(KernelCacheFiles, KeepWhatWasPutLast) {
  EXPECT_EQ(get("a"), "-");
  put("a", "first");
  put("b", "other");
  put("a", "second");
  EXPECT_EQ(get("a"), "second");
  EXPECT_EQ(get("b"), "other");
  EXPECT_EQ(num_files(), 2u);
  // Acts as another process.
  KernelCache again(System::real(), folder_.path(""), Log{});
  EXPECT_EQ(text_of(again.get(bytes_of("a"))), "second");
}

TEST_F(KernelCacheFiles, ThatAreCutOrDamagedAreAsNone) {
  put("key", "some bytes");
  const std::string path = file();
  const uint64_t size = std::filesystem::file_size(path);
  std::string whole(size, '\0');
  std::ifstream(path, std::ios::binary).read(whole.data(), static_cast<std::streamsize>(size));
  const auto write = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  };
  for (uint64_t left = 0; left < size; ++left) {
    write(whole.substr(0, left));
    EXPECT_EQ(get("key"), "-") << left;
  }
  for (uint64_t i = 0; i < size; ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write(damaged);
    EXPECT_EQ(get("key"), "-") << i;
  }
  write(whole + "more");
  EXPECT_EQ(get("key"), "some bytes");
  put("key", "written anew");
  EXPECT_EQ(get("key"), "written anew");
}

/// Simulates a hash collision of two keys.
TEST_F(KernelCacheFiles, OfAnotherKeyAreAsNone) {
  put("key", "bytes");
  const std::string path = file();
  put("yek", "other");
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path(""))) {
    if (entry.path() != path) std::filesystem::rename(entry.path(), path);
  }
  EXPECT_EQ(get("key"), "-");
}

TEST_F(KernelCacheFiles, TakeNoKeyThatIsTooLongAndNothingThatIsTooLarge) {
  put("", "bytes");
  put(std::string(KernelCache::kMostKeyBytes + 1, 'k'), "bytes");
  put("large", std::string(KernelCache::kMostBytes + 1, 'x'));
  EXPECT_EQ(num_files(), 0u);
  EXPECT_EQ(get(""), "-");
}

TEST(KernelCache, WithoutAFolderKeepsNothingAndFailsNot) {
  KernelCache cache(System::real(), "/there/is/no/such/folder", Log{});
  cache.put(bytes_of("key"), bytes_of("bytes"));
  EXPECT_FALSE(cache.get(bytes_of("key")).has_value());
}

TEST(KernelCache, IsServedToBackendsOnlyWhereTheHostHasOne) {
  const auto team = std::make_shared<ThreadTeam>(1);
  const HostServices plain(System::real(), Log{}, team);
  EXPECT_EQ(plain.table().cache_get, nullptr);
  EXPECT_EQ(plain.table().cache_put, nullptr);

  const TempFolder folder;
  ServiceOptions options;
  options.kernel_cache = std::make_shared<KernelCache>(System::real(), folder.path(""), Log{});
  const HostServices services(System::real(), Log{}, team, options);
  const tenon_host& host = services.table();
  EXPECT_EQ(host.cache_get(host.user, "key", 3, nullptr, 0), 0u);
  host.cache_put(host.user, "key", 3, "bytes", 5);
  EXPECT_EQ(host.cache_get(host.user, "key", 3, nullptr, 0), 5u);
  char small[4] = "---";
  EXPECT_EQ(host.cache_get(host.user, "key", 3, small, sizeof(small)), 5u);
  EXPECT_STREQ(small, "---");
  char bytes[6] = "";
  EXPECT_EQ(host.cache_get(host.user, "key", 3, bytes, 5), 5u);
  EXPECT_STREQ(bytes, "bytes");
}

}  // namespace
}  // namespace tenon
