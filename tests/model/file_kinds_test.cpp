// Files that are not language models, and variants: messages name their kind, with advice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file/open.h"
#include "model/model.h"
#include "model/tokenizer_file.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const Model> load(const TinyModel& tiny, ModelOptions options = {}) {
  const std::shared_ptr<const ByteSource> source = tiny_source(tiny);
  return Model::load(std::span(&source, 1), std::move(options));
}

TinyModel with_type(const char* key, const char* value) {
  TinyModel tiny;
  tiny.more = [=](GgufWriter& writer) { writer.add(key, std::string(value)); };
  return tiny;
}

TEST(FileKinds, OtherThanModelsAreRefusedWithWhatToDo) {
  struct Case {
    const char* key;
    const char* value;
    const char* what;
    const char* advice;
  };
  for (const Case& c :
       {Case{"general.type", "adapter", "is an adapter", "the option merged_adapters"},
        Case{"adapter.type", "lora", "is an adapter", "the option merged_adapters"},
        Case{"general.type", "imatrix", "importance matrix", "open the model itself"},
        Case{"general.type", "mmproj", "pictures or sound", "file of the text model"}}) {
    expect_error(Code::Unsupported,
                 AllOf(HasSubstr("tiny.gguf: "), HasSubstr(c.what), HasSubstr(c.advice),
                       Not(HasSubstr("again"))),
                 [&] { (void)load(with_type(c.key, c.value)); });
    // The tokenizer of such a file is refused, too.
    expect_error(Code::Unsupported, HasSubstr(c.what), [&] {
      (void)load_tokenizer(tiny_source(with_type(c.key, c.value)), System::real());
    });
  }
  TinyModel vector;
  vector.architecture = "controlvector";
  expect_error(Code::Unsupported, HasSubstr("control vector"), [&] { (void)load(vector); });
  TinyModel projector;
  projector.architecture = "clip";
  expect_error(Code::Unsupported, HasSubstr("mmproj"), [&] { (void)load(projector); });
}

TEST(FileKinds, AFileThatIsAModelByItsOwnWordsIsBelieved) {
  EXPECT_NO_THROW(load(with_type("general.type", "model")));
  TinyModel tiny;
  tiny.more = [](GgufWriter& writer) {
    writer.add("general.type", std::string("model")).add("adapter.type", std::string("lora"));
  };
  EXPECT_NO_THROW(load(tiny));
}

TEST(FileKinds, AnArchitectureThatIsNotKnownIsNamedBeforeTheVocabularyIsMissed) {
  TinyModel tiny;
  tiny.architecture = "flux";
  tiny.left_out = {"tokenizer.ggml.model", "tokenizer.ggml.tokens"};
  expect_error(Code::Unsupported,
               AllOf(HasSubstr("\"flux\" is not known"), HasSubstr("newer version")),
               [&] { (void)load(tiny); });
}

TEST(Variants, AreNotTakenForDamagedFiles) {
  TinyModel tiny;
  tiny.more = [](GgufWriter& writer) {
    writer.add_tensor("blk.1.ffn_sideways.weight", {8}, std::vector<float>(8, 1.0f));
  };
  expect_error(Code::Format,
               AllOf(HasSubstr("do not belong to this architecture: \"blk.1.ffn_sideways.weight\""),
                     HasSubstr("the file is whole"), HasSubstr("a variant of \"llama\""),
                     Not(HasSubstr("fetch"))),
               [&] { (void)load(tiny); });
  TinyModel poor;
  poor.left_out = {"blk.1.ffn_up.weight"};
  expect_error(Code::Format,
               AllOf(HasSubstr("1 tensors are missing: \"blk.1.ffn_up.weight\""),
                     HasSubstr("a variant of \"llama\""), Not(HasSubstr("fetch"))),
               [&] { (void)load(poor); });
  ModelOptions options;
  options.overrides.push_back("llama.feed_forward_length=int:192");
  expect_error(Code::Format,
               AllOf(HasSubstr("but the hyper-parameters ask for [192, 96]"),
                     HasSubstr("a variant of \"llama\"")),
               [&] { (void)load(TinyModel(), std::move(options)); });
}

TEST(CutShort, IsSaidOfFilesThatEndTooEarlyAndOfNoOthers) {
  std::vector<std::byte> bytes = TinyModel().file();
  for (const size_t size :
       {size_t{9}, size_t{40}, size_t{700}, bytes.size() / 2, bytes.size() - 40}) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    const auto source = std::make_shared<OwnedSource>(cut);
    expect_error(Code::Format, AllOf(HasSubstr("ends at byte"), HasSubstr("again")),
                 [&] { (void)load_source(source); });
  }
}

TEST(Overrides, ThatNothingReadsAreRefusedWithTheNearest) {
  const auto load_with = [](const char* text) {
    ModelOptions options;
    options.inspect = true;
    options.overrides.push_back(text);
    return load({}, std::move(options));
  };
  expect_error(Code::Argument,
               AllOf(HasSubstr("\"llama.rope.freq_bas\""), HasSubstr("\"llama.rope.freq_base\"")),
               [&] { (void)load_with("llama.rope.freq_bas=float:500"); });
  expect_error(Code::Argument, HasSubstr("\"llama.rope.freq_base\""),
               [&] { (void)load_with("rope.freq_base=float:500"); });
  expect_error(Code::Argument, HasSubstr("override"),
               [&] { (void)load_with("qwen2.rope.freq_base=float:500"); });
  for (const char* text :
       {"llama.rope.freq_base=float:500", "llama.rope.scaling.type=str:none",
        "tokenizer.chat_template=str:{{ messages }}",
        "tokenizer.chat_template.tool_use=str:{{ tools }}", "tokenizer.ggml.eot_token_id=int:2",
        "tokenizer.ggml.add_bos_token=bool:false", "general.name=str:mine",
        "llama.pooling_type=int:0"}) {
    EXPECT_NO_THROW(load_with(text)) << text;
  }
}

TEST(Overrides, AreNotCountedWhereOnlyTheVocabularyIsRead) {
  ModelOptions options;
  options.vocabulary_only = true;
  options.overrides.push_back("llama.rope.freq_base=float:500");
  EXPECT_NO_THROW(load({}, std::move(options)));
}

TEST(MetadataOnly, OpensWhatCannotRun) {
  TinyModel tiny;
  tiny.architecture = "strange";
  tiny.left_out = {"tokenizer.ggml.model"};
  EXPECT_ANY_THROW(load(tiny));
  ModelOptions options;
  options.metadata_only = true;
  const auto model = load(tiny, std::move(options));
  EXPECT_EQ(model->architecture(), "strange");
  EXPECT_FALSE(model->has_program());
  EXPECT_FALSE(model->can_run());
  EXPECT_GT(model->file().tensors().size(), 10u);
  EXPECT_TRUE(model->tokenizer()->encode("text").empty());
  expect_error(Code::State, HasSubstr("tiny.gguf"), [&] { (void)model->spec(); });
}

TEST(Warnings, OfTheVocabularyReachTheLog) {
  TinyModel tiny;
  tiny.more = [](GgufWriter& writer) {
    writer.add("tokenizer.ggml.padding_token_id", uint32_t{999});
  };
  std::vector<std::string> lines;
  ModelOptions options;
  options.vocabulary_only = true;
  options.log.user = &lines;
  options.log.write = [](void* user, int32_t, const char* text, size_t size) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text, size);
  };
  (void)load(tiny, std::move(options));
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("tiny.gguf: "), HasSubstr("padding_token_id"))));
}

}  // namespace
}  // namespace tenon
