"""Shorthands for writing schemas and operations."""


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def text(description="", **more):
    return _of("string", description, more)


def count(description="", **more):
    return _of("integer", description, {"minimum": 0, **more})


def whole(description="", **more):
    return _of("integer", description, more)


def flag(description=""):
    return _of("boolean", description, {})


def time(description=""):
    return _of("string", description, {"format": "date-time"})


def words(values, description=""):
    return _of("string", description, {"enum": values.split()})


def many(items, description="", **more):
    return _of("array", description, {"items": items, **more})


def anything(description):
    return {"description": description}


def record(description, members, closed=False):
    """An object; a member whose name ends with "!" is required."""
    schema = {"type": "object", "description": description}
    required = [name[:-1] for name in members if name.endswith("!")]
    if required:
        schema["required"] = required
    schema["properties"] = {name.rstrip("!"): member for name, member in members.items()}
    if closed:
        schema["additionalProperties"] = False
    return schema


def asked(description, members):
    """An object sent to the server, which accepts no other members."""
    return record(description, members, closed=True)


def _of(kind, description, more):
    schema = {"type": kind}
    if description:
        schema["description"] = description
    schema.update(more)
    return schema


class Example:
    """One call and its response. Parts that share a name form one example, which a test executes."""

    def __init__(self, name, summary, status, answer=None, /, *, media="application/json", body=None,
                 body_media="application/json", **parameters):
        self.name = name
        self.summary = summary
        self.status = str(status)
        self.answer = answer
        self.media = media
        self.body = body
        self.body_media = body_media
        self.parameters = parameters


class Operation:
    def __init__(self, method, path, name, tag, permission, summary, description, examples, *,
                 query=(), body=None, answers=None, errors=()):
        self.method = method
        self.path = path
        self.name = name
        self.tag = tag
        self.permission = permission  # None: open
        self.summary = summary
        self.description = description
        self.examples = examples
        self.query = query  # names of components.parameters, or parameter objects
        self.body = body  # {media type: schema}, and "required": False if it may be left out
        self.answers = answers or {}  # {status: (description, {media type: schema}, header names)}
        self.errors = errors  # statuses besides those that every call has


def query(name, description, schema):
    return {"name": name, "in": "query", "description": description, "schema": schema}
