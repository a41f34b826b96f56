"""Draws the pictures of the page in docs/pictures: a broadcast among six nodes, one of which was killed, and a get that waits.

HOPLITE=build/release/bin/hoplite python3 tests/integration/cli/page_pictures.py docs/pictures
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from web_test import WebCluster, with_picture

LARGE = 24_000_000
SCHEMES = {"dark": 0, "light": 1}


def begin(members, node, name):
    process = subprocess.Popen([os.environ["HOPLITE"], "get", f"name:{name}", "--output", "/dev/null", "--socket",
                                members.socket(node)], stderr=subprocess.DEVNULL)
    members.callback(process.wait)
    members.callback(process.kill)


def is_telling(picture):
    """Several receivers are on their way, and the loss is known."""
    transfers = [one for shown in picture["objects"] for one in shown["transfers"]]
    return (len(transfers) >= 4 and all(one["watermark"] > LARGE // 8 for one in transfers)
            and any(node["trouble"].startswith("lost ") and "lost 0" not in node["trouble"] for node in picture["nodes"]))


def look():
    """The page, as it was during the broadcast."""
    with WebCluster(6, rate="30mbit") as members:
        path, _ = members.write("weights", LARGE)
        subprocess.run([os.environ["HOPLITE"], "put", path, "--id", "name:weights", "--socket", members.socket(1)], check=True,
                       stdout=subprocess.DEVNULL)
        begin(members, 2, "gradients")
        for node in range(2, 7):
            begin(members, node, "weights")
        time.sleep(1)
        members.nodes[3].end(signal.SIGKILL)
        picture = next(picture for picture in members.pictures() if is_telling(picture))
        picture["objects"].sort(key=lambda shown: not shown["waiters"])  # the one that is clicked stands first
        why = json.loads(members.get(f"/object?id={picture['objects'][0]['id']}")[2])
        return with_picture(members.get("/")[2], picture, why)


def draw(page, folder):
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    source = folder / "page.html"
    source.write_text(page, encoding="utf-8")
    try:
        for name, scheme in SCHEMES.items():
            subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=900,600",
                 f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=500",
                 f"--screenshot={folder / f'page-{name}.png'}", source.absolute().as_uri()], check=True, timeout=60)
    finally:
        source.unlink()


if __name__ == "__main__":
    draw(look(), pathlib.Path(sys.argv[1]))
