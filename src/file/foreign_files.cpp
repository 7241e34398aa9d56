#include "file/foreign_files.h"

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

using std::string_view_literals::operator""sv;

struct ForeignKind {
  size_t offset;
  std::string_view bytes;
  const char* what;
};

constexpr const char* kFetchAnother = "fetch a GGUF file or the safetensors folder of the model";

constexpr ForeignKind kForeignKinds[] = {
    {0, "LITERTLM"sv, "is a LiteRT-LM bundle"},
    {4, "TFL3"sv, "is a TensorFlow Lite model"},
    {0, "\x89HDF\r\n\x1a\n"sv, "is an HDF5 file (a Keras model?)"},
    {0, "\x93NUMPY"sv, "is a NumPy array"},
    {0, "\x80\x03"sv, "is a Python pickle, which is never read"},
    {0, "\x80\x04"sv, "is a Python pickle, which is never read"},
    {0, "\x80\x05"sv, "is a Python pickle, which is never read"},
};

/// Whether bytes begin like a protocol buffer of ONNX: its version (1..31), then the text of a
/// producer, a domain, or the next number.
bool is_onnx(std::string_view bytes) {
  if (bytes.size() < 4 || bytes[0] != 0x08 || bytes[1] < 1 || bytes[1] > 31) return false;
  return bytes[2] == 0x12 || bytes[2] == 0x1a || bytes[2] == 0x22 || bytes[2] == 0x3a ||
         bytes[2] == 0x42;
}

/// Files by suffix, and what to say of a folder that has them instead of safetensors.
struct ForeignSuffix {
  std::string_view suffix;
  const char* what;
};

constexpr ForeignSuffix kForeignSuffixes[] = {
    {".gguf", "is a GGUF file; name the file instead of the folder"},
    {".bin", "is a PyTorch checkpoint, a pickle, which is never read"},
    {".pt", "is a PyTorch checkpoint, a pickle, which is never read"},
    {".pth", "is a PyTorch checkpoint, a pickle, which is never read"},
    {".ckpt", "is a checkpoint of pickles, which is never read"},
    {".onnx", "is an ONNX model"},
    {".litertlm", "is a LiteRT-LM bundle"},
    {".task", "is a MediaPipe bundle"},
    {".tflite", "is a TensorFlow Lite model"},
    {".h5", "is an HDF5 file"},
    {".msgpack", "is a Flax checkpoint"},
    {".mlpackage", "is a Core ML model"},
    {".npz", "is an archive of NumPy arrays"},
    {".llamafile", "is a llamafile, a program that holds a GGUF file"},
    {".nemo", "is a NeMo archive"},
};

}  // namespace

void refuse_foreign_file(std::string_view name, std::string_view beginning) {
  for (const ForeignKind& kind : kForeignKinds) {
    if (beginning.size() < kind.offset || !beginning.substr(kind.offset).starts_with(kind.bytes)) {
      continue;
    }
    fail(Code::Unsupported, "{}: {}; {}", name, kind.what, kFetchAnother);
  }
  if (is_onnx(beginning)) {
    fail(Code::Unsupported, "{}: is an ONNX model; {}", name, kFetchAnother);
  }
}

void refuse_folder_without_weights(const FileFolder& folder) {
  for (const std::string& file : folder.files()) {
    if (file == "adapter_model.safetensors") {
      fail(
          Code::Unsupported,
          "{}: holds an adapter ({}), which has no weights of its own; name the folder of its base "
          "model",
          folder.name(), file);
    }
  }
  for (const ForeignSuffix& kind : kForeignSuffixes) {
    for (const std::string& file : folder.files()) {
      if (!file.ends_with(kind.suffix)) continue;
      fail(Code::Unsupported, "{}: is a folder without safetensors; {} {}{}{}", folder.name(),
           quoted(file), kind.what, kind.suffix == ".gguf" ? "" : "; ",
           kind.suffix == ".gguf" ? "" : kFetchAnother);
    }
  }
  fail(Code::Unsupported, "{}: is a folder without safetensors; {}", folder.name(), kFetchAnother);
}

}  // namespace tenon
