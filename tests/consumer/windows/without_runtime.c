/* A program of Visual C++'s ABI without a C run time, linked with tenon.lib: prints the version and
 * the error of a missing model. tests/windows.sh builds it by clang and lld-link. */
#include <tenon/tenon.h>

typedef unsigned long dword;
__declspec(dllimport) void ExitProcess(unsigned status);
__declspec(dllimport) void* GetStdHandle(dword which);
__declspec(dllimport) int WriteFile(void* file, const void* bytes, dword size, dword* written,
                                    void* at);

static void print(const char* text) {
  dword size = 0;
  while (text[size] != '\0') ++size;
  WriteFile(GetStdHandle((dword)-11), text, size, &size, 0);
}

void entry(void) {
  tenon_model* model = 0;
  const tenon_status status = tenon_model_open("Z:\\nowhere\\model.gguf", 0, &model);
  print(tenon_version_text());
  print("\n");
  print(tenon_last_error());
  print("\n");
  ExitProcess(status == TENON_ERROR_IO ? 0 : 1);
}
