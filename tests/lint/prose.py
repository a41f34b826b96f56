"""Fails on pages that are longer, or harder to read, than agreed: words in all, long sentences, vague beginnings.

Counted is prose: no code blocks, tables, headings or pictures. The limits are those of today's pages or tighter; a page
that becomes better lowers them. With --pages, prints the figures of each page and fails on nothing.
"""

import pathlib
import re
import sys

import repository

PLACES = ("README.md", "CONTRIBUTING.md", "bench/", "docs/", "src/", "sim/")
# Of all pages together.
MOST_WORDS = 28485
MEAN_SENTENCE = 16
OVER_30 = 0.04
VAGUE = 0.03
# Of each page: what it gains in one place it loses in another, or another page does.
BUDGETS = pathlib.Path(__file__).with_name("page_words.txt")
# Of one sentence.
LONGEST = 35
# Of one rule of docs/protocol.md, without code.
RULE_WORDS = 150
# A beginning that points elsewhere: the reader has to look back for the subject.
POINTERS = re.compile(r"(It|They|That|This|Those|These|Such|Who|Whoever|What|Which|Told|So|There)\b(?! is a | are )")


def prose(text):
    """Paragraphs and list items, each a string."""
    text = re.sub(r"<[^>]+>", "", repository.without_blocks(text))
    blocks, block = [], []
    for line in text.splitlines() + [""]:
        bare = line.strip()
        starts = re.match(r"([-*]|\d+\.) ", bare)
        if not bare or starts or bare.startswith(("#", "|", "!")):
            if block:
                blocks.append(" ".join(block))
            block = [re.sub(r"^([-*]|\d+\.) ", "", bare)] if starts else []
        else:
            block.append(bare)
    return [re.sub(r"\]\([^)]*\)", "]", block) for block in blocks]


def sentences(block):
    """What ends with a full stop, a colon or a question mark before a blank, or with the block."""
    found = re.split(r"(?<=[.!?:])[\])*_`\"]*\s+(?=[A-Z`*\[(0-9])", block)
    return [one for one in found if words(one) > 2]


def words(text):
    return len([word for word in text.split() if re.search(r"\w", word)])


def figures(texts):
    """(words, sentences, those over 30 words, those with a vague beginning)."""
    blocks = [block for text in texts for block in prose(text)]
    all_sentences = [one for block in blocks for one in sentences(block)]
    vague = [one for one in all_sentences if POINTERS.match(one.lstrip("*_`[("))]
    return (sum(map(words, blocks)), len(all_sentences), len([one for one in all_sentences if words(one) > 30]), len(vague))


def long_rules(text):
    found = re.finditer(r"^#{3,4} (R\d+.*?)\n(.*?)(?=^#{2,4} |\Z)", text, re.MULTILINE | re.DOTALL)
    lengths = ((rule.group(1), words(re.sub(r"```.*?```", "", rule.group(2), flags=re.DOTALL))) for rule in found)
    return [f"docs/protocol.md: {name}: {length} words, {RULE_WORDS} are allowed"
            for name, length in lengths if length > RULE_WORDS]


def budgets(listed):
    """Of a text with a line for each page: its words, and its name."""
    return {name: int(most) for most, name in (line.split(maxsplit=1) for line in listed.splitlines())}


def beyond_budgets(counted, most):
    """Of words by page, and what is allowed."""
    return ([f"{name}: {number} words, its budget is {most[name]}" for name, number in counted.items()
             if number > most.get(name, number)] +
            [f"{name}: has no budget in {BUDGETS.name}" for name in counted if name not in most] +
            [f"{BUDGETS.name}: there is no {name}" for name in most if name not in counted])


def long_sentences(name, text):
    return [f"{name}: {words(one)} words, {LONGEST} are allowed: {one}"
            for block in prose(text) for one in sentences(block) if words(one) > LONGEST]


def findings_of(total):
    counted, number, long, vague = total
    checks = (("words", counted, MOST_WORDS), ("words a sentence", round(counted / number, 1), MEAN_SENTENCE),
              ("share of sentences over 30 words", round(long / number, 3), OVER_30),
              ("share of vague beginnings", round(vague / number, 3), VAGUE))
    return [f"all pages: {what} {value}, at most {most} are allowed" for what, value, most in checks if value > most]


def main():
    pages = "--pages" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--pages"]
    root = repository.arguments(__doc__).root
    texts = {path.relative_to(root).as_posix(): repository.text(path) for path in repository.files(root, ".md")}
    texts = {name: text for name, text in texts.items() if name.startswith(PLACES)}
    if pages:
        for name, text in [*texts.items(), ("all", "\n\n".join(texts.values()))]:
            counted, number, long, vague = figures([text])
            print(f"{counted:6d} words, {counted / max(number, 1):5.1f} a sentence, {long / max(number, 1):4.0%} over 30, "
                  f"{vague / max(number, 1):4.0%} vague: {name}")
        return
    findings = findings_of(figures(texts.values())) + long_rules(texts["docs/protocol.md"])
    findings += beyond_budgets({name: figures([text])[0] for name, text in texts.items()}, budgets(BUDGETS.read_text()))
    for name, text in texts.items():
        findings += long_sentences(name, text)
    repository.finish(findings, len(texts))


if __name__ == "__main__":
    main()
