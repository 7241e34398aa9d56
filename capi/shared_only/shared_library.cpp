// Part of libtenon.so only, not of libtenon.a. Tells the code that its file is the library's own,
// next to the folder of plugins (backend/plugin_folder.h). Windows tells by the file's exports.
#ifndef _WIN32
extern "C" {
__attribute__((visibility("hidden"))) extern const char tenon_is_shared_library;
const char tenon_is_shared_library = 1;
}
#endif
