// File that exercises each flag: an array on the stack, a copy of a length known only at run time,
// a function called through its address.
#include <cstdio>
#include <cstring>

extern "C" [[gnu::visibility("default")]] int probe_entry(const char* text, unsigned long length) {
  char copy[64];
  std::memcpy(copy, text, length);  // checked against the 64 bytes
  copy[63] = 0;
  return std::printf("%s\n", copy);
}

int main(int argc, char** argv) { return probe_entry(argv[0], static_cast<unsigned long>(argc)); }
