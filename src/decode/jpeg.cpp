// JPEG by libjpeg. Its errors leave by longjmp, over C frames and one function of ours that owns
// nothing.
#include <csetjmp>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/system_library.h"
#include "decode/bits.h"
#include "decode/formats.h"
#include "decode/jpeg_interface.h"

namespace tenon::decoding {
namespace {

/// Scans of a progressive file; real ones have about ten, and each costs a pass over the picture.
constexpr int kMaxScans = 100;

struct LibJpeg {
  jpeg::ErrorManager* (*std_error)(jpeg::ErrorManager*) = nullptr;
  void (*create)(jpeg::Decompress*, int, size_t) = nullptr;
  void (*destroy)(jpeg::Decompress*) = nullptr;
  int (*read_header)(jpeg::Decompress*, int) = nullptr;
  int (*start)(jpeg::Decompress*) = nullptr;
  unsigned (*read_scanlines)(jpeg::Decompress*, unsigned char**, unsigned) = nullptr;
  int (*resync_to_restart)(jpeg::Decompress*, int) = nullptr;
};

const LibJpeg& libjpeg() {
  static const LibJpeg loaded = [] {
    const auto system = System::real();
    const SystemLibrary library(*system, {"libjpeg.so.62"},
                                "JPEG pictures need libjpeg (Debian: libjpeg62-turbo)");
    LibJpeg made;
    library.find("jpeg_std_error", made.std_error);
    library.find("jpeg_CreateDecompress", made.create);
    library.find("jpeg_destroy_decompress", made.destroy);
    library.find("jpeg_read_header", made.read_header);
    library.find("jpeg_start_decompress", made.start);
    library.find("jpeg_read_scanlines", made.read_scanlines);
    library.find("jpeg_resync_to_restart", made.resync_to_restart);
    return made;
  }();
  return loaded;
}

/// One decoding. libjpeg knows it by its first member.
struct JpegJob {
  jpeg::ErrorManager errors;
  jpeg::Decompress state;
  jpeg::Source source;
  jpeg::Progress progress;
  std::jmp_buf failed;
  char message[200];
  bool is_cut_short;
  Bytes file;
  Info info;
  uint8_t* pixels;    ///< [height, width, channels]
  uint8_t* cmyk_row;  ///< [width, 4]; null unless the file has four components
};

JpegJob& job_of(jpeg::Common* state) { return *reinterpret_cast<JpegJob*>(state->err); }

[[noreturn]] void leave(JpegJob& job, const char* message) {
  std::strncpy(job.message, message, sizeof job.message - 1);
  std::longjmp(job.failed, 1);
}

void on_jpeg_error(jpeg::Common* state) {
  JpegJob& job = job_of(state);
  job.errors.format_message(state, job.message);
  std::longjmp(job.failed, 1);
}

void count_warnings(jpeg::Common* state, int level) {
  if (level < 0) ++state->err->num_warnings;
}

void say_nothing(jpeg::Common* /*state*/) {}

void limit_scans(jpeg::Common* state) {
  JpegJob& job = job_of(state);
  if (job.state.input_scan_number > kMaxScans) leave(job, "it has more than 100 scans");
}

void leave_source(jpeg::Decompress* /*state*/) {}

/// The end of the file is an end of the picture, too: rows may be missing.
int end_of_source(jpeg::Decompress* state) {
  static const unsigned char kEndMarker[] = {0xFF, 0xD9};
  job_of(state).is_cut_short = true;
  state->src->next_input_byte = kEndMarker;
  state->src->bytes_in_buffer = sizeof kEndMarker;
  return 1;
}

void skip_source(jpeg::Decompress* state, long count) {
  jpeg::Source& source = *state->src;
  if (count <= 0) return;
  if (static_cast<size_t>(count) > source.bytes_in_buffer) {
    end_of_source(state);
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<size_t>(count);
}

/// Inks, stored inverted as Adobe's programs do, to RGB as Pillow multiplies them.
void cmyk_to_rgb(const uint8_t* cmyk, uint64_t width, uint8_t* rgb) {
  for (uint64_t x = 0; x < width; ++x) {
    const uint32_t light = cmyk[4 * x + 3];
    for (uint32_t c = 0; c < 3; ++c) {
      const uint32_t product = (255U - cmyk[4 * x + c]) * light + 128;
      const uint32_t dark = ((product >> 8) + product) >> 8;
      rgb[3 * x + c] = static_cast<uint8_t>(light > dark ? light - dark : 0);
    }
  }
}

/// Decodes; false with a message on failure. Owns nothing with a destructor: errors jump out of it.
bool run_jpeg(const LibJpeg& api, JpegJob& job) noexcept {
  jpeg::Decompress& state = job.state;
  if (setjmp(job.failed) != 0) {
    api.destroy(&state);
    return false;
  }
  api.create(&state, jpeg::kAbi, sizeof(jpeg::Decompress));
  state.progress = &job.progress;
  state.src = &job.source;
  if (api.read_header(&state, 1) != 1) leave(job, "it has no picture");
  if (state.image_width != job.info.width || state.image_height != job.info.height) {
    leave(job, "it has two heads");
  }
  const bool is_cmyk = job.cmyk_row != nullptr;
  if (is_cmyk != (state.num_components == 4)) leave(job, "it has two heads");
  state.out_color_space = is_cmyk ? jpeg::kCmyk : job.info.channels == 1 ? jpeg::kGrey : jpeg::kRgb;
  api.start(&state);
  if (state.output_width != job.info.width || state.output_height != job.info.height ||
      state.output_components != static_cast<int>(is_cmyk ? 4 : job.info.channels)) {
    leave(job, "it has an unknown layout");
  }
  while (state.output_scanline < state.output_height) {
    uint8_t* row = job.pixels + state.output_scanline * job.info.width * job.info.channels;
    unsigned char* into = is_cmyk ? job.cmyk_row : row;
    if (api.read_scanlines(&state, &into, 1) != 1) leave(job, "it ends early");
    if (is_cmyk) cmyk_to_rgb(job.cmyk_row, job.info.width, row);
  }
  // Only the end's mark may be missing, and only where no further scan could have followed.
  const bool may_lack_scans =
      state.progressive_mode != 0 || state.comps_in_scan < state.num_components;
  if (job.is_cut_short && (job.errors.num_warnings > 0 || may_lack_scans)) {
    leave(job, "it ends early");
  }
  api.destroy(&state);
  return true;
}

bool is_jpeg(Bytes file) { return has_text(file, 0, "\xFF\xD8\xFF"); }

/// Number of components of a frame, by its SOF marker.
uint32_t read_jpeg_frame(Bytes file, uint32_t marker, size_t at, size_t length, Info& info) {
  // Baseline, extended and progressive, in Huffman or arithmetic coding.
  const bool is_known = marker <= 0xC2 || marker == 0xC9 || marker == 0xCA;
  if (length < 8) fail(Code::Format, "JPEG: a frame's head is cut short");
  const uint32_t bits = byte_at(file, at + 2);
  if (!is_known || bits != 8) {
    fail(Code::Unsupported, "JPEG: frames of kind {} with {} bits are not decoded", marker - 0xC0,
         bits);
  }
  info.height = big16(file, at + 3);
  info.width = big16(file, at + 5);
  const uint32_t components = byte_at(file, at + 7);
  if (components != 1 && components != 3 && components != 4) {
    fail(Code::Unsupported, "JPEG: pictures of {} components are not decoded", components);
  }
  info.channels = components == 1 ? 1 : 3;
  return components;
}

uint32_t read_jpeg_head(Bytes file, Info& info) {
  uint32_t components = 0;
  size_t at = 2;
  while (at + 4 <= file.size()) {
    if (byte_at(file, at) != 0xFF) {
      ++at;  // stray bytes between segments, which libjpeg skips
      continue;
    }
    const uint32_t marker = byte_at(file, at + 1);
    if (marker == 0xFF) {
      ++at;
      continue;
    }
    at += 2;
    const bool stands_alone =
        marker == 0x00 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (stands_alone) continue;
    if (marker == 0xD9 || marker == 0xDA) break;  // pixels, or the end
    const size_t length = big16(file, at);
    if (length < 2 || length > file.size() - at) break;
    const bool is_frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (is_frame && components == 0) components = read_jpeg_frame(file, marker, at, length, info);
    if (marker == 0xE1 && has_text(file, at + 2, "Exif") && info.orientation == 1) {
      info.orientation = exif_orientation(file.subspan(at + 2, length - 2));
    }
    at += length;
  }
  if (components == 0)
    fail(Code::Format, "JPEG: there is no frame before the file's end or pixels");
  return components;
}

Info inspect_jpeg(Bytes file) {
  Info info;
  read_jpeg_head(file, info);
  return info;
}

void decode_jpeg(Bytes file, const Limits& /*limits*/, Decoded& into) {
  const LibJpeg& api = libjpeg();
  Info head;
  const bool is_cmyk = read_jpeg_head(file, head) == 4;
  allocate(into);
  const Buffer row(System::real(), is_cmyk ? into.info.width * 4 : 0, "a row of inks");
  const auto job = std::make_unique<JpegJob>();
  job->info = into.info;
  job->file = file;
  job->pixels = into.pixels();
  job->cmyk_row = reinterpret_cast<uint8_t*>(row.data());
  job->state.err = api.std_error(&job->errors);
  job->errors.error_exit = on_jpeg_error;
  job->errors.emit_message = count_warnings;
  job->errors.output_message = say_nothing;
  job->progress.progress_monitor = limit_scans;
  job->source = {reinterpret_cast<const unsigned char*>(file.data()),
                 file.size(),
                 leave_source,
                 end_of_source,
                 skip_source,
                 api.resync_to_restart,
                 leave_source};
  if (!run_jpeg(api, *job)) {
    // Numbers of messages differ between versions.
    constexpr std::string_view kFull = "Insufficient memory";
    const bool is_memory = std::string_view(job->message).starts_with(kFull);
    fail(is_memory ? Code::NoMemory : Code::Format, "JPEG: {}", job->message);
  }
}

}  // namespace

extern const Format kJpeg{"jpeg", is_jpeg, inspect_jpeg, decode_jpeg};

}  // namespace tenon::decoding
