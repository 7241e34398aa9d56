// List of commands. Each function adds a subcommand whose callback runs it and throws on errors. A
// new command takes a file, a line in this list and a line in command_table.cpp.
#pragma once

namespace CLI {
class App;
}

namespace tenon_program {

void add_run(CLI::App& app);
void add_complete(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_logits(CLI::App& app);
void add_inspect(CLI::App& app);
void add_bench(CLI::App& app);
void add_make_model(CLI::App& app);
void add_quantize(CLI::App& app);
void add_imatrix(CLI::App& app);
void add_convert(CLI::App& app);
void add_plan(CLI::App& app);
void add_backends(CLI::App& app);
void add_grammar(CLI::App& app);
void add_render(CLI::App& app);
void add_chat(CLI::App& app);
void add_embed(CLI::App& app);
void add_rerank(CLI::App& app);
void add_perplexity(CLI::App& app);
void add_completion(CLI::App& app);
void add_man(CLI::App& app);
/// Defined only if libtenon-server is built.
void add_serve(CLI::App& app);
/// Defined only if libtenon-hub is built.
void add_pull(CLI::App& app);
void add_model_list(CLI::App& app);
void add_rm(CLI::App& app);

}  // namespace tenon_program
