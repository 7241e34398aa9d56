// Pictures in a text: rows of towers and logits beside those of the models' own implementation
// (../shared/multimodal/vectors), and the same bits however the text is computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "json/json_tree.h"
#include "model/tower.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

const std::filesystem::path kVectors =
    std::filesystem::path(TENON_SHARED_DIR) / "multimodal/vectors";

std::vector<uint8_t> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> floats_of(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = bytes_of(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

JsonNode json_of(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = bytes_of(path);
  return parse_json_tree({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                         path.string());
}

/// max |a - b| / max |b|
double error_of(std::span<const float> a, std::span<const float> b) {
  double worst = 0;
  double most = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    worst = std::max<double>(worst, std::abs(a[i] - b[i]));
    most = std::max<double>(most, std::abs(b[i]));
  }
  return a.size() == b.size() ? worst / most : 1e9;
}

struct GivenPicture {
  std::vector<uint8_t> rgb;
  media::Size size;
  [[nodiscard]] SessionPicture view() const {
    return {.pixels = {.size = size, .data = rgb.data()}};
  }
};

struct GivenCase {
  std::string name;
  std::vector<std::string> texts;  ///< around the pictures, one more than these
  std::vector<GivenPicture> pictures;
  std::vector<Token> tokens;
  std::vector<float> rows;
  std::vector<float> logits;
};

/// Cases whose pictures are given as RGB.
std::vector<GivenCase> read_cases(const std::string& family, std::string_view placeholder) {
  std::vector<GivenCase> cases;
  const JsonNode all = json_of(kVectors / family / "cases.json");
  const JsonNode about = json_of(kVectors / "inputs/decoded.json");
  for (size_t i = 0; i < all.find("cases")->items.size(); ++i) {
    const JsonNode& test = all.find("cases")->items[i];
    GivenCase one;
    one.name = "case" + std::to_string(i);
    for (const JsonNode& input : test.find("inputs")->items) {
      const JsonNode& info = *about.find(input.text);
      one.pictures.push_back({bytes_of(kVectors / "inputs" / (input.text + ".rgb")),
                              {info.find("width")->count, info.find("height")->count}});
    }
    if (std::ranges::any_of(one.pictures, [](const auto& p) { return p.rgb.empty(); })) continue;
    std::string prompt(test.text_of("prompt"));
    for (size_t at = 0; (at = prompt.find(placeholder)) != std::string::npos;) {
      one.texts.push_back(prompt.substr(0, at));
      prompt.erase(0, at + placeholder.size());
    }
    one.texts.push_back(prompt);
    for (const JsonNode& token : test.find("tokens")->items) {
      one.tokens.push_back(static_cast<Token>(token.count));
    }
    one.rows = floats_of(kVectors / family / (one.name + ".rows.f32"));
    one.logits = floats_of(kVectors / family / (one.name + ".logits.f32"));
    cases.push_back(std::move(one));
  }
  return cases;
}

/// Equal texts are computed once.
EngineOptions sharing_engine() {
  EngineOptions options = unbounded_engine();
  options.cache_bytes = uint64_t{64} << 20;
  options.prefix_cache = true;
  return options;
}

class GivenPictures : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder())) GTEST_SKIP() << folder() << " is not there";
  }
  [[nodiscard]] static std::filesystem::path folder() { return kVectors / GetParam(); }
  [[nodiscard]] static std::shared_ptr<const Model> load(const char* backend, uint32_t threads = 2,
                                                         uint32_t slice = 0) {
    ModelOptions options;
    options.backend = backend;
    options.cache_type = CacheType::F32;
    options.threads = threads;
    options.slice = slice;
    options.projector = (folder() / "mmproj.gguf").string();
    return Model::load((folder() / "text.gguf").string(), std::move(options));
  }
  [[nodiscard]] static std::vector<GivenCase> cases(const Model& model) {
    return read_cases(GetParam(), model.tower()->spec().family->placeholder);
  }
  static void append(Session& session, const GivenCase& one) {
    for (size_t i = 0; i < one.texts.size(); ++i) {
      session.append(one.texts[i], {.add_special = i == 0, .parse_special = true});
      if (i < one.pictures.size()) session.append_picture(one.pictures[i].view());
    }
  }
  static std::vector<float> last_logits(Session& session) {
    const auto logits = session.logits();
    return {logits.begin(), logits.end()};
  }
  static std::vector<float> answer_to(const std::shared_ptr<Engine>& engine, const GivenCase& one) {
    Session session(engine);
    append(session, one);
    return last_logits(session);
  }
};

TEST_P(GivenPictures, HaveTheRowsOfTheTower) {
  const std::map<const char*, double> backends = {{"reference", 3e-5}, {"cpu", 2e-4}};
  for (const auto& [backend, most] : backends) {
    const auto model = load(backend);
    const Tower& tower = *model->tower();
    double worst = 0;
    for (const GivenCase& one : cases(*model)) {
      std::vector<float> rows;
      for (const GivenPicture& picture : one.pictures) {
        const auto encoded =
            tower.encode({picture.rgb.data(), picture.size, 3 * picture.size.width},
                         tower.plan(picture.size), model->turn(), nullptr);
        const auto own = encoded->rows(0, encoded->values.size() / sizeof(float) / encoded->width);
        rows.insert(rows.end(), own.begin(), own.end());
      }
      const double error = error_of(rows, one.rows);
      EXPECT_LE(error, most) << backend << " " << one.name;
      worst = std::max(worst, error);
    }
    RecordProperty(backend, std::to_string(1e6 * worst));
  }
}

TEST_P(GivenPictures, HaveTheLogitsOfTheModel) {
  const std::map<const char*, double> backends = {{"reference", 3e-5}, {"cpu", 2e-4}};
  for (const auto& [backend, most] : backends) {
    const auto model = load(backend);
    const auto engine = Engine::create(model, unbounded_engine());
    const uint64_t vocab = model->spec().vocab;
    for (const GivenCase& one : cases(*model)) {
      SCOPED_TRACE(std::string(backend) + " " + one.name);
      Session session(engine);
      append(session, one);
      ASSERT_THAT(session.tokens(), testing::ElementsAreArray(one.tokens));
      // From the end on, so that each is a rewind, in the middle of pictures, too.
      for (size_t size = one.tokens.size(); size > 0; --size) {
        session.rewind(size);
        const auto given = std::span(one.logits).subspan((size - 1) * vocab, vocab);
        ASSERT_LE(error_of(session.logits(), given), most) << "after " << size << " tokens";
      }
    }
  }
}

TEST_P(GivenPictures, GiveTheSameBitsHoweverTheyAreComputed) {
  const auto model = load("cpu");
  const std::vector<GivenCase> all = cases(*model);
  ASSERT_GE(all.size(), 4u);
  const EngineOptions alone = unbounded_engine();
  std::vector<std::vector<float>> expected;
  for (const GivenCase& one : all) expected.push_back(answer_to(Engine::create(model, alone), one));
  // With other slices and threads.
  for (const uint32_t slice : {1u, 7u}) {
    const auto other = Engine::create(load("cpu", slice == 1 ? 1 : 2, slice), alone);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(answer_to(other, all[i]), expected[i]);
  }
  // Beside each other, and twice, the second time from the index.
  const auto shared = Engine::create(model, sharing_engine());
  for (int round = 0; round < 2; ++round) {
    std::vector<std::vector<float>> got(all.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < all.size(); ++i) {
      threads.emplace_back([&, i] { got[i] = answer_to(shared, all[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(got, expected);
  }
}

TEST_P(GivenPictures, StayThemselvesInForksAndAfterRewinds) {
  const auto model = load("cpu");
  const auto engine = Engine::create(model, sharing_engine());
  const GivenCase one = cases(*model)[0];
  const std::vector<float> expected = answer_to(engine, one);
  Session session(engine);
  append(session, one);
  const uint64_t size = session.position();
  const std::vector<Token> tokens(session.tokens().begin(), session.tokens().end());
  (void)session.logits();
  // In the picture, whose first rows stay: the rest of it comes again with the fork's text only.
  const auto fork = session.fork();
  session.rewind(10);
  session.append(" other");
  (void)session.logits();
  EXPECT_EQ(last_logits(*fork), expected);
  fork->rewind(size - 3);
  fork->append(std::span(tokens).last(3));
  EXPECT_EQ(last_logits(*fork), expected);
  session.rewind(0);
  append(session, one);
  EXPECT_EQ(last_logits(session), expected);
}

TEST_P(GivenPictures, AreEncodedOnceAndToldApartByOnePixel) {
  const auto model = load("cpu");
  const auto engine = Engine::create(model, sharing_engine());
  const auto reused = [&] { return engine->metrics().reused_tokens_total; };
  GivenCase one = cases(*model)[0];
  one.texts[0].insert(0, 44, 'x');  // a block, in the next one the picture
  const std::vector<float> expected = answer_to(engine, one);
  EXPECT_EQ(model->tower()->num_encoded(), 1u);
  EXPECT_EQ(reused(), 0u);
  EXPECT_EQ(answer_to(engine, one), expected);
  EXPECT_EQ(model->tower()->num_encoded(), 1u);
  EXPECT_GE(reused(), 64u);
  const uint64_t before = reused();
  for (uint8_t& value : std::span(one.pictures[0].rgb).first(3)) value ^= 0x80;
  const std::vector<float> other = answer_to(engine, one);
  EXPECT_EQ(model->tower()->num_encoded(), 2u);
  EXPECT_LE(reused() - before, 32u);  // the text before it
  EXPECT_NE(other, expected);
  EXPECT_EQ(other, answer_to(Engine::create(model, unbounded_engine()), one));
}

TEST_P(GivenPictures, AreRefusedBeforeTheyAreEncoded) {
  const auto model = load("cpu");
  const GivenCase one = cases(*model)[0];
  SessionOptions few;
  few.context = 3;
  Session session(Engine::create(model, unbounded_engine()), few);
  EXPECT_THROW(session.append_picture(one.pictures[0].view()), Error);
  SessionPicture wrong = one.pictures[0].view();
  wrong.pixels.size.width = 0;
  EXPECT_THROW(session.append_picture(wrong), Error);
  wrong = one.pictures[0].view();
  wrong.orientation = 9;
  EXPECT_THROW(session.append_picture(wrong), Error);
  EXPECT_EQ(session.position(), 0u);
  EXPECT_EQ(model->tower()->num_encoded(), 0u);
  Session long_enough(Engine::create(model, unbounded_engine()));
  long_enough.cancel();
  EXPECT_THROW(long_enough.append_picture(one.pictures[0].view()), Error);
  EXPECT_EQ(long_enough.position(), 0u);
}

TEST_P(GivenPictures, AnswerLikeTokensAndNoSnapshotIsTaken) {
  const auto model = load("cpu");
  const auto engine = Engine::create(model, sharing_engine());
  const GivenCase one = cases(*model)[0];
  std::vector<Token> answers[2];
  for (std::vector<Token>& answer : answers) {
    Session session(engine);
    append(session, one);
    Sampler sampler = greedy_sampler();
    for (int i = 0; i < 40; ++i) answer.push_back(session.next(sampler));
    EXPECT_THROW((void)session.snapshot_bytes(), Error);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

INSTANTIATE_TEST_SUITE_P(Families, GivenPictures,
                         testing::Values("internvl", "smolvlm", "lfm2vl", "mistral3"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace tenon
