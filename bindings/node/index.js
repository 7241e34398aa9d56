// Tenon: run language models inside your program. See README.md.
'use strict'

const native = require('./lib/native.js') // refuses old runtimes
const errors = require('./lib/errors.js')
const { library, useLibrary } = require('./lib/library.js')
const { Model } = require('./lib/model.js')
const { Tokenizer } = require('./lib/tokenizer.js')
const { Session } = require('./lib/session.js')
const { Engine } = require('./lib/engine.js')
const { Generation, Piece } = require('./lib/generation.js')
const { Sampler, logprobs } = require('./lib/sampler.js')
const { Grammar, Matcher } = require('./lib/grammar.js')
const { Chat, ChatAnswer, Reply } = require('./lib/chat.js')
const { Embedder, Rows } = require('./lib/embedder.js')
const { Server, Answer } = require('./lib/server.js')

const { makeError, ...classes } = errors

/** Version of the library. */
function version() {
  library()
  return native.now.version_text()
}

module.exports = {
  Model, Tokenizer, Session, Engine, Generation, Piece, Sampler, Grammar, Matcher, Chat, ChatAnswer, Reply, Embedder, Rows,
  Server, Answer,
  ...classes,
  constants: require('./lib/constants.js'),
  libraryPath: library,
  logprobs,
  useLibrary,
  version,
}
