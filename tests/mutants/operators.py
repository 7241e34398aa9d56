"""Changes of one line of C++: each is what a slip of the hand or a careless edit would leave.

mutants_of(lines, index) gives what line `index` may become. A change need not compile; one that does not is drawn
again. The code is formatted by clang-format, so that binary operators have spaces around them and templates none.
"""
import re

# Text and comments are masked by \0, so that no operator changes them; lengths stay.
_COVERED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|//.*$')
_NO_CODE = re.compile(r'^\s*($|//|/\*|\*|#|using |namespace |template |static_assert|public:|private:|protected:|'
                      r'case .*:$|default:$|[})\];,]*$)')


def code_of(line):
    """The line with its texts and comments covered; empty for lines without code of their own."""
    if _NO_CODE.match(line):
        return ''
    return _COVERED.sub(lambda found: '\0' * len(found[0]), line)


def _replaced(line, begin, end, text):
    return line[:begin] + text + line[end:]


def _swap(pairs):
    """An operator that puts each match of a pattern in the place of another text."""
    def operate(line, code):
        for pattern, text in pairs:
            for found in re.finditer(pattern, code):
                yield _replaced(line, found.start(), found.end(), found.expand(text))
    return operate


def _matching(code, begin):
    """The place of the bracket that closes the one at `begin`; -1: on another line."""
    depth = 0
    for place in range(begin, len(code)):
        depth += {'(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1}.get(code[place], 0)
        if depth == 0:
            return place
    return -1


def _parts(code, begin, end):
    """Places of the arguments between two brackets."""
    depth, first = 0, begin
    for place in range(begin, end):
        depth += {'(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1}.get(code[place], 0)
        if depth == 0 and code[place] == ',':
            yield first, place
            first = place + 1
    yield first, end


def off_by_one(line, code):
    for found in re.finditer(r'(?<![\w.])(\d+)(?:u|U|ull|ULL)?(?![\w.\'])', code):
        number = int(found[1])
        rest = line[found.end(1):found.end()]
        yield _replaced(line, found.start(), found.end(), str(number + 1) + rest)
        if number > 0:
            yield _replaced(line, found.start(), found.end(), str(number - 1) + rest)


def dropped_term(line, code):
    """A part of a sum or of a condition is left out."""
    for found in re.finditer(r' (&&|\|\||\+|-|\*|\|) ', code):
        depth, place = 0, found.end()
        while place < len(code):
            char = code[place]
            if char in '([{':
                depth += 1
            elif char in ')]}':
                depth -= 1
                if depth < 0:
                    break
            elif depth == 0 and (char in ',;?:' or re.match(r' (&&|\|\||\+|-|<|>|==|<=|>=|!=) ', code[place:])):
                break
            place += 1
        if place > found.end() and place < len(code):
            yield _replaced(line, found.start(), place, '')


def dropped_statement(line, code):
    """A call or an assignment is left out."""
    if re.match(r'^\s*(return|throw|break|continue|const|auto|if|for|while|else|case|goto|delete|using)\b', code):
        return
    call = re.match(r'^(\s*)[\w:.>\-\[\]*()]+\(.*\);\s*(\0*)$', code)
    assignment = re.match(r'^(\s*)[\w.>\-\[\]*()]+ [+\-*/|&^%]?= .*;\s*(\0*)$', code)
    step = re.match(r'^(\s*)(\+\+|--)[\w.>\-\[\]*()]+;', code)
    found = call or assignment or step
    if found:
        yield found[1] + ';'
    # Statement after a condition on its line.
    for found in re.finditer(r'\) (?!return|\{|throw|break|continue|fail)([\w.>:\-]+\(.*\);|[\w.>\-]+ = .*;)$', code):
        yield line[:found.start(1)] + ';'


def swapped_arguments(line, code):
    for found in re.finditer(r'\w\(', code):
        begin, end = found.end(), _matching(code, found.end() - 1)
        if end < 0:
            continue
        parts = list(_parts(code, begin, end))
        for (a, b), (c, d) in zip(parts, parts[1:]):
            first, second = line[a:b].strip(), line[c:d].strip()
            if first and second and first != second:
                yield line[:a] + second + ', ' + first + line[d:]


def inverted_condition(line, code):
    for found in re.finditer(r'\b(?:if|while) \(', code):
        begin, end = found.end(), _matching(code, found.end() - 1)
        if end > 0 and ';' not in code[begin:end]:
            yield _replaced(line, begin, end, '!(' + line[begin:end] + ')')
    for found in re.finditer(r' \? ([^?:]+) : ([^?:;]+)([;,)])', code):
        a, b = found.span(1), found.span(2)
        yield line[:a[0]] + line[b[0]:b[1]] + ' : ' + line[a[0]:a[1]] + line[b[1]:]


def empty_value(line, code):
    """A function returns nothing of what it should."""
    found = re.match(r'^(\s*)return (.+);', code)
    if found and line[found.start(2):found.end(2)] != '{}':
        yield _replaced(line, found.start(2), found.end(2), '{}')


def early_return(line, code):
    found = re.match(r'^(\s+)(?!case|default|else|\})[\w+*\-(]', code)
    if found and code.rstrip('\0 ').endswith(';'):
        yield found[1] + 'return; ' + line.lstrip()


def dropped_guard(line, code):
    """`if (...) return ...;` and its like are left out."""
    found = re.match(r'^(\s*)if \(.*\) (return|continue|break|fail|throw)\b.*;', code)
    if found:
        yield found[1] + ';'


OPERATORS = {
    'comparison': _swap([(r' < ', ' <= '), (r' <= ', ' < '), (r' > ', ' >= '), (r' >= ', ' > '), (r' == ', ' != '),
                         (r' != ', ' == ')]),
    'off_by_one': off_by_one,
    'dropped_term': dropped_term,
    'dropped_statement': dropped_statement,
    'dropped_guard': dropped_guard,
    'swapped_arguments': swapped_arguments,
    'inverted_condition': inverted_condition,
    'empty_value': empty_value,
    'early_return': early_return,
    'logic': _swap([(r' && ', ' || '), (r' \|\| ', ' && ')]),
    'negation': _swap([(r'!(?=[\w(])', '')]),
    'arithmetic': _swap([(r' \+ ', ' - '), (r' - ', ' + '), (r' \* ', ' / '), (r' / ', ' * '), (r' % ', ' / '),
                         (r' << (?=\d|k[A-Z])', ' >> '), (r' >> (?=\d|k[A-Z])', ' << ')]),
    'constant': _swap([(r'\btrue\b', 'false'), (r'\bfalse\b', 'true'), (r'\bnullopt\b', 'make_optional(0)')]),
    'extreme': _swap([(r'\bstd::min\b', 'std::max'), (r'\bstd::max\b', 'std::min')]),
    'step': _swap([(r'\+\+(?=\w)', '--'), (r' \+= ', ' -= '), (r' -= ', ' += '), (r'\bbegin\(\)', 'end()'),
                   (r'\bfront\(\)', 'back()'), (r'\bback\(\)', 'front()')]),
    'loop': _swap([(r'\bbreak;', 'continue;'), (r'\bcontinue;', 'break;')]),
}


def _is_in_void(lines, index):
    """Whether the function around a line returns nothing: its head is the nearest line without an indent."""
    for line in reversed(lines[:index]):
        if line and not line[0].isspace() and line[0] not in '}#/':
            return line.startswith('void ')
    return False


def mutants_of(lines, index):
    """(operator, changed line) for all changes of a line."""
    line = lines[index]
    code = code_of(line)
    if not code.strip('\0 '):
        return
    seen = {line}
    for name, operate in OPERATORS.items():
        if name == 'early_return' and not _is_in_void(lines, index):
            continue
        for changed in operate(line, code):
            if changed not in seen:
                seen.add(changed)
                yield name, changed
