// Files of other programs are named by their first bytes.
#include "file/foreign_files.h"

#include "file/open.h"
#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using std::string_view_literals::operator""sv;
using testing::AllOf;
using testing::HasSubstr;

TEST(ForeignFiles, AreNamedWithTheWayToGo) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"LITERTLM\1\0\0\0\0\0\0\0"sv, "LiteRT-LM"},
      {"\x1c\0\0\0TFL3\0\0\0\0"sv, "TensorFlow Lite"},
      {"\x89HDF\r\n\x1a\n\0\0\0\0"sv, "HDF5"},
      {"\x93NUMPY\1\0v\0{'descr'"sv, "NumPy"},
      {"\x80\x02}q\0(X\4\0\0\0"sv, "pickle, which is never read"},
      {"\x80\x04\x95\0\0\0\0\0\0\0"sv, "pickle, which is never read"},
      {"\x08\x07\x12\x07pytorch\x1a"sv, "ONNX"},
      {"\x08\x0a:\x80\x80\x80\x10\x0a"sv, "ONNX"},
      {"lmgg\1\0\0\0"sv, "GGML file, older than GGUF"},
      {"tjgg\1\0\0\0"sv, "GGJT file, older than GGUF"},
  };
  for (const auto& [bytes, what] : cases) {
    const auto source = ByteSource::from_memory(std::as_bytes(std::span(bytes)), "m.any");
    expect_error(Code::Unsupported,
                 AllOf(HasSubstr("m.any: is a"), HasSubstr(what), HasSubstr("; ")),
                 [&] { open_model_file(source); });
  }
}

TEST(ForeignFiles, LeavesOthersAlone) {
  for (const std::string_view bytes : {"GGUF\3\0\0\0"sv, ""sv, "\x08"sv, "\x08\x07"sv, "abcdefgh"sv,
                                       "\x08\x7f\x12\x07"sv, "\x08\x07\x01\x07"sv}) {
    EXPECT_NO_THROW(refuse_foreign_file("m", bytes));
  }
}

}  // namespace
}  // namespace tenon
