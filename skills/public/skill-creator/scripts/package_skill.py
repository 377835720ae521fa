#!/usr/bin/env python3
"""Checks a skill's directory and packs it as NAME.skill. Standard library only."""

import os
import re
import sys
import zipfile

KEYS = {
    'name', 'description', 'license', 'version', 'author', 'compatibility', 'metadata', 'allowed-tools',
    'required-secrets', 'secrets-autonomous',
}
MAX_FILES, MAX_BYTES, MAX_SKILL_BYTES = 4096, 512 * 1024 * 1024, 256 * 1024
PROGRAMS = (b'\x7fELF', b'\xfe\xed\xfa\xce', b'\xfe\xed\xfa\xcf', b'\xce\xfa\xed\xfe', b'\xcf\xfa\xed\xfe', b'\xca\xfe\xba\xbe')
ASIDE = {'__MACOSX', '__pycache__'}


def front_matter(text):
    """The keys of the front matter with their first words: enough to check it, the installer parses it as YAML."""
    found = re.match(r'\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(\r?\n|$)', text, re.S)
    if not found:
        sys.exit('SKILL.md must begin with front matter between two lines of "---"')
    values, key = {}, None
    for line in found[1].splitlines():
        top = re.match(r'([^\s:#][^:]*):(.*)$', line)
        if top:
            key = top[1].strip()
            values[key] = top[2].strip()
        elif key is not None:
            values[key] += ' ' + line.strip()
    return {name: re.sub(r'^[>|][+-]?\s*', '', value).strip().strip('"\'') for name, value in values.items()}


def check(values):
    unknown = sorted(set(values) - KEYS)
    if unknown:
        sys.exit(f'unexpected keys: {", ".join(unknown)}; allowed: {", ".join(sorted(KEYS))}')
    name, description = values.get('name', ''), values.get('description', '')
    if not re.fullmatch(r'[a-z0-9]+(-[a-z0-9]+)*', name) or len(name) > 64:
        sys.exit('name: lower-case letters, digits and single hyphens between them, at most 64 characters')
    if not description or len(description) > 1024 or re.search('[<>]', description):
        sys.exit('description: 1 to 1024 characters without "<" and ">"')
    return name


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in ASIDE and not name.startswith('.'))
        for name in sorted(names):
            path = os.path.join(folder, name)
            inner = os.path.relpath(path, root)
            if name.startswith('.') or name.endswith('.pyc'):
                continue
            if os.path.islink(path) or not os.path.isfile(path):
                sys.exit(f'{inner}: only plain files can be packed')
            if os.path.basename(inner).upper() == 'SKILL.MD' and inner != 'SKILL.md':
                sys.exit(f'{inner}: a skill cannot hold another')
            if re.search(r'[\\:\x00-\x1f]', inner):
                sys.exit(f'{inner!r}: no backslash, colon or control character in names')
            with open(path, 'rb') as file:
                if file.read(4) in PROGRAMS:
                    sys.exit(f'{inner}: compiled programs are not taken')
            yield path, inner


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: package_skill.py DIRECTORY OUTPUT_DIRECTORY')
    root, target = sys.argv[1].rstrip('/'), sys.argv[2]
    try:
        with open(os.path.join(root, 'SKILL.md'), encoding='utf-8') as file:
            text = file.read()
    except FileNotFoundError:
        sys.exit(f'{root} has no SKILL.md')
    if len(text.encode()) > MAX_SKILL_BYTES:
        sys.exit(f'SKILL.md has more than {MAX_SKILL_BYTES} bytes: move parts to references/')
    name = check(front_matter(text))
    found = list(files_of(root))
    if len(found) > MAX_FILES or sum(os.path.getsize(path) for path, _ in found) > MAX_BYTES:
        sys.exit(f'a skill may have {MAX_FILES} files with {MAX_BYTES} bytes')
    archive = os.path.join(target, f'{name}.skill')
    with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED) as packed:
        for path, inner in found:
            packed.write(path, f'{name}/{inner}')
    print(f'{archive}: {len(found)} files')


if __name__ == '__main__':
    main()
