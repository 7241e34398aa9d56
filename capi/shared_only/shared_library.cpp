// In libtenon.so alone, not in libtenon.a: tells the code that it has a file of its own, beside which
// plugins are looked for (backend/plugin_folder.h).
extern "C" {
__attribute__((visibility("hidden"))) extern const char tenon_is_shared_library;
const char tenon_is_shared_library = 1;
}
