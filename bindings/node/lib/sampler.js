// Samplers and log-probabilities.
'use strict'

const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, library, named } = require('./objects.js')

/** Draws tokens from logits. One call at a time; a generation copies it when it begins. */
class Sampler extends TenonObject {
  static async create(options) {
    library()
    return new Sampler(MADE_HERE, await later.sampler_create(named(options)))
  }

  /** Changes one parameter. */
  set(name, value) {
    const [key] = Object.keys(named({ [name]: value }))
    if (Number.isInteger(value)) now.sampler_set_int(this._handle, key, value)
    else now.sampler_set_float(this._handle, key, value)
  }

  /** Adds to a token's logit; -Infinity forbids the token. */
  setBias(token, bias) {
    now.sampler_set_bias(this._handle, token, bias)
  }

  /** Ends generation at this token. */
  addStopToken(token) {
    now.sampler_add_stop_token(this._handle, token)
  }

  /** Makes repetitions counted by dryMultiplier and its like end at tokens that hold this text. */
  async addDryBreaker(tokenizer, text) {
    return later.sampler_add_dry_breaker(this._handle, tokenizer._handle, text)
  }

  /** Allows only texts of the grammar from now on; null: any text. */
  async setGrammar(grammar, tokenizer = null) {
    return later.sampler_set_grammar(this._handle, grammar?._handle ?? null, tokenizer?._handle ?? null)
  }

  /** Sets how many tokens may still be drawn. */
  setTokenLimit(tokens) {
    now.sampler_set_token_limit(this._handle, tokens)
  }

  /** Seed of the draws: its option, or for -1 the seed of the latest answer. */
  get seed() {
    return now.sampler_seed(this._handle)
  }

  /** Restores the sampler to its creation. */
  async reset() {
    return later.sampler_reset(this._handle)
  }

  /** Takes back the last draws. */
  async rollBack(draws) {
    return later.sampler_roll_back(this._handle, draws)
  }

  /** Draws from logits [vocabulary]. position: key of the random number. Default: the history's
   * length. */
  async sample(logits, { history = [], position = history.length } = {}) {
    return later.sampler_sample(this._handle, logits, history, position)
  }
}

/** Log-probabilities under logits [vocabulary]: those of tokens, and the `top` likeliest. */
async function logprobs(logits, { tokens = [], top = 0 } = {}) {
  library()
  const { logprobs, topTokens, topLogprobs } = await later.logprobs(logits, tokens, top)
  return { logprobs, top: Array.from(topTokens, (token, index) => ({ token, logprob: topLogprobs[index] })) }
}

module.exports = { Sampler, logprobs }
