// Pictures from files, by libtenon-media, and the tower beside a model.
#pragma once

#include <memory>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon_program {

/// Decoded files. Move-only.
class Pictures {
 public:
  Pictures();
  /// Throws Failure naming the file, also if this build has no decoders.
  explicit Pictures(const std::vector<std::string>& paths);
  Pictures(Pictures&&) noexcept;
  Pictures& operator=(Pictures&&) noexcept;
  ~Pictures();

  /// Valid as long as this object.
  [[nodiscard]] const std::vector<tenon::Picture>& views() const { return views_; }
  [[nodiscard]] bool empty() const { return views_.empty(); }

 private:
  struct Decoded;
  std::vector<std::unique_ptr<Decoded>> decoded_;
  std::vector<tenon::Picture> views_;
};

/// The one file mmproj*.gguf in the folder of a model. Throws Failure if there is none, or several.
std::string projector_beside(const std::string& model);

}  // namespace tenon_program
