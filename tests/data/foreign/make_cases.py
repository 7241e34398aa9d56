#!/usr/bin/env python3
"""Writes the vectors of this folder and cases.json from the shared ones.

    make_cases.py VECTORS_DIR

A case keeps the tensors, the configuration and a fingerprint of the values (FNV-1a over their bits,
all NaN alike). The fingerprints of EXL3 are those of our own order of sums: they stay as they are in
cases.json, where tests/weights/foreign compares the shared values within their tolerance.
"""
import json
import pathlib
import shutil
import struct
import sys


def read_safetensors(path):
    data = path.read_bytes()
    length, = struct.unpack('<Q', data[:8])
    header = json.loads(data[8:8 + length])
    header.pop('__metadata__', None)
    return {name: (entry['shape'], data[8 + length:][slice(*entry['data_offsets'])])
            for name, entry in header.items()}


def fingerprint(values):
    result = 0xcbf29ce484222325
    for bits, in struct.iter_unpack('<I', values):
        if bits & 0x7fffffff > 0x7f800000:
            bits = 0x7fc00000
        for byte in bits.to_bytes(4, 'little'):
            result = (result ^ byte) * 0x100000001b3 % 2**64
    return f'{result:016x}'


def main():
    vectors = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    known = {case['file']: case for case in json.loads((here / 'cases.json').read_text())}
    lines = []
    for file in sorted(known):
        scheme, name = file.removesuffix('.safetensors').split('_', 1)
        if scheme == 'modelopt':
            scheme, name = 'modelopt_int4', name.removeprefix('int4_')
        folder = vectors / scheme / name
        expected = read_safetensors(folder / 'expected.safetensors')
        weight = next(tensor for tensor in expected if tensor.endswith('.weight'))
        shape, values = expected.get(weight + '_effective', expected[weight])
        shutil.copyfile(folder / 'model.safetensors', here / file)
        case = {'file': file, 'weight': weight, 'rows': len(values) // 4 // shape[-1],
                'columns': shape[-1],
                'values': known[file]['values'] if scheme == 'exl3' else fingerprint(values),
                'config': json.loads((folder / 'meta.json').read_text())['config']}
        lines.append(json.dumps(case, separators=(',', ':')))
    (here / 'cases.json').write_text('[\n' + ',\n'.join(lines) + '\n]\n')


main()
