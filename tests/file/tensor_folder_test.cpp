// Folders of safetensors: which files are taken, how tensors are found.
#include "file/tensor_folder.h"

#include <filesystem>
#include <map>

#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/file/safetensors_writer.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using FileTexts = std::map<std::string, std::string>;

/// A file of one tensor of this name.
std::string one_tensor(const std::string& name, const std::string& data = "abcd") {
  SafetensorsWriter writer;
  writer.metadata("from", name).add(name, "U8", {data.size()}, data);
  return writer.finish();
}

std::string index_of(const FileTexts& map) {
  std::string entries;
  for (const auto& [tensor, file] : map) {
    entries += (entries.empty() ? "\"" : ",\"") + tensor + "\":\"" + file + "\"";
  }
  return "{\"metadata\":{\"total_size\":8},\"weight_map\":{" + entries + "}}";
}

/// In memory; `files` must outlive it.
std::shared_ptr<const TensorFolder> open_texts(const FileTexts& files) {
  std::vector<FolderFile> given;
  for (const auto& [name, text] : files) {
    given.push_back({name, ByteSource::from_memory(std::as_bytes(std::span(text)), name)});
  }
  return TensorFolder::open(FileFolder::from_files(std::move(given), "given"), System::real());
}

std::string names_in(const TensorFolder& folder) {
  std::string out;
  for (const StoredTensor& tensor : folder.tensors()) out += tensor.name + " ";
  return out;
}

void refuse_texts(Code code, const std::string& what, const FileTexts& files) {
  expect_error(code, HasSubstr(what), [&] { open_texts(files); });
}

TEST(TensorFolder, BoundsFilesAndTheirMetadata) {
  FileTexts map;
  for (int i = 0; i < 4097; ++i) {
    map["t" + std::to_string(i)] = "f" + std::to_string(i) + ".safetensors";
  }
  refuse_texts(Code::Limit, "4097 files, the limit is 4096",
               {{"model.safetensors.index.json", index_of(map)}});
  refuse_texts(Code::Limit, "99999 files, the limit is 4096",
               {{"model-00001-of-99999.safetensors", one_tensor("a")}});
  SafetensorsWriter writer;
  const std::string half =
      writer.metadata("k", std::string(size_t{33} << 20, 'x')).add("a", "U8", {1}, "a").finish();
  FileTexts files{{"model.safetensors", half}};
  EXPECT_EQ(open_texts(files)->metadata("k")->size(), size_t{33} << 20);
  SafetensorsWriter other;
  files = {
      {"model-00001-of-00002.safetensors", half},
      {"model-00002-of-00002.safetensors",
       other.metadata("l", std::string(size_t{33} << 20, 'x')).add("b", "U8", {1}, "b").finish()}};
  refuse_texts(Code::Limit, "\"__metadata__\" in all files", files);
}

TEST(TensorFolder, FindsTensorsOfAllShardsByName) {
  const FileTexts files{
      {"model-00001-of-00002.safetensors", one_tensor("b", "bbbb")},
      {"model-00002-of-00002.safetensors", one_tensor("a", "aaa")},
      {"consolidated.safetensors", one_tensor("c")},
      {"model.safetensors.index.json", index_of({{"a", "model-00002-of-00002.safetensors"},
                                                 {"b", "model-00001-of-00002.safetensors"}})}};
  const auto folder = open_texts(files);
  EXPECT_EQ(names_in(*folder), "a b ");
  ASSERT_NE(folder->find("a"), nullptr);
  EXPECT_EQ(folder->find("c"), nullptr);
  EXPECT_EQ(folder->find(""), nullptr);
  EXPECT_EQ(*folder->metadata("from"), "b");
  EXPECT_EQ(folder->metadata("to"), nullptr);
  EXPECT_EQ(folder->sources().size(), 2u);
  std::string out(2, '\0');
  folder->read(*folder->find("a"), 1, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, "aa");
  expect_error(Code::Argument, AllOf(HasSubstr("\"a\" [3] U8"), HasSubstr("2 bytes at 2")), [&] {
    folder->read(*folder->find("a"), 2, std::as_writable_bytes(std::span(out)));
  });
}

TEST(TensorFolder, HeadersHoldWhereTheIndexIsStale) {
  const auto folder =
      open_texts({{"x.safetensors", one_tensor("new")},
                  {"y.safetensors", one_tensor("old")},
                  {"model.safetensors.index.json", index_of({{"old", "x.safetensors"}})}});
  EXPECT_EQ(names_in(*folder), "new ");
}

TEST(TensorFolder, ChoosesFilesWithoutAnIndex) {
  const std::string a = one_tensor("a");
  const std::string b = one_tensor("b");
  EXPECT_EQ(names_in(*open_texts({{"model.safetensors", a}, {"other.safetensors", b}})), "a ");
  EXPECT_EQ(names_in(*open_texts({{"model-00001-of-00002.safetensors", a},
                                  {"model-00002-of-00002.safetensors", b}})),
            "a b ");
  EXPECT_EQ(names_in(*open_texts({{"output-00001-of-00001.safetensors", a}})), "a ");
  EXPECT_EQ(names_in(*open_texts({{"consolidated-00001-of-00001.safetensors", b},
                                  {"model-00001-of-00001.safetensors", a},
                                  {"output-00001-of-00001.safetensors", b}})),
            "a ");
  EXPECT_EQ(names_in(*open_texts({{"weights.safetensors", a}, {"adapter_model.safetensors", b}})),
            "a ");
  EXPECT_EQ(
      names_in(*open_texts({{"w.safetensors", a},
                            {"v.safetensors", b},
                            {"v.safetensors.index.json", index_of({{"b", "v.safetensors"}})}})),
      "b ");
  refuse_texts(Code::Format, "part 2 of 3 is missing: \"model-00002-of-00003.safetensors\"",
               {{"model-00001-of-00003.safetensors", a}, {"model-00003-of-00003.safetensors", b}});
  refuse_texts(Code::Format, "has 2 safetensors files",
               {{"x.safetensors", a}, {"y.safetensors", b}});
}

TEST(TensorFolder, IndexNamesFilesOfTheFolderOnly) {
  for (const char* file : {"../x.safetensors", "/tmp/x.safetensors", "a/../../x.safetensors",
                           "./x.safetensors", "a//x.safetensors", "..\\\\x.safetensors"}) {
    refuse_texts(Code::Format, "the path",
                 {{"x.safetensors", one_tensor("a")},
                  {"model.safetensors.index.json", index_of({{"a", file}})}});
  }
  refuse_texts(Code::Io, "no such file",
               {{"model.safetensors.index.json", index_of({{"a", "x.safetensors"}})}});
  for (const char* file : {"", "x.bin", "config.json", "model.safetensors/"}) {
    refuse_texts(Code::Format, "expected a name that ends with",
                 {{"model.safetensors.index.json", index_of({{"a", file}})}});
  }
}

TEST(TensorFolder, IndexIsChecked) {
  const auto refuse_index = [](Code code, const char* what, const std::string& index) {
    refuse_texts(code, what,
                 {{"model.safetensors", one_tensor("a")}, {"model.safetensors.index.json", index}});
  };
  refuse_index(Code::Format, "not JSON at byte", "{");
  refuse_index(Code::Format, "\"weight_map\" is missing", "{}");
  refuse_index(Code::Format, "\"weight_map\" is missing", "[]");
  refuse_index(Code::Format, "\"weight_map\" is of another type", R"({"weight_map":[]})");
  refuse_index(Code::Format, "names no file", R"({"weight_map":{}})");
  refuse_index(Code::Format, "the file of tensor \"a\" is no text", R"({"weight_map":{"a":1}})");
}

TEST(TensorFolder, ATensorIsThereOnce) {
  refuse_texts(Code::Format,
               "tensor \"a\" is there twice, also in model-00002-of-00002.safetensors",
               {{"model-00001-of-00002.safetensors", one_tensor("a")},
                {"model-00002-of-00002.safetensors", one_tensor("a")}});
  const std::string entry = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  refuse_texts(Code::Format, "tensor \"a\" is there twice",
               {{"model.safetensors", safetensors_file("{" + entry + "," + entry + "}", "")}});
}

TEST(TensorFolder, SaysWhatAFolderHasInstead) {
  const std::pair<const char*, const char*> cases[] = {
      {"pytorch_model.bin", "a PyTorch checkpoint, a pickle, which is never read; fetch"},
      {"model.pth", "a pickle"},
      {"model.onnx", "an ONNX model"},
      {"gemma.litertlm", "a LiteRT-LM bundle"},
      {"tf_model.h5", "an HDF5 file"},
      {"flax_model.msgpack", "a Flax checkpoint"},
      {"model-q4.gguf", "name the file instead of the folder"},
      {"adapter_model.safetensors", "holds an adapter"},
      {"readme.md", "is a folder without safetensors; fetch"},
  };
  for (const auto& [file, what] : cases) {
    refuse_texts(Code::Unsupported, what, {{"config.json", "{}"}, {file, "xxxx"}});
  }
}

TEST(TensorFolder, OpensFoldersOnTheDisk) {
  const TempFolder temp;
  temp.write("model.safetensors", one_tensor("a", "disk"));
  const auto folder =
      TensorFolder::open(FileFolder::from_path(temp.path(""), System::real()), System::real());
  EXPECT_EQ(names_in(*folder), "a ");
  EXPECT_THAT(folder->place(*folder->find("a")),
              HasSubstr("model.safetensors: tensor \"a\" [4] U8"));
}

/// The stored folders of many architectures, where they are.
TEST(TensorFolder, OpensTheStoredFolders) {
  const std::filesystem::path root =
      std::filesystem::path(TENON_SHARED_DIR) / "formats" / "folders";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no shared test vectors";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    const auto folder = TensorFolder::open(
        FileFolder::from_path(entry.path().string(), System::real()), System::real());
    EXPECT_GT(folder->tensors().size(), 10u) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 30u);
}

}  // namespace
}  // namespace tenon
