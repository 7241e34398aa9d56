#!/usr/bin/env python3
"""Changes single lines of the library, and looks whether a test notices. README.md says how to read the table.

    python3 tests/mutants/mutate.py --work /tmp/mutants --count 40                  all rooms
    python3 tests/mutants/mutate.py --work /tmp/mutants --count 20 --room engine    one room
    python3 tests/mutants/mutate.py --work /tmp/mutants --again                     what survived, once more
    python3 tests/mutants/mutate.py --work /tmp/mutants --summary                   counts, and what survived
    python3 tests/mutants/mutate.py --show src/kv/block_table.cpp                   what would be drawn from
"""
import argparse
import collections
import csv
import fcntl
import glob
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from operators import mutants_of  # noqa: E402
from rooms import ROOMS  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ['number', 'room', 'file', 'line', 'operator', 'before', 'after', 'verdict', 'seconds', 'test']
Mutant = collections.namedtuple('Mutant', 'room file line operator before after')

# Line that names the failed test: from GoogleTest, from the watch over idle tests, from a
# sanitizer.
FAILED = re.compile(r'^\[  FAILED  \] ([^\s(]+)|^(\S+) hangs|^==\d+==ERROR: (\S+)', re.M)
RUNNING = re.compile(r'^\[ RUN      \] (\S+)', re.M)


class Gone(Exception):
    """The time limit is over."""


def run(command, limit, **keywords):
    """Output and status of a command in a group of its own, which ends with it."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, **keywords)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            raise Gone(read_all(out)) from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        return read_all(out), process.returncode


def read_all(out):
    out.seek(0)
    return out.read().decode(errors='replace')


class Tree:
    """A copy of the checkout with a build of its own: the checkout is only read."""

    def __init__(self, work, jobs, cmake):
        self.root = os.path.join(work, 'tree')
        self.build = os.path.join(self.root, 'build-dev')
        self.saved = os.path.join(work, 'saved')
        self.jobs = jobs
        self.cmake = cmake
        self.objects = {}

    def sync(self):
        """Copies what differs, and takes away what is gone; also what an ended run left changed."""
        listed = subprocess.run(['git', '-C', SOURCE, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                                check=True, capture_output=True).stdout.decode().split('\0')
        wanted = {name for name in listed if name and os.path.isfile(os.path.join(SOURCE, name))}
        for name in wanted:
            source, copy = os.path.join(SOURCE, name), os.path.join(self.root, name)
            if os.path.exists(copy) and same_content(source, copy):
                continue
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
        for folder, folders, names in os.walk(self.root):
            if folder == self.root and 'build-dev' in folders:
                folders.remove('build-dev')
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.root) not in wanted:
                    os.remove(path)
        # Objects left by a run that was interrupted during a change.
        if os.path.isdir(self.saved):
            for folder, _, names in os.walk(self.saved):
                for name in names:
                    path = os.path.join(self.build, os.path.relpath(os.path.join(folder, name), self.saved))
                    if os.path.exists(path):
                        os.remove(path)
            shutil.rmtree(self.saved)

    def configure(self):
        lld = ['-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld', '-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld']
        subprocess.run(['cmake', '--preset', 'dev', '-DTENON_WERROR=OFF', '-DTENON_UNITY=ON',
                        '-DTENON_VULKAN=OFF', '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG',
                        '-DTENON_SHARED_DIR=' + os.path.join(os.path.dirname(SOURCE), 'shared'),
                        *(lld if shutil.which('ld.lld') else []), *self.cmake],
                       cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def make(self, targets, limit=None):
        return run(['cmake', '--build', self.build, '-j', str(self.jobs), '--target', *targets], limit)

    def find_objects(self):
        """The objects that are made of each file, as the compiler told ninja."""
        self.objects = collections.defaultdict(list)
        listed = subprocess.run(['ninja', '-C', self.build, '-t', 'deps'], check=True, capture_output=True, text=True)
        made = None
        for line in listed.stdout.splitlines():
            if line.endswith('(VALID)'):
                made = line[:line.index(': #deps')]
            elif line.startswith(' ') and made:
                path = os.path.normpath(os.path.join(self.build, line.strip()))
                self.objects[os.path.relpath(path, self.root)].append(made)
            else:
                made = None

    def objects_of(self, path):
        return [name for name in self.objects[path] if os.path.exists(os.path.join(self.build, name))]

    def save(self, names):
        for name in names:
            kept = os.path.join(self.saved, name)
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copyfile(os.path.join(self.build, name), kept)

    def restore(self, names):
        """The objects as they were before the change, newer than their sources: they are not made again."""
        for name in names:
            shutil.copyfile(os.path.join(self.saved, name), os.path.join(self.build, name))
        shutil.rmtree(self.saved, ignore_errors=True)

    def is_same_code(self, names):
        def code(path):
            with tempfile.NamedTemporaryFile() as stripped:
                subprocess.run(['objcopy', '--strip-debug', path, stripped.name], check=True)
                return hashlib.sha256(stripped.read()).digest()
        return bool(names) and all(code(os.path.join(self.saved, name)) == code(os.path.join(self.build, name))
                                   for name in names)


def same_content(one, other):
    with open(one, 'rb') as a, open(other, 'rb') as b:
        return a.read() == b.read()


def files_of(room):
    return sorted({os.path.relpath(path, SOURCE) for pattern in ROOMS[room]['files']
                   for path in glob.glob(os.path.join(SOURCE, pattern), recursive=True)})


def lines_of(path):
    with open(os.path.join(SOURCE, path), encoding='utf-8') as file:
        return file.read().split('\n')


def targets_of(rooms):
    return sorted({target for room in rooms for target, _ in ROOMS[room]['tests']})


def draws(rooms, seed):
    """Mutants without an end: each line with code is as likely as any other, and then each operator."""
    chance = random.Random(seed)
    texts = {path: lines_of(path) for room in rooms for path in files_of(room)}
    places = [(room, path, number) for room in rooms for path in files_of(room)
              for number in range(len(texts[path])) if any(True for _ in mutants_of(texts[path], number))]
    while True:
        room, path, number = chance.choice(places)
        line = texts[path][number]
        by_operator = collections.defaultdict(list)
        for operator, changed in mutants_of(texts[path], number):
            by_operator[operator].append(changed)
        operator = chance.choice(sorted(by_operator))
        yield Mutant(room, path, number + 1, operator, line, chance.choice(by_operator[operator]))


class Table:
    """The results, a row each, written as they come: an ended run goes on where it was."""

    def __init__(self, path):
        self.path = path
        self.rows = []
        if os.path.exists(path):
            with open(path, newline='', encoding='utf-8') as file:
                self.rows = list(csv.DictReader(file, delimiter='\t', quoting=csv.QUOTE_NONE, escapechar='\\'))
        self.file = open(path, 'a', newline='', encoding='utf-8')
        self.writer = csv.DictWriter(self.file, COLUMNS, delimiter='\t', quoting=csv.QUOTE_NONE, escapechar='\\',
                                     lineterminator='\n')
        if not self.rows and self.file.tell() == 0:
            self.writer.writeheader()
            self.file.flush()

    def add(self, mutant, verdict, seconds, test):
        row = dict(zip(COLUMNS, [len(self.rows) + 1, mutant.room, mutant.file, mutant.line, mutant.operator,
                                 mutant.before.strip(), mutant.after.strip(), verdict, f'{seconds:.0f}', test]))
        self.rows.append({key: str(value) for key, value in row.items()})
        self.writer.writerow(row)
        self.file.flush()
        print(f"{row['number']:>4} {verdict:10} {mutant.file}:{mutant.line} {mutant.operator}  {test}\n"
              f"       - {mutant.before.strip()}\n       + {mutant.after.strip()}", flush=True)

    def latest(self):
        """The last row of each change: one that survived may be caught by now."""
        rows = {}
        for row in self.rows:
            rows[row['file'], row['before'], row['after']] = row
        return list(rows.values())


def judge(tree, mutant, limits):
    """Verdict and the test that noticed: caught, hang, survived, same (the same code), unbuilt."""
    path = os.path.join(tree.root, mutant.file)
    times = os.stat(path)
    with open(path, encoding='utf-8') as file:
        original = file.read()
    lines = original.split('\n')
    if lines[mutant.line - 1] != mutant.before:
        raise RuntimeError(f'{mutant.file}:{mutant.line} is another line in the copy')
    lines[mutant.line - 1] = mutant.after
    tests = ROOMS[mutant.room]['tests']
    targets = [target for target, _ in tests]
    objects = tree.objects_of(mutant.file)
    tree.save(objects)
    try:
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines))
        _, status = tree.make(targets, limits['build'])
        if status != 0:
            return 'unbuilt', ''
        if tree.is_same_code(objects):
            return 'same', ''
        for target, arguments in tests:
            verdict, test = run_tests(tree, target, arguments, limits[target])
            if verdict != 'passed':
                return verdict, test
        return 'survived', ''
    except Gone as gone:
        return 'hang', f'the build: {str(gone)[-100:]}'
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        tree.restore(objects)


def run_tests(tree, target, arguments, limit):
    program = os.path.join(tree.build, 'bin', target)
    try:
        output, status = run(['setarch', '--addr-no-randomize', program, '--gtest_fail_fast', '--gtest_color=no',
                              *arguments], limit, cwd=tree.build)
    except Gone as gone:
        running = RUNNING.findall(str(gone))
        return 'hang', running[-1] if running else target
    if status == 0:
        return 'passed', ''
    failed = FAILED.search(output)
    running = RUNNING.findall(output)
    name = next((group for group in failed.groups() if group), '') if failed else ''
    return 'caught', name or (running[-1] if running else f'{target}: status {status}')


def limits_of(tree, rooms, given):
    """Runs the tests without a change, which they have to pass. A change gets three times as long, and a minute."""
    limits = {'build': 1200}
    for room in rooms:
        for target, arguments in ROOMS[room]['tests']:
            begin = time.monotonic()
            verdict, test = run_tests(tree, target, arguments, 3600)
            seconds = time.monotonic() - begin
            if verdict != 'passed':
                sys.exit(f'{target} fails without a change: {test}')
            limits[target] = max(limits.get(target, 0), given or 3 * seconds + 60)
            print(f'{target}: {seconds:.0f} s, a change has {limits[target]:.0f} s', flush=True)
    return limits


def found_again(row):
    """The mutant of a row, where its line is now; None: it is gone."""
    lines = lines_of(row['file']) if os.path.exists(os.path.join(SOURCE, row['file'])) else []
    places = [number for number, line in enumerate(lines, 1) if line.strip() == row['before']]
    if not places:
        return None
    number = min(places, key=lambda place: abs(place - int(row['line'])))
    line = lines[number - 1]
    indent = line[:len(line) - len(line.lstrip())]
    return Mutant(row['room'], row['file'], number, row['operator'], line, indent + row['after'])


def summarize(table):
    counts = collections.defaultdict(collections.Counter)
    for row in table.latest():
        counts[row['room']][row['verdict']] += 1
    verdicts = ['caught', 'hang', 'survived', 'same', 'unbuilt']
    print(f"{'room':10}" + ''.join(f'{verdict:>10}' for verdict in verdicts) + '   caught')
    total = collections.Counter()
    for room in sorted(counts):
        total += counts[room]
        print_counts(room, counts[room], verdicts)
    print_counts('all', total, verdicts)
    for row in table.latest():
        if row['verdict'] in ('survived', 'hang'):
            print(f"\n{row['verdict']} {row['file']}:{row['line']} {row['operator']} {row['test']}\n"
                  f"  - {row['before']}\n  + {row['after']}")


def print_counts(room, counts, verdicts):
    known = counts['caught'] + counts['hang'] + counts['survived']
    share = f"{100 * (known - counts['survived']) / known:8.1f}%" if known else ''
    print(f'{room:10}' + ''.join(f'{counts[verdict]:10}' for verdict in verdicts) + share)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--work', help='a folder for the copy, its build and the table')
    parser.add_argument('--count', type=int, default=20, help='how many changes the table shall have that were tested')
    parser.add_argument('--room', action='append', choices=sorted(ROOMS), help='default: all')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--limit', type=float, help='seconds of a test program; default: three times what it takes')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--again', action='store_true', help='what survived, once more')
    parser.add_argument('--summary', action='store_true')
    parser.add_argument('--show', metavar='FILE', help='the changes of a file')
    parser.add_argument('--cmake', action='append', default=[], help='an argument for cmake')
    given = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if given.show:
        lines = lines_of(given.show)
        for number, line in enumerate(lines):
            for operator, changed in mutants_of(lines, number):
                print(f'{number + 1}: {operator}\n  - {line.strip()}\n  + {changed.strip()}')
        return
    if not given.work:
        parser.error('--work is missing')
    os.makedirs(given.work, exist_ok=True)
    table = Table(os.path.join(given.work, 'mutants.tsv'))
    if given.summary:
        return summarize(table)
    lock = open(os.path.join(given.work, 'lock'), 'w')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f'another run uses {given.work}')
    os.nice(19)
    rooms = given.room or sorted(ROOMS)
    if given.again:
        wanted = [row for row in table.latest() if row['verdict'] == 'survived' and row['room'] in rooms]
        mutants = [mutant for mutant in map(found_again, wanted) if mutant]
        rooms = sorted({mutant.room for mutant in mutants})
    else:
        mutants = draws(rooms, given.seed)
    tree = Tree(os.path.abspath(given.work), given.jobs, given.cmake)
    tree.sync()
    tree.configure()
    output, status = tree.make(targets_of(rooms))
    if status != 0:
        sys.exit(output[-5000:] + '\nthe copy does not build')
    tree.find_objects()
    limits = limits_of(tree, rooms, given.limit)
    known = {(row['file'], row['before'], row['after']) for row in table.rows}
    tested = sum(row['verdict'] not in ('unbuilt', 'same') and row['room'] in rooms for row in table.latest())
    for mutant in mutants:
        if not given.again:
            if tested >= given.count:
                break
            key = (mutant.file, mutant.before.strip(), mutant.after.strip())
            if key in known:
                continue
            known.add(key)
        begin = time.monotonic()
        verdict, test = judge(tree, mutant, limits)
        table.add(mutant, verdict, time.monotonic() - begin, test)
        tested += verdict not in ('unbuilt', 'same')
    summarize(table)


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
