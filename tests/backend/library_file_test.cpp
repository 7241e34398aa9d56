// Files judged as shared libraries before a dynamic loader sees them: whole ones of each system, and
// each way to damage them.
#include "backend/library_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tenon {
namespace {

/// A file in memory whose bytes can be set.
class Image final : public LibraryBytes {
 public:
  explicit Image(size_t size_bytes) : bytes_(size_bytes) {}
  [[nodiscard]] bool read_at(uint64_t offset, std::span<std::byte> out) const override {
    EXPECT_LE(offset + out.size(), bytes_.size()) << "reads beyond the file";
    if (offset + out.size() > bytes_.size()) return false;
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return !refuses;
  }
  template <typename T>
  Image& set(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  void copy(size_t at, const Image& other) {
    std::memcpy(bytes_.data() + at, other.bytes_.data(), other.size());
  }
  void resize(size_t size_bytes) { bytes_.resize(size_bytes); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool is_whole(LibraryFormat format) const {
    return is_whole_library(format, *this, bytes_.size());
  }

  bool refuses = false;

 private:
  std::vector<std::byte> bytes_;
};

/// Offsets and values as the System V ABI has them: one PT_LOAD of bytes 120 to 200.
Image elf() {
  Image image(200);
  image.set<uint32_t>(0, 0x464c457f).set<uint8_t>(4, 2).set<uint8_t>(5, 1);
  image.set<uint16_t>(16, 3).set<uint64_t>(32, 64).set<uint16_t>(54, 56).set<uint16_t>(56, 1);
  image.set<uint32_t>(64, 1).set<uint64_t>(64 + 8, 120).set<uint64_t>(64 + 32, 80);
  return image;
}

constexpr size_t kOptional = 0x80 + 24;
constexpr size_t kSections = kOptional + 240;

/// A DLL with two sections of 512 bytes, as a linker lays it out.
Image pe() {
  Image image(0x800);
  image.set<uint16_t>(0, 0x5a4d).set<uint32_t>(60, 0x80).set<uint32_t>(0x80, 0x4550);
  image.set<uint16_t>(0x80 + 6, 2).set<uint16_t>(0x80 + 20, 240).set<uint16_t>(0x80 + 22, 0x2022);
  image.set<uint16_t>(kOptional, 0x20b).set<uint32_t>(kOptional + 56, 0x3000);
  image.set<uint32_t>(kOptional + 60, 0x400);
  for (uint32_t i = 0; i < 2; ++i) {
    const size_t section = kSections + 40 * i;
    image.set<uint32_t>(section + 8, 0x123).set<uint32_t>(section + 12, 0x1000 * (i + 1));
    image.set<uint32_t>(section + 16, 0x200).set<uint32_t>(section + 20, 0x400 + 0x200 * i);
  }
  return image;
}

/// A dylib with one segment of bytes 0 to 300, and another command.
Image mach_o() {
  Image image(300);
  image.set<uint32_t>(0, 0xfeedfacf).set<uint32_t>(12, 6).set<uint32_t>(16, 2);
  image.set<uint32_t>(20, 72 + 16);
  image.set<uint32_t>(32, 0x19).set<uint32_t>(36, 72).set<uint64_t>(32 + 48, 300);
  image.set<uint32_t>(104, 0x0d).set<uint32_t>(108, 16);
  return image;
}

/// As Mach-O has them in universal files.
uint32_t big_endian(uint32_t value) {
  return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

constexpr size_t kFirstImage = 64;
constexpr size_t kSecondImage = 384;

/// Two such dylibs in one file.
Image universal() {
  Image image(kSecondImage + 300);
  image.set(0, big_endian(0xcafebabe)).set(4, big_endian(2));
  size_t entry = 8;
  for (const size_t offset : {kFirstImage, kSecondImage}) {
    image.set(entry + 8, big_endian(static_cast<uint32_t>(offset)));
    image.set(entry + 12, big_endian(300));
    image.copy(offset, mach_o());
    entry += 20;
  }
  return image;
}

Image image_of(LibraryFormat format) {
  switch (format) {
    case LibraryFormat::Elf:
      return elf();
    case LibraryFormat::Pe:
      return pe();
    case LibraryFormat::MachO:
      return mach_o();
  }
  return Image(0);
}

class LibraryFiles : public testing::TestWithParam<LibraryFormat> {};

TEST_P(LibraryFiles, AWholeOneIsTaken) { EXPECT_TRUE(image_of(GetParam()).is_whole(GetParam())); }

TEST_P(LibraryFiles, ATruncatedOneIsNot) {
  const size_t whole = image_of(GetParam()).size();
  for (size_t size = 0; size < whole; ++size) {
    Image image = image_of(GetParam());
    image.resize(size);
    ASSERT_FALSE(image.is_whole(GetParam())) << size << " of " << whole << " bytes";
  }
}

TEST_P(LibraryFiles, AnotherSystemsIsNot) {
  for (const auto format : {LibraryFormat::Elf, LibraryFormat::Pe, LibraryFormat::MachO}) {
    if (format == GetParam()) continue;
    EXPECT_FALSE(image_of(format).is_whole(GetParam()));
  }
}

TEST_P(LibraryFiles, AFileThatCannotBeReadIsNot) {
  Image image = image_of(GetParam());
  image.refuses = true;
  EXPECT_FALSE(image.is_whole(GetParam()));
}

TEST_P(LibraryFiles, ADamagedOneDoesNoHarm) {
  const size_t size = image_of(GetParam()).size();
  for (size_t at = 0; at < size; ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      Image image = image_of(GetParam());
      image.set<uint8_t>(at, static_cast<uint8_t>(value));
      (void)image.is_whole(GetParam());  // reads inside the file, as Image checks
    }
  }
}

std::string name_of(const testing::TestParamInfo<LibraryFormat>& info) {
  constexpr const char* kNames[] = {"Elf", "Pe", "MachO"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, LibraryFiles,
                         testing::Values(LibraryFormat::Elf, LibraryFormat::Pe,
                                         LibraryFormat::MachO),
                         name_of);

TEST(LibraryFile, FieldsOfElfAreChecked) {
  EXPECT_FALSE(elf().set<uint8_t>(4, 1).is_whole(LibraryFormat::Elf)) << "32 bits";
  EXPECT_FALSE(elf().set<uint8_t>(5, 2).is_whole(LibraryFormat::Elf)) << "big-endian";
  EXPECT_FALSE(elf().set<uint16_t>(16, 2).is_whole(LibraryFormat::Elf)) << "a program";
  EXPECT_FALSE(elf().set<uint16_t>(54, 32).is_whole(LibraryFormat::Elf)) << "short segments";
  EXPECT_FALSE(elf().set<uint64_t>(32, UINT64_MAX).is_whole(LibraryFormat::Elf)) << "wraps around";
  EXPECT_FALSE(elf().set<uint64_t>(64 + 32, UINT64_MAX).is_whole(LibraryFormat::Elf));
  EXPECT_FALSE(elf().set<uint16_t>(56, 0xffff).is_whole(LibraryFormat::Elf));
  EXPECT_TRUE(elf().set<uint32_t>(64, 4).set<uint64_t>(72, 999).is_whole(LibraryFormat::Elf))
      << "a note that the loader does not map";
}

TEST(LibraryFile, FieldsOfPeAreChecked) {
  constexpr auto kPe = LibraryFormat::Pe;
  EXPECT_FALSE(pe().set<uint32_t>(60, 0xfffffff0).is_whole(kPe)) << "headers beyond the file";
  EXPECT_FALSE(pe().set<uint16_t>(0x80 + 22, 0x22).is_whole(kPe)) << "a program";
  EXPECT_FALSE(pe().set<uint16_t>(kOptional, 0x10b).is_whole(kPe)) << "32 bits";
  EXPECT_FALSE(pe().set<uint16_t>(0x80 + 6, 0).is_whole(kPe)) << "no section";
  EXPECT_FALSE(pe().set<uint16_t>(0x80 + 6, 0xffff).is_whole(kPe)) << "too many sections";
  EXPECT_FALSE(pe().set<uint32_t>(kSections + 20, 0x700).is_whole(kPe)) << "bytes beyond the file";
  EXPECT_FALSE(pe().set<uint32_t>(kSections + 20, 0xffffffff).is_whole(kPe));
  EXPECT_FALSE(pe().set<uint32_t>(kSections + 40 + 12, 0x1000).is_whole(kPe)) << "overlapping";
  EXPECT_FALSE(pe().set<uint32_t>(kSections + 8, 0x5000).is_whole(kPe)) << "beyond the image";
}

TEST(LibraryFile, CommandsOfMachOAreChecked) {
  constexpr auto kMachO = LibraryFormat::MachO;
  EXPECT_TRUE(mach_o().set<uint32_t>(12, 8).is_whole(kMachO)) << "a bundle";
  EXPECT_FALSE(mach_o().set<uint32_t>(12, 2).is_whole(kMachO)) << "a program";
  EXPECT_FALSE(mach_o().set<uint32_t>(16, 0xffffffff).is_whole(kMachO));
  EXPECT_FALSE(mach_o().set<uint32_t>(20, 0xffffffff).is_whole(kMachO));
  EXPECT_FALSE(mach_o().set<uint32_t>(36, 0).is_whole(kMachO)) << "would never end";
  EXPECT_FALSE(mach_o().set<uint32_t>(36, 0x1000).is_whole(kMachO));
  EXPECT_FALSE(mach_o().set<uint64_t>(32 + 40, UINT64_MAX).is_whole(kMachO)) << "wraps around";
}

TEST(LibraryFile, EachImageOfAUniversalOneIsChecked) {
  constexpr auto kMachO = LibraryFormat::MachO;
  EXPECT_TRUE(universal().is_whole(kMachO));
  EXPECT_TRUE(universal().set(4, big_endian(1)).set<uint32_t>(kSecondImage, 0).is_whole(kMachO))
      << "bytes after its images";
  EXPECT_FALSE(universal().set(4, big_endian(0)).is_whole(kMachO)) << "no image";
  EXPECT_FALSE(universal().set(4, big_endian(0xffffffff)).is_whole(kMachO)) << "too many images";
  EXPECT_FALSE(universal().set<uint32_t>(kFirstImage, 0).is_whole(kMachO)) << "the first is none";
  EXPECT_FALSE(universal().set<uint32_t>(kSecondImage + 12, 2).is_whole(kMachO)) << "a program";
  EXPECT_FALSE(universal().set(36, big_endian(0xffffffff)).is_whole(kMachO)) << "lies beyond";
  EXPECT_FALSE(universal().set(40, big_endian(0xffffffff)).is_whole(kMachO)) << "ends beyond";
  // The segment ends beyond the image, though not beyond the file.
  EXPECT_FALSE(universal().set(20, big_endian(200)).is_whole(kMachO));
  EXPECT_FALSE(universal().set(8, big_endian(0)).set(16, big_endian(0)).is_whole(kMachO))
      << "contains itself";
  for (size_t size = 0; size < universal().size(); ++size) {
    Image image = universal();
    image.resize(size);
    ASSERT_FALSE(image.is_whole(kMachO)) << size << " bytes";
  }
  for (size_t at = 0; at < universal().size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      (void)universal().set<uint8_t>(at, static_cast<uint8_t>(value)).is_whole(kMachO);
    }
  }
}

}  // namespace
}  // namespace tenon
