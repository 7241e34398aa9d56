// A file in which each of the flags has something to do: an array on the stack, a copy of a length that
// is known late, a function that is called through its address.
#include <cstdio>
#include <cstring>

extern "C" [[gnu::visibility("default")]] int probe_entry(const char* text, unsigned long length) {
  char copy[64];
  std::memcpy(copy, text, length);  // checked against the 64 bytes
  copy[63] = 0;
  return std::printf("%s\n", copy);
}

int main(int argc, char** argv) { return probe_entry(argv[0], static_cast<unsigned long>(argc)); }
