"""The types that `nestc model generate python` writes: mypy checks them and a program with them, which also runs."""

from __future__ import annotations

import asyncio
import dataclasses
import dis
import inspect
import json
import keyword
import pathlib
import re
import shutil
import subprocess
import sys
import types
import unittest
from collections.abc import Iterator

import nest

from . import types_model, types_use, values_use
from .server import MISSING, Server, until

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL = ROOT.parents[1] / "Examples/phone-book/model.json"
FIXTURE = ROOT.parents[1] / "Tests/Fixtures/Types/model.json"


def generator_names(name: str) -> set[str]:
    """A list of names in the source of nestc model generate python."""
    source = (ROOT.parents[1] / "Sources/NestDocuments/Models/Types/PythonNames.swift").read_text()
    found = re.search(rf"{name}: Set<String> = \[([^\]]*)\]", source)
    assert found
    return set(re.findall(r'"(\w+)"', found[1]))


class Types(unittest.IsolatedAsyncioTestCase):
    @unittest.skipUnless(shutil.which("mypy"), "mypy is missing (Debian: mypy)")
    def test_mypy_finds_no_mistake_but_those_that_are_marked(self) -> None:
        files = [f"tests/{name}.py" for name in ("types_model", "phone_book_model", "number_facts_model", "types_use", "values_use")]
        result = subprocess.run(
            ["mypy", "--config-file", "pyproject.toml", *files],
            cwd=ROOT,
            env={"PATH": str(pathlib.Path(str(shutil.which("mypy"))).parent), "MYPYPATH": "src"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_members_are_renamed_where_python_has_the_name(self) -> None:
        everything = types_model.Everything
        names = [field.name for field in dataclasses.fields(everything)]
        self.assertEqual(len(names), 1 + len(everything.columns))
        self.assertIn("class_", names)
        self.assertEqual([name for name in names if "self" in name], ["self__", "self_"])
        self.assertIn("class", everything.Values.__annotations__)

    def test_no_member_hides_one_of_the_library(self) -> None:
        def members(*names: str) -> set[str]:
            # typing adds the last one, in some versions of Python.
            return {name for name in (*names, "_is_protocol") if not name.startswith("__")}

        self.assertEqual(generator_names("entityMembers"), members(*dir(nest.TypedEntity)))
        self.assertLessEqual(members(*dir(nest.Typed), *nest.Typed.__annotations__), generator_names("rowMembers"))
        self.assertEqual(set(keyword.kwlist), generator_names("keywords"))

    def test_no_class_hides_a_name_that_methods_use(self) -> None:
        def codes(kind: type) -> Iterator[types.CodeType]:
            for member in vars(kind).values():
                if isinstance(function := inspect.unwrap(member), types.FunctionType):
                    # Those of the module `dataclasses` have its names.
                    if function.__globals__ is not vars(dataclasses):
                        yield function.__code__

        used = {
            step.argval
            for code in codes(types_model.Date)
            for step in dis.get_instructions(code)
            if step.opname == "LOAD_GLOBAL"
        }
        parameters = {name for code in codes(types_model.DateEntity) for name in code.co_varnames}
        self.assertIn("hash", used)
        self.assertEqual(parameters, {"self", "object"})
        self.assertLessEqual(used | parameters, generator_names("entityWords"))

    def test_relationships_and_names_that_python_or_the_library_has(self) -> None:
        self.assertEqual(types_model.init.of.__func__, nest.Typed.of.__func__)
        methods = [name for name in vars(types_model.initEntity) if not name.startswith("__")]
        self.assertEqual(methods, ["ToManyPath", "then", "where_"])

    def test_the_lines_of_the_page_are_those_of_the_program(self) -> None:
        blocks = re.findall(r"^```py\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
        for block, name in zip(blocks, ("types_use", "values_use"), strict=True):
            source = (ROOT / f"tests/{name}.py").read_text().splitlines()
            for line in block.splitlines():
                self.assertIn(line, source)

    @unittest.skipIf(MISSING, MISSING)
    async def test_a_program_with_types_runs(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            self.assertEqual(await types_use.use(client), ["002", "001", "3", "1 Ann"])

    @unittest.skipIf(MISSING, MISSING)
    async def test_a_program_with_large_values_runs(self) -> None:
        server = Server(model=json.loads(FIXTURE.read_text()))
        self.addCleanup(server.close)
        directory = pathlib.Path(server.directory)
        (directory / "scan.png").write_bytes(bytes(range(256)) * 1_000)
        async with nest.connect(server.address) as client:
            self.assertEqual(await values_use.use(client, directory), ["256000", "True", "True", "Once upon a time"])
        self.assertEqual((directory / "copy.png").read_bytes(), (directory / "scan.png").read_bytes())

    @unittest.skipIf(MISSING, MISSING)
    def test_a_program_with_types_runs_without_asyncio(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)
        with nest.sync.connect(server.address) as client:
            read = ["Bo", "Dan", "Ida", "I Ida", "D Dan", "7", "Bo", "Dan", "7Phone", "Bo 1", "3", "3"]
            self.assertEqual(types_use.block(client), read)
            user = client.fetch(client.entity(name=types_use.User))[0]
            with client.subscribe(client.entity(name="User").properties("name"), properties=()) as changes:
                self.assertEqual(next(changes).rows[0].to_dict(), {"name": "Bo"})
            self.assertEqual(user, types_use.User(user.id, "Bo"))
            self.assertEqual(client.fetch(client.entity(types_use.User))[1:][0].name, "Dan")

    @unittest.skipIf(MISSING, MISSING)
    async def test_every_entity_of_a_model_has_requests(self) -> None:
        server = Server(model=json.loads(FIXTURE.read_text()))
        self.addCleanup(server.close)
        kinds = [one for one in vars(types_model).values() if isinstance(one, type) and issubclass(one, nest.Typed)]
        self.assertEqual(len(kinds), 7)
        async with nest.connect(server.address) as client:
            for kind in kinds:
                entity = await client.entity(kind)
                values = {"name": "a"} if kind is types_model.Date else {"text": "a"} if "text" in kind.columns else {}
                receipt = await client.transaction(step := entity.insert(values))
                rows = await client.fetch(entity)
                self.assertEqual([type(row) for row in rows], [kind])
                self.assertEqual([row.id for row in rows], [receipt.id(step)])
            init = await client.entity(types_model.init)
            (first,) = await client.fetch(init)
            other = init.insert({"values": "v", "__a": "a"}, s="s")
            await client.transaction([other, init.relate(first, "then", other), init.relate(first, "where", other)])
            (found,) = await client.fetch(init.then(first))
            self.assertEqual((found.values, found.x__a_, found.s, found.x__a), ("v", "a", "s", None))
            self.assertEqual(list(await client.fetch(init.where_(first).where('s == "s"'))), [found])
            self.assertEqual(list(await client.fetch(init.ToManyPath(found))), [first])
            with self.assertRaisesRegex(AttributeError, "nmae"):
                init.nmae  # type: ignore[attr-defined]

    @unittest.skipIf(MISSING, MISSING)
    async def test_a_class_that_does_not_fit_the_model_is_refused(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)

        @dataclasses.dataclass(frozen=True, slots=True)
        class Person(nest.Typed["PersonEntity", str, str]):
            entity = "User"
            columns = ("name", "age")
            id: int
            name: str
            age: int

        class PersonEntity(nest.TypedEntity[Person, dict[str, object]], rows=Person):
            __slots__ = ()

        async with nest.connect(server.address) as client:
            with self.assertRaisesRegex(nest.NestError, "User has no property 'age'"):
                await client.entity(Person)
            with self.assertRaisesRegex(nest.NestError, "no entity 'Everything'"):
                await client.entity(types_model.Everything)
            for wrong in (nest.Row, nest.Typed, 7):
                with self.assertRaisesRegex(nest.NestError, "give the name of an entity, or a class") as caught:
                    await client.entity(wrong)  # type: ignore[call-overload]
                self.assertEqual(caught.exception.name, "INVALID")
            users = await client.entity(name=types_use.User)
            self.assertEqual((await client.entity(name="User")).name, "User")
            with self.assertRaisesRegex(nest.NestError, "User is of User, not Phone"):
                users.of(1, "phones", types_use.User)

    @unittest.skipIf(MISSING, MISSING)
    async def test_a_request_for_an_entity_has_objects_of_those_below_it(self) -> None:
        name = {"name": "name", "type": "string"}
        tail = {"name": "tail", "type": "integer", "default": 1}
        dog = {"name": "Dog", "parent": "Animal", "attributes": [tail]}
        server = Server(model={"format": "nest-model", "entities": [{"name": "Animal", "attributes": [name]}, dog]})
        self.addCleanup(server.close)

        @dataclasses.dataclass(frozen=True, slots=True)
        class Animal(nest.Typed["Animals", str, str]):
            entity = "Animal"
            columns = ("name",)
            id: int
            name: str

        class Animals(nest.TypedEntity[Animal, dict[str, object]], rows=Animal):
            __slots__ = ()

        async with nest.connect(server.address) as client:
            animals, dogs = await client.entity(Animal), await client.entity("Dog")
            await client.transaction([animals.insert({"name": "Tom"}), dogs.insert(name="Rex")])
            tom, rex = await client.fetch(animals.sorted("-name"))
            self.assertEqual([tom, rex], [Animal(tom.id, "Tom"), Animal(rex.id, "Rex")])
            rows = await client.fetch(animals.sorted("-name").properties("@entity", *Animal.columns))
            self.assertEqual([row["@entity"] for row in rows], ["Animal", "Dog"])
            self.assertEqual([Animal.of(row) for row in rows], [tom, rex])

    @unittest.skipIf(MISSING, MISSING)
    async def test_rows_of_a_changed_request_are_rows_by_names(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            users = await client.entity(types_use.User)
            await client.transaction(users.insert(name="Ann"))
            for request in (users.properties("name"), users.properties(), users.properties("name").where('name != ""')):
                (row,) = await client.fetch(request)
                self.assertIsInstance(row, nest.Row)
                self.assertEqual(types_use.User.of(row), types_use.User(row.id, "Ann"))
            async with client.subscribe(users, properties=["name"]) as changes:
                self.assertEqual((await anext(changes)).rows[0]["name"], "Ann")
            for none in ((), None):
                async with client.subscribe(users, properties=none) as changes:
                    self.assertEqual((await anext(changes)).rows[0].name, "Ann")
                async with client.subscribe(users.properties("@entity"), properties=none) as changes:
                    self.assertEqual((await anext(changes)).rows[0].to_dict(), {"@entity": "User"})
            (row,) = await client.fetch(users.properties("@entity"))
            with self.assertRaisesRegex(KeyError, "the rows have no 'name'"):
                types_use.User.of(row)

    @unittest.skipIf(MISSING, MISSING)
    async def test_requests_with_types_go_on_in_a_model_that_has_more(self) -> None:
        model = json.loads(MODEL.read_text())
        server = Server(model=model)
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            users = await client.entity(types_use.User)
            async with client.subscribe(users) as changes:
                await until(changes, nest.Snapshot)
                await asyncio.to_thread(server.kill)
                (user,) = (one for one in model["entities"] if one["name"] == "User")
                user["attributes"].append({"name": "age", "type": "integer", "default": 7})
                server.change_model(model)
                await asyncio.to_thread(server.start)
                await until(changes, nest.Resumed)
                receipt = await client.transaction(step := users.insert(name="Ann"))
                ann = types_use.User(receipt.id(step), "Ann")
                for rows in ((await until(changes, nest.Diff)).rows, await client.fetch(users)):
                    self.assertEqual(list(rows), [ann])
            self.assertEqual(list(await client.fetch(await client.entity(types_use.User))), [ann])

    @unittest.skipIf(MISSING, MISSING)
    async def test_a_change_feed_takes_a_class(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            users, phones = await client.entity(types_use.User), await client.entity(types_use.Phone)
            async with client.changes(entities=[types_use.Phone, users]) as feed:
                await anext(feed)
                ann = users.insert(name="Ann")
                await client.transaction([ann, phones.insert(number="1", user=ann)])
                change = await anext(feed)
                assert isinstance(change, nest.ChangeSet)
                self.assertEqual({one.entity for one in change.objects}, {"User", "Phone"})


if __name__ == "__main__":
    sys.exit(unittest.main())
