"""Runs gnuplot, and adapts its SVG to the colours of the page."""

import re
import shutil
import subprocess

# This colour is replaced by the colour of the page's text.
INK = "#010203"
FAINT = "#7f8790"
NEST = "#d9622b"
OTHER = "#8d949e"
PEERS = ["#3d7fc4", "#4a9d6f", "#9a6cc7", "#b98a1e", "#c7527f", "#2f9aa0"]
LINES = [NEST, *PEERS, "#6b7f2a", "#7a5c45", "#5a67c9", "#b0413e", "#708090", "#a8b545", "#d48fb0", "#58b5d8", "#c9a27e"]

STYLE = (
    "<style>svg{color:#1d2126;background:#fff;font-family:system-ui,'DejaVu Sans',sans-serif}"
    "@media(prefers-color-scheme:dark){svg{color:#e3e6ea;background:#16181c}}</style>"
)


def is_here() -> bool:
    return shutil.which("gnuplot") is not None


def draw(script: str, width: int, height: int, name: str) -> str:
    """Returns the SVG of a script, without width and height so that it fills its container."""
    identifier = re.sub(r"\W", "_", name)
    terminal = f'set terminal svg size {width},{height} dynamic noenhanced fontscale 1 font "sans-serif,13" name "{identifier}"'
    text = _run(f"{terminal}\n{script}").decode()
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<desc>.*?</desc>|<title>.*?</title>", "", text, flags=re.S)
    text = text.replace("xlink:href", "href")
    text = re.sub(r"rgb\(\s*1,\s*2,\s*3\)", "currentColor", text)
    text = re.sub(r'font-family="[^"]*"|(?<![\w-])color="black"', "", text)
    text = re.sub(r"""(stroke|fill)=(["'])black\2""", r'\1="currentColor"', text)
    # Of the attributes of `svg` only the size in user units is kept.
    text = re.sub(r"<svg[^>]*>", f'<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">', text, count=1)
    return re.sub(r"\n\s*\n+", "\n", text).strip() + "\n"


def standalone(svg: str, width: int, height: int) -> str:
    """Returns the text of a separate file, which follows the light or dark mode of the reader's system."""
    return svg.replace("<svg ", f'<svg width="{width}" height="{height}" ', 1).replace(">", f">{STYLE}", 1)


def draw_png(script: str, width: int, height: int) -> bytes:
    terminal = f'set terminal pngcairo size {2 * width},{2 * height} noenhanced fontscale 2 linewidth 2 pointscale 2 font "DejaVu Sans,9.5" background "#ffffff"'
    return _run(f"{terminal}\n{script}")


def _run(script: str) -> bytes:
    result = subprocess.run(["gnuplot"], input=script.encode(), capture_output=True, check=False)
    if result.returncode or b"warning" in result.stderr.lower():
        raise SystemExit(f"gnuplot: {result.stderr.decode()}\n{script}")
    return result.stdout


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
