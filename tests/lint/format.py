"""Fails on C++ that clang-format would change."""

import repository


def main():
    root = repository.arguments(__doc__).root
    paths = repository.files(root, ".h", ".cpp")
    result = repository.run(["clang-format-19", "--dry-run", "-Werror", *map(str, paths)])
    repository.finish([result.stdout] if result.returncode else [], len(paths))


if __name__ == "__main__":
    main()
