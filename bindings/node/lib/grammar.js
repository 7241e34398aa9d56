// Grammars: which texts may be generated.
'use strict'

const constants = require('./constants.js')
const { later } = require('./native.js')
const { MADE_HERE, TenonObject, library } = require('./objects.js')

/** Which texts may be generated. */
class Grammar extends TenonObject {
  static async create(kind, text) {
    library()
    return new Grammar(MADE_HERE, await later.grammar_create(kind, text))
  }

  /** Documents that are valid by a JSON Schema. */
  static async jsonSchema(schema) {
    return Grammar.create(constants.GRAMMAR_JSON_SCHEMA, typeof schema === 'string' ? schema : JSON.stringify(schema))
  }

  /** Texts of the rule `root`, in GBNF. */
  static async gbnf(rules) {
    return Grammar.create(constants.GRAMMAR_GBNF, rules)
  }

  /** Texts of the rule `start`, in Lark. */
  static async lark(rules) {
    return Grammar.create(constants.GRAMMAR_LARK, rules)
  }

  /** Texts that a regular expression matches as a whole: its source, or a RegExp without flags. */
  static async regex(pattern) {
    return Grammar.create(constants.GRAMMAR_REGEX, pattern instanceof RegExp ? pattern.source : pattern)
  }

  /** One of several texts. */
  static async choices(texts) {
    return Grammar.create(constants.GRAMMAR_CHOICES, JSON.stringify([...texts]))
  }

  /** Whether it is a complete text of the grammar. */
  async accepts(text) {
    return (await later.grammar_accepts(this._handle, text)) !== 0
  }

  /** For loops that draw by themselves. */
  async matcher(tokenizer) {
    return new Matcher(MADE_HERE, await later.matcher_create(this._handle, tokenizer._handle))
  }
}

/** Where a text of a grammar has come to. One call at a time. */
class Matcher extends TenonObject {
  /** A second one at the same place. */
  async fork() {
    return new Matcher(MADE_HERE, await later.matcher_fork(this._handle))
  }

  /** Whether the token may come next. */
  async allows(token) {
    return (await later.matcher_allows(this._handle, token)) !== 0
  }

  /** All tokens that may come next: token t is bit t % 64 of word t / 64. */
  async mask() {
    return later.matcher_mask(this._handle)
  }

  /** Takes the next token; StateError for one that cannot follow. */
  async accept(token) {
    return later.matcher_accept_token(this._handle, token)
  }

  /** Takes text, if the grammar goes on so. */
  async acceptText(text) {
    return (await later.matcher_accept_text(this._handle, text)) !== 0
  }

  /** Takes the last tokens back. */
  async rollBack(tokens) {
    return later.matcher_roll_back(this._handle, tokens)
  }

  /** Back to the beginning. */
  async reset() {
    return later.matcher_reset(this._handle)
  }

  /** At most so many tokens may still come. */
  async setTokenLimit(tokens) {
    return later.matcher_set_token_limit(this._handle, tokens)
  }

  /** complete: the text so far is one of the grammar; ended: nothing can follow. */
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
