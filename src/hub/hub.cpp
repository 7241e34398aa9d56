#include "hub/hub.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "hub/cache.h"
#include "hub/download.h"
#include "hub/fit.h"
#include "hub/listing.h"
#include "hub/partial_file.h"
#include "json/json_tree.h"

namespace tenon::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxListedFileBytes = size_t{64} << 20;

int64_t free_bytes_of(const char* folder) {
  struct statvfs found {};
  if (::statvfs(folder, &found) != 0) return -errno;
  return static_cast<int64_t>(found.f_bavail * found.f_frsize);
}

void check_room(const Settings& settings, const std::string& folder, uint64_t needed,
                const std::string& what) {
  const int64_t found = settings.free_bytes(folder.c_str());
  if (found < 0 || needed <= static_cast<uint64_t>(found)) return;
  fail(Code::Io,
       "{}: {} are missing yet, and {} has room for {}: make room or choose another "
       "folder",
       what, size_text(needed), folder, size_text(static_cast<uint64_t>(found)));
}

/// Bytes of a file that are yet to be written.
uint64_t missing_bytes(const std::string& partial, uint64_t size) {
  return size - std::min(allocated_bytes(partial), size);
}

/// Takes a lock that another process may hold.
void wait_for_lock(FileLock& lock, Watch& watch) {
  if (lock.try_lock()) return;
  watch.progress.phase = Phase::Waiting;
  watch.check(true);
  while (!lock.try_lock()) watch.sleep(kCheckSeconds);
}

std::vector<NamedFile> named(const std::vector<RemoteFile>& files) {
  std::vector<NamedFile> out;
  for (const RemoteFile& file : files) out.push_back({file.path, file.size_bytes});
  return out;
}

/// Order of fetching: what makes a folder a model comes last, so that a snapshot cut short is none.
bool is_weights(const std::string& path) {
  return path.ends_with(".gguf") || path.ends_with(".safetensors");
}

/// Name of the blob of a file whose digest the server does not tell.
std::string blob_name(const Crypto& crypto, const RemoteFile& file, const std::string& commit) {
  if (!file.etag().empty()) return file.etag();
  return sha256_of(crypto, commit + "\n" + file.path + "\n" + std::to_string(file.size_bytes));
}

/// The reference under which a chosen model is found again.
std::string reference_of(const Reference& asked, const Choice& choice) {
  std::string text = "hf:" + asked.id;
  if (asked.revision != "main") text += "@" + asked.revision;
  if (choice.path.empty()) return text;
  const std::string quantisation = quantisation_of(choice.path);
  return text + ":" + (quantisation.empty() ? choice.path : quantisation);
}

[[noreturn]] void fail_absent(const Reference& reference, const std::string& folder,
                              bool is_offline) {
  fail(Code::State, "{}: is not in {}{}", reference.text, folder,
       is_offline ? ", and nothing is fetched offline" : "; `tenon pull` fetches it");
}

/// Note beside a file of a plain URL: its address, ETag and size, a line each.
struct UrlNote {
  std::string url;
  std::string etag;
  uint64_t size_bytes = 0;
};

std::string note_text(const UrlNote& note) {
  return note.url + "\n" + note.etag + "\n" + std::to_string(note.size_bytes) + "\n";
}

bool read_note(System& system, const std::string& path, UrlNote& into) {
  try {
    const std::string text = read_small_file(system, path, 65536);
    const size_t first = text.find('\n');
    const size_t second = first == text.npos ? text.npos : text.find('\n', first + 1);
    if (second == text.npos) return false;
    into.url = text.substr(0, first);
    into.etag = text.substr(first + 1, second - first - 1);
    const std::string_view size = std::string_view(text).substr(second + 1);
    return size.ends_with('\n') && read_number(size.substr(0, size.size() - 1), into.size_bytes);
  } catch (const Error&) {
    return false;
  }
}

bool has_size(const std::string& path, uint64_t size) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error)) && fs::file_size(path, error) == size;
}

/// Addresses of all parts of the model that a URL names, first part first.
std::vector<std::string> parts_of(const std::string& url) {
  const size_t query = std::min(url.find('?'), url.size());
  const std::string path = url.substr(0, query);
  const std::string pattern = "-00000-of-00000.gguf";
  if (path.size() <= pattern.size()) return {url};
  const std::string tail = path.substr(path.size() - pattern.size());
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool fits = pattern[i] == '0' ? tail[i] >= '0' && tail[i] <= '9' : tail[i] == pattern[i];
    if (!fits) return {url};
  }
  uint64_t count = 0;
  for (size_t i = 10; i < 15; ++i) count = count * 10 + static_cast<uint64_t>(tail[i] - '0');
  constexpr uint64_t kMaxUrlParts = 2000;
  if (count == 0 || count > kMaxUrlParts) return {url};
  std::vector<std::string> parts;
  for (uint64_t i = 1; i <= count; ++i) {
    parts.push_back(path.substr(0, path.size() - pattern.size()) +
                    fmt::format("-{:05}-of-{:05}.gguf", i, count) + url.substr(query));
  }
  return parts;
}

/// Size and ETag of the file at a URL. has_size is false if the server does not tell the size.
struct UrlFacts {
  uint64_t size_bytes = 0;
  bool has_size = false;
  std::string etag;
};

UrlFacts ask_url(Http& http, const std::string& url, const std::string& what) {
  class HeadOnly final : public HttpReceiver {
   public:
    bool head(const HttpHead& told) override {
      answer = told;
      return told.status != 200 && told.status != 206;
    }
    bool body(std::span<const std::byte> bytes) override { return (size += bytes.size()) < 65536; }
    void end(const std::string& told) override {
      failure = told;
      has_ended = true;
    }
    HttpHead answer;
    std::string failure;
    bool has_ended = false;
    size_t size = 0;
  };
  for (uint32_t attempt = 0;; ++attempt) {
    try {
      Url at = parse_url(url);
      for (int redirects = 0;; ++redirects) {
        HeadOnly receiver;
        HttpRequest request{at.text(), http.headers_for(at)};
        request.headers.emplace_back("Range: bytes=0-0");
        const auto transfer = http.transport().start(request, receiver);
        const double begin = http.watch().now();
        while (!receiver.has_ended) {
          http.transport().wait(kCheckSeconds);
          http.watch().check();
          if (http.watch().now() - begin > http.settings().stall_seconds) {
            throw Passing(Code::Io, what + ": " + at.origin() + " does not answer");
          }
        }
        const HttpHead& head = receiver.answer;
        if (head.status == 0) {
          throw Passing(Code::Io, what + ": " + at.origin() + ": " + receiver.failure);
        }
        if (head.status >= 300 && head.status < 400 && !head.header("location").empty()) {
          if (redirects == kMaxRedirects) fail(Code::Io, "{}: redirected in a circle", what);
          at = resolve_redirect(at, head.header("location"));
          continue;
        }
        UrlFacts facts;
        facts.etag = head.header("etag");
        const bool is_plain = std::ranges::all_of(
            facts.etag, [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
        if (!is_plain || facts.etag.size() > 256 || facts.etag.starts_with("W/"))
          facts.etag.clear();
        uint64_t first = 0;
        uint64_t last = 0;
        if (head.status == 206) {
          facts.has_size =
              read_content_range(head.header("content-range"), first, last, facts.size_bytes);
          return facts;
        }
        if (head.status == 200) {
          facts.has_size = read_number(head.header("content-length"), facts.size_bytes);
          return facts;
        }
        if (head.status == 416) return facts;  // an empty file, or a server that lies
        const Refusal refusal = http.explain(head, at, what);
        if (refusal.may_pass) throw Passing(refusal.code, refusal.text, refusal.retry_seconds);
        throw Error(refusal.code, refusal.text);
      }
    } catch (const Passing& failure) {
      http.pause_or_throw(failure, attempt);
    }
  }
}

}  // namespace

Hub::Hub(Settings settings) : settings_(std::move(settings)) {
  while (settings_.endpoint.ends_with('/')) settings_.endpoint.pop_back();
  check_token(settings_);
  const bool bad_token = std::ranges::any_of(settings_.token, [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f;
  });
  if (bad_token) fail(Code::Argument, "the token has blanks or characters that no token has");
  if (!settings_.free_bytes) settings_.free_bytes = free_bytes_of;
  if (!settings_.open_transport) {
    fail(Code::Argument, "a hub needs a transport");
  }
  for (std::string* folder : {&settings_.cache_folder, &settings_.url_folder}) {
    while (folder->size() > 1 && folder->ends_with('/')) folder->pop_back();
  }
}

Model Hub::find(std::string_view text) const {
  const Reference reference = parse_reference(text);
  switch (reference.kind) {
    case Reference::Kind::Hub:
      return find_in_cache(reference);
    case Reference::Kind::Url:
      return find_url(reference);
    default:
      return find_other(settings_, reference);
  }
}

Model Hub::pull(std::string_view text, const Report& report) {
  const Reference reference = parse_reference(text);
  const bool is_remote =
      reference.kind == Reference::Kind::Hub || reference.kind == Reference::Kind::Url;
  if (!is_remote || settings_.offline) return find(text);
  return reference.kind == Reference::Kind::Hub ? pull_from_hub(reference, report)
                                                : pull_url(reference, report);
}

Model Hub::find_in_cache(const Reference& reference) const {
  if (settings_.cache_folder.empty()) fail(Code::Argument, "a hub needs the folder of a cache");
  const Cache cache(*settings_.system, settings_.cache_folder);
  const auto commit = cache.commit_of(reference.id, reference.revision);
  const std::vector<NamedFile> files =
      commit ? cache.files(reference.id, *commit) : std::vector<NamedFile>();
  if (files.empty()) fail_absent(reference, settings_.cache_folder, settings_.offline);
  Choice choice;
  try {
    choice = choose_files(
        files, reference.choice, reference.text, decide_by_name,
        [&](const std::string& path) { return cache.read(reference.id, *commit, path); });
  } catch (const Error& error) {
    fail(Code::State, "{} (in {}{})", error.what(), settings_.cache_folder,
         settings_.offline ? ", and nothing is fetched offline" : "; `tenon pull` fetches it");
  }
  Model model;
  const std::string folder = cache.snapshot(reference.id, *commit);
  model.reference = reference_of(reference, choice);
  model.path = choice.path.empty() ? folder : folder + "/" + choice.path;
  if (!choice.projector.empty()) model.projector = folder + "/" + choice.projector;
  model.source = "hub";
  model.commit = *commit;
  model.note = choice.note;
  model.num_files = choice.files.size();
  for (const size_t i : choice.files) model.size_bytes += files[i].size_bytes;
  return model;
}

Model Hub::pull_from_hub(const Reference& reference, const Report& report) {
  if (settings_.cache_folder.empty()) fail(Code::Argument, "a hub needs the folder of a cache");
  const Crypto crypto(*settings_.system);
  Watch watch(*settings_.system, report, is_cancelled_);
  watch.check(true);
  Http http(settings_, watch);
  const Listing listing = list_repository(http, reference);
  const std::vector<NamedFile> files = named(listing.files);
  const auto url_of = [&](const std::string& path) {
    return file_url(http, reference.id, listing.commit, path);
  };
  const auto what_of = [&](const std::string& path) {
    return "hf:" + reference.id + ": " + printable(path, 160);
  };
  const Decide decide = [&](const std::vector<GgufModel>& models) {
    return decide_by_plan(settings_, reference.text, files, models,
                          [&](size_t file, uint64_t begin, uint64_t size) {
                            const std::string& path = files[file].path;
                            return http.get_range(url_of(path), what_of(path), begin, size);
                          });
  };
  Choice choice =
      choose_files(files, reference.choice, reference.text, decide, [&](const std::string& path) {
        return http.get(url_of(path), what_of(path), kMaxListedFileBytes).body;
      });
  std::ranges::stable_sort(choice.files, {}, [&](size_t i) { return is_weights(files[i].path); });
  if (!choice.projector.empty()) {  // before the model, so that a model found has it
    std::stable_partition(choice.files.begin(), choice.files.end(),
                          [&](size_t i) { return files[i].path == choice.projector; });
  }

  Cache cache(*settings_.system, settings_.cache_folder);
  cache.prepare(reference.id);
  uint64_t needed = 0;
  Progress& progress = watch.progress;
  Model model;
  bool all_verified = true;
  for (const size_t i : choice.files) {
    const RemoteFile& file = listing.files[i];
    const std::string blob = blob_name(crypto, file, listing.commit);
    progress.bytes_total += file.size_bytes;
    all_verified = all_verified && !file.etag().empty();
    if (cache.has_blob(reference.id, blob, file.size_bytes)) continue;
    needed +=
        missing_bytes(cache.blob_path(reference.id, blob) + ".tenon-partial", file.size_bytes);
  }
  check_room(settings_, cache.root(), needed, reference.text);
  progress.num_files = choice.files.size();
  for (const size_t i : choice.files) {
    const RemoteFile& file = listing.files[i];
    const std::string blob = blob_name(crypto, file, listing.commit);
    progress.file = file.path;
    const uint64_t before = progress.bytes_done;
    FileLock lock(*settings_.system, cache.lock_path(reference.id, blob));
    wait_for_lock(lock, watch);
    if (!cache.has_blob(reference.id, blob, file.size_bytes)) {
      FileJob job;
      job.url = url_of(file.path);
      job.what = what_of(file.path);
      job.target = cache.blob_path(reference.id, blob);
      job.partial = job.target + ".tenon-partial";
      job.size_bytes = file.size_bytes;
      job.sha256 = file.sha256;
      job.git_sha1 = file.git_sha1;
      job.validator = blob;
      download_file(http, crypto, job);
    }
    cache.link(reference.id, listing.commit, file.path, blob);
    progress.bytes_done = before + file.size_bytes;
    ++progress.file_index;
    watch.check(true);
  }
  cache.write_ref(reference.id, reference.revision, listing.commit);

  const std::string folder = cache.snapshot(reference.id, listing.commit);
  model.reference = reference_of(reference, choice);
  model.path = choice.path.empty() ? folder : folder + "/" + choice.path;
  if (!choice.projector.empty()) model.projector = folder + "/" + choice.projector;
  model.source = "hub";
  model.commit = listing.commit;
  model.note = choice.note;
  if (!all_verified) {
    model.note += model.note.empty() ? "" : "; ";
    model.note += "the server tells no digests: only sizes could be checked";
  }
  model.size_bytes = progress.bytes_total;
  model.num_files = choice.files.size();
  return model;
}

std::string Hub::url_folder_of(const std::string& url) const {
  if (settings_.url_folder.empty()) {
    fail(Code::Argument, "files from plain addresses need a folder of their own (url_folder)");
  }
  const std::string path = url.substr(0, url.find('?'));
  const Crypto crypto(*settings_.system);
  return sha256_of(crypto, path.substr(0, path.rfind('/'))).substr(0, 16);
}

/// Path of the lock on a file from a plain address, in a folder that is made. Locks stay.
std::string Hub::url_lock(const std::string& name, const std::string& file) const {
  make_folders(settings_.url_folder, ".locks/" + name);
  return settings_.url_folder + "/.locks/" + name + "/" + file + ".lock";
}

uint64_t Hub::remove_url(const Reference& reference) {
  const std::string name = url_folder_of(reference.url);
  const std::string folder = settings_.url_folder + "/" + name;
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    fail_absent(reference, folder, false);
  }
  uint64_t freed = 0;
  bool was_there = false;
  for (const std::string& part : parts_of(reference.url)) {
    const std::string file = parse_url(part).file_name();
    if (why_bad_path(file) != nullptr || file.find('/') != file.npos) continue;
    const std::string path = folder + "/" + file;
    FileLock lock(*settings_.system, url_lock(name, file));
    if (!lock.try_lock()) {
      fail(Code::Busy, "{}: is being fetched; end that, or wait for it", reference.text);
    }
    UrlNote note;
    const bool is_noted = read_note(*settings_.system, path + ".source", note);
    if (is_noted && note.url != part) continue;  // of another query
    for (const char* ending : {"", ".source", ".tenon-partial", ".tenon-partial.state"}) {
      const uint64_t size = allocated_bytes(path + ending);
      if (::unlink((path + ending).c_str()) != 0) {
        if (errno == ENOENT) continue;
        fail(Code::Io, "{}{}: cannot be removed: {}", path, ending, errno_text(errno));
      }
      was_there = true;
      freed += size;
    }
  }
  if (!was_there) fail_absent(reference, folder, false);
  ::rmdir(folder.c_str());  // fails if it holds other files
  return freed;
}

Model Hub::find_url(const Reference& reference) const {
  const std::string folder = settings_.url_folder + "/" + url_folder_of(reference.url);
  Model model;
  for (const std::string& part : parts_of(reference.url)) {
    const std::string path = folder + "/" + parse_url(part).file_name();
    UrlNote note;
    // Addresses that differ in the query alone share the name.
    if (!read_note(*settings_.system, path + ".source", note) || note.url != part ||
        !has_size(path, note.size_bytes)) {
      fail_absent(reference, folder, settings_.offline);
    }
    if (model.path.empty()) model.path = path;
    model.size_bytes += note.size_bytes;
    ++model.num_files;
  }
  model.reference = reference.url;
  model.source = "url";
  return model;
}

Model Hub::pull_url(const Reference& reference, const Report& report) {
  const Crypto crypto(*settings_.system);
  Watch watch(*settings_.system, report, is_cancelled_);
  watch.check(true);
  Http http(settings_, watch);
  const std::string name = url_folder_of(reference.url);
  const std::string folder = settings_.url_folder + "/" + name;
  const std::vector<std::string> parts = parts_of(reference.url);
  watch.progress.num_files = parts.size();
  for (const std::string& part : parts) {
    const std::string file = parse_url(part).file_name();
    if (why_bad_path(file) != nullptr || file.find('/') != file.npos) {
      fail(Code::Argument, "{}: not the name of a file", tenon::quoted(part));
    }
    const std::string path = folder + "/" + file;
    watch.progress.file = file;
    FileLock lock(*settings_.system, url_lock(name, file));
    wait_for_lock(lock, watch);
    make_folders(settings_.url_folder, name);  // the last user may have removed it
    for (int attempt = 0;; ++attempt) {
      watch.progress.phase = Phase::Asking;
      const UrlFacts facts = ask_url(http, part, file);
      UrlNote note;
      const bool is_here = read_note(*settings_.system, path + ".source", note) &&
                           note.url == part && note.etag == facts.etag && !facts.etag.empty() &&
                           has_size(path, facts.size_bytes) && facts.has_size;
      watch.progress.bytes_total = watch.progress.bytes_done + facts.size_bytes;
      if (is_here) {
        watch.progress.bytes_done += facts.size_bytes;
        break;
      }
      FileJob job;
      job.url = part;
      job.what = file;
      job.partial = path + ".tenon-partial";
      job.target = path;
      job.knows_size = facts.has_size;
      job.size_bytes = facts.size_bytes;
      job.etag = facts.etag;
      job.has_version = !facts.etag.empty();
      // Without an ETag nothing tells whether the rest would be of the same file.
      job.validator = sha256_of(
          crypto,
          part + "\n" +
              (facts.etag.empty() ? std::to_string(random_number(*settings_.system)) : facts.etag));
      check_room(settings_, folder, missing_bytes(job.partial, facts.size_bytes), file);
      const uint64_t before = watch.progress.bytes_done;
      try {
        const uint64_t size = download_file(http, crypto, job);
        // For the user alone: the address may be a signed one.
        replace_file(*settings_.system, path + ".source", note_text({part, facts.etag, size}),
                     0600);
        break;
      } catch (const Changed& error) {
        watch.progress.bytes_done = before;
        if (attempt == 2) throw Error(error.code(), error.what());
      }
    }
    ++watch.progress.file_index;
  }
  Model model = find_url(reference);
  model.note = "a plain address tells no digest: only sizes could be checked";
  return model;
}

std::vector<Model> Hub::list() const {
  std::vector<Model> models;
  if (!settings_.cache_folder.empty()) {
    const Cache cache(*settings_.system, settings_.cache_folder);
    for (const std::string& id : cache.repositories()) {
      const auto main = cache.commit_of(id, "main");
      for (const std::string& commit : cache.snapshots(id)) {
        const bool is_main = main && *main == commit;
        const std::string reference = "hf:" + id + (is_main ? "" : "@" + commit);
        const std::vector<NamedFile> files = cache.files(id, commit);
        const std::vector<GgufModel> ggufs = gguf_models(files);
        std::set<std::string> names;
        for (const GgufModel& gguf : ggufs) {
          Model model;
          const bool is_unique =
              !gguf.quantisation.empty() && names.insert(gguf.quantisation).second;
          model.reference = reference + ":" + (is_unique ? gguf.quantisation : gguf.path);
          model.path = cache.snapshot(id, commit) + "/" + gguf.path;
          model.source = "hub";
          model.commit = commit;
          model.size_bytes = gguf.size_bytes;
          model.num_files = gguf.files.size();
          model.is_whole = gguf.num_missing == 0;
          if (const size_t i = projector_of(files, gguf); i < files.size()) {
            model.projector = cache.snapshot(id, commit) + "/" + files[i].path;
          }
          models.push_back(std::move(model));
        }
        if (!ggufs.empty()) continue;
        try {
          models.push_back(find_in_cache(parse_reference("hf:" + id + "@" + commit)));
          models.back().reference = reference;
        } catch (const Error&) {
          continue;  // something else than a model, or not whole
        }
      }
    }
  }
  if (!settings_.url_folder.empty()) {
    for (const NamedFile& file : files_below(settings_.url_folder, settings_.url_folder)) {
      UrlNote note;
      if (!file.path.ends_with(".source") ||
          !read_note(*settings_.system, settings_.url_folder + "/" + file.path, note)) {
        continue;
      }
      try {
        const std::vector<std::string> parts = parts_of(note.url);
        if (parts.front() == note.url) models.push_back(find_url(parse_reference(note.url)));
      } catch (const Error&) {
        continue;
      }
    }
  }
  std::vector<Model> others = other_models(settings_);
  std::ranges::move(others, std::back_inserter(models));
  return models;
}

uint64_t Hub::remove(std::string_view text) {
  const Reference reference = parse_reference(text);
  if (reference.kind == Reference::Kind::Url) return remove_url(reference);
  if (reference.kind != Reference::Kind::Hub) {
    fail(Code::Argument, "{}: belongs to another program, which removes it", reference.text);
  }
  Cache cache(*settings_.system, settings_.cache_folder);
  const auto ids = cache.repositories();
  if (std::ranges::find(ids, reference.id) == ids.end()) {
    fail_absent(reference, settings_.cache_folder, false);
  }
  if (reference.choice.empty() && reference.revision == "main") return cache.remove(reference.id);
  const auto commit = cache.commit_of(reference.id, reference.revision);
  if (!commit) fail_absent(reference, settings_.cache_folder, false);
  const std::vector<NamedFile> files = cache.files(reference.id, *commit);
  std::vector<std::string> paths;
  if (reference.choice.empty()) {
    for (const NamedFile& file : files) paths.push_back(file.path);
  } else {
    const std::vector<GgufModel> models = gguf_models(files);
    const Choice choice = choose_files(files, reference.choice, reference.text, decide_by_name,
                                       [](const std::string&) { return std::string(); });
    for (const size_t i : choice.files) {
      // The projector serves the other quantisations, too.
      if (files[i].path != choice.projector || models.size() == 1) paths.push_back(files[i].path);
    }
  }
  return cache.remove_files(reference.id, paths);
}

}  // namespace tenon::hub
