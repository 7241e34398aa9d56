// The interface of libjpeg.so.62 (jpeglib.h), declared as far as it is used, so that no header is
// needed to build. The library compares the size of the structure; tests compare every offset.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::decoding::jpeg {

constexpr int kAbi = 62;
// J_COLOR_SPACE
constexpr int kGrey = 1, kRgb = 2, kCmyk = 4;

struct Common;
struct Decompress;

struct ErrorManager {
  void (*error_exit)(Common*);
  void (*emit_message)(Common*, int);
  void (*output_message)(Common*);
  void (*format_message)(Common*, char*);
  void (*reset_error_mgr)(Common*);
  int msg_code;
  union {
    int i[8];
    char s[80];
  } msg_parm;
  int trace_level;
  long num_warnings;
  const char* const* jpeg_message_table;
  int last_jpeg_message;
  const char* const* addon_message_table;
  int first_addon_message;
  int last_addon_message;
};

struct Progress {
  void (*progress_monitor)(Common*);
  long pass_counter;
  long pass_limit;
  int completed_passes;
  int total_passes;
};

struct Source {
  const unsigned char* next_input_byte;
  size_t bytes_in_buffer;
  void (*init_source)(Decompress*);
  int (*fill_input_buffer)(Decompress*);
  void (*skip_input_data)(Decompress*, long);
  int (*resync_to_restart)(Decompress*, int);
  void (*term_source)(Decompress*);
};

/// What compression and decompression begin with.
struct Common {
  ErrorManager* err;
  void* mem;
  Progress* progress;
  void* client_data;
  int is_decompressor;
  int global_state;
};

/// jpeg_decompress_struct.
struct Decompress : Common {
  Source* src;
  unsigned image_width;
  unsigned image_height;
  int num_components;
  int jpeg_color_space;
  int out_color_space;
  unsigned scale_num;
  unsigned scale_denom;
  double output_gamma;
  int buffered_image;
  int raw_data_out;
  int dct_method;
  int do_fancy_upsampling;
  int do_block_smoothing;
  int quantize_colors;
  int dither_mode;
  int two_pass_quantize;
  int desired_number_of_colors;
  int enable_1pass_quant;
  int enable_external_quant;
  int enable_2pass_quant;
  unsigned output_width;
  unsigned output_height;
  int out_color_components;
  int output_components;
  int rec_outbuf_height;
  int actual_number_of_colors;
  void* colormap;
  unsigned output_scanline;
  int input_scan_number;
  unsigned input_iMCU_row;
  int output_scan_number;
  unsigned output_iMCU_row;
  void* coef_bits;
  void* quant_tbl_ptrs[4];
  void* dc_huff_tbl_ptrs[4];
  void* ac_huff_tbl_ptrs[4];
  int data_precision;
  void* comp_info;
  int progressive_mode;
  int arith_code;
  unsigned char arith_dc_L[16];
  unsigned char arith_dc_U[16];
  unsigned char arith_ac_K[16];
  unsigned restart_interval;
  int saw_JFIF_marker;
  unsigned char JFIF_major_version;
  unsigned char JFIF_minor_version;
  unsigned char density_unit;
  unsigned short X_density;
  unsigned short Y_density;
  int saw_Adobe_marker;
  unsigned char Adobe_transform;
  int CCIR601_sampling;
  void* marker_list;
  int max_h_samp_factor;
  int max_v_samp_factor;
  int min_DCT_scaled_size;
  unsigned total_iMCU_rows;
  void* sample_range_limit;
  int comps_in_scan;
  void* cur_comp_info[4];
  unsigned MCUs_per_row;
  unsigned MCU_rows_in_scan;
  int blocks_in_MCU;
  int MCU_membership[10];
  int Ss, Se, Ah, Al;
  int unread_marker;
  void* modules[11];
};

}  // namespace tenon::decoding::jpeg
