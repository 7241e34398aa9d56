// Folders on the disk and in memory: nothing outside of them is opened.
#include "file/file_folder.h"

#include <filesystem>

#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const FileFolder> folder_at(const std::string& path) {
  return FileFolder::from_path(path, System::real());
}

TEST(FileFolder, ListsAndOpensFilesByPathsInside) {
  const TempFolder temp;
  temp.write("b.txt", std::string("bee"));
  temp.write("a.txt", std::string("a"));
  std::filesystem::create_directory(temp.path("sub"));
  temp.write("sub/c.txt", std::string("sea"));
  const auto folder = folder_at(temp.path(""));
  EXPECT_THAT(folder->files(), ElementsAre("a.txt", "b.txt", "sub"));
  EXPECT_TRUE(folder->contains("a.txt"));
  EXPECT_FALSE(folder->contains("c.txt"));
  EXPECT_EQ(folder->read_text("b.txt", 3), "bee");
  EXPECT_EQ(folder->read_text("sub/c.txt", 100), "sea");
  expect_error(Code::Limit, HasSubstr("3 bytes, the limit is 2"),
               [&] { (void)folder->read_text("b.txt", 2); });
  expect_error(Code::Io, AllOf(HasSubstr("\"d.txt\""), HasSubstr("no such file")),
               [&] { (void)folder->open("d.txt"); });
  expect_error(Code::Io, HasSubstr("regular file"), [&] { (void)folder->open("sub"); });
}

TEST(FileFolder, IsAFolder) {
  const TempFolder temp;
  const std::string file = temp.write("a.txt", std::string("a"));
  expect_error(Code::Io, HasSubstr("cannot list"), [&] { folder_at(file); });
  expect_error(Code::Io, HasSubstr("cannot list"), [&] { folder_at(temp.path("absent")); });
  expect_error(Code::Argument, HasSubstr("path of a folder"), [] { folder_at(""); });
}

TEST(FileFolder, RefusesPathsThatLeaveIt) {
  const TempFolder temp;
  std::filesystem::create_directory(temp.path("in"));
  temp.write("out.txt", std::string("secret"));
  const auto disk = folder_at(temp.path("in"));
  const auto given = FileFolder::from_files({}, "given");
  const std::string paths[] = {"../out.txt",
                               "..",
                               "a/../../out.txt",
                               "/etc/passwd",
                               "a//b",
                               "./a",
                               "a/.",
                               "",
                               "a\\..\\b",
                               "../in/../out.txt",
                               "a/..",
                               std::string("a\0b", 3),
                               temp.path("out.txt"),
                               std::string(5000, 'a'),
                               "a/"};
  for (const std::string& path : paths) {
    for (const auto& folder : {disk, given}) {
      expect_error(Code::Format, HasSubstr("the path"), [&] { (void)folder->open(path); });
    }
  }
}

TEST(FileFolder, FollowsLinksInsideAndRefusesLinksThatLeave) {
  namespace fs = std::filesystem;
  const TempFolder temp;
  fs::create_directories(temp.path("in/sub"));
  fs::create_directory(temp.path("elsewhere"));
  temp.write("out.txt", std::string("secret"));
  temp.write("elsewhere/f.txt", std::string("secret"));
  temp.write("in/real.txt", std::string("ours"));
  temp.write("in/sub/real.txt", std::string("below"));
  fs::create_symlink("real.txt", temp.path("in/near"));
  fs::create_symlink("near", temp.path("in/far"));
  fs::create_symlink("sub/real.txt", temp.path("in/down"));
  fs::create_symlink("../out.txt", temp.path("in/up"));
  fs::create_symlink("up", temp.path("in/to_up"));
  fs::create_symlink(temp.path("in/real.txt"), temp.path("in/absolute"));
  fs::create_symlink("sub/../../out.txt", temp.path("in/through"));
  fs::create_symlink("loop", temp.path("in/loop"));
  fs::create_symlink("../elsewhere", temp.path("in/folder"));
  fs::create_symlink("sub", temp.path("in/sub_too"));
  fs::create_symlink("../../blobs/../out.txt", temp.path("in/blob"));
  fs::create_symlink("../../blobs/" + std::string(39, 'a'), temp.path("in/short"));
  const auto folder = folder_at(temp.path("in"));
  EXPECT_EQ(folder->read_text("near", 10), "ours");
  EXPECT_EQ(folder->read_text("far", 10), "ours");
  EXPECT_EQ(folder->read_text("down", 10), "below");
  for (const char* name : {"up", "to_up", "absolute", "through", "blob", "short"}) {
    expect_error(Code::Format, AllOf(HasSubstr(name), HasSubstr("outside the folder")),
                 [&] { (void)folder->open(name); });
  }
  expect_error(Code::Format, HasSubstr("8 symbolic links"), [&] { (void)folder->open("loop"); });
  for (const char* name : {"folder/f.txt", "sub_too/real.txt"}) {
    expect_error(Code::Format, HasSubstr("is a symbolic link, which is not followed to folders"),
                 [&] { (void)folder->open(name); });
  }
}

TEST(FileFolder, OpensTheBlobsOfAHuggingFaceCache) {
  namespace fs = std::filesystem;
  const TempFolder temp;
  const std::string blob(64, 'a');
  const std::string git_blob(40, 'b');
  const std::string shared(64, 'c');
  fs::create_directories(temp.path("hub/models--a--b/snapshots/0123/sub"));
  fs::create_directories(temp.path("hub/models--a--b/blobs"));
  fs::create_directories(temp.path("hub/blobs/cc"));
  temp.write("hub/models--a--b/blobs/" + blob, std::string("weights"));
  temp.write("hub/models--a--b/blobs/" + git_blob, std::string("config"));
  temp.write("hub/blobs/cc/" + shared, std::string("store"));
  temp.write("secret", std::string("secret"));
  const auto link = [&](const std::string& target, const std::string& name) {
    fs::create_symlink(target, temp.path("hub/models--a--b/" + name));
  };
  link("../../blobs/" + blob, "snapshots/0123/model.safetensors");
  link("../../../blobs/" + git_blob, "snapshots/0123/sub/config.json");
  link("../../blobs/cc/" + shared, "blobs/" + shared);
  link("../../blobs/" + shared, "snapshots/0123/shared");
  link("../../../secret", "blobs/" + std::string(64, 'd'));
  link("../../blobs/" + std::string(64, 'd'), "snapshots/0123/leaves");
  link("../../../blobs/" + blob, "snapshots/0123/too_high");
  const auto folder = folder_at(temp.path("hub/models--a--b/snapshots/0123"));
  EXPECT_EQ(folder->read_text("model.safetensors", 10), "weights");
  EXPECT_EQ(folder->read_text("sub/config.json", 10), "config");
  EXPECT_EQ(folder->read_text("shared", 10), "store");
  expect_error(Code::Format, HasSubstr("a blob that is a link to"),
               [&] { (void)folder->open("leaves"); });
  expect_error(Code::Format, HasSubstr("outside the folder"),
               [&] { (void)folder->open("too_high"); });
}

TEST(FileFolder, OpensBlobsFromSnapshotsAlone) {
  namespace fs = std::filesystem;
  const TempFolder temp;
  const std::string blob(64, 'a');
  for (const char* name : {"a/model", "a/snapshots", "a/snapshots_/0123", "a/snapshots/0123"}) {
    fs::create_directories(temp.path(name));
  }
  fs::create_directories(temp.path("blobs"));
  fs::create_directories(temp.path("a/blobs"));
  temp.write("blobs/" + blob, std::string("secret"));
  temp.write("a/blobs/" + blob, std::string("weights"));
  for (const char* name : {"a/model", "a/snapshots", "a/snapshots_/0123", "a/snapshots/0123"}) {
    fs::create_symlink("../../blobs/" + blob, temp.path(std::string(name) + "/m"));
  }
  for (const char* name : {"a/model", "a/snapshots", "a/snapshots_/0123", "a/model//"}) {
    expect_error(Code::Format, HasSubstr("outside the folder"),
                 [&] { (void)folder_at(temp.path(name))->open("m"); });
  }
  for (const char* name : {"a/snapshots/0123", "a/snapshots//0123/"}) {
    EXPECT_EQ(folder_at(temp.path(name))->read_text("m", 10), "weights") << name;
  }
}

TEST(FileFolder, TakesFilesOfTheHost) {
  const std::string text = "hello";
  const auto source = ByteSource::from_memory(std::as_bytes(std::span(text)), "m");
  const auto folder = FileFolder::from_files({{"z", source}, {"sub/a", source}}, "given");
  EXPECT_THAT(folder->files(), ElementsAre("sub/a", "z"));
  EXPECT_EQ(folder->read_text("sub/a", 5), "hello");
  expect_error(Code::Io, AllOf(HasSubstr("given"), HasSubstr("\"a\"")),
               [&] { (void)folder->open("a"); });
  const auto refuse = [&](std::vector<FolderFile> files, const char* why) {
    expect_error(Code::Argument, HasSubstr(why),
                 [&] { FileFolder::from_files(std::move(files), "given"); });
  };
  refuse({{"a", nullptr}}, "is null");
  refuse({{"a", source}, {"a", source}}, "given twice");
  refuse({{"../a", source}}, "leaves the folder");
  refuse({{"/a", source}}, "is absolute");
}

}  // namespace
}  // namespace tenon
