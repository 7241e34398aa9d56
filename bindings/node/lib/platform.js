// The folder of files compiled for this machine: a package of its own (tenon-llm-linux-x64). The
// JavaScript package names these as optional dependencies, so that one of them is installed.
'use strict'

// Old syntax, for runtimes that are refused in native.js.
const path = require('path')

const NAME = 'tenon-llm'
const platform = `${process.platform}-${process.arch}`

function folderOfPlatform() {
  const wanted = `${NAME}-${platform}`
  try {
    return path.dirname(require.resolve(`${wanted}/package.json`))
  } catch (error) {
    let described = {}
    try {
      described = JSON.parse(require('fs').readFileSync(path.join(__dirname, '..', 'package.json'), 'utf8'))
    } catch (missing) {
      // A bundle has none.
    }
    if (described.name !== NAME) {
      throw new Error(`${wanted} is not found from ${__dirname}: bundlers must leave ${NAME} out ` +
        `(esbuild: --external:${NAME})`)
    }
    const known = Object.keys(described.optionalDependencies || {})
    if (!known.includes(wanted)) {
      throw new Error(`${NAME} has no package for ${platform}, but: ${known.join(', ')}`)
    }
    throw new Error(`${wanted} is not installed, which holds the library: npm install ${wanted}@${described.version} ` +
      '(it is an optional dependency, which --omit=optional leaves out)')
  }
}

module.exports = folderOfPlatform()
