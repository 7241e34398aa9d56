// The architectures that are known by name and do not run here, each with the reason in one
// sentence. Those that run are in architecture_list.h.
#pragma once

#include <string_view>

namespace tenon {

struct RefusedArchitecture {
  std::string_view name;    ///< as general.architecture says it
  std::string_view reason;  ///< follows "architecture "name" is not supported: "
};

inline constexpr RefusedArchitecture kRefusedArchitectures[] = {
    {"arctic", "a dense feed-forward runs beside its experts, each on a residual of its own"},
    {"arwkv7", "RWKV 7's mixer over Qwen's feed-forward has no block here"},
    {"bitnet", "norms within attention and feed-forward have no block here"},
    {"chameleon", "its query and key norms have biases, and its logits of images are masked"},
    {"clip", "it encodes pictures and has no text model"},
    {"cogvlm", "it has a second set of weights for pictures, which are not read here"},
    {"cohere2moe", "shared and routed experts are averaged, which has no block here"},
    {"dbrx", "queries, keys and values are clamped, which has no operation here"},
    {"deepseek2-ocr", "its texts are read from pictures, which are not read here"},
    {"deepseek4", "attention over compressed positions beside a window has no block here"},
    {"deepseek41", "attention over compressed positions beside a window has no block here"},
    {"dflash", "it drafts tokens for another model and cannot run alone"},
    {"dream", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"eagle3", "it drafts tokens for another model and cannot run alone"},
    {"gemma4-assistant", "it drafts tokens for another model and cannot run alone"},
    {"grok", "its router's logits are capped, which has no operation here"},
    {"grovemoe", "its adjugate experts are shared by groups of others, which has no block here"},
    {"hunyuan_vl", "it rotates by four-part positions, which have no operation here"},
    {"jamba", "norms within Mamba have no block here"},
    {"kimi-k3", "residuals that attend to those of earlier layers have no block here"},
    {"llada", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"llada-moe", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"mellum", "no published implementation was compared with yet"},
    {"olmo", "layer norms without weights have no block here"},
    {"paddleocr", "its texts are read from pictures, which are not read here"},
    {"phimoe", "its experts are chosen by SparseMixer, which has no operation here"},
    {"plamo2", "norms within Mamba have no block here"},
    {"plamo3", "no published implementation was compared with yet"},
    {"plm", "no published implementation was compared with yet"},
    {"qwen4exp", "rows of an embedding by the hash of several tokens have no block here"},
    {"rnd1", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"rwkv6", "the recurrence of RWKV 6 has no operation here"},
    {"rwkv6qwen2", "the recurrence of RWKV 6 has no operation here"},
    {"smallthinker", "its router reads what attention reads, which has no block here"},
    {"t5encoder", "an encoder of T5 without its decoder is not built yet"},
    {"talkie", "each layer adds the embedding once more, which has no block here"},
    {"wavtokenizer-dec", "it decodes sound and has no text model"},
};

}  // namespace tenon
