// Hundreds of damaged folders: each is refused with one sentence that names the folder, nothing
// outside of it is opened, and nothing is left open.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "file/tensor_folder.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/file/safetensors_writer.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// Keeps the paths of all files that were opened.
class OpenedPaths : public FaultySystem {
 public:
  int open(const char* path, OpenMode mode) noexcept override {
    const int fd = FaultySystem::open(path, mode);
    if (fd >= 0) paths_.insert(fs::weakly_canonical(path).string());
    return fd;
  }
  [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }

 private:
  std::set<std::string> paths_;
};

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

const std::string& good_header() {
  static const std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("a.weight":{"dtype":"BF16","shape":[2,4],"data_offsets":[0,16]},)"
      R"("a.bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}})";
  return header;
}

std::string good_index() {
  return std::string(R"({"metadata":{"total_size":28},"weight_map":{"a.weight":")") + kFirst +
         R"(","a.bias":")" + kFirst + R"(","b.weight":")" + kSecond + "\"}}";
}

/// A good folder in "in", beside files that must not be opened.
class DamagedFolder {
 public:
  DamagedFolder() {
    fs::create_directories(temp_.path("in/sub"));
    fs::create_directory(temp_.path("blobs"));
    const std::string second = second_shard();
    for (const char* outside : {"secret.safetensors", "in/sub/secret.safetensors"}) {
      temp_.write(outside, second);
    }
    write(kSecond, second);
    restore();
  }
  void restore() const {
    write(kFirst, safetensors_file(good_header(), counting_text(24)));
    write(kIndex, good_index());
  }
  void write(const std::string& name, const std::string& bytes) const {
    temp_.write("in/" + name, bytes);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return temp_.path("in/" + name); }
  [[nodiscard]] std::string outside(const std::string& name) const { return temp_.path(name); }

  /// The error of opening it; empty when it opens.
  [[nodiscard]] std::string open() const {
    const auto system = std::make_shared<OpenedPaths>();
    std::string message;
    try {
      const auto folder =
          TensorFolder::open(FileFolder::from_path(temp_.path("in"), system), system);
      std::byte last{};
      for (const StoredTensor& tensor : folder->tensors()) {
        if (tensor.bytes > 0) folder->read(tensor, tensor.bytes - 1, {&last, 1});
      }
    } catch (const Error& error) {
      message = error.what();
      const Code code = error.code();
      EXPECT_TRUE(code == Code::Format || code == Code::Unsupported || code == Code::Limit ||
                  code == Code::Io)
          << code_name(code) << " " << message;
    }
    EXPECT_TRUE(system->all_released());
    const std::string inside = fs::canonical(temp_.path("in")).string() + "/";
    for (const std::string& opened : system->paths()) {
      EXPECT_TRUE(opened.starts_with(inside)) << opened;
    }
    return message;
  }

 private:
  static std::string second_shard() {
    SafetensorsWriter writer;
    writer.add("b.weight", "F32", {1}, "abcd");
    return writer.finish();
  }
  TempFolder temp_;
};

/// Refused with one sentence about this folder.
void expect_sentence(const std::string& message, const std::string& what) {
  EXPECT_NE(message, "") << "opened: " << what;
  EXPECT_TRUE(is_utf8(message)) << what;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.find("/in"), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000u) << what;
}

class DamagedFolders : public testing::Test {
 protected:
  /// The first shard with this in place of its header.
  void header(const std::string& text) {
    rewrite(kFirst, safetensors_file(text, counting_text(24)), "header " + text.substr(0, 200));
  }
  void first_shard(const std::string& what, const std::string& bytes) {
    rewrite(kFirst, bytes, "shard " + what);
  }
  void index(const std::string& text) { rewrite(kIndex, text, "index " + text.substr(0, 200)); }
  /// One file of a folder that is good otherwise.
  void rewrite(const char* name, const std::string& bytes, const std::string& what) {
    good_.write(name, bytes);
    expect_sentence(good_.open(), what);
    good_.restore();
    ++num_cases_;
  }
  void refuse(const std::string& what,
              const std::function<void(const DamagedFolder& folder)>& damage) {
    const DamagedFolder folder;
    damage(folder);
    expect_sentence(folder.open(), what);
    ++num_cases_;
  }
  DamagedFolder good_;
  size_t num_cases_ = 0;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const char* const kJsonValues[] = {
    "null",
    "true",
    "-1",
    "1.5",
    "1e400",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
    "[null]",
    "[-1,2]",
    "[1.5,2]",
    "[[2]]",
    "[{}]",
    "[1e3]",
    "[\"2\"]",
    "\"\\ud800\"",
    "[18446744073709551616]",
    "18446744073709551615",
    "{\"a\":{\"a\":1,\"a\":2}}",
};

TEST_F(DamagedFolders, AGoodFolderOpens) {
  EXPECT_EQ(good_.open(), "");
  good_.restore();
  EXPECT_EQ(good_.open(), "");
}

TEST_F(DamagedFolders, JsonOfEveryKindInEveryPlace) {
  const std::pair<std::string, std::string> places[] = {
      {"\"BF16\"", "dtype"},
      {"[2,4]", "shape"},
      {"[0,16]", "offsets"},
      {"[2]", "shape of a bias"},
      {"{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}", "entry"},
      {good_header(), "root"},
  };
  for (const auto& [from, what] : places) {
    for (const std::string value : kJsonValues) {
      if (what == "root" && value == "{}") continue;  // has the wrong size only; see below
      header(replaced(good_header(), from, value));
    }
  }
  for (const std::string value : kJsonValues) {
    if (value != "{}") header(replaced(good_header(), "{\"format\":\"pt\"}", value));
    if (value != "\"\"" && value != "\"x\"") header(replaced(good_header(), "\"pt\"", value));
    index(value);
    index("{\"weight_map\":" + value + "}");
    index(R"({"weight_map":{"a.weight":)" + value + "}}");
  }
  header("{}");
  EXPECT_GE(num_cases_, 210u);
}

TEST_F(DamagedFolders, HeadersThatBreakOff) {
  const std::string& text = good_header();
  for (size_t size = 0; size < text.size(); size += 2) header(text.substr(0, size));
  const std::string whole = safetensors_file(text, counting_text(24));
  for (size_t size = 0; size < whole.size(); size += 3) {
    first_shard("cut at " + std::to_string(size), whole.substr(0, size));
  }
  first_shard("with a byte more", whole + "x");
  for (const char* junk :
       {"x", "}", ",", "{}", "\xff", "\"", "\x01", "[", "/*c*/", "\xef\xbb\xbf"}) {
    header(text + junk);
    header(junk + text);
  }
  EXPECT_GE(num_cases_, 150u);
}

TEST_F(DamagedFolders, DeepLongAndRepeated) {
  header("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  header(std::string(100'000, '{'));
  header("{" + std::string(300'000, '['));
  std::string depth;
  for (int i = 0; i < 20'000; ++i) depth += "{\"a\":";
  header(depth + "1" + std::string(20'000, '}'));
  header("{\"" + std::string(70'000, 'n') + "\":1}");
  header("{\"a\":\"" + std::string(1'000'000, 'x') + "\"}");
  header("{\"a\":[" + std::string(900'000, '0') + "]}");
  header("{\"a\":[0" + [] {
    std::string zeros;
    for (int i = 0; i < 450'000; ++i) zeros += ",0";
    return zeros;
  }() + "]}");
  const std::string bias = R"("a.bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]})";
  header(replaced(good_header(), bias, bias + "," + bias));
  header(replaced(good_header(), "\"a.bias\"", "\"a.weight\""));
  header(replaced(good_header(), "\"a.bias\"", "\"b.weight\""));  // of the other shard
  header(replaced(good_header(), "\"a.bias\"", "\"\""));
  header(replaced(good_header(), "\"a.bias\"", "\"a\\u0000b\""));
  header(replaced(good_header(), "\"dtype\":\"F32\"", "\"dtype\":\"F32\",\"dtype\":\"F32\""));
  for (const char* key : {"\"dtype\"", "\"shape\"", "\"data_offsets\""}) {
    header(replaced(good_header(), key, "\"other\""));
  }
  for (const char* type : {"\"F31\"", "\"bf16\"", "\"F64\"", "\"U8\"", "\"F4\"", "\"\\u0000\""}) {
    header(replaced(good_header(), "\"BF16\"", type));
  }
  for (const char* shape :
       {"[2,5]", "[8,0]", "[]", "[4294967296,4294967296]", "[9223372036854775808,2]",
        "[1,1,1,1,1,1,1,2,4]", "[18446744073709551615]", "[9223372036854775812,4]"}) {
    header(replaced(good_header(), "[2,4]", shape));
  }
}

TEST_F(DamagedFolders, Offsets) {
  for (const char* offsets :
       {"[0,15]", "[0,17]", "[1,17]", "[16,0]", "[8,24]", "[0]", "[0,16,16]", "[16,32]", "[24,40]",
        "[18446744073709551600,18446744073709551615]", "[18446744073709551600,0]",
        "[9223372036854775807,9223372036854775823]", "[0,18446744073709551615]", "[-16,0]"}) {
    header(replaced(good_header(), "[0,16]", offsets));
  }
  for (const char* offsets : {"[0,8]", "[8,16]", "[15,23]", "[17,25]", "[24,32]", "[16,23]"}) {
    header(replaced(good_header(), "[16,24]", offsets));
  }
  const std::string whole = safetensors_file(good_header(), counting_text(24));
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, good_header().size() - 1, good_header().size() + 1,
        whole.size(), uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 62, uint64_t{1} << 63,
        ~uint64_t{0}, ~uint64_t{0} - 7}) {
    std::string bytes = whole;
    std::memcpy(bytes.data(), &length, sizeof(length));
    first_shard("length " + std::to_string(length), bytes);
  }
}

TEST_F(DamagedFolders, IndexThatPointsElsewhere) {
  const std::string names[] = {"../secret.safetensors",
                               "../../secret.safetensors",
                               "sub/../../secret.safetensors",
                               "/secret.safetensors",
                               "//secret.safetensors",
                               "./secret.safetensors",
                               "sub/./x.safetensors",
                               "sub//secret.safetensors",
                               "..\\\\secret.safetensors",
                               "C:\\\\secret.safetensors",
                               "\\u002e\\u002e/secret.safetensors",
                               "..",
                               ".",
                               "",
                               "/",
                               "sub",
                               "sub/",
                               ".safetensors/",
                               "absent.safetensors",
                               "sub/absent.safetensors",
                               "../in/" + std::string(kFirst),
                               "x\\u0000.safetensors",
                               "../\\u0000.safetensors",
                               "file:///etc/passwd.safetensors",
                               "https://example.org/x.safetensors",
                               "config.json",
                               kIndex,
                               "~/x.safetensors",
                               "/etc/passwd",
                               "/dev/zero",
                               "/proc/self/mem",
                               std::string(5000, 'a') + ".safetensors",
                               std::string(300, 'a') + ".safetensors",
                               "\\ud83d\\ude00.safetensors",
                               " .safetensors",
                               std::string(kFirst) + "/x.safetensors",
                               "%2e%2e/secret.safetensors"};
  for (const std::string& name : names) {
    index(replaced(good_index(), kSecond, name));
  }
  refuse("sparse index", [](const DamagedFolder& folder) {
    fs::resize_file(folder.path(kIndex), uint64_t{1} << 33);
  });
}

TEST_F(DamagedFolders, LinksAndThingsThatAreNoFiles) {
  const auto instead = [&](const char* name, const std::string& target) {
    refuse(std::string("link to ") + target, [&](const DamagedFolder& folder) {
      fs::remove(folder.path(name));
      fs::create_symlink(target, folder.path(name));
    });
  };
  for (const char* name : {kFirst, kIndex}) {
    for (const char* target :
         {"../secret.safetensors", "/etc/passwd", "/dev/zero", "/proc/self/environ", "absent",
          "sub", "sub/../../secret.safetensors", "../../blobs/x", "../../blobs/../secret", "."}) {
      instead(name, target);
    }
    instead(name, name);
    instead(name, std::string(4000, 'a'));
  }
  for (const char* name : {kFirst, kIndex}) {
    refuse("absolute link", [&](const DamagedFolder& folder) {
      fs::remove(folder.path(name));
      fs::create_symlink(folder.outside("secret.safetensors"), folder.path(name));
    });
    refuse("two links", [&](const DamagedFolder& folder) {
      fs::remove(folder.path(name));
      fs::create_symlink("../secret.safetensors", folder.path("between"));
      fs::create_symlink("between", folder.path(name));
    });
    refuse("a folder", [&](const DamagedFolder& folder) {
      fs::remove(folder.path(name));
      fs::create_directory(folder.path(name));
    });
    refuse("a FIFO", [&](const DamagedFolder& folder) {
      fs::remove(folder.path(name));
      ASSERT_EQ(::mkfifo(folder.path(name).c_str(), 0600), 0);
    });
    refuse("an empty file", [&](const DamagedFolder& folder) { folder.write(name, ""); });
  }
  refuse("a linked folder", [&](const DamagedFolder& folder) {
    fs::create_symlink("..", folder.path("up"));
    folder.write(kIndex, replaced(good_index(), kSecond, "up/secret.safetensors"));
  });
  refuse("no second shard", [](const DamagedFolder& folder) { fs::remove(folder.path(kSecond)); });
  refuse("no index and no second shard", [](const DamagedFolder& folder) {
    fs::remove(folder.path(kIndex));
    fs::remove(folder.path(kSecond));
  });
  refuse("pickles alone", [](const DamagedFolder& folder) {
    for (const char* name : {kIndex, kFirst, kSecond}) fs::remove(folder.path(name));
    folder.write("pytorch_model.bin", "\x80\x02}q");
  });
  refuse("nothing", [](const DamagedFolder& folder) {
    for (const char* name : {kIndex, kFirst, kSecond}) fs::remove(folder.path(name));
  });
}

/// Some changes leave a good folder; none may do more than an error.
TEST_F(DamagedFolders, BytesAtRandom) {
  std::mt19937 random(7);
  const std::string whole = safetensors_file(good_header(), counting_text(24));
  const std::string indices = good_index();
  size_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    const bool of_index = i % 3 == 0;
    std::string bytes = of_index ? indices : whole;
    for (uint32_t n = random() % 3; n < 3; ++n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    good_.write(of_index ? kIndex : kFirst, bytes);
    const std::string message = good_.open();
    good_.restore();
    if (!message.empty()) expect_sentence(message, std::to_string(i));
    refused += !message.empty();
  }
  EXPECT_GT(refused, 150u);
}

}  // namespace
}  // namespace tenon
