// A host's store of computed prefixes, in C and in C++.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "demo_session.h"

namespace {

using namespace tenon_test;

using StoreKey = std::array<uint8_t, 16>;

/// Records in memory, and how often they were used.
struct StoreRecords {
  std::mutex mutex;
  std::map<StoreKey, std::vector<uint8_t>> records;
  uint64_t num_read = 0;
  uint64_t num_released = 0;
  uint64_t num_after_others = 0;  // written with a key before
};

StoreKey store_key_of(const void* bytes) {
  StoreKey key;
  std::memcpy(key.data(), bytes, key.size());
  return key;
}

tenon_block_store functions_over(StoreRecords& records) {
  tenon_block_store store{};
  store.struct_size = sizeof store;
  store.user = &records;
  store.find = [](void* user, const void* key) -> int64_t {
    auto& of = *static_cast<StoreRecords*>(user);
    const std::scoped_lock lock(of.mutex);
    const auto found = of.records.find(store_key_of(key));
    return found == of.records.end() ? -1 : static_cast<int64_t>(found->second.size());
  };
  store.read = [](void* user, const void* key, void* record, uint64_t size) -> int32_t {
    auto& of = *static_cast<StoreRecords*>(user);
    const std::scoped_lock lock(of.mutex);
    const auto found = of.records.find(store_key_of(key));
    if (found == of.records.end() || found->second.size() != size) return 1;
    std::memcpy(record, found->second.data(), size);
    ++of.num_read;
    return 0;
  };
  store.write = [](void* user, const void* key, const void* before, const void* record,
                   uint64_t size) -> int32_t {
    auto& of = *static_cast<StoreRecords*>(user);
    const std::scoped_lock lock(of.mutex);
    const auto* bytes = static_cast<const uint8_t*>(record);
    of.records[store_key_of(key)].assign(bytes, bytes + size);
    if (before != nullptr) ++of.num_after_others;
    return 0;
  };
  store.remove = [](void* user, const void* key) {
    auto& of = *static_cast<StoreRecords*>(user);
    const std::scoped_lock lock(of.mutex);
    of.records.erase(store_key_of(key));
  };
  store.release = [](void* user) { ++static_cast<StoreRecords*>(user)->num_released; };
  return store;
}

class CStore : public DemoSession {
 protected:
  static EnginePtr engine() {
    tenon_engine* engine = nullptr;
    EXPECT_OK(tenon_engine_create(model_->get(), nullptr, &engine));
    return EnginePtr(engine);
  }
  std::string answer(tenon_engine* engine, const std::string& text) {
    tenon_session* raw = nullptr;
    EXPECT_OK(tenon_engine_open_session(engine, nullptr, &raw));
    const SessionPtr session(raw);
    EXPECT_OK(tenon_session_append_text(raw, text.data(), text.size(), TENON_PARSE_SPECIAL));
    return generate(session, 20).text;
  }
  static tenon_engine_stats stats(tenon_engine* engine) {
    tenon_engine_stats stats{};
    stats.struct_size = sizeof stats;
    EXPECT_OK(tenon_engine_get_stats(engine, &stats));
    return stats;
  }
  static std::string long_text() {
    std::string text = "<|im_start|>user\n";
    for (int i = 0; i < 20; ++i) text += "What is the capital of Norway, and of Sweden? ";
    return text + "<|im_end|>\n<|im_start|>assistant\n";
  }
};

TEST_F(CStore, GivesPrefixesBack) {
  StoreRecords records;
  const std::string plain = answer(engine().get(), long_text());
  {
    const EnginePtr first = engine();
    const tenon_block_store store = functions_over(records);
    ASSERT_OK(tenon_engine_set_store(first.get(), &store));
    EXPECT_EQ(answer(first.get(), long_text()), plain);
  }
  EXPECT_EQ(records.num_released, 1u);
  EXPECT_GT(records.records.size(), 2u);
  EXPECT_EQ(records.num_after_others, records.records.size() - 1);
  EXPECT_EQ(records.num_read, 0u);
  {
    const EnginePtr second = engine();
    const tenon_block_store store = functions_over(records);
    ASSERT_OK(tenon_engine_set_store(second.get(), &store));
    EXPECT_EQ(answer(second.get(), long_text()), plain);
    EXPECT_GT(stats(second.get()).store_hits, 2u);
    EXPECT_GT(stats(second.get()).store_read_bytes, 0u);
  }
  const uint64_t num_read = records.num_read;
  EXPECT_GT(num_read, 2u);
  const EnginePtr third = engine();
  tenon_block_store store = functions_over(records);
  store.secret[1] = 3;
  ASSERT_OK(tenon_engine_set_store(third.get(), &store));
  EXPECT_EQ(answer(third.get(), long_text()), plain);
  EXPECT_EQ(records.num_read, num_read) << "another secret finds nothing";
}

TEST_F(CStore, RefusesWhatIsNoStore) {
  StoreRecords records;
  const EnginePtr engine = CStore::engine();
  EXPECT_EQ(tenon_engine_set_store(nullptr, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_engine_set_store(engine.get(), nullptr), TENON_ERROR_ARGUMENT);
  const tenon_block_store whole = functions_over(records);
  for (int missing = 0; missing < 4; ++missing) {
    tenon_block_store store = whole;
    if (missing == 0) store.find = nullptr;
    if (missing == 1) store.read = nullptr;
    if (missing == 2) store.write = nullptr;
    if (missing == 3) store.remove = nullptr;
    EXPECT_EQ(tenon_engine_set_store(engine.get(), &store), TENON_ERROR_ARGUMENT);
  }
  EXPECT_OK(tenon_engine_set_store(engine.get(), &whole));
  EXPECT_EQ(tenon_engine_set_store(engine.get(), &whole), TENON_ERROR_STATE);
  EXPECT_EQ(records.num_released, 0u);
}

TEST_F(CStore, HasAFormInCpp) {
  class Shelf final : public tenon::BlockStore {
   public:
    std::optional<uint64_t> find(const Key& key) override {
      const auto found = records.find(key);
      if (found == records.end()) return std::nullopt;
      return found->second.size();
    }
    bool read(const Key& key, std::span<std::byte> record) override {
      if (throws) throw 1;
      const auto& found = records.at(key);
      std::copy(found.begin(), found.end(), record.begin());
      return found.size() == record.size();
    }
    bool write(const Key& key, const Key*, std::span<const std::byte> record) override {
      records[key].assign(record.begin(), record.end());
      return true;
    }
    void remove(const Key& key) override { records.erase(key); }

    std::map<Key, std::vector<std::byte>> records;
    bool throws = false;
  };
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  const auto shelf = std::make_shared<Shelf>();
  const auto answer_in = [&] {
    tenon::Engine engine(model);
    engine.set_store(shelf);
    tenon::Session session = engine.open_session();
    session.append(long_text(), {.parse_special = true});
    std::string text;
    for (const tenon::Piece& piece :
         session.generate({.max_tokens = 20, .sampler = {.temperature = 0}}))
      text += piece.text;
    return std::pair(text, engine.stats().store_hits);
  };
  const auto [cold, none] = answer_in();
  EXPECT_EQ(none, 0u);
  const auto [warm, hits] = answer_in();
  EXPECT_EQ(warm, cold);
  EXPECT_GT(hits, 2u);
  shelf->throws = true;
  EXPECT_EQ(answer_in().first, cold);
  EXPECT_EQ(shelf.use_count(), 1);
}

}  // namespace
