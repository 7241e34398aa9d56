// A program that links libtenon.so and loads plug-ins which have libtenon.a inside: all answer.
#include <dlfcn.h>

#include <cstring>
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>

int main(int argc, char** argv) {
  const tenon::Model model(argv[1], {.threads = 1});
  for (int i = 2; i < argc; ++i) {
    // In view of each other, as libraries are that a program was linked with.
    void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    const std::string path = argv[i];
    const auto from = path.rfind("/lib") + std::strlen("/lib");
    const std::string name = path.substr(from, path.rfind(".so") - from);
    auto* run = plugin == nullptr
                    ? nullptr
                    : reinterpret_cast<int (*)(int, char**)>(dlsym(plugin, name.c_str()));
    if (run == nullptr) {
      std::cerr << dlerror() << '\n';
      return 1;
    }
    if (run(2, argv) != 0) return 1;
  }
}
