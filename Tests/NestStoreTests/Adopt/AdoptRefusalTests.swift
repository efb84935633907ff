import Foundation
import NestModel
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// What an adoption refuses, leaves out, or makes good. After a refusal there is no new store.
@Suite struct AdoptRefusalTests {
    private func refused(_ sql: String..., options: AdoptOptions = AdoptOptions()) throws -> [String] {
        let adopted = try AdoptedApp(Library.app())
        for sql in sql { try adopted.change(sql) }
        let report = try adopted.adopt(nil, options)
        #expect(FileBytes.exists(adopted.target) == report.refused.isEmpty)
        let names = try FileManager.default.contentsOfDirectory(atPath: adopted.directory.path).sorted()
        let left = names.filter { $0.hasPrefix("nest.sqlite") }
        #expect(left == (report.refused.isEmpty ? ["nest.sqlite"] : []) + ["nest.sqlite.lock"])
        return report.refused.map { "\($0.text): \($0.count) \($0.first)" }
    }

    @Test(arguments: [
        ("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK IN (2, 4)", "Book.title is required, but has no value: 2 [2, 4]"),
        ("UPDATE ZBOOK SET ZTITLE = '' WHERE Z_PK = 3", "Book.title must not be empty: 1 [3]"),
        ("UPDATE ZBOOK SET ZTITLE = x'41' WHERE Z_PK = 3", "Book.title has a value that is no string: 1 [3]"),
        (
            "UPDATE ZBOOK SET ZTITLE = CAST(x'ff41' AS TEXT) WHERE Z_PK = 3",
            "Book.title has a text that is not UTF-8: 1 [3]"
        ),
        (
            "UPDATE ZBOOK SET ZTITLE = CAST(x'410041' AS TEXT) WHERE Z_PK = 3",
            "Book.title holds a NUL character: 1 [3]"
        ),
        ("UPDATE ZBOOK SET ZSIZE = 40000 WHERE Z_PK = 1", "Book.size is beyond the range of 16 bits: 1 [1]"),
        ("UPDATE ZBOOK SET ZSIZE = 1.5 WHERE Z_PK = 1", "Book.size has a value that is no integer16: 1 [1]"),
        (
            "UPDATE ZBOOK SET ZTITLE = CAST(zeroblob(65537) AS TEXT) WHERE Z_PK > 4",
            "Book.title has more than 65536 bytes, the maximum of a value: 2 [5, 6]"
        ),
        (
            "UPDATE ZBOOK SET ZCOVER = x'03' WHERE Z_PK = 1",
            "Book.cover has data that begin with neither 1 nor 2, as data that may be in files do: 1 [1]"
        ),
        (
            "UPDATE ZBOOK SET ZCOVER = CAST(x'02' || 'gone' AS BLOB) WHERE Z_PK = 1",
            "Book.cover has data in a file that does not exist: 1 [1]"
        ),
        (
            "UPDATE ZBOOK SET ZCOVER = CAST(x'02' || '../App.sqlite' AS BLOB) WHERE Z_PK = 1",
            "Book.cover has the name of a file that cannot be one: 1 [1]"
        ),
        ("UPDATE ZBOOK SET ZISBN = '1' WHERE Z_PK < 4", "Book isbn must be unique, but is not: 1 [1]"),
        ("UPDATE ZBOOK SET ZWHOLE = 3 WHERE Z_PK = 3", "Book whole is part of a cycle: 1 [3]"),
        ("UPDATE ZBOOK SET Z_ENT = 9 WHERE Z_PK = 6", "Book has an object of an unknown entity (Z_ENT): 1 [6]"),
    ]) func whatTheModelForbidsIsRefusedWithTheFirstObjects(_ sql: String, _ finding: String) throws {
        #expect(try self.refused(sql) == [finding])
    }

    @Test func aRequiredReferenceToNothingIsRefused() throws {
        let found = try self.refused("DELETE FROM ZSHELF WHERE Z_PK = 2")
        #expect(found == ["Book.shelf is required, but has no value: 3 [4, 5, 6]"])
    }

    @Test func valuesAreLeftOutIfTheOptionsAllowIt() throws {
        let adopted = try AdoptedApp(Library.app())
        try adopted.change(
            "UPDATE ZBOOK SET ZTITLE = '' WHERE Z_PK = 1",
            "UPDATE ZBOOK SET ZSIZE = 'x' WHERE Z_PK = 2",
            "UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 4",
            "UPDATE ZBOOK SET ZCOVER = zeroblob(1) || zeroblob(70000) WHERE Z_PK = 3",
            "UPDATE ZBOOK SET ZCOVER = CAST(x'01' || CAST(zeroblob(70000) AS TEXT) AS BLOB) WHERE Z_PK = 3"
        )
        var options = AdoptOptions()
        options.skipsInvalid = true
        let large = try adopted.adopt(nil, options)
        #expect(large.refused.map(\.text) == ["Book.cover has more than 65536 bytes, the maximum of a value"])
        options.skipsLarge = true
        let report = try adopted.adopt(nil, options)
        #expect(report.refused.isEmpty && report.leftOut.map(\.count) == [1, 1, 1, 1], "\(report)")
        var app = Library.app()
        app.objects[Library.book(1)]!.values["title"] = .string("Untitled")
        app.objects[Library.book(4)]!.values["title"] = .string("Untitled")
        app.objects[Library.book(2)]!.values["size"] = nil
        app.objects[Library.book(3)]!.values["cover"] = nil
        let expected = try AdoptedApp(app)
        try FileManager.default.copyItem(atPath: adopted.target, toPath: expected.target)
        try expected.compare(report)
    }

    @Test func theFirstTenObjectsAreNamed() throws {
        var app = Library.app()
        for number in 10..<40 { app.objects[Library.shelf(number)] = .init(entity: "Shelf") }
        let report = try AdoptedApp(app).adopt()
        #expect(report.refused.map(\.count) == [30] && report.refused[0].first == Array(10..<20))
    }

    @Test func boundsOfToManyRelationshipsAreChecked() throws {
        var draft = Library.draft
        draft.entities[0].relationships[0].minimumCount = 1
        draft.entities[0].relationships[0].maximumCount = 2
        draft.entities[0].relationships[0].isOptional = false
        var app = Library.app(draft)
        app.objects[Library.shelf(3)] = .init(entity: "Shelf", values: ["label": .string("empty")])
        let report = try AdoptedApp(app).adopt()
        #expect(
            report.refused.map(\.text) == ["Shelf Shelf.books leads to fewer or more objects than the model allows"]
        )
        #expect(report.refused.first?.first == [1, 2, 3])
    }

    @Test func objectsWithoutOrderComeLastAndEqualOrdersByNumber() throws {
        let adopted = try AdoptedApp(Library.app())
        try adopted.change(
            "UPDATE ZBOOK SET Z_FOK_SHELF = 5 WHERE ZSHELF = 1",
            "UPDATE ZBOOK SET Z_FOK_SHELF = NULL WHERE Z_PK IN (6, 4)"
        )
        let report = try adopted.adopt()
        var app = Library.app()
        app.objects[Library.shelf(1)]!.links["books"] = [1, 2, 3].map(Library.book)
        app.objects[Library.shelf(2)]!.links["books"] = [5, 4, 6].map(Library.book)
        let expected = try AdoptedApp(app)
        try FileManager.default.copyItem(atPath: adopted.target, toPath: expected.target)
        try expected.compare(report)
        #expect(try Store.check(adopted.target) { _ in }.problems == [])
    }

    @Test func objectsWithoutAnOwnerAreBelowTheRoot() throws {
        var draft = Library.draft
        draft.entities[1].relationships.removeFirst()
        draft.entities[0].relationships = []
        draft.entities[1].root = ("whole", ObjectID(1))
        draft.entities[1].relationships[1].isOrdered = true
        var app = AppStore(draft)
        for number in 1...3 {
            app.objects[Library.book(number)] = .init(entity: "Book", values: ["title": .string("b")])
        }
        let (whole, parts) = (app.relationship("whole", "Book")!, app.relationship("parts", "Book")!)
        app.link(Library.book(3), whole, Library.book(1), parts)
        app.dangling = [("Book.whole", Library.book(2), 77)]
        let adopted = try AdoptedApp(app)
        let report = try adopted.adopt()
        #expect(report.refused.isEmpty && report.entities.first { $0.name == "Book" }?.idOffset == 1, "\(report)")
        #expect(try Store.check(adopted.target) { _ in }.problems == [])
        let store = try adopted.open()
        defer { try? store.close() }
        let top = try store.access {
            let layout = store.layout[adopted.version.model.entity(named: "Book")!.number]!
            let toMany = layout.toMany[0]
            return try store.objects.ids(referringTo: ObjectID(1), toMany.destination, toMany.inverseSlot)
        }
        #expect(top == [ObjectID(2), ObjectID(3)])
    }
}
