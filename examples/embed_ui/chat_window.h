// Window in plain Xlib: lines of text, a bar, typed lines. Independent of models.
#pragma once

#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/keysym.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

class ChatWindow {
 public:
  static constexpr int kWidth = 640;
  static constexpr int kHeight = 400;
  static constexpr int kLine = 16;  // pixels from one line to the next

  explicit ChatWindow(const char* title) : display_(XOpenDisplay(nullptr)) {
    if (display_ == nullptr) throw std::runtime_error("cannot open the display; is DISPLAY set?");
    const int screen = DefaultScreen(display_);
    paper_ = WhitePixel(display_, screen);
    ink_ = BlackPixel(display_, screen);
    window_ = XCreateSimpleWindow(display_, RootWindow(display_, screen), 0, 0, kWidth, kHeight, 0,
                                  ink_, paper_);
    // Back buffer, so that no half-drawn frame is visible.
    frame_ = XCreatePixmap(display_, window_, kWidth, kHeight,
                           static_cast<unsigned>(DefaultDepth(display_, screen)));
    pen_ = XCreateGC(display_, frame_, 0, nullptr);
    closes_ = XInternAtom(display_, "WM_DELETE_WINDOW", False);
    XSetWMProtocols(display_, window_, &closes_, 1);
    XStoreName(display_, window_, title);
    XSelectInput(display_, window_, KeyPressMask | ExposureMask);
    XMapWindow(display_, window_);
  }
  ~ChatWindow() {
    XFreeGC(display_, pen_);
    XFreePixmap(display_, frame_);
    XDestroyWindow(display_, window_);
    XCloseDisplay(display_);
  }
  ChatWindow(const ChatWindow&) = delete;
  ChatWindow& operator=(const ChatWindow&) = delete;

  /// Handles pending events; true if a line was finished, which line() then returns.
  bool take_events() {
    bool finished = false;
    while (XPending(display_) > 0 && !finished) {
      XEvent event;
      XNextEvent(display_, &event);
      if (event.type == ClientMessage && static_cast<Atom>(event.xclient.data.l[0]) == closes_) {
        closed_ = true;
      }
      if (event.type == KeyPress) finished = press(event.xkey);
    }
    return finished;
  }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] const std::string& line() const { return line_; }
  void clear_line() { line_.clear(); }

  void clear() {
    XSetForeground(display_, pen_, paper_);
    XFillRectangle(display_, frame_, pen_, 0, 0, kWidth, kHeight);
    XSetForeground(display_, pen_, ink_);
  }
  /// The X server's fonts hold Latin letters; other characters become question marks.
  void draw_text(int x, int y, std::string_view text) {
    std::string shown;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7f) shown += c;
      if (byte >= 0xc0) shown += '?';  // the first byte of a character
    }
    XDrawString(display_, frame_, pen_, x, y, shown.data(), static_cast<int>(shown.size()));
  }
  void draw_bar(int x, int y, int width) {
    XFillRectangle(display_, frame_, pen_, x, y, static_cast<unsigned>(std::max(width, 1)), 6);
  }
  /// Shows the frame, and returns after the server has drawn it.
  void present() {
    XCopyArea(display_, frame_, window_, pen_, 0, 0, kWidth, kHeight, 0, 0);
    XSync(display_, False);
  }
  /// Number of pixels of the frame that differ from the background.
  [[nodiscard]] long count_ink() const {
    XImage* image = XGetImage(display_, frame_, 0, 0, kWidth, kHeight, AllPlanes, ZPixmap);
    if (image == nullptr) return 0;
    long count = 0;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) count += XGetPixel(image, x, y) != paper_;
    }
    XDestroyImage(image);
    return count;
  }

 private:
  /// Handles a key; true if it finishes a line.
  bool press(XKeyEvent& event) {
    char text[8];
    KeySym key = 0;
    const int length = XLookupString(&event, text, sizeof text, &key, nullptr);
    if (key == XK_Return) return !line_.empty();
    if (key == XK_BackSpace && !line_.empty()) {
      line_.pop_back();
    } else if (length == 1 && text[0] >= 0x20 && text[0] < 0x7f && line_.size() < 80) {
      line_ += text[0];
    }
    return false;
  }

  Display* display_;
  Window window_ = 0;
  Pixmap frame_ = 0;
  GC pen_ = nullptr;
  Atom closes_ = 0;
  unsigned long paper_ = 0;
  unsigned long ink_ = 0;
  bool closed_ = false;
  std::string line_;
};
