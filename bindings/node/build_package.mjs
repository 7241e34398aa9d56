#!/usr/bin/env node
// Builds the package: the addon, compiled by the C compiler alone, what is in this folder, and from a build of the
// library libtenon.so, its plugins, and libtenon-server.so where the build has it. Needs a C compiler, cmake, npm and Node's headers.
//
//     build_package.mjs BUILD_FOLDER OUTPUT_FOLDER
//
// One addon serves every Node from 20 on, Bun, Deno and Electron; nothing is compiled, and no script runs, when the
// package is installed. NODE_HEADERS names the folder of node_api.h where it is not beside node.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const here = path.dirname(fileURLToPath(import.meta.url))
const root = path.resolve(here, '../..')
const [build, output] = process.argv.slice(2).map((folder) => path.resolve(folder))
if (!output) {
  console.error('usage: build_package.mjs BUILD_FOLDER OUTPUT_FOLDER')
  process.exit(2)
}

/** Where node_api.h is. */
function headers() {
  const places = [process.env.NODE_HEADERS, path.resolve(path.dirname(fs.realpathSync(process.execPath)), '../include/node'),
    '/usr/include/node'].filter(Boolean)
  const found = places.find((place) => fs.existsSync(path.join(place, 'node_api.h')))
  if (!found) throw new Error(`node_api.h is in none of ${places.join(', ')} (Debian: libnode-dev; npm: node-api-headers)`)
  return found
}

function compileAddon(file) {
  const sources = fs.readdirSync(path.join(here, 'native')).filter((name) => name.endsWith('.c')).sort()
  execFileSync(process.env.CC ?? 'cc', ['-std=c11', '-D_GNU_SOURCE', '-DNAPI_VERSION=8', '-O2', '-Wall', '-Wextra',
    '-Werror', '-fPIC', '-shared', '-fvisibility=hidden', '-s',
    // The library is found beside it; its threads may outlive an environment that unloads it.
    '-Wl,-rpath,$ORIGIN/lib', '-Wl,-z,nodelete',
    `-I${headers()}`, `-I${path.join(root, 'capi/include')}`,
    ...sources.map((name) => path.join(here, 'native', name)), '-lpthread', '-lm', '-ldl', '-o', file],
  { stdio: 'inherit' })
}

/** The version that CMake has, which must be that of the interface. */
function version() {
  const found = /project\(tenon VERSION ([0-9.]+)/.exec(fs.readFileSync(path.join(root, 'CMakeLists.txt'), 'utf8'))[1]
  const described = JSON.parse(fs.readFileSync(path.join(here, 'lib/made_for.json'), 'utf8')).version
  if (found !== described) throw new Error(`CMakeLists.txt says ${found}, the interface ${described}: run bindings/generate.sh`)
  return found
}

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'tenon-node-'))
try {
  const staged = path.join(temporary, 'staged')
  const made = path.join(temporary, 'package')
  execFileSync('cmake', ['--install', build, '--prefix', staged, '--strip'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const description = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'))
  const { name, ...rest } = description
  fs.mkdirSync(made)
  fs.writeFileSync(path.join(made, 'package.json'),
    `${JSON.stringify({ name, version: version(), ...rest, cpu: [process.arch] }, null, 2)}\n`)
  for (const part of fs.readdirSync(here)) {
    const isOurs = ['lib', 'types', 'examples', 'README.md'].includes(part) ||
      /\.m?js$/.test(part) && part !== path.basename(import.meta.url)
    if (isOurs) fs.cpSync(path.join(here, part), path.join(made, part), { recursive: true })
  }
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(made, 'LICENSE'))
  // The licences of what is inside, and the bills of materials of what is below (cmake/packaging/sbom.py).
  const documents = path.join(staged, 'share/doc/tenon')
  fs.mkdirSync(path.join(made, 'sbom'))
  for (const name of fs.readdirSync(documents)) {
    if (name === 'THIRD-PARTY.txt') fs.copyFileSync(path.join(documents, name), path.join(made, name))
    else if (/^libtenon.*\.spdx\.json$/.test(name)) fs.copyFileSync(path.join(documents, name), path.join(made, 'sbom', name))
  }
  const prebuilt = path.join(made, 'prebuilt', `${process.platform}-${process.arch}`)
  const soname = `libtenon.so.${version().split('.').slice(0, 2).join('.')}`
  const library = fs.readdirSync(staged, { recursive: true }).find((file) => path.basename(file) === soname)
  fs.mkdirSync(path.join(prebuilt, 'lib/tenon'), { recursive: true })
  fs.copyFileSync(fs.realpathSync(path.join(staged, library)), path.join(prebuilt, 'lib', soname))
  const server = path.join(staged, path.dirname(library), soname.replace('libtenon.', 'libtenon-server.'))
  if (fs.existsSync(server)) fs.copyFileSync(fs.realpathSync(server), path.join(prebuilt, 'lib', path.basename(server)))
  const plugins = path.join(staged, path.dirname(library), 'tenon')
  for (const plugin of fs.existsSync(plugins) ? fs.readdirSync(plugins) : []) {
    if (plugin.endsWith('.so')) fs.copyFileSync(path.join(plugins, plugin), path.join(prebuilt, 'lib/tenon', plugin))
  }
  compileAddon(path.join(prebuilt, 'tenon.node'))
  fs.mkdirSync(output, { recursive: true })
  for (const old of fs.readdirSync(output)) if (/^tenon-.*\.tgz$/.test(old)) fs.rmSync(path.join(output, old))
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', output],
    { cwd: made, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
  console.log(path.join(output, packed.filename))
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
