#!/usr/bin/env node
// Builds two packages: the JavaScript of this folder, with the output of generate.py, and the files
// compiled for one platform (NAME-linux-x64): the addon, made by the C compiler alone, and from a
// build of the library libtenon.so, its plugins, and libtenon-server.so if the build has it. The
// first names those of all platforms as optional dependencies, of which npm installs the one that
// fits. The library's file tells the platform; CC names a compiler for it. Needs a C compiler,
// binutils, cmake, npm, python3 (PYTHON names it) and Node's headers.
//
//     build_package.mjs BUILD_FOLDER OUTPUT_FOLDER
//
// One addon serves every Node from 20 on, Bun, Deno and Electron. Nothing is compiled, and no script
// runs, when the package is installed. NODE_HEADERS names the folder of node_api.h if it is not
// beside node.
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

/** Folder of node_api.h. */
function headers() {
  const places = [process.env.NODE_HEADERS, path.resolve(path.dirname(fs.realpathSync(process.execPath)), '../include/node'),
    '/usr/include/node'].filter(Boolean)
  const found = places.find((place) => fs.existsSync(path.join(place, 'node_api.h')))
  if (!found) throw new Error(`node_api.h is in none of ${places.join(', ')} (Debian: libnode-dev; npm: node-api-headers)`)
  return found
}

function compileAddon(file) {
  const sources = fs.readdirSync(path.join(here, 'native')).filter((name) => name.endsWith('.c')).sort()
  const cross = path.join(build, 'zig/cc')  // of a cross build
  execFileSync(process.env.CC ?? (fs.existsSync(cross) ? cross : 'cc'), ['-std=c11', '-D_GNU_SOURCE', '-DNAPI_VERSION=8', '-O2', '-Wall', '-Wextra',
    '-Werror', '-fPIC', '-shared', '-fvisibility=hidden', '-s',
    // The library is found beside it; its threads may outlive an environment that unloads it.
    '-Wl,-rpath,$ORIGIN/lib', '-Wl,-z,nodelete',
    `-I${headers()}`, `-I${path.join(root, 'capi/include')}`,
    ...sources.map((name) => path.join(here, 'native', name)), '-lpthread', '-lm', '-ldl', '-o', file],
  { stdio: 'inherit' })
}

/** CMake's version, which must be that of the interface. */
function version() {
  const found = /project\(tenon VERSION ([0-9.]+)/.exec(fs.readFileSync(path.join(root, 'CMakeLists.txt'), 'utf8'))[1]
  const described = JSON.parse(fs.readFileSync(path.join(here, 'lib/made_for.json'), 'utf8')).version
  if (found !== described) throw new Error(`CMakeLists.txt says ${found}, the interface ${described}: run bindings/generate.sh`)
  return found
}

// Platforms with a package.
const PLATFORMS = ['linux-x64', 'linux-arm64', 'linux-x64-musl']

/** Processor and C library of a compiled file, in npm's words. */
function kindOf(file) {
  const said = execFileSync('readelf', ['-W', '-h', '-d', file], { encoding: 'utf8' })
  const cpu = { 'Advanced Micro Devices X86-64': 'x64', AArch64: 'arm64' }[/Machine: +(.*)/.exec(said)[1]]
  return { cpu, libc: /NEEDED.*\[libc\.(so|musl-.*)\]/.test(said) ? 'musl' : 'glibc' }
}

/** Packs a folder; returns the path. */
function pack(folder) {
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', output],
    { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
  console.log(path.join(output, packed.filename))
}

const writeDescription = (folder, description) =>
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(description, null, 2)}\n`)

/** The package of the JavaScript. */
function makeMain(folder, { name, ...rest }) {
  fs.mkdirSync(folder)
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((platform) => [`${name}-${platform}`, version()]))
  writeDescription(folder, { name, version: version(), ...rest, optionalDependencies })
  for (const part of fs.readdirSync(here)) {
    const isOurs = ['lib', 'types', 'examples', 'README.md'].includes(part) ||
      /\.m?js$/.test(part) && part !== path.basename(import.meta.url)
    if (isOurs) fs.cpSync(path.join(here, part), path.join(folder, part), { recursive: true })
  }
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
}

/** The package of compiled files. staged: a folder with an installed library. */
function makePlatform(folder, staged, { name, license, engines, os: systems }) {
  const soname = `libtenon.so.${version().split('.').slice(0, 2).join('.')}`
  const library = fs.readdirSync(staged, { recursive: true }).find((file) => path.basename(file) === soname)
  const { cpu, libc } = kindOf(path.join(staged, library))
  const platform = `linux-${cpu}${libc === 'musl' ? '-musl' : ''}`
  if (!PLATFORMS.includes(platform)) throw new Error(`no package is made for ${platform}, but for ${PLATFORMS.join(', ')}`)
  fs.mkdirSync(folder)
  writeDescription(folder, { name: `${name}-${platform}`, version: version(),
    description: `What ${name} runs on ${platform}: the library and the addon`, license, engines, os: systems,
    libc: [libc], cpu: [cpu] })
  fs.writeFileSync(path.join(folder, 'README.md'), `# ${name}-${platform}\n\n` +
    `The library and the addon of \`${name}\` for ${platform}. Install \`${name}\`, which brings it along.\n`)
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  // Licences of the contents, and bills of materials of the dependencies (cmake/packaging/sbom.py).
  const documents = path.join(staged, 'share/doc/tenon')
  fs.mkdirSync(path.join(folder, 'sbom'))
  for (const name of fs.readdirSync(documents)) {
    if (name === 'THIRD-PARTY.txt') fs.copyFileSync(path.join(documents, name), path.join(folder, name))
    else if (/^libtenon.*\.spdx\.json$/.test(name)) fs.copyFileSync(path.join(documents, name), path.join(folder, 'sbom', name))
  }
  fs.mkdirSync(path.join(folder, 'lib/tenon'), { recursive: true })
  fs.copyFileSync(fs.realpathSync(path.join(staged, library)), path.join(folder, 'lib', soname))
  const server = path.join(staged, path.dirname(library), soname.replace('libtenon.', 'libtenon-server.'))
  if (fs.existsSync(server)) fs.copyFileSync(fs.realpathSync(server), path.join(folder, 'lib', path.basename(server)))
  const plugins = path.join(staged, path.dirname(library), 'tenon')
  for (const plugin of fs.existsSync(plugins) ? fs.readdirSync(plugins) : []) {
    if (plugin.endsWith('.so')) fs.copyFileSync(path.join(plugins, plugin), path.join(folder, 'lib/tenon', plugin))
  }
  compileAddon(path.join(folder, 'tenon.node'))
}

execFileSync(process.env.PYTHON ?? 'python3', [path.join(here, 'generate.py')], { stdio: 'inherit' })
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'tenon-node-'))
try {
  const staged = path.join(temporary, 'staged')
  execFileSync('cmake', ['--install', build, '--prefix', staged, '--strip'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const description = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'))
  makeMain(path.join(temporary, 'main'), description)
  makePlatform(path.join(temporary, 'platform'), staged, description)
  fs.mkdirSync(output, { recursive: true })
  for (const old of fs.readdirSync(output)) if (/^tenon-.*\.tgz$/.test(old)) fs.rmSync(path.join(output, old))
  pack(path.join(temporary, 'main'))
  pack(path.join(temporary, 'platform'))
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
