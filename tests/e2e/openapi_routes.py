"""Checks that schemas/openapi.json has the routes of src/serve/routes.cc and an example for every call.

usage: openapi_routes.py SOURCE_DIR
"""

import json
import re
import sys
from pathlib import Path

failures = 0


def expect(sentence, faults):
    global failures
    faults = list(faults)
    print(("not ok - " if faults else "ok - ") + sentence)
    for fault in faults:
        print("#   " + fault)
    failures += bool(faults)


def routes_of(source):
    """Returns {(method, path): (operation, permission)}; the permission kRunRead is named run.read."""
    pattern = r'{"(\w+)", "([^"]+)", "(\w+)", (k\w+),\s+k\w+}'
    routes = {}
    for method, path, operation, permission in re.findall(pattern, source):
        words = re.findall(r"[A-Z][a-z]+", permission)
        routes[method, path] = (operation, None if permission == "kOpen" else ".".join(words).lower())
    return routes


def operations_of(document):
    return {(method.upper(), path): operation for path, item in document["paths"].items()
            for method, operation in item.items()}


def example_names(content):
    return {name for media in content.values() for name in media.get("examples", {})}


def without_examples(operations):
    for (method, path), operation in operations.items():
        answered = set()
        for answer in operation["responses"].values():
            answered |= example_names(answer.get("content", {})) | set(answer.get("x-examples", []))
        if not answered:
            yield f"{method} {path} has no example of an answer"
        asked = example_names(operation.get("requestBody", {}).get("content", {}))
        for parameter in operation["parameters"]:
            asked |= set(parameter.get("examples", {}))
        if operation.get("requestBody") and not asked:
            yield f"{method} {path} has no example of a request"
        for name in asked - answered:
            yield f"{method} {path}: the request {name} has no answer"


def open_bodies(document):
    """Finds bodies that accept unknown members; events and plans have their own schemas."""
    seen = set()

    def walk(schema, where):
        if isinstance(schema, list):
            for item in schema:
                yield from walk(item, where)
        if not isinstance(schema, dict):
            return
        name = schema.get("$ref", "").rpartition("/")[2]
        if name and name not in seen:
            seen.add(name)
            yield from walk(document["components"]["schemas"][name], name)
        if "properties" in schema and schema.get("additionalProperties") is not False:
            yield f"{where} takes unknown members"
        for value in schema.values():
            yield from walk(value, where)

    for (method, path), operation in operations_of(document).items():
        for media in operation.get("requestBody", {}).get("content", {}).values():
            yield from walk(media["schema"], f"{method} {path}")


def without_answers(operations):
    """Finds operations without the common errors: any target may be too long, any body invalid."""
    for (method, path), operation in operations.items():
        for status in ["414"] + (["422"] if method in ("POST", "PUT") else []):
            if status not in operation["responses"]:
                yield f"{method} {path} has no answer {status}"


def main():
    root = Path(sys.argv[1])
    routes = routes_of((root / "src/serve/routes.cc").read_text(encoding="utf-8"))
    document = json.loads((root / "schemas/openapi.json").read_text(encoding="utf-8"))
    operations = operations_of(document)
    expect("there are routes", [] if len(routes) > 40 else ["the route table could not be parsed"])
    expect("every route is in the document",
           (f"{method} {path}" for method, path in routes.keys() - operations.keys()))
    expect("every path of the document is a route",
           (f"{method} {path}" for method, path in operations.keys() - routes.keys()))
    shared = [key for key in routes if key in operations]
    expect("operations and routes have the same names and permissions",
           (f"{key}: {routes[key]}" for key in shared
            if routes[key] != (operations[key]["operationId"], operations[key].get("x-permission"))))
    expect("exactly the open routes need no token",
           (f"{key}" for key in shared
            if (routes[key][1] is None) != (operations[key].get("security") == [])))
    expect("every call has an example with its answer", without_examples(operations))
    expect("every call has 414, and those with a body 422", without_answers(operations))
    expect("bodies accept no unknown members", open_bodies(document))
    sys.exit(failures > 0)


main()
