#include "hub/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <list>
#include <random>

#include "base/faulty_system.h"
#include "hub/cache.h"
#include "hub/partial_file.h"

namespace tenon::hub {
namespace {

using testing::HasSubstr;

constexpr uint64_t kPieceBytes = 4096;

/// A server in memory that sends ranges of one file, a part of an answer at each wait().
class ServedFile final : public Transport {
 public:
  explicit ServedFile(std::string bytes) : bytes_(std::move(bytes)) {}

  std::unique_ptr<Transfer> start(const HttpRequest& request, HttpReceiver& receiver) override {
    uint64_t begin = 0;
    uint64_t last = bytes_.size() - 1;
    for (const std::string& header : request.headers) {
      if (header.starts_with("Range: bytes=")) {
        const size_t dash = header.find('-');
        begin = std::stoull(header.substr(13, dash - 13));
        last = std::stoull(header.substr(dash + 1));
      }
    }
    ++num_requests;
    return std::make_unique<Answer>(*this, receiver, begin, last + 1);
  }

  void wait(double) override {
    ++num_waits;
    for (Answer* answer : std::list<Answer*>(answers_)) {
      if (cuts_after > 0 && num_waits >= cuts_after && cuts_left > 0) {
        answer->cut();
      } else {
        answer->send();
      }
    }
    if (cuts_after > 0 && num_waits >= cuts_after && cuts_left > 0) --cuts_left;
  }

  int num_requests = 0;
  int num_waits = 0;
  int cuts_after = 0;  ///< calls of wait, after which all connections are cut; 0: never
  int cuts_left = 0;
  bool is_unsized = false;  ///< the length is not told

 private:
  class Answer final : public Transfer {
   public:
    Answer(ServedFile& file, HttpReceiver& receiver, uint64_t begin, uint64_t end)
        : file_(file), receiver_(receiver), begin_(begin), at_(begin), end_(end) {
      file_.answers_.push_back(this);
    }
    ~Answer() override { file_.answers_.remove(this); }

    void send() {
      if (has_ended_) return;
      if (at_ == begin_ && !has_head_) {
        has_head_ = true;
        HttpHead head{file_.is_unsized ? 200 : 206, {}};
        if (file_.is_unsized) head.headers.emplace_back("transfer-encoding", "chunked");
        head.headers.emplace_back(
            "content-range", fmt::format("bytes {}-{}/{}", begin_, end_ - 1, file_.bytes_.size()));
        if (!receiver_.head(head)) return end("refused");
        return;
      }
      const uint64_t size = std::min<uint64_t>(1000, end_ - at_);
      const std::string part = file_.bytes_.substr(at_, size);
      if (!receiver_.body(std::as_bytes(std::span(part)))) return end("refused");
      at_ += size;
      if (at_ == end_) end("");
    }

    void cut() {
      if (!has_ended_) end("cut");
    }

   private:
    void end(const std::string& failure) {
      has_ended_ = true;
      receiver_.end(failure);
    }
    ServedFile& file_;
    HttpReceiver& receiver_;
    uint64_t begin_, at_, end_;
    bool has_head_ = false;
    bool has_ended_ = false;
  };

  std::string bytes_;
  std::list<Answer*> answers_;
};

class HubDownloads : public testing::Test {
 protected:
  HubDownloads() {
    std::mt19937 random(3);
    for (int i = 0; i < 50'000; ++i) bytes_ += static_cast<char>(random());
    folder_ = std::filesystem::temp_directory_path() /
              ("tenon-hub-" + std::to_string(random_number(*System::real())));
    std::filesystem::create_directories(folder_);
  }
  ~HubDownloads() override { std::filesystem::remove_all(folder_); }

  FileJob job() {
    FileJob job;
    job.url = "http://127.0.0.1/x";
    job.what = "x.gguf";
    job.target = (folder_ / "x").string();
    job.partial = job.target + ".tenon-partial";
    job.size_bytes = bytes_.size();
    job.sha256 = sha256_of(crypto_, bytes_);
    job.validator = job.sha256;
    if (is_unsized_) {
      job.knows_size = false;
      job.size_bytes = 0;
      job.sha256.clear();
    }
    return job;
  }

  /// Downloads through `system`; returns the message of the failure, or "".
  std::string download(const std::shared_ptr<System>& system) {
    Settings settings;
    settings.endpoint = "http://127.0.0.1";
    settings.piece_bytes = kPieceBytes;
    settings.system = system;
    settings.connections = connections_;
    settings.retry_seconds = 0.001;
    settings.free_bytes = [this](const char*) { return room_; };
    settings.open_transport = [this] {
      auto made = std::make_unique<ServedFile>(bytes_);
      served_ = made.get();
      made->cuts_after = cuts_after_;
      made->cuts_left = cuts_;
      made->is_unsized = is_unsized_;
      return made;
    };
    const std::atomic<bool> is_cancelled{false};
    Watch watch(*system, {}, is_cancelled);
    try {
      Http http(settings, watch);
      download_file(http, crypto_, job());
      num_requests_ = served_->num_requests;
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Io);
      return error.what();
    }
  }

  std::string found() {
    std::ifstream file(folder_ / "x", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string bytes_;
  std::filesystem::path folder_;
  Crypto crypto_{*System::real()};
  ServedFile* served_ = nullptr;
  int num_requests_ = 0;
  uint32_t connections_ = 4;
  int cuts_after_ = 0;
  int cuts_ = 0;
  bool is_unsized_ = false;
  int64_t room_ = int64_t{1} << 40;
};

/// A disk that is full after some bytes.
class FullDisk : public FaultySystem {
 public:
  explicit FullDisk(uint64_t room) : room_(room) {}
  int64_t write_at(int fd, const void* buffer, uint64_t size, uint64_t offset) noexcept override {
    if (room_ == 0) return -ENOSPC;
    const int64_t wrote = FaultySystem::write_at(fd, buffer, std::min(size, room_), offset);
    if (wrote > 0) room_ -= static_cast<uint64_t>(wrote);
    return wrote;
  }

 private:
  uint64_t room_;
};

TEST_F(HubDownloads, ComeWholeAndLeaveNothing) {
  EXPECT_EQ(download(System::real()), "");
  EXPECT_EQ(found(), bytes_);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.tenon-partial"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.tenon-partial.state"));
}

TEST_F(HubDownloads, GoOnAfterAFullDisk) {
  for (const uint64_t room : {100u, 9'000u, 20'000u, 30'000u}) {
    EXPECT_THAT(download(std::make_shared<FullDisk>(room)), HasSubstr("make room")) << room;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  }
  EXPECT_EQ(download(System::real()), "");
  EXPECT_EQ(found(), bytes_);
}

TEST_F(HubDownloads, NotesOfPiecesSurviveAndForeignOnesDoNot) {
  EXPECT_NE(download(std::make_shared<FullDisk>(30'000)), "");
  const FileJob wanted = job();
  const auto done = [&](uint64_t size, uint64_t piece, const std::string& validator) {
    return PartialFile(*System::real(), wanted.partial, size, piece, validator).done_bytes();
  };
  EXPECT_GE(done(wanted.size_bytes, kPieceBytes, wanted.validator), 4 * kPieceBytes);
  // Another version begins from nothing, and what was noted is gone then.
  EXPECT_EQ(done(wanted.size_bytes, kPieceBytes, "other"), 0u);
  EXPECT_EQ(done(wanted.size_bytes, kPieceBytes, wanted.validator), 0u);
}

TEST_F(HubDownloads, NotesThatLieAreFoundByTheDigest) {
  EXPECT_NE(download(std::make_shared<FullDisk>(30'000)), "");
  const std::string line =
      partial_line(bytes_.size(), kPieceBytes, job().validator) + std::string(13, '1');
  std::ofstream(folder_ / "x.tenon-partial.state", std::ios::binary) << line;
  EXPECT_EQ(download(System::real()), "");
  EXPECT_EQ(found(), bytes_);
}

TEST_F(HubDownloads, ConnectionsThatAreCutTogetherFailOnce) {
  connections_ = 8;
  cuts_after_ = 4;  // before any of them has brought a piece
  cuts_ = 1;
  EXPECT_EQ(download(System::real()), "");
  EXPECT_EQ(found(), bytes_);
  EXPECT_GT(num_requests_, 13);
  std::filesystem::remove(folder_ / "x");
  cuts_ = 1000;
  EXPECT_THAT(download(System::real()), HasSubstr("given up after 5 attempts"));
}

TEST_F(HubDownloads, UntoldLengthsLeaveRoomToOthers) {
  is_unsized_ = true;
  room_ = int64_t{200} << 20;
  EXPECT_THAT(download(System::real()), HasSubstr("its length was not told"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  room_ = int64_t{1} << 40;
  EXPECT_EQ(download(System::real()), "");
  EXPECT_EQ(found(), bytes_);
}

TEST_F(HubDownloads, NamesAreReplacedAndLinksAreNotFollowed) {
  const std::string victim = (folder_ / "victim").string();
  const std::string place = (folder_ / "place").string();
  std::ofstream(victim) << "mine";
  for (uint64_t n = 0;; ++n) {
    std::filesystem::remove(place);
    std::filesystem::create_symlink(victim, place);
    FaultySystem system(n);
    bool is_done = true;
    try {
      replace_file(system, place, "new", 0600);
    } catch (const Error&) {
      is_done = false;
    }
    EXPECT_EQ(read_small_file(*System::real(), victim, 100), "mine") << n;
    EXPECT_EQ(std::filesystem::is_symlink(place), !is_done) << n;
    const auto files = std::filesystem::directory_iterator(folder_);
    EXPECT_EQ(std::distance(begin(files), end(files)), 2) << n;
    if (!system.failed()) break;
    ASSERT_LT(n, 100u);
  }
  EXPECT_EQ(read_small_file(*System::real(), place, 100), "new");
  EXPECT_EQ(std::filesystem::status(place).permissions(), std::filesystem::perms(0600));
}

TEST_F(HubDownloads, AnyCallOfTheSystemMayFail) {
  for (uint64_t n = 0;; ++n) {
    std::filesystem::remove(folder_ / "x");
    const auto system = std::make_shared<FaultySystem>(n);
    const std::string failure = download(system);
    if (failure.empty()) {
      EXPECT_EQ(found(), bytes_) << n;
    }
    if (!system->failed()) break;
    ASSERT_LT(n, 1000u);
  }
}

TEST(HubLocks, KeepOthersOut) {
  const std::shared_ptr<System> system = System::real();
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("tenon-lock-" + std::to_string(random_number(*system))))
                               .string();
  {
    FileLock first(*system, path);
    FileLock second(*system, path);
    EXPECT_TRUE(first.try_lock());
    EXPECT_FALSE(second.try_lock());
  }
  FileLock third(*system, path);
  EXPECT_TRUE(third.try_lock());
  std::filesystem::remove(path);
}

TEST(HubLocks, AreOnTheFileThatHasTheName) {
  const std::shared_ptr<System> system = System::real();
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("tenon-lock-" + std::to_string(random_number(*system))))
                               .string();
  FileLock old(*system, path);
  std::filesystem::remove(path);
  FileLock fresh(*system, path);
  EXPECT_TRUE(fresh.try_lock());
  EXPECT_FALSE(old.try_lock());  // not a file that nobody else finds
  std::filesystem::remove(path);
  EXPECT_TRUE(old.try_lock());
  FileLock third(*system, path);
  EXPECT_FALSE(third.try_lock());
  std::filesystem::remove(path);
}

/// A system without libraries.
class Bare : public FaultySystem {
 public:
  void* load_library(const char*, const char*& error) noexcept override {
    error = "no such file";
    return nullptr;
  }
};

TEST(HubLibraries, TheirAbsenceIsASentence) {
  Bare bare;
  for (const bool is_curl : {false, true}) {
    try {
      if (is_curl) {
        (void)open_curl(bare, {});
      } else {
        (void)Crypto(bare);
      }
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Unsupported);
      EXPECT_THAT(error.what(), HasSubstr(is_curl ? "Debian: libcurl4" : "Debian: libssl3"));
      EXPECT_THAT(error.what(), HasSubstr("no such file"));
    }
  }
}

}  // namespace
}  // namespace tenon::hub
