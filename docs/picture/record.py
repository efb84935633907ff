#!/usr/bin/env python3
"""Records the picture of the README: nestc in two terminals, drawn by tmux, as one animated SVG.

docs/picture/record.py [PROGRAMS]     writes docs/picture/tour.svg

PROGRAMS is the directory of nestd and nestc, by default .build/release. The recording needs tmux, and nothing else.
"""

import html
import os
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS, ROWS = 104, 13
LEFT = 50
CELL_WIDTH, CELL_HEIGHT = 8.4, 18
# What is typed on the right, and how long its result stays, in seconds.
STEPS = [
    ("nestc add Milk Bread Butter", 2.0),
    ("nestc mv 4 --first", 2.0),
    ("nestc set 2 done=yes", 2.0),
    ("nestc set 3 title='Rye bread'", 2.0),
    ("nestc rm 2", 2.0),
    ("nestc undo", 3.5),
]
COLOURS = {30: "#4b5563", 31: "#f87171", 32: "#4ade80", 33: "#facc15", 34: "#60a5fa", 35: "#e879f9", 36: "#22d3ee"}


class Recording:
    def __init__(self, programs, directory):
        self.socket = os.path.join(directory, "tmux")
        self.frames = []
        self.environment = dict(
            os.environ, PATH=programs + ":" + os.environ["PATH"], NEST_SERVER="127.0.0.1:7099",
            XDG_STATE_HOME=directory, TERM="xterm-256color", LANG="C.UTF-8",
        )
        self.directory = directory

    def tmux(self, *arguments):
        command = ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments]
        return subprocess.run(
            command, check=True, text=True, capture_output=True, env=self.environment, cwd=self.directory
        ).stdout

    def look(self, seconds):
        """Adds the screen as it is to the recording, for so long."""
        panes = [self.tmux("capture-pane", "-e", "-p", "-t", f"tour.{pane}").split("\n")[:ROWS] for pane in (0, 1)]
        self.frames.append((seconds, panes))

    def type(self, text):
        for index in range(0, len(text), 2):
            self.tmux("send-keys", "-t", "tour.1", "-l", "--", text[index:index + 2])
            time.sleep(0.05)
            self.look(0.06)
        self.tmux("send-keys", "-t", "tour.1", "Enter")

    def run(self):
        shell = "bash --norc --noprofile"
        self.tmux("new-session", "-d", "-s", "tour", "-x", str(COLUMNS), "-y", str(ROWS), "nestc subscribe")
        self.tmux("set", "-g", "status", "off")
        self.tmux("split-window", "-h", "-t", "tour", "-l", str(COLUMNS - LEFT - 1), shell)
        self.tmux("send-keys", "-t", "tour.1", "PS1='$ '; clear", "Enter")
        time.sleep(1)
        self.look(1)
        for text, seconds in STEPS:
            self.type(text)
            time.sleep(0.8)
            self.look(seconds)

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


def spans(line, x, y):
    """The text of one line, with the colours of its escape sequences."""
    column, style, parts = 0, {}, []
    for text, codes in re.findall(r"([^\x1b]+)|\x1b\[([0-9;]*)m", line):
        if text:
            if text.strip():
                attributes = "".join(f' {name}="{value}"' for name, value in style.items())
                parts.append(f'<tspan x="{x + column * CELL_WIDTH:.1f}"{attributes}>{html.escape(text)}</tspan>')
            column += len(text)
            continue
        for code in [int(number or 0) for number in codes.split(";")]:
            if code == 0:
                style = {}
            elif code == 1:
                style["font-weight"] = "bold"
            elif code == 2:
                style["opacity"] = "0.6"
            elif code in COLOURS:
                style["fill"] = COLOURS[code]
            elif code == 39:
                style.pop("fill", None)
            elif code == 22:
                style.pop("font-weight", None)
                style.pop("opacity", None)
    return f'<text y="{y}" xml:space="preserve">{"".join(parts)}</text>' if parts else ""


def svg(frames):
    merged = []
    for seconds, panes in frames:
        if merged and merged[-1][1] == panes:
            merged[-1][0] += seconds
        else:
            merged.append([seconds, panes])
    total = sum(seconds for seconds, _ in merged)
    width, height = COLUMNS * CELL_WIDTH + 24, ROWS * CELL_HEIGHT + 24
    groups, rules, start = [], [], 0.0
    for number, (seconds, panes) in enumerate(merged):
        texts = []
        for pane, left in zip(panes, (0, LEFT + 1)):
            for row, line in enumerate(pane):
                texts.append(spans(line, 12 + left * CELL_WIDTH, 12 + row * CELL_HEIGHT + 14))
        begin, end = 100 * start / total, 100 * (start + seconds) / total
        before = f"0%,{begin:.3f}%{{opacity:0}}" if begin else ""
        after = f"{end:.3f}%,100%{{opacity:0}}" if end < 99.999 else ""
        rules.append(f"@keyframes f{number}{{{before}{begin:.3f}%,{end:.3f}%{{opacity:1}}{after}}}")
        # A viewer without animation shows the last frame.
        rest = "1" if number == len(merged) - 1 else "0"
        groups.append(
            f'<g opacity="{rest}" style="animation:f{number} {total:.2f}s step-end infinite">{"".join(texts)}</g>'
        )
        start += seconds
    middle = 12 + (LEFT + 0.3) * CELL_WIDTH
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"
 font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="#e5e7eb">
<title>nestc subscribe follows a list while nestc edits it</title>
<style>{"".join(rules)}</style>
<rect width="100%" height="100%" rx="8" fill="#111827"/>
<line x1="{middle:.0f}" y1="12" x2="{middle:.0f}" y2="{height - 12:.0f}" stroke="#374151"/>
{chr(10).join(groups)}
</svg>
"""


def main():
    programs = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, ".build/release"))
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(
            [os.path.join(programs, "nestd"), "--port", "7099", "--store", os.path.join(directory, "tour.sqlite")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        recording = Recording(programs, directory)
        try:
            server.stdout.readline()
            recording.run()
        finally:
            recording.end()
            server.terminate()
            server.wait()
    with open(os.path.join(TOP, "docs/picture/tour.svg"), "w", encoding="utf-8") as file:
        file.write(svg(recording.frames))


if __name__ == "__main__":
    main()
