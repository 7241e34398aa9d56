#include "json_files.h"

#include "failure.h"
#include "input_files.h"

namespace tenon_program {

Json read_json(const std::string& path) {
  constexpr int kMaxDepth = 512;
  const std::string text = read_file(path);
  const auto shallow = [&path](int depth, Json::parse_event_t, const Json&) {
    if (depth > kMaxDepth) {
      throw Failure(path + ": nested deeper than " + std::to_string(kMaxDepth));
    }
    return true;
  };
  // The parser would take a zero byte for the end of the text.
  if (text.find('\0') != text.npos) throw Failure(path + ": has a zero byte, so it is not JSON");
  try {
    return Json::parse(text, shallow);
  } catch (const Json::exception& error) {
    throw Failure(path + ": " + error.what());
  }
}

std::string json_line(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon_program
