"""Writes tests/data/quant/NAME.blocks and NAME.f32 of the formats of memory (quant/code_groups.h).

Run in the project's folder. Formulas are written from the layouts alone. Products and sums of two
f32 in double precision, rounded once more, are those of f32.
"""
import random
import struct

FORMATS = [  # name, id, kind, bits of a code, values of a block
    ("u4g32", 1024, "zero", 4, 32),
    ("u4g64", 1025, "zero", 4, 64),
    ("u4g128", 1026, "zero", 4, 128),
    ("u8g32", 1027, "zero", 8, 32),
    ("u4p32", 1028, "pair", 4, 32),
    ("u4p64", 1029, "pair", 4, 64),
    ("u8p32", 1030, "pair", 8, 32),
    ("f8g32", 1031, "float", 8, 32),
    ("f8g128", 1032, "float", 8, 128),
]
VALUES = 512
# Usual, negative, largest of f16, smallest of f16 and bf16, 0.
SCALES = [0.0123291015625, -0.75, 65504.0, 2.0**-24, -(2.0**-133), 0.0, 1.5e30, 1.0]


def e4m3(code):
    sign = -1.0 if code & 128 else 1.0
    exponent, mantissa = code >> 3 & 15, code & 7
    if exponent == 15 and mantissa == 7:
        return float("nan")
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (8 + mantissa) * 2.0 ** (exponent - 10)


def f32(value):
    """The nearest f32."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def head_scale(value):
    return struct.unpack("<f", struct.pack("<I", bits_of(value) & ~255))[0]


def codes_as_bytes(codes, bits):
    if bits == 8:
        return bytes(codes)
    return bytes(codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2))


def main():
    lines = []
    dice = random.Random(20)
    for name, number, kind, bits, count in FORMATS:
        blocks, values = b"", []
        for block in range(VALUES // count):
            codes = [dice.randrange(1 << bits) for _ in range(count)]
            codes[0], codes[-1] = 0, (1 << bits) - 1
            scale = head_scale(SCALES[(block + number) % len(SCALES)])
            if kind == "zero":
                zero = [0, 15 if bits == 4 else 255, 8, 16][block % 4]
                blocks += struct.pack("<I", bits_of(scale) | zero)
                values += [f32(f32(q - zero) * scale) for q in codes]
            elif kind == "pair":
                second = f32([-0.1, 7.3, 1e-20, 0.0][block % 4])
                is_zero = block % 2
                blocks += struct.pack("<If", bits_of(scale) | is_zero, second)
                if is_zero:
                    values += [f32(f32(f32(q) - second) * scale) for q in codes]
                else:
                    values += [f32(f32(f32(q) * scale) + second) for q in codes]
            else:
                codes = [0x7E if c & 127 == 127 else c for c in codes]
                scale = f32([0.3, -1e-30, 2.0**-120, 1e35][block % 4])
                blocks += struct.pack("<f", scale)
                values += [f32(f32(e4m3(q)) * scale) for q in codes]
            blocks += codes_as_bytes(codes, bits)
        with open(f"tests/data/quant/{name}.blocks", "wb") as file:
            file.write(blocks)
        with open(f"tests/data/quant/{name}.f32", "wb") as file:
            file.write(struct.pack(f"<{VALUES}f", *values))
        size = len(blocks) * count // VALUES
        lines.append(f"{name:<8} id={number} block={count} bytes={size} bpw={8 * size / count:.4f}\n")
    path = "tests/data/quant/types.txt"
    with open(path) as file:
        others = [line for line in file if " id=10" not in line or "q2_K" in line]
    with open(path, "w") as file:
        file.writelines(others + lines)


if __name__ == "__main__":
    main()
