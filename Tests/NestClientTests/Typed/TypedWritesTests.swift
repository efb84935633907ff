import Foundation
import NestClient
import NestModel
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// Generated types without their entities, and rows of some columns, against a real server in this process.
    @MainActor struct TypedWritesTests {
        typealias Everything = TypesModel.Everything

        private static func run(_ body: (NestClient) async throws -> Void) async throws {
            let model = try TypesModel.read()
            try await withServer({ $0.store.model = model }) { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in try await body(client) }
            }
        }

        @Test func aContextWithTheModelTakesTypes() async throws {
            try await Self.run { client in
                let context = try await client.context()
                let ann = try context.insert(TypesModel.Date.self, .name("Ann"))
                let bob = try context.findOrCreate(TypesModel.Date.self, matching: .name("Bob"))
                let first = try context.insert(Everything.self, .text("a"), .owner(ann))
                try context.insert(Everything.self, .text("c"), .owner(ann))
                try context.set(first, .whole(7), .note("n"))
                try context.findOrCreate(Everything.self, matching: .text("b"), with: [.owner(bob)])
                try await context.save()
                // References stay valid, and values of the types are taken, too.
                try context.set(ann, .name("Anna"))
                let found = try #require(try await client.fetch(Everything.where(\.text == "c")).first)
                try context.set(found, .where_(bob))
                let owner = try #require(context.objectID(of: ann))
                try context.move(found, under: owner, by: "owner", at: .first)
                try await context.save()
                let list = Everything.where(\.owner == owner).inOrder()
                #expect(try await client.fetch(list).map(\.text) == ["c", "a"])
                #expect(try await client.fetch(list).map(\.whole) == [found.whole, 7])
                #expect(try await client.count(TypesModel.Date.where(\.name == "Anna")) == 1)
            }
        }

        @Test func aChangeOfItsOwnNeedsNoContext() async throws {
            try await Self.run { client in
                let id = try await client.insert(TypesModel.Date.self, .name("Ann"), name: "add Ann")
                let ann = try #require(try await client.fetch(TypesModel.Date.all).first)
                #expect(ann.id == id)
                #expect(try await client.set(ann, .name("Anna"), name: "rename") != nil)
                #expect(try await client.set(ann) == nil)
                #expect(try await client.fetch(TypesModel.Date.all).map(\.name) == ["Anna"])
                #expect(try await client.undoState().undo?.name == "rename")
                try await client.delete(ann, name: "remove")
                #expect(try await client.count(TypesModel.Date.all) == 0)
                #expect(try await client.history(limit: 3).map(\.name) == ["remove", "rename", "add Ann"])
                let error = await #expect(throws: NestError.self) { try await client.set(ann, .name("x")) }
                #expect(error?.code == .notFound)
            }
        }

        @Test func aContextWithoutTheModelSaysWhatToDo() async throws {
            try await Self.run { client in
                let context = ObjectContext(client)
                let error = #expect(throws: NestError.self) { try context.insert(TypesModel.Date.self, .name("Ann")) }
                #expect(error?.code == .invalid && error?.message.contains("client.context()") == true)
                #expect(!context.hasChanges)
            }
        }

        @Test func rowsOfColumnsHaveTheirOrderAndTypes() async throws {
            try await Self.run { client in
                let context = try await client.context()
                let ann = try context.insert(TypesModel.Date.self, .name("Ann"))
                try context.insert(Everything.self, .text("a"), .owner(ann), .whole(1))
                try context.insert(Everything.self, .text("b"), .whole(2), .note("n"))
                try await context.save()
                let all = Everything.all.sorted(by: \.text)
                let columns = all.columns(\.whole, \.owner.name.optional, \.text, \.note.optional, \.whole)
                let rows = try await client.fetch(columns)
                #expect(rows.map(\.values.0) == [1, 2] && rows.map(\.values.1) == ["Ann", nil])
                #expect(rows.map(\.values.2) == ["a", "b"] && rows.map(\.values.3) == [nil, "n"])
                #expect(rows.map(\.values.4) == [1, 2])
                let dates = TypesModel.Date.all.columns(\.things.count, \.name)
                #expect(try await client.fetch(dates).map(\.values.0) == [1])
                #expect(try await client.fetch(dates).map(\.values.1) == ["Ann"])

                let live = LiveResults(client, dates)
                let running = Task { await live.run() }
                while live.rows.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                #expect(live.rows[0].values.0 == 1 && live.rows[0].id == context.objectID(of: ann))
                running.cancel()
                await running.value

                // A column that is null and not optional is an error of the row.
                let error = await #expect(throws: NestError.self) { try await client.fetch(all.columns(\.owner.name)) }
                #expect(error?.code == .invalid && error?.message.contains("owner.name") == true)

                try await client.withFetchedResults(dates) { results in
                    var changes = results.makeAsyncIterator()
                    _ = try await changes.next()
                    let second = try #require(try await client.fetch(Everything.where(\.text == "b")).first)
                    try await client.set(second, .owner(try ann.objectID(in: context)))
                    while let change = try await changes.next() {
                        guard case .update(let row, _, _)? = change.events.first else { continue }
                        #expect(row.values.0 == 2 && row.values.1 == "Ann")
                        break
                    }
                    // Another request has the same columns in the same order, or is refused.
                    let none = TypesModel.Date.where(\.name == "x").columns(\.things.count, \.name)
                    #expect(try await results.change(to: try await client.request(none)))
                    while let change = try await changes.next(), !change.rows.isEmpty {}
                    let other = try await client.request(TypesModel.Date.all.columns(\.name, \.things.count))
                    let error = await #expect(throws: NestError.self) { try await results.change(to: other) }
                    #expect(error?.code == .invalid)
                }
            }
        }
    }
}

extension TypedReference {
    @MainActor fileprivate func objectID(in context: ObjectContext) throws -> ObjectID {
        try #require(context.objectID(of: self))
    }
}
