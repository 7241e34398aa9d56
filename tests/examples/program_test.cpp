#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

const std::string kStories = std::string(TENON_SHARED_DIR) + "/models/stories260K-f32.gguf";
const std::string kVocabulary = std::string(TENON_SHARED_DIR) + "/vectors/tokenizers/gpt-2.gguf";

std::string chat(const std::string& question) {
  return quoted("<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Program, HelpAndVersionGoToStandardOutput) {
  EXPECT_NE(output_of("tenon --help").find("tokenize"), std::string::npos);
  EXPECT_EQ(output_of("tenon --version").rfind("tenon 0.", 0), 0u);
  for (const char* command :
       {"run", "tokenize", "logits", "inspect", "bench", "backends", "perplexity"}) {
    EXPECT_GT(output_of("tenon " + std::string(command) + " --help").size(), 200u) << command;
  }
}

TEST(Program, HelpListsTheOptionsOfTheLibrary) {
  const std::string help = output_of("tenon run --help-all");
  for (const char* flag : {"--temperature", "--top-k", "--top-p", "--min-p", "--typical-p",
                           "--repeat-penalty", "--presence-penalty", "--frequency-penalty",
                           "--seed", "--context", "--threads", "--backend", "--cache-type"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
}

TEST(Program, BadUseIsOneErrorLine) {
  expect_error_line("tenon", "see tenon --help");
  expect_error_line("tenon fly", "no command \"fly\"");
  expect_error_line("tenon run", "MODEL");
  expect_error_line("tenon run " + kDemo + " x --no-such-flag", "no-such-flag");
  expect_error_line("tenon run " + kDemo + " x -n minus", "minus");
  expect_error_line("tenon run " + kDemo + " x --temperature 1e9", "temperature");
  expect_error_line("tenon run " + kDemo + " x --temperature nan", "temperature");
  expect_error_line("tenon run " + kDemo + " x --backend gpu9000", "gpu9000");
  expect_error_line("tenon tokenize " + kDemo, "nothing to tokenize");
  expect_error_line("tenon bench " + kDemo + " -p 0 -n 0", "nothing to measure");
}

TEST(Program, BadFilesAreOneErrorLine) {
  const Folder folder;
  const std::string empty = folder.file("empty.gguf", "");
  const std::string foreign = folder.file("foreign.gguf", std::string(4096, 'x'));
  const std::string demo = file_content(kDemo);
  const std::string half = folder.file("half.gguf", demo.substr(0, demo.size() / 2));
  for (const std::string& command :
       {std::string("run"), std::string("inspect"), std::string("bench")}) {
    const std::string rest = command == "run" ? " hello" : "";
    expect_error_line("tenon " + command + " /nowhere/model.gguf" + rest, "/nowhere/model.gguf");
    expect_error_line("tenon " + command + " /tmp" + rest, "/tmp");
    expect_error_line("tenon " + command + " " + empty + rest, "empty.gguf");
    expect_error_line("tenon " + command + " " + foreign + rest, "foreign.gguf");
    expect_error_line("tenon " + command + " " + half + rest, "half.gguf");
  }
  expect_error_line("tenon tokenize " + empty + " hello", "empty.gguf");
}

TEST(Program, CompleteAnswersFromTheDemoModel) {
  const std::string answer =
      output_of("tenon complete " + kDemo + " " + chat("What is the capital of Norway?") +
                " --parse-special --temperature 0 -n 32");
  EXPECT_NE(answer.find("Oslo"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("<|im_end|>"), std::string::npos) << answer;
}

TEST(Program, CompleteStopsAtTheNumberOfTokens) {
  const std::string few =
      output_of("tenon complete " + kDemo + " 'Once upon a time' -n 5 --temperature 0");
  const std::string many =
      output_of("tenon complete " + kDemo + " 'Once upon a time' -n 20 --temperature 0");
  EXPECT_LT(few.size(), many.size());
  EXPECT_EQ(many.rfind(few, 0), 0u);
}

TEST(Program, CompleteRepeatsItselfWithASeed) {
  const auto text = [](const std::string& flags) {
    return output_of("tenon complete " + kDemo + " 'Once upon a time' -n 30 --temperature 1 " +
                     flags);
  };
  EXPECT_EQ(text("--seed 7"), text("--seed 7 --threads 1 --slice 3"));
  EXPECT_NE(text("--seed 7"), text("--seed 8"));
}

TEST(Program, RunTellsTimingsOnStandardError) {
  const Outcome outcome = run_program("tenon complete " + kDemo + " Once -n 4 --timings");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* word : {"load", "prefill", "decode", "tokens/s"}) {
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out.find(word), std::string::npos);
  }
}

TEST(Program, RunRefusesATextBeyondTheContext) {
  expect_error_line("tenon complete " + kDemo + " 'Once upon a time there was a fox' --context 4",
                    "> context 4");
}

TEST(Program, CompleteContinuesTheStoryExactly) {
  if (!std::filesystem::exists(kStories)) GTEST_SKIP() << kStories << " is not there";
  const std::string text =
      output_of("tenon complete " + kStories + " 'Once upon a time' -n 40 --temperature 0");
  const std::string expected =
      ", there was a little girl named Lily. She loved to play outside in the park. One day, she";
  EXPECT_EQ(text.substr(0, expected.size()), expected.substr(0, text.size()));
  EXPECT_GT(text.size(), 40u);
}

TEST(Program, AReaderThatLeavesEndsItQuietly) {
  const Outcome outcome = run_program("tenon inspect " + kDemo + " --json | head -c 10");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.size(), 10u);
}

TEST(Program, AFullDiskIsAnErrorLine) {
  const Outcome outcome = run_program("tenon tokenize " + kDemo + " hello >/dev/full; echo $?");
  EXPECT_EQ(outcome.out, "1\n");
  EXPECT_EQ(outcome.err.rfind("tenon: writing to standard output failed", 0), 0u) << outcome.err;
}

TEST(Program, TokenizePrintsOneLine) {
  const std::string plain = output_of("tenon tokenize " + kDemo + " 'Hello  world'");
  EXPECT_EQ(plain.find('\n'), plain.size() - 1);
  EXPECT_EQ(plain.find_first_not_of("0123456789 \n"), std::string::npos);
  const Folder folder;
  const std::string file = folder.file("text", "Hello  world");
  EXPECT_EQ(output_of("tenon tokenize " + kDemo + " --file " + file), plain);
  EXPECT_EQ(output_of("tenon tokenize " + kDemo + " ''"), "\n");
}

TEST(Program, TokenizeParsesSpecialTokensOnlyWhenAsked) {
  const auto count = [](const std::string& line) {
    return line == "\n" ? 0 : std::count(line.begin(), line.end(), ' ') + 1;
  };
  const std::string text = quoted("<|im_start|>");
  EXPECT_EQ(count(output_of("tenon tokenize " + kDemo + " " + text + " --parse-special")), 1);
  EXPECT_GT(count(output_of("tenon tokenize " + kDemo + " " + text)), 1);
}

TEST(Program, TokenizeWorksOnVocabularyOnlyFiles) {
  if (!std::filesystem::exists(kVocabulary)) GTEST_SKIP() << kVocabulary << " is not there";
  EXPECT_EQ(output_of("tenon tokenize " + kVocabulary + " 'Hello world'"), "15496 995\n");
  expect_error_line("tenon run " + kVocabulary + " Hello", "vocabulary only");
}

TEST(Program, LogitsAreTokensTimesVocabularyFloats) {
  const Folder folder;
  const std::string ids = folder.file("ids", "1 2\t3\n4 5 ");
  const std::string out = folder.path("logits");
  EXPECT_EQ(output_of("tenon logits " + kDemo + " --tokens-file " + ids + " --output " + out), "");
  const std::string bytes = file_content(out);
  ASSERT_EQ(bytes.size(), 5u * 1024u * sizeof(float));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float value : values) ASSERT_TRUE(std::isfinite(value));
  // Threads and slices change no bit.
  for (const char* flags : {"--threads 1", "--threads 3", "--slice 1", "--slice 2"}) {
    EXPECT_EQ(output_of("tenon logits " + kDemo + " --tokens-file " + ids + " --output " + out +
                        " " + flags),
              "");
    EXPECT_EQ(file_content(out), bytes) << flags;
  }
}

TEST(Program, LogitsRefuseBadInput) {
  const Folder folder;
  const std::string out = folder.path("logits");
  const auto refuse = [&](const std::string& content, const std::string& text) {
    const std::string ids = folder.file("ids", content);
    expect_error_line("tenon logits " + kDemo + " --tokens-file " + ids + " --output " + out, text);
    EXPECT_FALSE(std::filesystem::exists(out)) << content;
  };
  refuse("", "no token ids");
  refuse(" \n", "no token ids");
  refuse("1 2 x 3", "\"x\" after 2 ids");
  refuse("1 2.5", "2.5");
  refuse("99999999999", "99999999999");
  refuse("1 -1", "-1");
  refuse("1 1024", "1024");
  const std::string ids = folder.file("ids", "1");
  expect_error_line("tenon logits " + kDemo + " --tokens-file /nowhere --output " + out,
                    "/nowhere");
  expect_error_line("tenon logits " + kDemo + " --tokens-file " + ids + " --output /nowhere/x",
                    "/nowhere/x");
}

TEST(Program, LogitsOfAnAnswerNeedASource) {
  const Folder folder;
  const std::string model = folder.path("t5.gguf");
  ASSERT_EQ(run_program("tenon make-model tiny-t5 f32 " + model).exit_code, 0);
  const std::string answer = folder.file("answer", "0 7 8");
  const std::string out = folder.path("logits");
  const auto logits = [&](const std::string& source, const std::string& flags) {
    const std::string ids = folder.file("source", source);
    EXPECT_EQ(output_of("tenon logits " + model + " --tokens-file " + ids +
                        " --decoder-tokens-file " + answer + " --output " + out + flags),
              "");
    return file_content(out);
  };
  const std::string bytes = logits("1 2 3 4", "");
  EXPECT_EQ(bytes.size(), 3u * 512u * sizeof(float));
  EXPECT_EQ(logits("1 2 3 4", " --slice 1 --threads 1"), bytes);
  EXPECT_NE(logits("1 2 3 5", ""), bytes);
  EXPECT_EQ(logits("1 2 3 4", " --backend reference").size(), bytes.size());
  expect_error_line("tenon logits " + model + " --tokens-file " + answer + " --output " + out,
                    "answers to a source");
  expect_error_line("tenon logits " + kDemo + " --tokens-file " + answer +
                        " --decoder-tokens-file " + answer + " --output " + out,
                    "has no encoder");
  expect_error_line("tenon run " + model + " Hello", "which token answers begin with");
}

/// Negative log probabilities of a chunk's tokens from `begin` on, from the logits that `tenon
/// logits` writes.
std::vector<double> surprises(const Folder& folder, const std::string& model,
                              const std::vector<int>& chunk, size_t begin) {
  std::string ids;
  for (const int token : chunk) ids += std::to_string(token) + " ";
  const std::string out = folder.path("chunk");
  EXPECT_EQ(output_of("tenon logits " + model + " --cache-type f16 --tokens-file " +
                      folder.file("ids", ids) + " --output " + out),
            "");
  const std::string bytes = file_content(out);
  const size_t vocab = bytes.size() / sizeof(float) / chunk.size();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::vector<double> result;
  for (size_t i = begin; i < chunk.size(); ++i) {
    const float* row = values.data() + (i - 1) * vocab;
    double sum = 0;
    for (size_t j = 0; j < vocab; ++j) sum += std::exp(double{row[j]});
    result.push_back(std::log(sum) - double{row[chunk[i]]});
  }
  return result;
}

std::vector<int> ids_of(const std::string& line) {
  std::istringstream ids(line);
  return {std::istream_iterator<int>(ids), {}};
}

TEST(Program, PerplexityIsOfTheSecondHalvesOfChunks) {
  const Folder folder;
  const std::string text = "Once upon a time there was a little girl who had a red ball. One day ";
  const std::string file = folder.file("text", text + text);
  for (const std::string& model : {kDemo, kStories}) {
    if (!std::filesystem::exists(model)) continue;
    const std::string tokenize = "tenon tokenize " + model + " -f " + file;
    const std::vector<int> tokens = ids_of(output_of(tokenize + " --add-special"));
    const bool has_first = tokens != ids_of(output_of(tokenize));
    ASSERT_GE(tokens.size(), 20u);
    double sum = 0;
    const size_t chunks = tokens.size() / 10;
    for (size_t i = 0; i < chunks; ++i) {
      const auto begin = tokens.begin() + static_cast<ptrdiff_t>(10 * i);
      std::vector<int> chunk(begin, begin + 10);
      if (has_first) chunk[0] = tokens[0];
      for (const double one : surprises(folder, model, chunk, 6)) sum += one;
    }
    const std::string command = "tenon perplexity " + model + " --context 10 --file " + file;
    const std::string json = output_of(command + " --json");
    const double expected = std::exp(sum / (4.0 * static_cast<double>(chunks)));
    EXPECT_NEAR(number_in(json, "perplexity") / expected, 1.0, 1e-5) << json;
    EXPECT_EQ(number_in(json, "scored_tokens"), 4.0 * static_cast<double>(chunks));
    EXPECT_GT(number_in(json, "error"), 0.0);
    EXPECT_EQ(output_of(command + " --threads 1 --slice 3 --json"), json);
    const std::string line = output_of(command + " --chunks 1");
    EXPECT_EQ(line.find("perplexity "), 0u);
    EXPECT_NE(line.find("over 4 tokens in 1 chunk of 10"), std::string::npos) << line;
  }
}

TEST(Program, PerplexityRefusesBadInput) {
  const Folder folder;
  const std::string file = folder.file("text", "too short");
  const std::string command = "tenon perplexity " + kDemo + " --file ";
  expect_error_line(command + file, "fill no chunk of 512");
  expect_error_line(command + file + " --context 3", "no whole number");
  expect_error_line(command + "/nowhere", "/nowhere");
  expect_error_line(command + "/dev/zero", "holds more than");
}

TEST(Program, RefusesTextsWithoutEnd) {
  const std::string too_long = "/dev/zero: holds more than 268435456 bytes";
  expect_error_line("tenon tokenize " + kDemo + " -f /dev/zero", too_long);
  expect_error_line("tenon run " + kDemo + " -f /dev/zero", too_long);
  expect_error_line("tenon logits " + kDemo + " --tokens-file /dev/zero --output /dev/null",
                    too_long);
}

TEST(Program, InspectShowsMetadataTensorsAndMemory) {
  const std::string text = output_of("tenon inspect " + kDemo);
  for (const char* word : {"llama", "general.architecture", "token_embd.weight", "q8_0",
                           "tokenizer.ggml.tokens", "Memory at a context of"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  const std::string json = output_of("tenon inspect " + kDemo + " --json --context 512");
  for (const char* word :
       {"\"layers\": 4", "\"context\": 512", "\"kv_bytes\"", "\"vocabulary\": 1024"}) {
    EXPECT_NE(json.find(word), std::string::npos) << word;
  }
}

TEST(Program, InspectWorksOnVocabularyOnlyFiles) {
  if (!std::filesystem::exists(kVocabulary)) GTEST_SKIP() << kVocabulary << " is not there";
  EXPECT_NE(output_of("tenon inspect " + kVocabulary).find("gpt-2"), std::string::npos);
}

TEST(Program, MakeModelWritesAModelThatRuns) {
  const Folder folder;
  const std::string path = folder.path("tiny.gguf");
  EXPECT_EQ(output_of("tenon make-model tiny Q4_K_M " + path).rfind(path + ": ", 0), 0u);
  EXPECT_NE(output_of("tenon inspect " + path).find("random tiny Q4_K_M 0"), std::string::npos);
  EXPECT_NE(output_of("tenon complete " + path + " 'the cat' -n 3"), "");
  expect_error_line("tenon make-model huge q4_0 " + path, "no model shape \"huge\"");
  expect_error_line("tenon make-model tiny q4_9 " + path, "nearest name is \"q4_0\"");
  expect_error_line("tenon make-model tiny q4_0 /nowhere/x", "/nowhere/x: cannot create");
  expect_error_line("tenon make-model tiny q4_0 /dev/null", "/dev/null: is not a regular file");
  for (const char* seed : {"18446744073709551616", "-1", "", "7x"}) {
    expect_error_line("tenon make-model tiny q4_0 " + path + " --seed " + quoted(seed),
                      "is no whole number of 0..18446744073709551615");
  }
}

TEST(Program, MakeModelWritesThroughALink) {
  const Folder folder;
  const std::string real = folder.file("real.gguf", "old");
  const std::string link = folder.path("link.gguf");
  std::filesystem::create_symlink("real.gguf", link);
  output_of("tenon make-model tiny q4_0 " + link);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(file_content(real).substr(0, 4), "GGUF");
  const std::string null = folder.path("null");
  std::filesystem::create_symlink("/dev/null", null);
  expect_error_line("tenon make-model tiny q4_0 " + null, "null: is not a regular file");
  EXPECT_TRUE(std::filesystem::is_symlink(null));
}

TEST(Program, ASignalLeavesNoUnfinishedFile) {
  const Folder folder;
  const std::string ids = folder.file("ids", [] {
    std::string text;
    for (int i = 0; i < 4000; ++i) text += "1 ";
    return text;
  }());
  // Waits up to 20 s until the file is begun; it may be unnamed until it is complete.
  const auto ended = [](const std::string& command, const std::string& in) {
    const std::string begun = "ls -l /proc/$!/fd 2> /dev/null | grep -q '" + in + "'";
    return run_program(command + " & i=0; while ! " + begun +
                       " && [ $i -lt 2000 ]; do sleep 0.01; i=$((i+1)); done; " + begun +
                       " && kill -TERM $!; wait $!; echo $?");
  };
  for (const std::string& command : {std::string("make-model llama-1b q8_0 "),
                                     "logits " + kDemo + " --tokens-file " + ids + " --output "}) {
    const Folder out;
    const Outcome outcome = ended("tenon " + command + out.path("out"), out.path(""));
    EXPECT_EQ(outcome.out, "143\n") << command << outcome.err;
    EXPECT_TRUE(std::filesystem::is_empty(out.path(""))) << command;
  }
}

TEST(Program, BenchMeasuresBothPhases) {
  const std::string table = output_of("tenon bench " + kDemo + " -p 32 -n 4 -r 2");
  for (const char* word : {"prefill", "decode", "MAC/cycle", "GB/s", "llama", "q8_0", "GHz"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << "\n" << table;
  }
  const std::string json = output_of("tenon bench " + kDemo + " -p 32 -n 0 -r 3 --json");
  EXPECT_NE(json.find("median_tokens_per_second"), std::string::npos);
  EXPECT_EQ(json.find("decode"), std::string::npos);
}

TEST(Program, BenchMeasuresEveryCombinationOfItsLists) {
  const std::string json = output_of("tenon bench " + kDemo +
                                     " -p 8,16 -n 2 --sequences 1,3 --depth 0,5 -t 1 -r 1 --json"
                                     " --cache-type f16,f32");
  const auto count = [&](const std::string& word) {
    size_t found = 0;
    for (size_t at = 0; (at = json.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("\"phase\": \"prefill\""), 8u);
  EXPECT_EQ(count("\"phase\": \"decode\""), 8u);
  EXPECT_EQ(count("\"sequences\": 3"), 4u);
  EXPECT_EQ(count("\"depth\": 5"), 8u);
  EXPECT_EQ(count("\"cache_type\": \"f32\""), 9u);
  EXPECT_EQ(count("\"fraction_of_stream_read\""), 4u);
  for (const char* key : {"active_parameters", "bytes_per_token", "engine_version", "device",
                          "weights_on_2mib_pages_bytes", "peak_memory_bytes", "p99"}) {
    EXPECT_NE(json.find(key), std::string::npos) << key;
  }
}

TEST(Program, BenchTimesTheTokensOfManySequences) {
  // More sequences than an engine runs by default: none may wait for another. bench_cells_test and
  // bench_report_test check the figures with a fake clock.
  const std::string json =
      output_of("tenon bench " + kDemo + " -p 0 -n 2 --sequences 300 --slice 300 -t 1 -r 1 --json");
  EXPECT_GT(number_in(json, "median_tokens_per_second"), 0) << json;
  EXPECT_GT(number_in(json, "p50"), 0) << json;
  expect_error_line("tenon bench " + kDemo + " -p 0 -n 1 --sequences 1,257",
                    "decode of 1 token by 257 sequences: a step holds 256 tokens, one of each "
                    "sequence; give --slice 257");
}

TEST(Program, BenchTellsWhatATokenReadsOfSingleSequencesOnly) {
  const auto bytes_of_cell = [](const char* sequences) {
    const std::string json = output_of("tenon bench " + kDemo + " -p 0 -n 1 -r 1 -t 1 --json" +
                                       " --sequences " + sequences);
    return number_in(json.substr(json.find("\"cells\"")), "bytes_per_token");
  };
  EXPECT_GT(bytes_of_cell("1"), 1e6);
  EXPECT_EQ(bytes_of_cell("2"), -1);
}

TEST(Program, BenchShowsCountsAsTheyAre) {
  const std::string table = output_of("tenon bench " + kDemo + " -p 0 -n 1 -r 1 -t 1");
  EXPECT_NE(table.find(" 1 thread, "), std::string::npos) << table;
  EXPECT_NE(table.find(" million parameters ("), std::string::npos) << table;
  const std::string lines = output_of("tenon bench --help");
  // The help is wrapped.
  const std::string help = std::regex_replace(lines, std::regex("\\s+"), " ");
  for (const char* text :
       {"default f16, of f16|f32|int8|q4",
        "-t, --threads N,... Threads that compute, the caller's included; 0: the "
        "CPUs that the process may use by its mask and its control groups' "
        "quotas, rounded down. (default 0)"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text << "\n" << help;
  }
}

TEST(Program, BenchWarnsBeyondTheTrainedContext) {
  const Outcome outcome = run_program("tenon bench " + kDemo + " -p 4 -n 0 --depth 2048 -r 1");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err.rfind("tenon: warning: 2052 positions: the model was trained for ", 0), 0u)
      << outcome.err;
}

TEST(Program, BenchRefusesWhatItCannotMeasure) {
  expect_error_line("tenon bench " + kDemo + " -p 8 --sequences 0", "sequences");
  expect_error_line("tenon bench " + kDemo + " -p 8,x", "x");
  expect_error_line("tenon bench " + kDemo + " -p 8,,9", "the list has an empty part");
  expect_error_line("tenon bench " + kDemo + " -p 8 -t 1,", "the list has an empty part");
  expect_error_line("tenon bench " + kDemo + " -p 8 --cache-type f99", "f99");
  expect_error_line("tenon bench " + kDemo + " -p 8 -t many", "many");
  // Refused before the first measurement: a single round would take minutes.
  const std::string long_run = "tenon bench " + kDemo + " -p 1 -n 900 --depth 100 -r 10000";
  expect_error_line(long_run + " --cache-type f16,f17", "f17");
  expect_error_line(long_run + " -t 1,abc", "\"abc\"");
  const std::string memory = " -r 1 --cache-type f16,f32 --sequences 4096 --slice 4096";
  expect_error_line("tenon bench " + kDemo + " -p 0 -n 16777216" + memory,
                    "decode of 16777216 tokens by 4096 sequences: takes ");
  expect_error_line("tenon bench " + kDemo + " -p 0 -n 1 --depth 16777216" + memory,
                    " behind 16777216: takes ");
}

TEST(Program, BackendsListsTheBuiltInOnes) {
  const std::string text = output_of("tenon backends");
  EXPECT_NE(text.find("cpu"), std::string::npos);
  EXPECT_NE(text.find("reference"), std::string::npos);
  const Folder folder;
  const std::string plugin = folder.file("libtenon-bad.so", "no library");
  const std::string refused = output_of("tenon backends --plugin " + plugin);
  EXPECT_NE(refused.find("refused"), std::string::npos) << refused;
  EXPECT_NE(refused.find("libtenon-bad.so"), std::string::npos) << refused;
}

/// Output of a program whose random bytes are all `byte`.
std::string drawn_with(int byte, const std::string& command) {
  return output_of("tenon --version > /dev/null; TENON_FIXED_BYTE=" + std::to_string(byte) +
                   " LD_PRELOAD=" TENON_FIXED_RANDOM " " TENON_PROGRAMS_DIR "/" + command);
}

TEST(Hello, BothTellAStory) {
  // Each program draws its own seed: two stories with the usual beginning.
  for (const char* program : {"hello_c ", "hello_cpp "}) {
    const std::string story = output_of(program + kDemo);
    EXPECT_EQ(story.find(" there was a"), 0u) << program << story;
    EXPECT_GT(story.size(), 20u) << program << story;
  }
}

TEST(Hello, BothTellOneStoryByOneSeed) {
  if (std::string(TENON_FIXED_RANDOM).empty()) {
    GTEST_SKIP() << "a sanitizer's library must be the first that is loaded";
  }
  const std::string complete = "tenon complete " + kDemo + " -p 'Once upon a time' -n 64";
  const std::string story = drawn_with(1, complete);
  EXPECT_GT(story.size(), 20u);
  EXPECT_NE(drawn_with(2, complete), story) << "another seed, another story";
  EXPECT_EQ(drawn_with(1, "hello_c " + kDemo), story);
  EXPECT_EQ(drawn_with(1, "hello_cpp " + kDemo), story);
}

TEST(Hello, CReportsWhatFailed) {
  const Outcome outcome = run_program("hello_c /nowhere.gguf");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("/nowhere.gguf"), std::string::npos) << outcome.err;
}

}  // namespace
