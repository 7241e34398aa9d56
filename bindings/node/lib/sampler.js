// Samplers and log-probabilities.
'use strict'

const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, library, named } = require('./objects.js')

/** Turns logits into tokens. One call at a time; a generation copies what it needs when it begins. */
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

  /** Adds to the logit of a token; -Infinity forbids it. */
  setBias(token, bias) {
    now.sampler_set_bias(this._handle, token, bias)
  }

  /** Generation ends with this token. */
  addStopToken(token) {
    now.sampler_add_stop_token(this._handle, token)
  }

  /** Repetitions that dryMultiplier and its like look for end at tokens that hold this text. */
  async addDryBreaker(tokenizer, text) {
    return later.sampler_add_dry_breaker(this._handle, tokenizer._handle, text)
  }

  /** From now on texts of the grammar only; null: any. */
  async setGrammar(grammar, tokenizer = null) {
    return later.sampler_set_grammar(this._handle, grammar?._handle ?? null, tokenizer?._handle ?? null)
  }

  /** How many tokens may still be drawn. */
  setTokenLimit(tokens) {
    now.sampler_set_token_limit(this._handle, tokens)
  }

  /** That it draws with: its option, or of -1 that of the latest answer it drew. */
  get seed() {
    return now.sampler_seed(this._handle)
  }

  /** As it was made. */
  async reset() {
    return later.sampler_reset(this._handle)
  }

  /** Takes the last draws back. */
  async rollBack(draws) {
    return later.sampler_roll_back(this._handle, draws)
  }

  /** Draws from [vocabulary] logits. position: key of the random number; unless given, how long the history is. */
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
