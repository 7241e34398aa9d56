// Paths of files as programs give them.
'use strict'

const { fileURLToPath } = require('node:url')

/** The path that a text or a file: URL names; TypeError for anything else. */
function filePath(given) {
  if (typeof given === 'string') return given
  if (typeof given?.href === 'string') return fileURLToPath(given.href)
  throw new TypeError(`a path is a string or a file: URL, not ${given}`)
}

module.exports = { filePath }
