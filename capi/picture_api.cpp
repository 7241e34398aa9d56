// tenon_model_picture_tokens, tenon_model_picture_place, tenon_session_append_picture.
#include "fence.h"
#include "media/pixels.h"
#include "model/tower.h"
#include "model_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

/// A host's picture, checked against its bytes.
tenon::SessionPicture picture_in(const tenon_picture* given, const void* pixels, size_t size) {
  const auto raw = struct_in<tenon_picture>(given, "tenon_picture");
  if (raw.reserved != 0) tenon::fail(tenon::Code::Argument, "tenon_picture.reserved is not 0");
  if (raw.pixel_type > TENON_PIXELS_F32) {
    tenon::fail(tenon::Code::Argument, "tenon_picture.pixel_type is {}, not in 0..{}",
                raw.pixel_type, TENON_PIXELS_F32);
  }
  if (raw.orientation > 8) {
    tenon::fail(tenon::Code::Argument, "tenon_picture.orientation is {}, not in 0..8",
                raw.orientation);
  }
  if (raw.background != 0 && raw.background >> 24 != 1) {
    tenon::fail(tenon::Code::Argument, "tenon_picture.background is {:#x}, not 0x01RRGGBB",
                raw.background);
  }
  tenon::SessionPicture picture;
  picture.pixels.type = static_cast<tenon::media::PixelType>(raw.pixel_type);
  picture.pixels.channels = raw.channels;
  picture.pixels.size = {raw.width, raw.height};
  picture.pixels.stride = raw.stride;
  picture.pixels.data = pixels;
  if (raw.orientation != 0) picture.orientation = raw.orientation;
  if (raw.background != 0) {
    picture.background = {static_cast<uint8_t>(raw.background >> 16),
                          static_cast<uint8_t>(raw.background >> 8),
                          static_cast<uint8_t>(raw.background)};
  }
  const uint64_t needed = tenon::media::check_pixels(picture.pixels);
  if (needed > size) {
    tenon::fail(tenon::Code::Argument, "the picture has {} bytes, its pixels take {}", size,
                needed);
  }
  return picture;
}

}  // namespace

tenon_status tenon_model_picture_tokens(const tenon_model* model, uint64_t width, uint64_t height,
                                        uint64_t* tokens) {
  return fence([&] {
    if (tokens == nullptr) tenon::fail(tenon::Code::Argument, "tokens is NULL");
    const tenon::Tower& tower = tenon::tower_of(*checked(model).model);
    *tokens = tower.text_of(tower.plan({width, height})).tokens.size();
  });
}

tenon_status tenon_model_picture_place(const tenon_model* model, tenon_token* token) {
  return fence([&] {
    if (token == nullptr) tenon::fail(tenon::Code::Argument, "token is NULL");
    *token = tenon::tower_of(*checked(model).model).row_token();
  });
}

tenon_status tenon_session_append_picture(tenon_session* session, const tenon_picture* picture,
                                          const void* pixels, size_t size) {
  return fence([&] {
    const SessionCall call(session);
    call->session->append_picture(picture_in(picture, pixels, size));
  });
}
