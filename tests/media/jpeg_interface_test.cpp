// Our declaration of libjpeg's structures beside its own header, where that is installed.
#include "decode/jpeg_interface.h"

#include <gtest/gtest.h>

#if __has_include(<jpeglib.h>)
#include <jpeglib.h>

#include <cstdio>

namespace tenon::decoding {
namespace {

TEST(JpegInterface, HasTheOffsetsOfTheHeader) {
  if (JPEG_LIB_VERSION != jpeg::kAbi)
    GTEST_SKIP() << "jpeglib.h is of version " << JPEG_LIB_VERSION;
  static jpeg::Decompress ours;
  static jpeg_decompress_struct theirs;
  const auto at = [](const void* base, const void* member) {
    return static_cast<const char*>(member) - static_cast<const char*>(base);
  };
  EXPECT_EQ(sizeof ours, sizeof theirs);
  EXPECT_EQ(sizeof(jpeg::ErrorManager), sizeof(jpeg_error_mgr));
  EXPECT_EQ(sizeof(jpeg::Source), sizeof(jpeg_source_mgr));
  EXPECT_EQ(sizeof(jpeg::Progress), sizeof(jpeg_progress_mgr));
  EXPECT_EQ(offsetof(jpeg::ErrorManager, num_warnings), offsetof(jpeg_error_mgr, num_warnings));
  EXPECT_EQ(offsetof(jpeg::ErrorManager, msg_code), offsetof(jpeg_error_mgr, msg_code));
#define SAME_PLACE(member) \
  EXPECT_EQ(at(&ours, &ours.member), at(&theirs, &theirs.member)) << #member
  SAME_PLACE(err);
  SAME_PLACE(progress);
  SAME_PLACE(src);
  SAME_PLACE(image_width);
  SAME_PLACE(image_height);
  SAME_PLACE(num_components);
  SAME_PLACE(out_color_space);
  SAME_PLACE(output_width);
  SAME_PLACE(output_height);
  SAME_PLACE(output_components);
  SAME_PLACE(output_scanline);
  SAME_PLACE(input_scan_number);
  SAME_PLACE(progressive_mode);
  SAME_PLACE(comps_in_scan);
  SAME_PLACE(unread_marker);
#undef SAME_PLACE
  EXPECT_EQ(jpeg::kGrey, JCS_GRAYSCALE);
  EXPECT_EQ(jpeg::kRgb, JCS_RGB);
  EXPECT_EQ(jpeg::kCmyk, JCS_CMYK);
}

}  // namespace
}  // namespace tenon::decoding
#endif
