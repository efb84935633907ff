import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc` with another model than the built-in one.
    @Suite struct EntityCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started(model: PeopleModel.json)
            self.user = await CommandLineUser(self.server)
        }

        /// Inserts one object and returns its id.
        private func insert(_ arguments: String...) async throws -> String {
            let result = try await self.user.run(["insert"] + arguments)
            try #require(result.status == 0, "\(result.report)")
            return result.output.trimmingCharacters(in: .newlines)
        }

        private func run(_ arguments: [String]) async throws -> String {
            let result = try await self.user.run(arguments)
            #expect(result.status == 0 && result.errors == "", "\(result.report)")
            return result.output
        }

        /// Returns the ids at the start of the lines.
        private func ids(_ output: String) -> [String] {
            output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        }

        private func json(_ text: String) throws -> JSONValue {
            try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        }

        // MARK: Values

        @Test func valuesOfEveryTypeAreStoredAndShown() async throws {
            let company = try await self.insert("Company", "name=Acme", "founded=-2147483648")
            let person = try await self.insert(
                "Person",
                "name=Ann",
                "age=30",
                "balance=0012.50",
                "height=0.1",
                "homepage=https://a.example/?q=1",
                "picture=AP8Q",
                "token=00112233-4455-6677-8899-AABBCCDDEEFF",
                "active=no",
                "id=7",
                "employer=\(company)"
            )
            let shown = try self.json(try await self.run(["show", person, "--json"]))
            #expect(try shown["entity"] == "Person")
            #expect(try shown["balance"] == "12.5")
            #expect(try shown["height"] == .double(0.1))
            #expect(try shown["homepage"] == "https://a.example/?q=1")
            #expect(try shown["picture"] == "AP8Q")
            #expect(try shown["token"] == "00112233-4455-6677-8899-aabbccddeeff")
            #expect(try shown["active"] == false)
            #expect(try shown["id_"] == 7)
            #expect(try shown["employer"].int == Int(company))
            #expect(try shown["card"] == .null)
            #expect(try shown["tags"] == 0)
            // The default is the time of the commit.
            #expect(try shown["createdAt"].text.hasPrefix("20"))

            try await self.user.output("set", person, "age:=null", "employer:=null", "createdAt=2026-11-21", "id_=8")
            let lines = try await self.run(["show", person])
            #expect(lines.contains("age        -\n") && lines.contains("createdAt  2026-11-21T00:00:00.000000Z\n"))
            #expect(lines.contains("id_        8\n") && lines.contains("employer   -\n"), "\(lines)")
        }

        @Test func allFaultsAreReportedAtOnce() async throws {
            func expect(
                _ arguments: [String],
                _ status: Int32,
                _ messages: String...,
                sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                let result = try await self.user.run(arguments)
                #expect(result.status == status, "\(result.report)", sourceLocation: sourceLocation)
                for message in messages {
                    #expect(result.errors.contains(message), "\(result.report)", sourceLocation: sourceLocation)
                }
            }
            try await expect(
                ["insert", "Person", "name=", "age=151"],
                1,
                "2 faults [VALIDATION_FAILED]",
                "Person.name must not be empty",
                "Person.age must be at most 150"
            )
            let result = try await self.user.run("insert", "Person", "name=", "age=-1", "--json")
            #expect(result.status == 1 && result.output == "", "\(result.report)")
            let error = try self.json(result.errors)["error"]
            #expect(try error["code"] == "VALIDATION_FAILED")
            let faults = try error["faults"].elements
            #expect(Set(try faults.map { try $0["property"].text }) == ["name", "age"])
            for fault in faults {
                #expect(try fault["entity"] == "Person" && fault["reason"] == "range" && fault["object"] == .null)
            }
            try await self.user.output("insert", "Tag", "name=red")
            try await expect(["insert", "Tag", "name=red"], 1, "[NOT_UNIQUE]")
            try await expect(["insert", "Card", "number=1"], 1, "Card.owner", "[VALIDATION_FAILED]")
            try await expect(["insert", "Contact", "name=x"], 64, "abstract", "Person, Company")
            try await expect(["insert", "Persn"], 64, "no entity 'Persn'", "Contact, Person, Company")
            try await expect(["insert", "Person", "nam=x"], 64, "Person has no 'nam'", "name, createdAt")
            try await expect(["insert", "Person", "name=x", "age=70000"], 64, "beyond the range of 16 bits")
            try await expect(["insert", "Person", "name=x", "balance=1,5"], 64, "not a decimal number")
            try await expect(["insert", "Person", "name=x", "--first"], 64, "a position needs an owner")
            try await expect(["fetch"], 64, "--entity")
            try await expect(["fetch", "--entity", "Person", "--sort", "employer"], 64, "relationship")
            try await expect(["ls"], 1, "needs a hierarchy", "fetch")
            try await expect(["subscribe"], 64, "--entity")
            #expect(try await self.run(["fetch", "--entity", "Contact"]) == "")
        }

        // MARK: Finding

        @Test func aFetchReturnsSubentitiesInOrder() async throws {
            let acme = try await self.insert("Company", "name=Acme")
            let zoe = try await self.insert("Person", "name=Zoe", "age=5", "employer=\(acme)")
            let bob = try await self.insert("Person", "name=Bob", "employer=\(acme)")
            let ann = try await self.insert("Person", "name=Ann", "age=30", "employer=\(acme)", "--first")
            #expect(
                try await self.run(["fetch", "--entity", "Contact", "--properties", "entity,name"])
                    == "\(acme)\tCompany\tAcme\n\(zoe)\tPerson\tZoe\n\(bob)\tPerson\tBob\n\(ann)\tPerson\tAnn\n"
            )
            #expect(
                try await self.run(["fetch", "--entity", "Person", "--sort", "-age", "--json", "--properties", "age"])
                    == #"{"id":\#(ann),"age":30}"# + "\n" + #"{"id":\#(zoe),"age":5}"# + "\n"
                    + #"{"id":\#(bob),"age":null}"# + "\n"
            )
            let byName = try await self.run(["fetch", "--entity", "Contact", "--sort", "name"])
            #expect(self.ids(byName) == [acme, ann, bob, zoe])
            let page = try await self.run([
                "fetch", "--entity", "Contact", "--sort", "name", "--limit", "2", "--offset", "1",
            ])
            #expect(self.ids(page) == [ann, bob])
            let staff = try await self.run(["fetch", "--of", acme, "--relationship", "staff"])
            #expect(self.ids(staff) == [ann, zoe, bob])
            let unsaid = try await self.user.run("fetch", "--of", acme)
            #expect(unsaid.status == 64 && unsaid.errors.contains("tags, staff"), "\(unsaid.report)")
        }

        @Test func findOrCreateCreatesOnce() async throws {
            let first = try await self.run(["find-or-create", "Tag", "name=red"])
            let id = try #require(self.ids(first).first)
            #expect(first == "\(id)\tcreated\n")
            #expect(try await self.run(["find-or-create", "Tag", "name=red"]) == "\(id)\tfound\n")
            let json = try self.json(try await self.run(["find-or-create", "Tag", "name=red", "--json"]))
            #expect(try json["id"].int == Int(id) && json["created"] == false)
            let ann = try await self.run(["find-or-create", "Person", "name=Ann", "--set", "age=30", "--name", "Ann!"])
            let person = try #require(self.ids(ann).first)
            #expect(
                try await self.run(["find-or-create", "Person", "name=Ann", "--set", "age=31"]) == "\(person)\tfound\n"
            )
            #expect(try self.json(try await self.run(["show", person, "--json"]))["age"] == 30)
            #expect(try await self.run(["undo"]) == "undid: Ann!\n")
        }

        // MARK: Relationships

        @Test func relationshipsToManyAreSetFromBothSides() async throws {
            var tags: [String] = []
            for name in ["a", "b", "c"] { tags.append(try await self.insert("Tag", "name=\(name)")) }
            let ann = try await self.insert("Person", "name=Ann", "tags=\(tags[1]),\(tags[0])")
            func names() async throws -> [String] {
                self.ids(try await self.run(["fetch", "--of", ann, "--relationship", "tags"]))
            }
            #expect(try await names() == [tags[1], tags[0]])
            try await self.user.output("relate", ann, "tags", tags[2], "--first")
            #expect(try await names() == [tags[2], tags[1], tags[0]])
            try await self.user.output("relate", ann, "tags", tags[2], "--after", tags[1])
            #expect(try await names() == [tags[1], tags[2], tags[0]])
            try await self.user.output("unrelate", tags[1], "contacts", ann)
            #expect(try await names() == [tags[2], tags[0]])
            try await self.user.output("set", ann, "tags=\(tags[0]),\(tags[1]),\(tags[2])")
            #expect(try await names() == tags)
            try await self.user.output("undo", "--quiet")
            #expect(try await names() == [tags[2], tags[0]])
            try await self.user.output("set", ann, "tags=")
            #expect(try await names() == [])

            // One-to-one: setting a new owner removes the card from the old one.
            let bob = try await self.insert("Person", "name=Bob")
            let card = try await self.insert("Card", "number=1", "owner=\(ann)")
            try await self.user.output("set", card, "owner=\(bob)")
            #expect(try self.json(try await self.run(["show", ann, "--json"]))["card"] == .null)
            #expect(try self.json(try await self.run(["show", bob, "--json"]))["card"].int == Int(card))
            // The delete rule of `card` cascades.
            try await self.user.output("delete", bob)
            let gone = try await self.user.run("show", card)
            #expect(gone.status == 1 && gone.errors.contains("[NOT_FOUND]"), "\(gone.report)")
            // The delete rule of `staff` denies the deletion.
            let acme = try await self.insert("Company", "name=Acme")
            try await self.user.output("relate", acme, "staff", ann)
            let denied = try await self.user.run("rm", acme)
            #expect(denied.status == 1 && denied.errors.contains("[DELETE_DENIED]"), "\(denied.report)")
        }

        // MARK: Many at once

        @Test func objectsAreInsertedFromStandardInput() async throws {
            let two = try await self.user.output("insert", "Tag", "-", input: "{\"name\":\"a\"}\n\n{\"name\":\"b\"}\n")
            #expect(self.ids(two).count == 2)
            let ids = try #require(self.ids(two).map { Int64($0) } as? [Int64])
            let values = #""balance":0.10,"height":"-Infinity","createdAt":"now""#
            let person = #"{"name":"Ann",\#(values),"tags":[\#(ids[1]),\#(ids[0])]}"#
            let ann = try await self.user.output("insert", "Person", "-", input: person)
            let shown = try self.json(try await self.run(["show", self.ids(ann)[0], "--json"]))
            #expect(try shown["balance"] == "0.1" && shown["tags"] == 2 && shown["height"] == "-Infinity")

            // All objects are inserted or none, and the error names the line.
            let bad = try await self.user.run("insert", "Tag", "-", input: "{\"name\":\"c\"}\n{\"name\":1}\n")
            #expect(bad.status == 65 && bad.errors.contains("line 2: name must be a string, not 1"), "\(bad.report)")
            let lines = (0..<25).map { "{\"name\":\"t\($0)\"}\n" }.joined()
            let batches = try await self.user.output("insert", "Tag", "-", "--batch", "10", "--json", input: lines)
            #expect(batches.split(separator: "\n").count == 3)
            #expect(self.ids(try await self.run(["fetch", "--entity", "Tag"])).count == 27)
        }

        @Test func predicatesSelectObjects() async throws {
            for name in ["red", "Rouge", "green", "blue"] { _ = try await self.insert("Tag", "name=\(name)") }
            let found = try await self.run([
                "fetch", "--entity", "Tag", "--where", "name BEGINSWITH[c] 'r'", "--sort", "-name",
            ])
            #expect(found.split(separator: "\n").map { $0.split(separator: "\t")[1] } == ["red", "Rouge"])
            let bad = try await self.user.run("fetch", "--entity", "Tag", "--where", "name = 3")
            #expect(bad.status == 64 && bad.errors.contains("column 8") && bad.errors.contains("^"), "\(bad.report)")
            let none = try await self.run(["fetch", "--entity", "Tag", "--where", "ANY contacts.name == 'x'"])
            #expect(none == "")
        }

        @Test func aTransactionRefersToItsStepsByName() async throws {
            let red = try await self.insert("Tag", "name=red")
            let script = """
                {"findOrCreate":"Tag","match":{"name":"red"},"as":"red"}
                {"findOrCreate":"Tag","match":{"name":"new"},"as":"new"}
                {"insert":"Company","values":{"name":"Acme"},"as":"acme"}
                {"insert":"Person","values":{"name":"Ann","employer":"acme","tags":["new","red"]},"as":"ann"}
                {"insert":"Person","values":{"name":"Bob","employer":"acme"},"place":"first","as":"bob"}
                {"insert":"Card","values":{"number":90210,"owner":"ann"}}
                {"relate":"bob","relationship":"tags","objects":["red",\(red)]}
                {"unrelate":"ann","relationship":"tags","objects":"red"}
                {"update":"bob","values":{"age":7}}
                """
            let output = try await self.user.output("tx", "-", "--json", input: script)
            let results = try self.json(output)["results"].elements
            let names: [JSONValue] = ["red", "new", "acme", "ann", "bob", .null]
            #expect(try results.map { try $0["as"] } == names)
            #expect(try results.map { try $0["created"] } == [false, true, true, true, true, true])
            #expect(try results[0]["id"].int == Int(red))
            let ids = try results.map { "\(try $0["id"].int)" }
            #expect(
                self.ids(try await self.run(["fetch", "--of", ids[2], "--relationship", "staff"])) == [ids[4], ids[3]]
            )
            #expect(self.ids(try await self.run(["fetch", "--of", ids[3], "--relationship", "tags"])) == [ids[1]])
            #expect(try self.json(try await self.run(["show", ids[4], "--json"]))["age"] == 7)
            // The transaction is one undo entry.
            try await self.user.output("undo", "--quiet")
            #expect(self.ids(try await self.run(["fetch", "--entity", "Tag"])) == [red])

            let stale = "{\"expect\":\(red),\"revision\":0}\n{\"update\":\(red),\"values\":{\"name\":\"x\"}}\n"
            let refused = try await self.user.run("tx", "-", input: stale)
            #expect(refused.status == 1 && refused.errors.contains("[CONFLICT]"), "\(refused.report)")
            let unknown = try await self.user.run("tx", "-", input: #"{"delete":"unknown"}"#)
            #expect(unknown.status == 65 && unknown.errors.contains("line 1: "), "\(unknown.report)")
        }

        // MARK: Following

        @Test func subscriptionsFollowEntitiesAndRelationships() async throws {
            let ann = try await self.insert("Person", "name=Ann", "age=30")
            let people = try self.user.start(
                "subscribe",
                "--entity",
                "Contact",
                "--sort",
                "-name",
                "--json",
                "--apply-check",
                "--count",
                "4"
            )
            let tags = try self.user.start(
                "subscribe",
                "--of",
                ann,
                "--relationship",
                "tags",
                "--json",
                "--apply-check",
                "--count",
                "3"
            )
            _ = try await people.lines(atLeast: 1)
            _ = try await tags.lines(atLeast: 1)
            let bob = try await self.insert("Company", "name=Bob")
            _ = try await people.lines(atLeast: 2)
            try await self.user.output("set", bob, "name=Aaron")
            _ = try await people.lines(atLeast: 3)
            let red = try await self.insert("Tag", "name=red")
            try await self.user.output("relate", ann, "tags", red)
            _ = try await tags.lines(atLeast: 2)
            try await self.user.output("set", red, "name=green")
            try await tags.wait(forEnd: .exit(0))
            try await self.user.output("rm", ann)
            try await people.wait(forEnd: .exit(0))

            func events(_ process: ChildProcess) throws -> [JSONValue] {
                try process.output.split(separator: "\n").map { try self.json(String($0)) }
                    .filter { try $0["event"] == "snapshot" || $0["event"] == "diff" }
            }
            let peopleEvents = try events(people)
            #expect(try peopleEvents[1]["insertedRows"].elements[0]["at"] == [0, 0])
            #expect(try peopleEvents[1]["insertedRows"].elements[0]["row"]["entity"] == "Company")
            #expect(try peopleEvents[2]["moves"] == [["from": [0, 0], "to": [0, 1]]])
            #expect(try peopleEvents[2]["updates"].elements[0]["values"] == ["name": "Aaron"])
            #expect(try peopleEvents[3]["left"] == [["id": .integer(try #require(Int64(ann))), "reason": "deleted"]])
            let tagEvents = try events(tags)
            #expect(try tagEvents[1]["insertedRows"].elements[0]["row"]["name"] == "red")
            #expect(try tagEvents[2]["updates"].elements[0]["values"] == ["name": "green"])
        }
    }
}
