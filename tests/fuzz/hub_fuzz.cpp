// Fuzz target: any bytes as a reference, as an address, and as each answer of a hub; what a listing
// yields goes on to the choice of files. Only Error and std::bad_alloc may come out, and no path that
// leaves a folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/choose.h"
#include "hub/download.h"
#include "hub/listing.h"
#include "hub/reference.h"
#include "hub/url.h"

namespace tenon::hub {
namespace {

void need(bool holds) {
  if (!holds) std::abort();  // a fuzz target reports by dying
}

template <typename Call>
void attempt(const Call& call) {
  try {
    call();
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
}

void try_listing(std::string_view text) {
  Listing listing;
  attempt([&] { read_tree_page(text, "listing", listing); });
  std::vector<NamedFile> files;
  for (const RemoteFile& file : listing.files) {
    need(why_bad_path(file.path) == nullptr);
    need(file.path.find("..") == file.path.npos || file.path.front() != '/');
    files.push_back({file.path, file.size_bytes});
  }
  for (const char* wanted : {"", "Q4_K_M", "a.gguf"}) {
    attempt([&] {
      const Choice choice = choose_files(files, wanted, "fuzz", decide_by_name,
                                         [&](const std::string&) { return std::string(text); });
      for (const size_t i : choice.files) need(i < files.size());
    });
  }
}

void try_all(std::string_view text) {
  attempt([&] {
    const Reference reference = parse_reference(text);
    need(!reference.id.empty());
    if (reference.kind == Reference::Kind::Hub) need(is_repository_id(reference.id));
  });
  attempt([&] {
    const Url url = parse_url(text);
    need(parse_url(url.text()).text() == url.text());
    (void)url.file_name();
  });
  attempt([&] { (void)resolve_redirect(parse_url("https://a.example/b/c?d"), text); });
  attempt([&] { need(is_hex(read_commit(text, "commit"), 40)); });
  try_listing(text);
  (void)next_page(text);
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t total = 0;
  if (read_content_range(text, begin, end, total)) need(begin < end && end <= total);
}

}  // namespace
}  // namespace tenon::hub

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::hub::try_all({reinterpret_cast<const char*>(data), size});
  return 0;
}
