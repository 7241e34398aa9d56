#!/usr/bin/env python3
"""Writes the files of this folder: small pictures by Pillow 12, sound by libFLAC and libmp3lame, and what they decode
to. make.py FOLDER"""
import ctypes, math, pathlib, struct, sys, zlib
from PIL import Image, ImageOps

OUT = pathlib.Path(sys.argv[1])


def noise(count, state=12345):
    """Bytes of a linear congruential generator; tests/media/noise.h has the same."""
    out = bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(state >> 24)
    return bytes(out)


def fnv(data):
    h = 0xCBF29CE484222325
    for b in data: h = ((h ^ b) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def smooth(width, height, channels):
    return bytes(int(127 + 100 * math.sin(x / 5 + c) * math.cos(y / 4 - c)) & 255 for y in range(height) for x in range(width) for c in range(channels))


def resizes():
    kinds = {'bilinear': Image.BILINEAR, 'bicubic': Image.BICUBIC, 'lanczos': Image.LANCZOS}
    for name, kind in kinds.items():
        for w, h, W, H in ((37, 50, 40, 40), (1, 29, 28, 308), (300, 220, 224, 140), (64, 48, 56, 56), (1, 1, 7, 9), (61, 97, 96, 64), (90, 40, 3, 5),
                           (131, 37, 140, 28), (640, 11, 8, 300), (257, 129, 257, 31), (33, 500, 16, 500), (19, 23, 19, 23), (5, 7, 100, 3)):
            out = Image.frombytes('RGB', (w, h), noise(w * h * 3)).resize((W, H), kind).tobytes()
            yield '%s %d %d %d %d %016x' % (name, w, h, W, H, fnv(out))


def blends():
    for background in ((255, 255, 255), (10, 128, 200)):
        rgba = bytes(x for a in range(256) for v in range(256) for x in (v, 255 - v, v // 2, a))
        over = Image.alpha_composite(Image.new('RGBA', (256, 256), background + (255,)), Image.frombytes('RGBA', (256, 256), rgba)).convert('RGB')
        yield 'blend %d %d %d %016x' % (*background, fnv(over.tobytes()))


def turns():
    for k in range(1, 9):
        image = Image.frombytes('RGB', (37, 71), noise(37 * 71 * 3)); exif = image.getexif(); exif[0x0112] = k
        up = ImageOps.exif_transpose(image)
        yield 'turn %d %d %d %016x' % (k, *up.size, fnv(up.tobytes()))


def pictures():
    rgb = Image.frombytes('RGB', (24, 16), smooth(24, 16, 3)); rough = Image.frombytes('RGB', (24, 16), noise(24 * 16 * 3))
    rgba = Image.frombytes('RGBA', (13, 11), noise(13 * 11 * 4)); grey = rgb.convert('L'); deep = Image.frombytes('I;16', (9, 7), noise(9 * 7 * 2))
    exif = Image.Exif(); exif[0x0112] = 6
    saves = {'rgb.png': (rough, {}), 'rgba.png': (rgba, {}), 'grey.png': (grey, {}), 'grey16.png': (deep, {}), 'palette.png': (rgb.quantize(7), {'transparency': 2}),
             'bits.png': (grey.convert('1'), {}), 'turned.png': (rgb, {'exif': exif}), 'greyalpha.png': (rgba.convert('LA'), {}), 'clearcolour.png': (rgb, {'transparency': rgb.getpixel((3, 4))}), 'cleargrey.png': (grey, {'transparency': grey.getpixel((5, 6))}),
             'rgb.jpg': (rgb, {'quality': 90}), 'grey.jpg': (grey, {'quality': 90}), 'cmyk.jpg': (rgb.convert('CMYK'), {'quality': 92}),
             'progressive.jpg': (rgb, {'progressive': True}), 'turned.jpg': (rgb, {'exif': exif}),
             'lossless.webp': (rough, {'lossless': True}), 'lossy.webp': (rgb, {'quality': 80}), 'rgba.webp': (rgba, {'lossless': True, 'exact': True}),
             'turned.webp': (rgb, {'lossless': True, 'exif': exif}),
             'animated.webp': (rgb, {'save_all': True, 'append_images': [rough], 'lossless': True, 'duration': 50}),
             'palette.gif': (rgb.quantize(30), {}), 'grey.gif': (grey, {}), 'animated.gif': (rgb, {'save_all': True, 'append_images': [rough]}),
             'clear.gif': (rgb.quantize(9), {'transparency': 3}), 'straight.gif': (rough.quantize(200), {'interlace': 0}),
             'rgb.bmp': (rough, {}), 'rgba.bmp': (rgba, {}), 'grey.bmp': (grey, {}), 'bits.bmp': (grey.convert('1'), {})}
    for name, (image, options) in saves.items():
        image.save(OUT / name, **options)
        seen = Image.open(OUT / name); turn = seen.getexif().get(0x0112, 1)
        if seen.mode == 'I;16': out = bytes((v * 255 + 32767) // 65535 for v in struct.unpack('<63H', seen.tobytes())); channels = 1
        else:
            clear = seen.mode in ('RGBA', 'LA') or 'transparency' in seen.info
            # Formats whose readers give RGB of greys, too.
            mode = 'RGBA' if clear else 'RGB' if seen.mode not in ('L', '1') or name.endswith(('.gif', '.bmp')) else 'L'
            out = seen.convert(mode).tobytes(); channels = len(mode)
        if name.endswith('.jpg'): (OUT / (name + '.raw')).write_bytes(out)
        # What is under clear pixels is nobody's business.
        if channels == 4: out = b''.join(out[i:i + 4] if out[i + 3] else bytes(4) for i in range(0, len(out), 4))
        yield '%s %d %d %d %d %d %016x' % (name, seen.width, seen.height, channels, turn, getattr(seen, 'is_animated', False), fnv(out))


def deep():
    """16 bits of colour, with and without opacity, which Pillow does not write."""
    for name, colours, channels in (('rgb16.png', 2, 3), ('rgba16.png', 6, 4)):
        w, h = 11, 9; values = struct.unpack('>%dH' % (w * h * channels), noise(w * h * channels * 2, 99))
        rows = b''.join(b'\0' + struct.pack('>%dH' % (w * channels), *values[y * w * channels:(y + 1) * w * channels]) for y in range(h))
        chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        (OUT / name).write_bytes(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 16, colours, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
        out = bytes((v * 255 + 32767) // 65535 for v in values)
        if channels == 4: out = b''.join(out[i:i + 4] if out[i + 3] else bytes(4) for i in range(0, len(out), 4))
        yield '%s %d %d %d 1 0 %016x' % (name, w, h, channels, fnv(out))


def sine(rate, seconds): return [int(12000 * math.sin(2 * math.pi * 440 * i / rate)) for i in range(int(rate * seconds))]


def flac():
    lib = ctypes.CDLL('libFLAC.so.12'); lib.FLAC__stream_encoder_new.restype = ctypes.c_void_p; e = ctypes.c_void_p(lib.FLAC__stream_encoder_new())
    lib.FLAC__stream_encoder_set_channels(e, 2); lib.FLAC__stream_encoder_set_bits_per_sample(e, 16); lib.FLAC__stream_encoder_set_sample_rate(e, 22050)
    wave = sine(22050, 0.2); both = [v for s in wave for v in (s, -s // 2)]
    lib.FLAC__stream_encoder_set_total_samples_estimate(e, ctypes.c_uint64(len(wave)))
    assert lib.FLAC__stream_encoder_init_file(e, str(OUT / 'sine.flac').encode(), None, None) == 0
    assert lib.FLAC__stream_encoder_process_interleaved(e, (ctypes.c_int32 * len(both))(*both), len(wave)); lib.FLAC__stream_encoder_finish(e)


def mp3():
    lib = ctypes.CDLL('libmp3lame.so.0'); lib.lame_init.restype = ctypes.c_void_p; g = ctypes.c_void_p(lib.lame_init())
    lib.lame_set_in_samplerate(g, 16000); lib.lame_set_num_channels(g, 1); lib.lame_set_mode(g, 3); lib.lame_set_brate(g, 32); lib.lame_init_params(g)
    wave = sine(16000, 0.4); out = (ctypes.c_ubyte * 20000)()
    n = lib.lame_encode_buffer(g, (ctypes.c_short * len(wave))(*wave), None, len(wave), out, 20000); data = bytes(out[:n])
    n = lib.lame_encode_flush(g, out, 20000); (OUT / 'sine.mp3').write_bytes(data + bytes(out[:n]))


(OUT / 'resizes.txt').write_text('\n'.join([*resizes(), *blends(), *turns()]) + '\n')
(OUT / 'pictures.txt').write_text('\n'.join([*pictures(), *deep()]) + '\n')
flac(); mp3()
