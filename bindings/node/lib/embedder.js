// Embedders: rows of numbers for texts, and rerankers.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, named } = require('./objects.js')

const ROLES = { plain: constants.TEXT_PLAIN, query: constants.TEXT_QUERY, document: constants.TEXT_DOCUMENT }

/** Rows of numbers, one after another in `data`: an array of rows, without a copy. */
class Rows extends Array {
  constructor(data, dimensions, counts) {
    super(dimensions ? data.length / dimensions : 0)
    for (let index = 0; index < this.length; ++index) {
      this[index] = data.subarray(index * dimensions, (index + 1) * dimensions)
    }
    // Not listed among the rows.
    Object.defineProperties(this, {
      data: { value: data }, // [rows, dimensions]
      dimensions: { value: dimensions },
      counts: { value: counts }, // rows per text, [texts]; 1 unless the pooling is none
    })
  }

  /** map and its like make plain arrays. */
  static get [Symbol.species]() {
    return Array
  }
}

/** Turns texts into rows of numbers. */
class Embedder extends TenonObject {
  static async create(model, options) {
    return new Embedder(MADE_HERE, await later.embedder_create(model._handle, named(options)))
  }

  /** Pooling, dimensions, limits. */
  get info() {
    return now.embedder_get_info(this._handle)
  }

  /** Numbers per row. */
  get dimensions() {
    return now.embedder_dimensions(this._handle)
  }

  /** Names of the classifier's labels. */
  get labels() {
    return Array.from({ length: this.info.numLabels }, (_, index) => now.embedder_label(this._handle, index))
  }

  /** Rows of texts, or of arrays of tokens. role: 'plain', 'query' or 'document'. */
  async embed(texts, { role = 'plain', timeout = 0 } = {}) {
    if (!(role in ROLES)) throw new TypeError(`a role is one of ${Object.keys(ROLES).join(', ')}, not ${role}`)
    const { dimensions } = this
    const { rows, counts } = await later.embedder_embed(this._handle, texts, ROLES[role], timeout)
    return new Rows(rows, dimensions, counts)
  }

  /** Scores how well each document answers the query; more is better. */
  async rank(query, documents, { timeout = 0 } = {}) {
    return later.embedder_rank(this._handle, query, documents, timeout)
  }

  /** Ends running calls with CancelledError. */
  cancel() {
    now.embedder_cancel(this._handle)
  }
}

module.exports = { Embedder, Rows }
