"""Runs the linters of what packaging/ has and no test here can run: systemd-analyze, yamllint, hadolint; says which are missing.

Also holds what the files say against each other: versions, memory and its limit, the mode of the secret.
"""

import os
import re
import shutil
import tempfile

import repository

# Of the environment of the tests (scripts/python_env.sh), where PATH has none.
ENVIRONMENT = "build/python-env/bin"
RULES = "{extends: default, rules: {line-length: {max: 130}, document-start: disable, comments: {min-spaces-from-content: 1}}}"
PROGRAM = "/usr/local/bin/hoplite"  # which need not be on this machine
GIB = re.compile(r"--memory=(\d+)GiB"), re.compile(r"limits: \{memory: (\d+)Gi\}")


def linter(root, name):
    return shutil.which(name, path=os.pathsep.join((os.environ["PATH"], str(root / ENVIRONMENT))))


def said(command):
    result = repository.run(command)
    return [result.stdout] if result.returncode else []


def units_findings(program, units):
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for unit in units:
            copies.append(os.path.join(folder, unit.name))
            with open(copies[-1], "w", encoding="utf-8") as copy:
                copy.write(repository.text(unit).replace(PROGRAM, "/bin/true"))
        lines = repository.run([program, "verify", "--man=no", *copies]).stdout.splitlines()
        # It exits with 0 although it ignores a line, and speaks of this machine's own units, too.
        return [line for line in lines if any(unit.name in line for unit in units)]


def version_findings(name, text, version):
    return [f"{name}: hoplite:{found}, the version is {version}"
            for found in re.findall(r"image: hoplite:(\S+)", text) if found != version]


def memory_findings(name, text):
    """A node's limit covers its store, and something for the node itself."""
    stores, limits = (list(map(int, pattern.findall(text))) for pattern in GIB)
    return [f"{name}: --memory={store}GiB, and the limit is {limit}Gi" for store, limit in zip(stores, limits) if limit <= store]


def secret_findings(name, text):
    return [f"{name}: the secret is mounted with mode {mode}: members run as others than root, and read it with 0444"
            for mode in re.findall(r"secret: \{secretName: \w+, defaultMode: (\d+)\}", text) if mode != "0444"]


def main():
    root = repository.arguments(__doc__).root
    folder = root / "packaging"
    version = re.search(r'^version = "(.*)"', repository.text(root / "pyproject.toml"), re.MULTILINE)[1]
    yaml, units = repository.files(folder, ".yaml", folders=(".",)), repository.files(folder, ".service", folders=(".",))
    findings = []
    for path in yaml:
        name, text = str(path.relative_to(root)), repository.text(path)
        findings += version_findings(name, text, version) + memory_findings(name, text) + secret_findings(name, text)
    for name, check in (("systemd-analyze", lambda program: units_findings(program, units)),
                        ("yamllint", lambda program: said([program, "-s", "-d", RULES, *map(str, yaml)])),
                        ("hadolint", lambda program: said([program, "--no-color", str(folder / "Dockerfile")]))):
        program = linter(root, name)
        if program:
            findings += check(program)
        else:
            print(f"SKIPPED: no {name}: what it checks in packaging/ was not checked")
    repository.finish(findings, len(yaml) + len(units) + 1)


if __name__ == "__main__":
    main()
