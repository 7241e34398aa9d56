// Failures of small allocations, by this program's operator new.
#include <gtest/gtest.h>

#include <new>

#include "base/error.h"
#include "tests/base/counted_new.h"
#include "tests/base/temp_folder.h"
#include "tests/file/sample_gguf.h"

namespace tenon {
namespace {

using counted_new::allocations_left;
using counted_new::num_held;

TEST(Allocation, EachFailureWhileOpeningIsCleanlyReported) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", sample_gguf().finish());
  for (int64_t n = 0;; ++n) {
    const int64_t held_before = num_held;
    bool failed = false;
    {
      OpenOptions options;
      allocations_left = n;
      try {
        const auto file = open_model_file(path, std::move(options));
        allocations_left = -1;
        EXPECT_EQ(file->tensors().size(), 3u);
      } catch (const std::bad_alloc&) {
        failed = true;
      } catch (const Error&) {
        // A failed allocation of the message gives bad_alloc; an Error is wrong here.
        ADD_FAILURE() << "allocation " << n;
      }
      allocations_left = -1;
    }
    EXPECT_EQ(num_held, held_before) << "allocation " << n;
    if (!failed) {
      EXPECT_GT(n, 50);
      break;
    }
  }
}

}  // namespace
}  // namespace tenon
