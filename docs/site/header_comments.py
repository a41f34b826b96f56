"""Prints a public header with its plain comments marked up for Doxygen, whose INPUT_FILTER this is.

A comment belongs to the declaration below it, or to the one before it in its line. The first one of a file is the
file's. One that a blank line follows belongs to none, and stays plain. In a comment, two more blanks begin an error
("  not_found  nobody has it") or, if they don't, a line of code. `/* --- TITLE --- */` begins a group of C functions.

The namespace is left out: there is one, and the site would begin every page with it. So are specializations of the
standard library's templates, and overloads that are deleted for some types only, which have nothing to say.
"""

import re
import sys

ERROR = re.compile(r"  (?P<names>\(.*?\)|\w+(?:, \w+)*)(?:  +(?P<text>\S.*)|(?<=\)))")
LINE = re.compile(r"(?P<indent> *)// ?(?P<text>.*)")
BEHIND = re.compile(r"(?P<code> *(?:[^ #}/]|#define ).*?\S) +(?:// (?P<text>.*)|/\* (?P<c_text>.*) \*/)")
NAMESPACE = re.compile(r"namespace hoplite \{|\}  // namespace hoplite")
HEADER = re.compile(r"\b(\w+\.h)\b")
SPECIALIZATION = re.compile(r"^template <>\nstruct std::.*?^\};\n", re.DOTALL | re.MULTILINE)
DELETED = re.compile(r"^(?: +//.*\n)? +\S.*\n +requires .*\n +?= delete;\n", re.MULTILINE)
TITLE = re.compile(r"--- (.*?) ---")


def escaped(text):
    """What Doxygen would take for a command, a tag, an entity or a page of its own; not inside of `code`."""
    parts = text.split("`")
    parts[::2] = [HEADER.sub(r"%\1", re.sub(r"[\\@<>&#%$]", r"\\\g<0>", part)) for part in parts[::2]]
    return "`".join(parts)


def marked_up(lines):
    """The lines of a comment, without its marks."""
    found, inside = [], ""
    for line in lines:
        error = ERROR.fullmatch(line)
        now = "errors" if error or (inside == "errors" and line.startswith("   ")) else "code" if line.startswith("  ") else ""
        if inside != now:
            found += {"code": ["@endcode"], "errors": [""], "": []}[inside]
            found += {"code": ["@code{.cpp}"], "errors": ["", "@par Errors"], "": []}[now]
            inside = now
        if error:
            names = ", ".join(name if name.startswith("(") else f"`{name}`" for name in error["names"].split(", "))
            found.append(f"- {names}: {escaped(error['text'] or '')}".rstrip(": "))
        elif now == "errors":
            found.append(f"  {escaped(line.strip())}")
        else:
            found.append(line[2:] if now == "code" else escaped(line))
    return found + (["@endcode"] if inside == "code" else [])


def comment(lines, indent=""):
    return [f"{indent}/// {line}".rstrip() for line in marked_up(lines)]


def behind(line):
    """A line of code; a comment behind it is that of the name which it declares."""
    found = BEHIND.fullmatch(line)
    if not found:
        return line
    code, text = found["code"], escaped(found["text"] or found["c_text"])
    return f"/** {text} */ {code}" if code.endswith("{") else f"{code}  ///< {text}"


def is_declaration(line):
    return bool(line.strip()) and not NAMESPACE.fullmatch(line)


class Marking:
    def __init__(self):
        self.found = []
        self.first = True
        self.group = False

    def block(self, lines, indent, then):
        """A comment of whole lines, and the line that follows it."""
        if self.first:
            self.first = False
            self.found += ["/// @file"] + comment(lines)
            return
        if title := TITLE.match(lines[0]):
            self.found += ["/// @}"] * self.group + [f"/// @name {title[1]}", "/// @{", ""]
            self.group = True
            lines = lines[1:] if title.end() == len(lines[0]) else [lines[0][title.end():].strip(), *lines[1:]]
        if lines and is_declaration(then):
            self.found += comment(lines, indent)
        else:
            self.found += [f"{indent}// {line}" for line in lines]

    def text(self):
        if self.group:
            last = max(number for number, line in enumerate(self.found) if line.startswith("#ifdef __cplusplus"))
            self.found.insert(last, "/// @}")
        return "\n".join(self.found) + "\n"


def take_block(lines, start):
    """The comment that begins in that line: its indent, its lines without marks, and what line follows it."""
    if found := LINE.fullmatch(lines[start]):
        end = start
        while end < len(lines) and (line := LINE.fullmatch(lines[end])) and line["indent"] == found["indent"]:
            end += 1
        return found["indent"], [LINE.fullmatch(line)["text"] for line in lines[start:end]], end
    if lines[start].startswith("/* "):
        end = next(number for number in range(start, len(lines)) if lines[number].endswith("*/")) + 1
        whole = ["   " + lines[start][3:], *lines[start + 1:end]]
        return "", [line.removesuffix("*/").rstrip()[3:] for line in whole], end
    return None


def filtered(text):
    marking, lines, number = Marking(), DELETED.sub("", SPECIALIZATION.sub("", text)).splitlines(), 0
    while number < len(lines):
        if block := take_block(lines, number):
            indent, comment_lines, number = block
            marking.block(comment_lines, indent, lines[number] if number < len(lines) else "")
        else:
            marking.found.append(NAMESPACE.sub("", behind(lines[number])))
            number += 1
    return marking.text()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(filtered(header.read()))
