// The errors: one class per status of tenon.h, all of them TenonError.
'use strict'

const { getSystemErrorMap } = require('node:util')

/** An error of the library. `code` is its name in tenon.h: 'FORMAT', 'BUSY', ...; for an error of
 * the operating system, its name as in errors of node:fs: 'ENOENT'. */
class TenonError extends Error {
  get name() {
    return this.constructor.name
  }
}
Object.defineProperty(TenonError.prototype, 'code', { value: 'ERROR', enumerable: true })

const codes = [
  ['FormatError', 'FORMAT'],
  ['UnsupportedError', 'UNSUPPORTED'],
  ['LimitError', 'LIMIT'],
  ['InputOutputError', 'IO'],
  ['NoMemoryError', 'NO_MEMORY'],
  ['ArgumentError', 'ARGUMENT'],
  ['GrammarError', 'GRAMMAR'],
  ['TemplateError', 'TEMPLATE'],
  ['BusyError', 'BUSY'],
  ['CancelledError', 'CANCELLED'],
  ['DeadlineError', 'DEADLINE'],
  ['PluginError', 'PLUGIN'],
  ['StateError', 'STATE'],
  ['InternalError', 'INTERNAL'],
]

// classes[status - 1]: TENON_ERROR_FORMAT is 1.
const classes = codes.map(([name, code]) => {
  const made = { [name]: class extends TenonError {} }[name]
  Object.defineProperty(made.prototype, 'code', { value: code, enumerable: true })
  return made
})

/** The error of a status, for the addon. systemError: a number of errno.h, or 0. */
function makeError(status, message, systemError) {
  const error = new (classes[status - 1] ?? TenonError)(message)
  if (systemError) {
    // Members of node:fs errors; paths.js adds `path`.
    const [code] = getSystemErrorMap().get(-systemError) ?? ['UNKNOWN']
    Object.assign(error, { errno: -systemError })
    Object.defineProperty(error, 'code', { value: code, enumerable: true, configurable: true })
  }
  Error.captureStackTrace?.(error, makeError)
  return error
}

module.exports = { TenonError, makeError, ...Object.fromEntries(classes.map((made) => [made.name, made])) }
