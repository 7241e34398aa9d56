/* Decoding pictures and sound, a library of its own: libtenon-media. It makes pixels and samples of
 * a file that lies in memory, for a host that has no decoder of its own. It needs no other library of
 * Tenon, fetches nothing and opens no file. docs/use/decoding.md shows it in use.
 *
 * This file reads from top to bottom: 1 options and facts   2 decoding   3 errors
 *
 * A picture, without error handling:
 *
 *   tenon_decode_info info = {0};
 *   info.struct_size = sizeof info;
 *   tenon_decoded* picture = NULL;
 *   tenon_decode(bytes, size, NULL, &picture);
 *   tenon_decode_get_info(picture, &info);
 *   const uint8_t* pixels = tenon_decode_pixels(picture);   info.height rows of
 *                                                           info.width * info.channels bytes
 *   tenon_decode_destroy(picture);
 *
 * Formats      PNG (by libspng), JPEG (libjpeg62-turbo), WebP (libwebp), FLAC (libFLAC), MP3
 *              (libmpg123): libraries of the system, opened when a file needs one. GIF, BMP and WAV
 *              need none. The first frame of an animation is taken.
 * Limits       A file's head is read first, and a file beyond a limit is refused before anything is
 *              allocated for it.
 * Threads      Any thread may call any function. No thread is started.
 * Status       As in tenon/tenon.h, section 3. This library has its own messages:
 *              tenon_decode_last_error().
 * Structs      As in tenon/tenon.h: set struct_size and zero the rest.
 */
#ifndef TENON_MEDIA_H
#define TENON_MEDIA_H

#include <stddef.h>
#include <stdint.h>
#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_MEDIA_API __attribute__((visibility("default")))

/* A decoded file; immutable, any thread. */
typedef struct tenon_decoded tenon_decoded;

/* ---- 1. Options and facts -------------------------------------------------------------------- */

typedef struct tenon_decode_options {
  uint32_t struct_size;
  uint32_t max_side;    /* pixels; 0: 32,768 */
  uint64_t max_pixels;  /* 0: 178,956,970 */
  uint64_t max_samples; /* numbers over all channels; 0: 2^28 */
} tenon_decode_options;

#define TENON_DECODE_PICTURE 1u
#define TENON_DECODE_SOUND 2u

typedef struct tenon_decode_info {
  uint32_t struct_size;
  uint32_t kind;        /* TENON_DECODE_PICTURE or TENON_DECODE_SOUND */
  const char* format;   /* "png", "jpeg", "webp", "gif", "bmp", "wav", "flac", "mp3"; lives for ever */
  uint64_t width;       /* of a picture, as its rows are stored: before it is turned upright */
  uint64_t height;
  uint32_t channels;    /* picture: 1 grey, 3 RGB, 4 RGB and opacity; sound: 1 or more */
  uint32_t orientation; /* of a picture, EXIF 1..8: 1 is upright, 6 is to be turned clockwise */
  uint32_t is_animated; /* 1: there are more frames than the one that is decoded */
  uint32_t rate;        /* of sound: samples a second in each channel */
  uint64_t frames;      /* of sound: samples in each channel; 0 while unknown (MP3, streams) */
  uint64_t bytes;       /* of the decoded form: 1 per number of a picture, 4 of sound; 0: unknown */
} tenon_decode_info;

/* ---- 2. Decoding ----------------------------------------------------------------------------- */

/* Reads a file's head and writes into *info, whose struct_size is set. Needs no codec.
 *   bytes    `size` bytes, borrowed for the call
 *   options  NULL: the defaults
 * Errors: ARGUMENT for NULL; UNSUPPORTED for a format that is not decoded; FORMAT for a damaged
 * head; LIMIT. */
TENON_MEDIA_API tenon_status tenon_decode_inspect(const void* bytes, size_t size,
                                                  const tenon_decode_options* options,
                                                  tenon_decode_info* info);
/* Decodes a file; parameters as above.
 * Errors: those of tenon_decode_inspect; UNSUPPORTED, naming the package, for a codec that is not on
 * this machine; FORMAT for a damaged or cut picture or FLAC file; NO_MEMORY. Cut WAV and MP3 files,
 * and JPEG files with damaged parts, give what they hold. *decoded is written on success alone. */
TENON_MEDIA_API tenon_status tenon_decode(const void* bytes, size_t size,
                                          const tenon_decode_options* options,
                                          tenon_decoded** decoded);
/* Writes into *info, whose struct_size is set. */
TENON_MEDIA_API tenon_status tenon_decode_get_info(const tenon_decoded* decoded,
                                                   tenon_decode_info* info);
/* Bytes [height, width, channels], without gaps; NULL for sound. 16 bits are rounded to 8, palettes
 * and inks (CMYK) are RGB. They live as long as the object. */
TENON_MEDIA_API const uint8_t* tenon_decode_pixels(const tenon_decoded* decoded);
/* f32 [frames, channels], -1..1 in files of whole numbers; as stored in files of floats, which may
 * hold NaN. NULL for a picture and for sound without samples. */
TENON_MEDIA_API const float* tenon_decode_samples(const tenon_decoded* decoded);
/* NULL is allowed. */
TENON_MEDIA_API void tenon_decode_destroy(tenon_decoded* decoded);

/* ---- 3. Errors ------------------------------------------------------------------------------- */

/* One sentence about this thread's last failure of a function above; valid until the next failure.
 */
TENON_MEDIA_API const char* tenon_decode_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* TENON_MEDIA_H */
