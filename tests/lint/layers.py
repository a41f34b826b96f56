"""Fails on an #include that points upward, and on files that grew too large.

The layers are those of scripts/cmake's targets; the order is written once, in LEVELS.
"""

import re

import repository

# Lowest first. A layer may include those of lower levels and itself, not its siblings.
LEVELS = (("base",), ("protocol", "reduce"), ("planner", "wire", "store", "net"), ("directory",),
          ("node",), ("client", "admin", "metrics"), ("cli",))
SIBLINGS = {"net": {"wire"}}
LAYERS = [layer for level in LEVELS for layer in level]

# The rooms of src/node, lowest first: one includes those before it and itself. What lies in no room
# wires them, and includes all.
NODE_ROOMS = ("memory", "core", "local", "streams", "owners", "registers", "drain", "pull", "reduce", "put", "give",
              "serve", "shard", "clients")

# The rooms of src/planner, and which other ones each may include.
PLANNER_ROOMS = {
    "words": set(),
    "node": {"words"},
    "copies": {"words"},
    "reduce": {"words", "copies"},
    "serving": {"words", "copies"},
    "books": {"words", "copies", "reduce", "serving"},
    "shard": {"words", "copies", "reduce", "serving", "books"},
}

# Public headers that hold values only: their code is in base, so any layer may use them.
PUBLIC_VALUES = {"object_id.h", "result.h", "config.h", "drain.h", "dtype.h", "export.h", "log.h", "options.h", "reduce.h",
                 "register_number.h"}

# Libraries with a few homes, so that a change of library stays a small change.
HOMES = {
    re.compile(r"grpc(pp)?/|.*\.grpc\.pb\.h"): ("src/admin/",),
    re.compile(r"prometheus/"): ("src/metrics/",),
    re.compile(r"google/protobuf/|.*\.pb\.h"): (
        "src/directory/", "src/wire/", "src/node/local/", "src/client/", "src/admin/"),
    re.compile(r"boost/interprocess/"): ("src/store/",),
    re.compile(r"hwy/"): ("src/reduce/",),
    re.compile(r"spdlog/"): ("src/base/",),
    re.compile(r"CLI/|nlohmann/"): ("src/cli/", "sim/commands/"),
    re.compile(r"asio"): ("src/net/", "src/directory/", "src/node/", "src/client/", "src/admin/", "src/metrics/", "src/cli/", "sim/seams/", "sim/node_world/"),
}
# The rooms of sim/, and which layers each may use besides base; nothing in src/ uses them but the
# program's main().
SIM_ROOMS = {
    "kit": {"protocol", "planner"},
    "seams": {"protocol", "planner", "wire", "net", "directory", "sim/kit"},
    "planner_world": {"protocol", "planner", "sim/kit"},
    "small_world": {"protocol", "planner", "sim/kit", "sim/planner_world"},
    "session_world": {"protocol", "planner", "directory/promises", "sim/kit"},
    "spill_world": set(),
    "node_world": {"protocol", "planner", "wire", "net", "store", "reduce", "directory", "node", "sim/kit",
                   "sim/seams"},
    "commands": {"cli", "sim/planner_world", "sim/node_world"},
}
PURE_ROOMS = ("kit", "planner_world", "small_world", "session_world", "spill_world")

# A room of src/directory that is pure as the planner is, and may use base only.
PROMISES = "directory/promises"

# Planners and their simulation know no socket, clock, thread or log; planners iterate in one order
# only.
IMPURE = re.compile(r"thread|mutex|random|iostream|sys/.*|asio.*|base/(log|clock)\.h")
PURE = "planners and their simulation are pure"
UNORDERED = re.compile(r"unordered_(map|set)")

# Everybody asks Now(), so that a simulation owns all of time.
RAW_CLOCK = re.compile(r"\bsteady_clock::now\b")
CLOCK_HOMES = ("src/base/virtual_time.cpp",)

# Locks that the compiler can't check.
RAW_LOCK = re.compile(r"\bstd::(timed_)?mutex\b|\bcondition_variable\b")
LOCK_HOME = "src/base/mutex.h"

MOST_LINES = 500
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def may_include(layer, other):
    if layer == other or other in SIBLINGS.get(layer, ()):
        return True
    level = {name: i for i, names in enumerate(LEVELS) for name in names}
    return level[other] < level[layer]


def in_public_header(bracket, target):
    standard = bracket == "<" and re.fullmatch(r"[a-z_]+|std(def|int)\.h", target)
    if target.startswith("hoplite/") or standard:
        return None
    return "public headers use the standard library and each other only"


def in_layer(path, layer, target):
    other = target.split("/")[0]
    if other in LAYERS and not may_include(layer, other):
        return f"{layer} may not use {other}: the arrow points upward or sideways"
    if other == "hoplite" and not target.endswith(".pb.h"):
        if not may_include(layer, "client") and target.split("/")[1] not in PUBLIC_VALUES:
            return f"{layer} may not use the public API, which is made of it"
    if layer in ("protocol", "planner") and IMPURE.fullmatch(target):
        return PURE
    if why := between_rooms(path, layer, target):
        return why
    if path.startswith(f"src/{PROMISES}/") and (IMPURE.fullmatch(target) or not in_promises(target)):
        return "promises of members are pure, and use base only"
    if other == "sim" and path != "src/cli/main.cpp":
        return "nothing on the way of real bytes uses the simulation"
    if layer == "planner" and UNORDERED.fullmatch(target):
        return "its order is not reproducible"
    return from_home(path, target)


def between_rooms(path, layer, target):
    """Why a file of this layer may not include that file of the same layer, or None."""
    here, there = room_of(path.removeprefix("src/")), room_of(target)
    if layer == "planner" and here not in PLANNER_ROOMS:
        return f"PLANNER_ROOMS does not say where the room {here} stands"
    if layer == "node" and here not in (None, *NODE_ROOMS):
        return f"NODE_ROOMS does not say where the room {here} stands"
    if target.split("/")[0] != layer or here == there:
        return None
    if layer == "planner" and there not in PLANNER_ROOMS[here]:
        return f"the room {here} of src/planner includes {', '.join(sorted(PLANNER_ROOMS[here])) or 'no other'}"
    if layer == "node" and not looks_down(here, there):
        return f"a room of src/node includes those before it: {', '.join(NODE_ROOMS)}"
    return None


def in_promises(target):
    """Whether promises may include that: a part of them, of base, or of the standard library."""
    return target.split("/")[0] not in LAYERS or target.startswith(("base/", f"{PROMISES}/"))


def looks_down(here, there):
    """Whether that room of src/node lies before this one; None wires them all."""
    lies = [NODE_ROOMS.index(room) if room in NODE_ROOMS else len(NODE_ROOMS) for room in (here, there)]
    return lies[1] <= lies[0]


def room_of(path):
    """The folder of this file below its layer's; None: it lies in none."""
    inside = path.split("/")
    return inside[1] if len(inside) > 2 else None


def in_sim(path, room, target):
    first, _, rest = target.partition("/")
    used = f"sim/{rest.split('/')[0]}" if first == "sim" else first
    if target.startswith(f"{PROMISES}/"):
        used = PROMISES
    if (first in LAYERS or first == "sim") and used not in SIM_ROOMS[room] | {"base", f"sim/{room}"}:
        return f"sim/{room} may not use {used}"
    if room in PURE_ROOMS and IMPURE.fullmatch(target):
        return PURE
    return from_home(path, target)


def from_home(path, target):
    for library, homes in HOMES.items():
        if library.match(target) and not path.startswith(homes):
            return f"belongs into {', '.join(homes)} only"
    return None


def complaint(path, bracket, target):
    """Why this file may not include that, or None. `path` is relative to the repository."""
    parts = path.split("/")
    if parts[0] == "include":
        return in_public_header(bracket, target)
    if parts[0] == "src":
        return in_layer(path, parts[1], target)
    if parts[0] == "sim" and len(parts) > 2:
        return in_sim(path, parts[1], target)
    if parts[0] == "examples" and target.split("/")[0] in LAYERS:
        return "examples show the public API"
    return None


def check(path, text):
    """Findings of one file."""
    findings = []
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        findings.append(f"{path}: {len(lines)} lines, at most {MOST_LINES}: divide it by subject")
    if path.endswith((".h", ".cpp")):
        for number, line in enumerate(lines, 1):
            if RAW_CLOCK.search(line) and path.startswith(("src/", "sim/")) and path not in CLOCK_HOMES:
                findings.append(f"{path}:{number}: ask Now() of base/clock.h")
            if RAW_LOCK.search(line) and path.startswith(("src/", "sim/")) and path != LOCK_HOME:
                findings.append(f"{path}:{number}: take Mutex and Condition of {LOCK_HOME}")
            if match := INCLUDE.match(line):
                if why := complaint(path, *match.groups()):
                    findings.append(f"{path}:{number}: {match.group(2)}: {why}")
    return findings


def main():
    root = repository.arguments(__doc__).root
    findings = []
    paths = repository.files(root, ".h", ".cpp", ".py", ".sh", ".proto", ".cmake", ".txt")
    for path in paths:
        findings += check(str(path.relative_to(root)), repository.text(path))
    repository.finish(findings, len(paths))


if __name__ == "__main__":
    main()
