#!/usr/bin/env python3
"""clang-tidy over the library, with the checks of .clang-tidy; a finding is an error.

    check_tidy.py BUILD_DIR [ROOM...]

BUILD_DIR is configured with TENON_UNITY. All unity sources of a room are checked as one: most of the
time goes into what their headers include, and that is then read once for a room and not once for ten
files. Without kernels_*.cpp, whose intrinsics no check is about, and tests.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOM = re.compile(r'/tenon_(?:room_(\w+)|(capi))\.dir/')


# Rooms whose unity sources say different things by one name.
APART = {'text_template'}


def sources_by_room(build):
    rooms = {}
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        arguments = shlex.split(entry['command'])
        room = ROOM.search('/' + arguments[arguments.index('-o') + 1])
        path = pathlib.Path(entry['file'])
        library = room and (path.parent.name == 'Unity' or '/src/' in str(path))
        if not library or path.name.startswith('kernels_'):
            continue
        flags = [a for a in arguments if a.startswith(('-I', '-D', '-std='))]
        flags += [f'-isystem{after}' for before, after in zip(arguments, arguments[1:])
                  if before == '-isystem']
        joined = path.parent.name == 'Unity'
        name = room[1] or room[2]
        key = name if joined and name not in APART else f'{name}/{path.stem}'
        rooms.setdefault(key, (flags, []))[1].append(path)
    return rooms


def check(tidy, root, folder, room, flags, sources):
    joined = folder / (room.replace('/', '_') + '.cxx')
    joined.write_text(''.join(f'#include "{path}"\n' for path in sources))
    done = subprocess.run([tidy, '--quiet', f'--config-file={root}/.clang-tidy', joined, '--', *flags],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + ('' if done.returncode in (0, 1) else done.stderr)


def main():
    build, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    root = pathlib.Path(__file__).resolve().parents[2]
    tidy = shutil.which('clang-tidy-14') or sys.exit('FAILED: no clang-tidy-14 here')
    rooms = sources_by_room(build)
    if not any(path.parent.name == 'Unity' for _, paths in rooms.values() for path in paths):
        sys.exit(f'FAILED: {build} is not configured with TENON_UNITY')
    if wanted:
        rooms = {room: of for room, of in rooms.items() if room.split('/')[0] in wanted}
    failed = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(check, tidy, root, pathlib.Path(folder), room, *of)
                for room, of in sorted(rooms.items())]
        for run in runs:
            status, text = run.result()
            failed += status != 0
            print(text, end='')
    print(f'clang-tidy: {len(rooms)} sources, {failed} with findings')
    sys.exit(1 if failed else 0)


main()
