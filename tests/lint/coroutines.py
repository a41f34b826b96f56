"""Fails on the coroutine patterns that some compilers build wrongly, and on locks held across
co_await: docs/coroutines.md says why.

A statement with co_await holds no aggregate temporary and no capturing lambda: name it first.
"""

import re

import repository

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# In the arguments of a call: `Type{...}` with something in it, or a bare `{...}`.
AGGREGATE = re.compile(r"[(,]\s*(?:[A-Za-z_][\w:<>]*)?\{\s*[^\s}]")
CAPTURING_LAMBDA = re.compile(r"[(,]\s*\[[^\]\s][^\]]*\]\s*(?:\(|\{|->|mutable)")
SHOWS_THE_TRAP = "coroutine_check.cpp"  # the configure-time check of the compiler
LOCK = re.compile(r"\b(?:lock_guard|unique_lock|scoped_lock|shared_lock|MutexLock|TimedMutexLock)\b")


def blank(match):
    """The same number of lines without their text."""
    return re.sub(r"[^\n]", " ", match.group())


def statement_end(code, at):
    """Just past the ; of the statement at `at`, or before the block that it opens (`while (…) {`)."""
    depth = 0
    while at < len(code):
        c = code[at]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "{" and depth <= 0 and not re.search(r"[\w>]$", code[:at]):
            return at  # a block; `Type{` goes on
        elif c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
        elif c == ";" and depth <= 0:
            return at + 1
        at += 1
    return at


def statement_begin(code, at):
    depth = 0
    while at > 0:
        c = code[at - 1]
        if c in ")]":
            depth += 1
        elif c in "([":
            depth -= 1
        elif c in ";{}" and depth <= 0 and not code[at - 1:].startswith("{."):
            return at
        at -= 1
    return at


def locked_awaits(code):
    """Offsets of co_await within the block in which a lock was taken before."""
    locks = []  # depth of the block of each lock that is held
    depth = 0
    for match in re.finditer(r"[{}]|\bco_await\b|" + LOCK.pattern, code):
        word = match.group()
        if word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
            locks = [d for d in locks if d <= depth]
        elif word == "co_await":
            if locks:
                yield match.start()
        else:
            locks.append(depth)


def check(path, text):
    code = COMMENT_OR_STRING.sub(blank, text)
    where = lambda at: f"{path}:{code.count(chr(10), 0, at) + 1}"
    findings = []
    for match in re.finditer(r"\bco_await\b", code):
        statement = code[statement_begin(code, match.start()):statement_end(code, match.end())]
        if AGGREGATE.search(statement):
            findings.append(f"{where(match.start())}: an aggregate temporary beside co_await: name it first")
        if CAPTURING_LAMBDA.search(statement):
            findings.append(f"{where(match.start())}: a capturing lambda beside co_await: name it first")
    findings += [f"{where(at)}: a lock is held across co_await" for at in locked_awaits(code)]
    return findings


def main():
    root = repository.arguments(__doc__).root
    findings = []
    paths = [p for p in repository.files(root, ".h", ".cpp") if p.name != SHOWS_THE_TRAP]
    for path in paths:
        findings += check(str(path.relative_to(root)), repository.text(path))
    repository.finish(findings, len(paths))


if __name__ == "__main__":
    main()
