"""Writes pictures of pages as PNG files of at most 256 colours: a third of the size, and the eye sees no difference."""

import base64
import struct
import zlib
from pathlib import Path
from typing import Final

from playwright.sync_api import Page

# Runs in an empty page. Colours that are close share a place; the most common of them are the palette.
_FEW_COLOURS: Final = """async ([address, most]) => {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const data = context.getImageData(0, 0, image.width, image.height).data;
  const place = (at) => (data[at] >> 3 << 10) | (data[at + 1] >> 3 << 5) | (data[at + 2] >> 3);
  const seen = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const found = seen.get(place(at));
    if (!found) seen.set(place(at), [1, data[at], data[at + 1], data[at + 2]]);
    else found[0] += 1;
  }
  const palette = [...seen.values()].sort((a, b) => b[0] - a[0]).slice(0, most);
  const far = (a, b) => (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2 + (a[3] - b[3]) ** 2;
  const closer = (colour) => (best, one, at) => far(one, colour) < far(palette[best], colour) ? at : best;
  const index = new Map([...seen].map(([key, colour]) => [key, palette.reduce(closer(colour), 0)]));
  const pixels = new Uint8Array(data.length / 4);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = index.get(place(at * 4));
  let text = "";
  for (let at = 0; at < pixels.length; at += 32768) text += String.fromCharCode(...pixels.subarray(at, at + 32768));
  const colours = palette.flatMap((one) => one.slice(1));
  return { width: image.width, height: image.height, palette: colours, pixels: btoa(text) };
}"""


def write_small(picture: bytes, path: Path, empty: Page, *, colours: int = 96) -> None:
    """`picture` is a PNG as a browser takes it; `empty` is a page of that browser with nothing on it."""
    address = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    found = empty.evaluate(_FEW_COLOURS, [address, colours])
    width, pixels = found["width"], base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, len(pixels), width))
    header = struct.pack(">IIBBBBB", width, found["height"], 8, 3, 0, 0, 0)
    parts = (b"IHDR", header), (b"PLTE", bytes(found["palette"])), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in parts))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
