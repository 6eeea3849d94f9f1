"""Compares the verdicts of the compiled check with those of a JSON Schema validator.

usage: schema_equivalence.py SCHEMAS RECORDS

RECORDS has one object per line: dialect, event, document, pointers (of the faults that the compiled
check found; none when it accepted the document). Prints each disagreement and fails if there is one.
"""

import json
import pathlib
import re
import sys

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError

COMPILED = {}


def pattern(validator, regex, instance, schema):
    """In ECMA-262 $ matches only at the end; in Python also before a final line break."""
    if not validator.is_type(instance, "string"):
        return
    if regex not in COMPILED:
        assert regex.endswith("$")
        COMPILED[regex] = re.compile(regex[:-1] + r"\Z")
    if not COMPILED[regex].search(instance):
        yield ValidationError(f"{instance!r} does not match")


Validator = validators.extend(Draft202012Validator, {"pattern": pattern})


def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def pointers(error):
    """The pointer at which the compiled check reports the validator's error."""
    path = list(error.absolute_path)
    if error.validator == "required":
        return {pointer(path + [name]) for name in error.validator_value if name not in error.instance}
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return {pointer(path + [name]) for name in error.instance if name not in known}
    return {pointer(path)}


def main():
    schemas = pathlib.Path(sys.argv[1])
    known = {}
    counts = {}
    disagreements = 0
    with open(sys.argv[2], encoding="utf-8") as records:
        for line in records:
            record = json.loads(line)
            key = (record["dialect"], record["event"])
            if key not in known:
                text = (schemas / key[0] / f"{key[1]}.schema.json").read_text(encoding="utf-8")
                schema = json.loads(text)
                Validator.check_schema(schema)
                known[key] = Validator(schema)
            found = set()
            for error in known[key].iter_errors(record["document"]):
                found |= pointers(error)
            valid, invalid = counts.get(key[0], (0, 0))
            counts[key[0]] = (valid + (not found), invalid + bool(found))
            if found != set(record["pointers"]):
                disagreements += 1
                if disagreements <= 10:
                    print(f"{key}: the check says {sorted(set(record['pointers']))}, "
                          f"the schema {sorted(found)}\n  {json.dumps(record['document'])[:2000]}")
    for dialect, (valid, invalid) in counts.items():
        print(f"{dialect}: {valid} valid, {invalid} invalid")
    print(f"{disagreements} disagreements")
    return 1 if disagreements or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
