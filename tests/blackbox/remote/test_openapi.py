"""docs/openapi.json says what the example server does, and what seqray sends."""

import http.client
import json
from pathlib import Path

import pytest

import seqray
from same_gru import native
from same_gru.server import serving
from seqray.blackbox.remote.wire import OPTIONAL_FIELDS, VERSION, Description, words_message

DOCUMENT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text("utf-8"))
TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "integer": int}
TYPES |= {"number": (int, float), "null": type(None)}
CHECKS = {
    "$ref": lambda thing, where: fits(thing, resolve(where)),
    "type": lambda thing, names: any(is_a(thing, n) for n in listed(names)),
    "const": lambda thing, value: thing == value,
    "enum": lambda thing, values: thing in values,
    "oneOf": lambda thing, schemas: sum(fits(thing, schema) for schema in schemas) == 1,
    "minimum": lambda thing, least: thing >= least,
    "maximum": lambda thing, most: thing <= most,
    "minItems": lambda thing, least: len(thing) >= least,
    "items": lambda thing, schema: all(fits(item, schema) for item in thing),
    "required": lambda thing, names: all(name in thing for name in names),
    "properties": lambda thing, schemas: all(
        fits(thing[name], schema) for name, schema in schemas.items() if name in thing
    ),
    "description": lambda thing, text: True,
}


def listed(names):
    return [names] if isinstance(names, str) else names


def is_a(thing, name):
    return isinstance(thing, TYPES[name]) and (name == "boolean" or not isinstance(thing, bool))


def resolve(where):
    target = DOCUMENT
    for part in where.removeprefix("#/").split("/"):
        target = target[part]
    return target


def fits(thing, schema):
    """Whether JSON is as a schema says; every word that the document uses is known here."""
    return all(CHECKS[word](thing, value) for word, value in schema.items())


def schema_of(method, status):
    response = DOCUMENT["paths"]["/"][method]["responses"][str(status)]
    response = resolve(response["$ref"]) if "$ref" in response else response
    return response["content"]["application/json"]["schema"]


QUESTION = DOCUMENT["paths"]["/"]["post"]["requestBody"]["content"]["application/json"]
VALUES = seqray.black_box(lambda words: [len(word) - 0.5 for word in words], "ab")


@pytest.mark.parametrize("box", [VALUES, native()], ids=["value", "next"])
def test_the_example_server_answers_as_documented(box):
    with serving(box, name="x", deterministic=True, batch_size=9) as server:
        line = http.client.HTTPConnection("127.0.0.1", server.server_port)
        body = words_message(box.alphabet.words(["", "ab"]))
        assert fits(json.loads(body), QUESTION["schema"])
        for method, sent, status in (
            ("get", None, 200),
            ("post", body, 200),
            ("post", b'{"words": [["?"]]}', 422),
            ("post", b"{", 422),
        ):
            line.request(method.upper(), "/", sent)
            response = line.getresponse()
            assert response.status == status
            assert response.headers["Content-Type"] == "application/json"
            assert fits(json.loads(response.read()), schema_of(method, status))
        line.close()


def test_the_documents_examples_are_as_it_says_and_are_understood():
    content = DOCUMENT["paths"]["/"]["get"]["responses"]["200"]["content"]["application/json"]
    assert fits(content["example"], content["schema"])
    assert Description.read(content["example"], "the box").batch_size == 512
    assert fits(QUESTION["example"], QUESTION["schema"])
    content = DOCUMENT["paths"]["/"]["post"]["responses"]["200"]["content"]["application/json"]
    for example in content["examples"].values():
        assert fits(example["value"], content["schema"])


def test_the_document_knows_what_the_code_knows():
    description = DOCUMENT["components"]["schemas"]["Description"]
    assert description["properties"]["seqray"]["const"] == VERSION
    assert description["properties"].keys() - set(description["required"]) == OPTIONAL_FIELDS.keys()


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        ({"seqray": 1, "alphabet": [], "answers": "next"}, "Description"),
        ({"seqray": 2, "alphabet": ["a"], "answers": "next"}, "Description"),
        ({"seqray": 1, "alphabet": ["a"], "answers": "other"}, "Description"),
        ({"seqray": 1, "alphabet": ["a"], "answers": "next", "leaks": 1}, "Description"),
        ({"words": [["a"], "b"]}, "Question"),
        ({"words": []}, "Question"),
        ({"answers": [True]}, "Answer"),
        ({"answers": [[1.5, 0.5]]}, "Answer"),
        ({}, "Answer"),
    ],
)
def test_what_is_not_as_documented_does_not_fit(thing, name):
    assert not fits(thing, DOCUMENT["components"]["schemas"][name])
