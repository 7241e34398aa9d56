// Choice of files: which of a repository's files make the model that a reference names. Knows names
// and sizes only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::hub {

struct NamedFile {
  std::string path;
  uint64_t size_bytes = 0;
};

/// A model in a GGUF file, or in all its parts.
struct GgufModel {
  std::vector<size_t> files;  ///< places in the list of files, first part first
  std::string path;           ///< of the first part
  std::string quantisation;   ///< "Q4_K_M"; empty if the name tells none
  uint64_t size_bytes = 0;    ///< of all parts
  uint64_t num_missing = 0;   ///< parts that the list lacks
};

/// All GGUF models of a list, without projectors, matrices of importance and draft heads.
std::vector<GgufModel> gguf_models(const std::vector<NamedFile>& files);

/// The quantisation in a file's name: "Q4_K_M", "IQ2_XS", "BF16", ...; empty if there is none.
std::string quantisation_of(std::string_view path);

/// Whether `path` is of the quantisation `tag`, in any case: TAG followed by "-", "." or "/".
bool has_tag(std::string_view path, std::string_view tag);

/// The projector (mmproj) that belongs to a model: in the deepest common folder, then of the nearest
/// quantisation; files.size() if there is none.
size_t projector_of(const std::vector<NamedFile>& files, const GgufModel& model);

struct Choice {
  std::vector<size_t> files;
  std::string path;       ///< of the file to open; empty: the folder itself
  std::string projector;  ///< empty if there is none
  std::string note;       ///< why this one, in a sentence; empty if it was named
};

/// Decides among several quantisations that nobody named: index of one, and why.
struct Decision {
  size_t index = 0;
  std::string note;
};
using Decide = std::function<Decision(const std::vector<GgufModel>& models)>;

/// Prefers Q4_K_M, then Q8_0, then the first.
Decision decide_by_name(const std::vector<GgufModel>& models);

/// Reads a small file of the list.
using ReadListed = std::function<std::string(const std::string& path)>;

/// The files that `wanted` (a file, a quantisation or nothing) stands for. Prefers GGUF; without it
/// chooses what a loader needs of a folder of safetensors: of shards exactly those of the index.
///   what  the reference, for messages
/// Throws Argument for what the list lacks, with the nearest name or the quantisations there are;
/// Format for an index that names what is not there; Unsupported for files of other kinds.
Choice choose_files(const std::vector<NamedFile>& files, const std::string& wanted,
                    const std::string& what, const Decide& decide, const ReadListed& read);

}  // namespace tenon::hub
