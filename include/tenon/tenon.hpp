// Tenon for C++20: header-only over tenon.h, so no std type crosses the library's border. This file
// includes all of it.
//
//   tenon::Model model("demo-q8_0.gguf");
//   tenon::Session session(model);
//   for (auto piece : session.generate("Once upon a time", {.max_tokens = 64})) std::cout << piece;
//
// Failures are exceptions of type tenon::Error. Objects are move-only and own what they hold. The
// thread rules are those of tenon.h, section 1.
#pragma once

#include <tenon/adapter.hpp>
#include <tenon/backends.hpp>
#include <tenon/chat.hpp>
#include <tenon/embedder.hpp>
#include <tenon/engine.hpp>
#include <tenon/error.hpp>
#include <tenon/grammar.hpp>
#include <tenon/model.hpp>
#include <tenon/options.hpp>
#include <tenon/plan.hpp>
#include <tenon/quantize.hpp>
#include <tenon/random_model.hpp>
#include <tenon/sampler.hpp>
#include <tenon/session.hpp>
#include <tenon/tokenizer.hpp>
