// GIF's first frame, by a reader of ours.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "decode/bits.h"
#include "decode/formats.h"

namespace tenon::decoding {
namespace {

constexpr size_t kGifHeadBytes = 13;
constexpr uint32_t kMaxCodes = 4096;

struct GifHead {
  Info info;
  size_t palette = 0;  ///< offset; 0: none, colours are greys
  size_t num_colours = 0;
  int transparent = -1;
  uint64_t left = 0;
  uint64_t top = 0;
  uint64_t width = 0;
  uint64_t height = 0;
  bool is_interlaced = false;
  size_t codes = 0;  ///< offset of the least code size
};

[[noreturn]] void gif_ends() { fail(Code::Format, "GIF: the file ends before its first frame"); }

/// Skips blocks of data; returns the offset after the empty one, or the file's size.
size_t skip_blocks(Bytes file, size_t at) {
  while (at < file.size()) {
    const size_t length = byte_at(file, at);
    if (length == 0) return at + 1;
    if (length >= file.size() - at) break;
    at += length + 1;
  }
  return file.size();
}

GifHead read_gif_head(Bytes file) {
  if (file.size() < kGifHeadBytes) gif_ends();
  GifHead head;
  head.info.width = little16(file, 6);
  head.info.height = little16(file, 8);
  size_t at = kGifHeadBytes;
  const auto take_palette = [&](uint32_t flags) {
    if ((flags & 0x80) == 0) return;
    head.num_colours = size_t{2} << (flags & 7);
    head.palette = at;
    if (file.size() - at < head.num_colours * 3) gif_ends();
    at += head.num_colours * 3;
  };
  take_palette(byte_at(file, 10));
  while (at < file.size()) {
    const uint32_t mark = byte_at(file, at++);
    if (mark == 0x21) {
      if (file.size() - at < 6) gif_ends();
      const bool is_control = byte_at(file, at) == 0xF9 && byte_at(file, at + 1) == 4;
      if (is_control) {
        const bool has_transparent = (byte_at(file, at + 2) & 1) != 0;
        head.transparent = has_transparent ? static_cast<int>(byte_at(file, at + 5)) : -1;
      }
      at = skip_blocks(file, at + 1);
      continue;
    }
    if (mark != 0x2C || file.size() - at < 10) gif_ends();
    head.left = little16(file, at);
    head.top = little16(file, at + 2);
    head.width = little16(file, at + 4);
    head.height = little16(file, at + 6);
    const uint32_t flags = byte_at(file, at + 8);
    head.is_interlaced = (flags & 0x40) != 0;
    at += 9;
    take_palette(flags);
    if (at >= file.size()) gif_ends();
    head.codes = at;
    const size_t next = skip_blocks(file, at + 1);
    head.info.is_animated = next < file.size() && byte_at(file, next) != 0x3B;
    const bool covers = head.left == 0 && head.top == 0 && head.width >= head.info.width &&
                        head.height >= head.info.height;
    head.info.channels = covers && head.transparent < 0 ? 3 : 4;
    return head;
  }
  gif_ends();
}

Info inspect_gif(Bytes file) { return read_gif_head(file).info; }

bool is_gif(Bytes file) { return has_text(file, 0, "GIF87a") || has_text(file, 0, "GIF89a"); }

/// Bits of the blocks of data, lowest first.
class GifBits {
 public:
  GifBits(Bytes file, size_t at) : file_(file), at_(at) {}
  /// -1 at the end.
  int take(uint32_t count) {
    while (held_ < count) {
      if (left_ == 0) {
        left_ = at_ < file_.size() ? byte_at(file_, at_++) : 0;
        if (left_ == 0) return -1;
      }
      if (at_ >= file_.size()) return -1;
      bits_ |= byte_at(file_, at_++) << held_;
      held_ += 8;
      --left_;
    }
    const uint32_t value = bits_ & ((1U << count) - 1);
    bits_ >>= count;
    held_ -= count;
    return static_cast<int>(value);
  }

 private:
  Bytes file_;
  size_t at_;
  size_t left_ = 0;  ///< bytes of this block
  uint32_t bits_ = 0;
  uint32_t held_ = 0;
};

/// Strings of codes: each is another one and a byte more.
class GifTable {
 public:
  explicit GifTable(uint32_t least_bits) : least_bits_(least_bits) { clear(); }

  void clear() {
    next_ = clear_code() + 2;
    bits_ = least_bits_ + 1;
  }
  [[nodiscard]] uint32_t clear_code() const { return 1U << least_bits_; }
  [[nodiscard]] uint32_t bits() const { return bits_; }
  [[nodiscard]] bool knows(uint32_t code) const { return code < next_ && code != clear_code() + 1; }
  [[nodiscard]] uint32_t next() const { return next_; }

  /// Spells a code into the end of text(); returns its length.
  size_t spell(uint32_t code) {
    size_t length = 0;
    while (code > clear_code()) {
      text_[kMaxCodes - ++length] = last_[code];
      code = before_[code];
    }
    text_[kMaxCodes - ++length] = static_cast<uint8_t>(code);
    return length;
  }
  [[nodiscard]] const uint8_t* text(size_t length) const {
    return text_.data() + kMaxCodes - length;
  }
  void add(uint32_t before, uint8_t last) {
    if (next_ == kMaxCodes) return;
    before_[next_] = static_cast<uint16_t>(before);
    last_[next_] = last;
    ++next_;
    if (next_ == 1U << bits_ && bits_ < 12) ++bits_;
  }

 private:
  uint32_t least_bits_;
  uint32_t bits_ = 0;
  uint32_t next_ = 0;
  std::array<uint16_t, kMaxCodes> before_{};
  std::array<uint8_t, kMaxCodes> last_{};
  std::array<uint8_t, kMaxCodes> text_{};
};

/// Places colours in the order of the frame's rows.
class GifPainter {
 public:
  GifPainter(Bytes file, const GifHead& head, Decoded& into)
      : file_(file), head_(head), into_(into) {}

  [[nodiscard]] bool is_full() const { return y_ >= head_.height || head_.width == 0; }

  void place(uint8_t colour) {
    set(head_.left + x_, head_.top + y_, colour);
    if (++x_ < head_.width) return;
    x_ = 0;
    if (!head_.is_interlaced) {
      ++y_;
      return;
    }
    constexpr std::array<uint64_t, 4> kFirst{0, 4, 2, 1};
    constexpr std::array<uint64_t, 4> kStep{8, 8, 4, 2};
    y_ += kStep[pass_];
    while (y_ >= head_.height && pass_ < 3) y_ = kFirst[++pass_];
  }

 private:
  void set(uint64_t x, uint64_t y, uint8_t colour) {
    const Info& info = into_.info;
    if (x >= info.width || y >= info.height || colour == head_.transparent) return;
    uint8_t* to = into_.pixels() + (y * info.width + x) * info.channels;
    for (size_t c = 0; c < 3; ++c) {
      const bool is_grey = head_.palette == 0;
      to[c] = is_grey ? colour
              : colour < head_.num_colours
                  ? static_cast<uint8_t>(byte_at(file_, head_.palette + 3 * size_t{colour} + c))
                  : 0;
    }
    if (info.channels == 4) to[3] = 255;
  }

  Bytes file_;
  const GifHead& head_;
  Decoded& into_;
  uint64_t x_ = 0;
  uint64_t y_ = 0;
  size_t pass_ = 0;
};

void decode_gif(Bytes file, const Limits& limits, Decoded& into) {
  const GifHead head = read_gif_head(file);
  // A frame may be larger than its canvas, and all of it is decoded.
  Info frame = head.info;
  frame.width = std::max<uint64_t>(head.width, 1);
  frame.height = std::max<uint64_t>(head.height, 1);
  check(frame, limits);
  const uint32_t least_bits = byte_at(file, head.codes);
  if (least_bits < 1 || least_bits > 8) {
    fail(Code::Format, "GIF: colours of {} bits", least_bits);
  }
  allocate(into);
  std::memset(into.pixels(), 0, into.data.size());
  GifBits bits(file, head.codes + 1);
  GifTable table(least_bits);
  GifPainter painter(file, head, into);
  int before = -1;
  uint8_t first = 0;
  while (!painter.is_full()) {
    const int taken = bits.take(table.bits());
    if (taken < 0) fail(Code::Format, "GIF: the file ends inside its first frame");
    const auto code = static_cast<uint32_t>(taken);
    if (code == table.clear_code()) {
      table.clear();
      before = -1;
      continue;
    }
    if (code == table.clear_code() + 1) fail(Code::Format, "GIF: the first frame ends early");
    // A code that is just being made: the one before and its first byte.
    const bool is_new = before >= 0 && code == table.next();
    if (!is_new && !table.knows(code)) fail(Code::Format, "GIF: a code out of order");
    if (is_new) table.add(static_cast<uint32_t>(before), first);
    const size_t length = table.spell(code);
    first = table.text(length)[0];
    if (!is_new && before >= 0) table.add(static_cast<uint32_t>(before), first);
    for (size_t i = 0; i < length && !painter.is_full(); ++i) painter.place(table.text(length)[i]);
    before = taken;
  }
}

}  // namespace

extern const Format kGif{"gif", is_gif, inspect_gif, decode_gif};

}  // namespace tenon::decoding
