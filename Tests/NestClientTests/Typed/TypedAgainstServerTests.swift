import Foundation
import NestClient
import NestDocuments
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension TypesModel {
    /// The model that the types were made of.
    static func read() throws -> ManagedObjectModel {
        try ModelFile.read(path: Repository.root.appending(path: "Tests/Fixtures/Types/model.json").path).draft
            .compile()
    }
}

extension SocketTests {
    /// Generated types against a real server in this process.
    @MainActor struct TypedAgainstServerTests {
        private static func run(_ body: (NestClient) async throws -> Void) async throws {
            let model = try TypesModel.read()
            try await withServer({ $0.store.model = model }) { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in try await body(client) }
            }
        }

        @Test func everyValueComesBack() async throws {
            try await Self.run { client in
                let things = try await client.entity(TypesModel.Everything.self)
                let dates = try await client.entity(TypesModel.Date.self)
                let context = ObjectContext(client)
                let owner = try context.insert(dates, [.name("Ann")])
                let moment = Foundation.Date(timeIntervalSince1970: 1_700_000_000.25)
                let key = UUID()
                let added = try context.insert(
                    things,
                    [
                        .text("a"), .note(nil), .link("https://nest.example"), .whole(.max), .short(-7), .middle(8),
                        .real(0.1), .small(0.5), .flag(true), .moment(moment), .bytes(Data([0, 255])), .key(key),
                        .price(Decimal(string: "12.30")), .`class`("c"), .init_("i"), .columns_("k"), .owner(owner),
                    ]
                )
                try await context.save()
                let id = try #require(context.objectID(of: added))
                let thing = try #require(
                    try await client.fetch(TypesModel.Everything.where(\.owner == context.objectID(of: owner))).first
                )
                #expect(
                    thing.id == id && thing.text == "a" && thing.note == nil && thing.link == "https://nest.example"
                )
                #expect(thing.whole == .max && thing.short == -7 && thing.middle == 8 && thing.real == 0.1)
                #expect(thing.small == 0.5 && thing.flag && thing.moment == moment && thing.bytes == Data([0, 255]))
                #expect(thing.key == key && thing.price == Decimal(string: "12.3") && thing.`class` == "c")
                #expect(thing.init_ == "i" && thing.columns_ == "k" && thing.where_ == nil)
                #expect(thing.owner == context.objectID(of: owner))

                try context.set(thing, of: things, [.owner(nil), .where_(owner), .whole(3)])
                try await context.save()
                let request = TypesModel.Everything.where(\.where_.name == "Ann" && \.owner == nil && \.whole == 3)
                #expect(try await client.count(request) == 1)
            }
        }

        @Test func largeValuesComeBack() async throws {
            try await Self.run { client in
                let things = try await client.entity(TypesModel.Everything.self)
                let bytes = [UInt8](repeating: 7, count: 100_000)
                let scan = try await client.send(.largeData, bytes)
                let essay = try await client.send(.largeText, Array("Once upon a time".utf8))
                let context = ObjectContext(client)
                try context.insert(things, [.text("a"), .scan(scan), .essay(essay)])
                try context.insert(things, [.text("b"), .scan(nil)])
                try await context.save()
                let thing = try #require(try await client.fetch(TypesModel.Everything.where(\.scan != nil)).first)
                #expect(thing.text == "a" && thing.scan == scan && thing.essay == essay)
                let numbers = try ["scan", "essay"].map { try things.entity.property($0) }
                #expect(try await client.data(of: thing.id, numbers[0]) == bytes)
                #expect(try await client.data(of: thing.id, numbers[1]) == Array("Once upon a time".utf8))
            }
        }

        @Test func requestsAreSortedAndLive() async throws {
            try await Self.run { client in
                let dates = try await client.entity(TypesModel.Date.self)
                let context = ObjectContext(client)
                for name in ["b", "A", "c"] { try context.findOrCreate(dates, matching: [.name(name)]) }
                try await context.save()
                let all = TypesModel.Date.all
                #expect(try await client.fetch(all.sorted(by: \.name)).map(\.name) == ["A", "b", "c"])
                let down = all.sorted(by: \.name, .descending, ignoring: .caseInsensitive)
                #expect(try await client.fetch(down).map(\.name) == ["c", "b", "A"])
                let window = try await client.fetch(down.window(.range(offset: 1, limit: 1)))
                #expect(window.map(\.name) == ["b"] && window.total == 3)
                let sections = try await client.fetch(all.sectioned(by: \.name)).sections
                #expect(sections.map(\.name) == ["A", "b", "c"])
                let letters = try await client.fetch(all.sectioned(byFirstCharacterOf: \.name)).sections
                #expect(letters.map(\.name) == ["A", "b", "c"])
                let things = TypesModel.Everything.all.sectioned(by: \.moment, .month)
                #expect(try await client.request(things).request.section?.function == .month)
                #expect(try await client.fetch(things).sections.isEmpty)

                let live = LiveResults(client, all.where(\.name > "a").sorted(by: \.name))
                let running = Task { await live.run() }
                try await client.withFetchedResults(all.sorted(by: \.name)) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try #require(try await changes.next()?.rows.first)
                    try context.set(first, of: dates, [.name("z")])
                    try await context.save()
                    while let change = try await changes.next() {
                        guard change.changesRows else { continue }
                        #expect(change.rows.map(\.name) == ["b", "c", "z"])
                        break
                    }
                }
                while live.rows.map(\.name) != ["b", "c", "z"] { try await Task.sleep(for: .milliseconds(5)) }
                running.cancel()
                await running.value
            }
        }

        @Test func objectsAreMovedAndRelatedByType() async throws {
            try await Self.run { client in
                let things = try await client.entity(TypesModel.Everything.self)
                let dates = try await client.entity(TypesModel.Date.self)
                let context = ObjectContext(client)
                let (ann, bob) = (try context.insert(dates, [.name("Ann")]), try context.insert(dates, [.name("Bob")]))
                let refs = try ["a", "b", "c"].map { try context.insert(things, [.text($0), .owner(ann)]) }
                try await context.save()
                let owners = try [ann, bob].map { try #require(context.objectID(of: $0)) }
                let ids = try refs.map { try #require(context.objectID(of: $0)) }

                try context.move(ids[2], of: things, under: owners[0], by: "owner", at: .first)
                try context.relate(owners[1], of: dates, "places", to: ids[0])
                try context.setRelated(owners[0], of: dates, "places", to: [ids[1], ids[2]])
                try context.unrelate(owners[0], of: dates, "places", from: ids[1])
                try await context.save()
                let list = TypesModel.Everything.where(\.owner == owners[0]).inOrder()
                #expect(try await client.fetch(list).map(\.text) == ["c", "a", "b"])
                #expect(try await client.fetch(list).map(\.where_) == [owners[0], owners[1], nil])

                let detail = try await client.object(owners[0])
                #expect(detail.entityName(in: dates.entity.model) == "Date")
                #expect(try detail.value("name", in: dates.entity.model) == .string("Ann"))
                #expect(try detail.count("things", in: dates.entity.model) == 3)
                #expect(throws: NestError.self) { try detail.value("things", in: dates.entity.model) }
                #expect(throws: NestError.self) { try detail.count("nmae", in: dates.entity.model) }
                let change = ChangedObject(
                    kind: .updated,
                    entity: dates.entity.number,
                    id: owners[0],
                    properties: [try dates.entity.property("name")]
                )
                #expect(change.entityName(in: dates.entity.model) == "Date")
                #expect(change.propertyNames(in: dates.entity.model) == ["name"])
            }
        }

        @Test func typesOfAnotherModelAreRefused() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let error = await #expect(throws: NestError.self) { try await client.entity(TypesModel.Date.self) }
                    #expect(error?.code == .unknownEntity)
                }
            }
            let date = EntityDescription(number: 1, name: "Date", attributes: [], relationships: [])
            try await withServer({ $0.store.model = ManagedObjectModel(entities: [date]) }) { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let error = await #expect(throws: NestError.self) { try await client.fetch(TypesModel.Date.all) }
                    #expect(error?.message.hasPrefix("the server's Date has no 'name': generate the types") == true)
                }
            }
        }
    }
}
