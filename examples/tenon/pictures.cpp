#include "pictures.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "failure.h"
#include "host.h"
#include "input_files.h"
#ifdef TENON_HAS_MEDIA
#include <tenon/media.hpp>
#endif

namespace tenon_program {

Pictures::Pictures() = default;
Pictures::Pictures(Pictures&&) noexcept = default;
Pictures& Pictures::operator=(Pictures&&) noexcept = default;
Pictures::~Pictures() = default;

#ifdef TENON_HAS_MEDIA

struct Pictures::Decoded {
  tenon::DecodedMedia media;
};

Pictures::Pictures(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string bytes = read_file(path);
    try {
      decoded_.push_back(
          std::make_unique<Decoded>(Decoded{tenon::DecodedMedia(std::as_bytes(std::span(bytes)))}));
    } catch (const tenon::Error& error) {
      throw Failure(path + ": " + error.what());
    }
    const tenon::DecodedMedia& media = decoded_.back()->media;
    if (!media.is_picture()) throw Failure(path + ": is no picture");
    views_.push_back({.pixels = std::as_bytes(media.pixels()),
                      .width = media.info().width,
                      .height = media.info().height,
                      .channels = media.info().channels,
                      .orientation = media.info().orientation});
  }
}

#else

struct Pictures::Decoded {};

Pictures::Pictures(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  throw Failure(paths.front() + ": this build is without libtenon-media, and reads no pictures");
}

#endif

std::string projector_beside(const std::string& model) {
  namespace fs = std::filesystem;
  const fs::path folder = path_of(model).parent_path();
  const fs::path where = folder.empty() ? fs::path(".") : folder;
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(where, error), end; !error && at != end; at.increment(error)) {
    const std::string name = text_of(at->path().filename());
    if (name.starts_with("mmproj") && name.ends_with(".gguf")) {
      found.push_back(text_of(at->path()));
    }
  }
  if (found.size() == 1) return found.front();
  throw Failure(found.empty() ? "the model's tower is missing: no file mmproj*.gguf is beside " +
                                    model + "; give one with --mmproj"
                              : "several files mmproj*.gguf are beside " + model +
                                    "; give one with --mmproj");
}

}  // namespace tenon_program
