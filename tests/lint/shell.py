"""Runs shellcheck over the shell scripts."""

import repository


def is_shell(path):
    with path.open("rb") as file:
        first = file.readline()
    return first.startswith(b"#!") and b"sh" in first


def main():
    root = repository.arguments(__doc__).root
    scripts = [p for p in repository.files(root) if is_shell(p)]
    result = repository.run(["shellcheck", *map(str, scripts)])
    repository.finish([result.stdout] if result.returncode else [], len(scripts))


if __name__ == "__main__":
    main()
