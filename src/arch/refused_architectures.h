// Known architectures that are not supported, each with the reason in one sentence.
// architecture_list.h has the supported ones.
#pragma once

#include <string_view>

namespace tenon {

struct RefusedArchitecture {
  std::string_view name;    ///< value of general.architecture
  std::string_view reason;  ///< follows "architecture "name" is not supported: "
};

inline constexpr RefusedArchitecture kRefusedArchitectures[] = {
    {"clip", "it encodes pictures and has no text model"},
    {"cogvlm", "it has a second set of weights for pictures, which are not read here"},
    {"deepseek2-ocr", "its texts are read from pictures, which are not read here"},
    {"dflash", "it drafts tokens for another model and cannot run alone"},
    {"dots3note",
     "its windows keep latent rows of another size than its other layers, which has no counterpart "
     "here; the nearest that runs is \"deepseek32\""},
    {"dream", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"eagle3", "it drafts tokens for another model and cannot run alone"},
    {"gemma4-assistant", "it drafts tokens for another model and cannot run alone"},
    {"graniteswitch",
     "it holds adapters that tokens of the text switch on, which are not computed here; converted "
     "without them it is a \"granite\""},
    {"llada", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"llada-moe", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"paddleocr", "its texts are read from pictures, which are not read here"},
    {"pockettts", "it makes speech of texts and gives none"},
    {"qwen3tts", "it makes speech of texts and gives none"},
    {"rnd1", "it is a diffusion model, which fills in a whole text and not its next token"},
    {"wavtokenizer-dec", "it decodes sound and has no text model"},
};

}  // namespace tenon
