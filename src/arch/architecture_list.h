// The list of architectures. A line stands for `extern const Architecture kName`, defined in the
// file of that name, and for what general.architecture says.
#pragma once

#define TENON_ARCHITECTURES(X)          \
  X(BailingMoe, "bailingmoe")           \
  X(BailingMoe2, "bailingmoe2")         \
  X(Cohere2, "cohere2")                 \
  X(CommandR, "command-r")              \
  X(DeepSeek2, "deepseek2")             \
  X(Dots1, "dots1")                     \
  X(Ernie45, "ernie4_5")                \
  X(Ernie45Moe, "ernie4_5-moe")         \
  X(ExaoneMoe, "exaone-moe")            \
  X(Exaone4, "exaone4")                 \
  X(FalconH1, "falcon-h1")              \
  X(Gemma, "gemma")                     \
  X(Gemma2, "gemma2")                   \
  X(Gemma3, "gemma3")                   \
  X(Gemma4, "gemma4")                   \
  X(Glm4, "glm4")                       \
  X(Glm4Moe, "glm4moe")                 \
  X(GptOss, "gpt-oss")                  \
  X(Granite, "granite")                 \
  X(GraniteHybrid, "granitehybrid")     \
  X(GraniteMoe, "granitemoe")           \
  X(HunyuanDense, "hunyuan-dense")      \
  X(HunyuanMoe, "hunyuan-moe")          \
  X(InternLm2, "internlm2")             \
  X(KimiLinear, "kimi-linear")          \
  X(Lfm2, "lfm2")                       \
  X(Lfm2Moe, "lfm2moe")                 \
  X(Llama, "llama")                     \
  X(Llama4, "llama4")                   \
  X(Mamba, "mamba")                     \
  X(Mamba2, "mamba2")                   \
  X(MiniCpm, "minicpm")                 \
  X(MiniCpm3, "minicpm3")               \
  X(MiniMaxM2, "minimax-m2")            \
  X(Mistral3, "mistral3")               \
  X(Mistral4, "mistral4")               \
  X(Nemotron, "nemotron")               \
  X(NemotronH, "nemotron_h")            \
  X(NemotronHMoe, "nemotron_h_moe")     \
  X(Olmo2, "olmo2")                     \
  X(Olmoe, "olmoe")                     \
  X(Phi3, "phi3")                       \
  X(Qwen2, "qwen2")                     \
  X(Qwen2Moe, "qwen2moe")               \
  X(Qwen3, "qwen3")                     \
  X(Qwen35, "qwen35")                   \
  X(Qwen35Moe, "qwen35moe")             \
  X(Qwen3Moe, "qwen3moe")               \
  X(Qwen3Next, "qwen3next")             \
  X(Rwkv7, "rwkv7")                     \
  X(SeedOss, "seed_oss")                \
  X(SmolLm3, "smollm3")                 \
  X(StableLm, "stablelm")
