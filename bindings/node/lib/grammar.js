// Grammars: the texts that may be generated.
'use strict'

const constants = require('./constants.js')
const { later } = require('./native.js')
const { MADE_HERE, TenonObject, library } = require('./objects.js')

/** A compiled grammar: the texts that may be generated. */
class Grammar extends TenonObject {
  static async create(kind, text) {
    library()
    return new Grammar(MADE_HERE, await later.grammar_create(kind, text))
  }

  /** Allows documents that are valid by a JSON Schema. */
  static async jsonSchema(schema) {
    return Grammar.create(constants.GRAMMAR_JSON_SCHEMA, typeof schema === 'string' ? schema : JSON.stringify(schema))
  }

  /** Allows texts of the rule `root`, in GBNF. */
  static async gbnf(rules) {
    return Grammar.create(constants.GRAMMAR_GBNF, rules)
  }

  /** Allows texts of the rule `start`, in Lark. */
  static async lark(rules) {
    return Grammar.create(constants.GRAMMAR_LARK, rules)
  }

  /** Allows texts that a regular expression matches as a whole: its source, or a RegExp without
   * flags. */
  static async regex(pattern) {
    return Grammar.create(constants.GRAMMAR_REGEX, pattern instanceof RegExp ? pattern.source : pattern)
  }

  /** Allows one of several texts. */
  static async choices(texts) {
    return Grammar.create(constants.GRAMMAR_CHOICES, JSON.stringify([...texts]))
  }

  /** True if it is a complete text of the grammar. */
  async accepts(text) {
    return (await later.grammar_accepts(this._handle, text)) !== 0
  }

  /** A matcher, for loops that draw by themselves. */
  async matcher(tokenizer) {
    return new Matcher(MADE_HERE, await later.matcher_create(this._handle, tokenizer._handle))
  }
}

/** A position in a text of a grammar. One call at a time. */
class Matcher extends TenonObject {
  /** A second matcher at the same position. */
  async fork() {
    return new Matcher(MADE_HERE, await later.matcher_fork(this._handle))
  }

  /** True if the token may come next. */
  async allows(token) {
    return (await later.matcher_allows(this._handle, token)) !== 0
  }

  /** Mask of all tokens that may come next: token t is bit t % 64 of word t / 64. */
  async mask() {
    return later.matcher_mask(this._handle)
  }

  /** Accepts the next token; StateError if it cannot follow. */
  async accept(token) {
    return later.matcher_accept_token(this._handle, token)
  }

  /** Accepts text; false if the grammar does not allow it. */
  async acceptText(text) {
    return (await later.matcher_accept_text(this._handle, text)) !== 0
  }

  /** Takes back the last tokens. */
  async rollBack(tokens) {
    return later.matcher_roll_back(this._handle, tokens)
  }

  /** Returns to the beginning. */
  async reset() {
    return later.matcher_reset(this._handle)
  }

  /** Limits the text to that many more tokens. */
  async setTokenLimit(tokens) {
    return later.matcher_set_token_limit(this._handle, tokens)
  }

  /** complete: the text so far is a text of the grammar; ended: only an end token can follow. */
  async state() {
    const { complete, ended } = await later.matcher_state(this._handle)
    return { complete: complete !== 0, ended: ended !== 0 }
  }

  /** The text that must come next; often empty. */
  async forcedText() {
    return later.matcher_forced_text(this._handle)
  }
}

module.exports = { Grammar, Matcher }
