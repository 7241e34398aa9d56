// Tokenizers.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, copied, library } = require('./objects.js')
const { filePath, withPath } = require('./paths.js')

const orNull = (token) => (token === constants.NO_TOKEN ? null : token)
const encodeFlags = ({ addSpecial = false, parseSpecial = false } = {}) =>
  (addSpecial ? constants.ADD_SPECIAL : 0) | (parseSpecial ? constants.PARSE_SPECIAL : 0)
const decodeFlags = ({ special = false } = {}) => (special ? constants.RENDER_SPECIAL : 0)
const asText = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

/** Text to tokens and back. From a tokenizer.json or a model file, or part of a model, with which
 * it closes. */
class Tokenizer extends TenonObject {
  static async open(path) {
    library()
    const named = filePath(path)
    return new Tokenizer(MADE_HERE, await withPath([named], () => later.tokenizer_open(named)))
  }

  /** Reads the bytes of such a file. */
  static async fromBytes(bytes) {
    library()
    return new Tokenizer(MADE_HERE, await later.tokenizer_load({ memory: await copied(bytes) }))
  }

  /** Tokens of a text. Control tokens are found in it only with parseSpecial. */
  async encode(text, options) {
    return later.tokenizer_encode(this._handle, text, encodeFlags(options))
  }

  /** Tokens of a short text, synchronously. */
  encodeSync(text, options) {
    return now.tokenizer_encode(this._handle, text, encodeFlags(options))
  }

  /** Bytes of tokens, which may begin or end inside a character. */
  async decodeBytes(tokens, options) {
    return later.tokenizer_decode(this._handle, tokens, decodeFlags(options))
  }

  /** Text of tokens; invalid UTF-8 becomes U+FFFD. */
  async decode(tokens, options) {
    return asText(await this.decodeBytes(tokens, options))
  }

  /** Text of a few tokens, synchronously. */
  decodeSync(tokens, options) {
    return asText(now.tokenizer_decode(this._handle, tokens, decodeFlags(options)))
  }

  /** Number of tokens. */
  get size() {
    return now.tokenizer_count(this._handle)
  }

  /** Attributes, spelling and bytes of a token. */
  info(token) {
    return now.tokenizer_token_info(this._handle, token)
  }

  /** The token with this spelling in the file, or null. */
  find(spelling) {
    return orNull(now.tokenizer_find(this._handle, spelling))
  }

  get beginToken() {
    return orNull(now.tokenizer_special(this._handle, constants.SPECIAL_BEGIN))
  }

  get endToken() {
    return orNull(now.tokenizer_special(this._handle, constants.SPECIAL_END))
  }
}

module.exports = { Tokenizer }
