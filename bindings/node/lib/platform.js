// The folder of files compiled for this machine: a package of its own (tenon-llm-linux-x64, or
// tenon-llm-linux-x64-musl). The JavaScript package names these as optional dependencies, of which
// npm installs the one for this processor and C library.
'use strict'

// Old syntax, for runtimes that are refused in native.js.
const path = require('path')

const NAME = 'tenon-llm'
const platform = `${process.platform}-${process.arch}`

function folderOfPlatform() {
  const wanted = `${NAME}-${platform}`
  for (const name of [wanted, `${wanted}-musl`]) {
    try {
      return path.dirname(require.resolve(`${name}/package.json`))
    } catch (error) {
      // Another one is installed, or none.
    }
  }
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

module.exports = folderOfPlatform()
