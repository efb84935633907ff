import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Reserved ids, inserts with them and places near objects, against a real server in this process.
    struct ReservedIDsAgainstServerTests {
        @Test func anObjectHasItsIDBeforeItIsInserted() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let ids = try await client.reserveIDs(3)
                    #expect(Set(ids).count == 3)
                    let context = ObjectContext(client)
                    let milk = try context.insert(item, ["title": "Milk"], under: ObjectID(1), as: ids[1])
                    // Unsaved values are replaced in the insert.
                    try context.set(milk, of: item, ["title": "Oat milk"])
                    try context.insert(item, ["title": "Oats"], under: ids[1])
                    try await context.save()
                    #expect(context.objectID(of: milk) == ids[1])
                    let titles = try item.request(where: "SELF == \(ids[1])", properties: ["title"])
                    #expect(try await client.fetch(titles).map { $0.text("title") } == ["Oat milk"])
                    let plain = try await client.transaction(.insert("Bread"))
                    #expect(try #require(plain.firstInserted) > ids[2])

                    try context.insert(item, ["title": "again"], under: ObjectID(1), as: ids[1])
                    await #expect { try await context.save() } throws: { ($0 as? NestError)?.code == .invalid }
                }
            }
        }

        @Test func otherSessionsCannotUseThem() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let ids = try await client.reserveIDs(1)
                    try await NestClient.withClient(Fixtures.configuration(port)) { other in
                        let item = try await other.entity("Item")
                        let context = ObjectContext(other)
                        try context.insert(item, ["title": "Milk"], under: ObjectID(1), as: ids[0])
                        await #expect { try await context.save() } throws: { ($0 as? NestError)?.code == .invalid }
                    }
                    for count in [0, -1, Limits.reservedIDsPerRequestMax + 1] {
                        await #expect { _ = try await client.reserveIDs(count) } throws: {
                            ($0 as? NestError)?.code == .limitExceeded
                        }
                    }
                }
            }
        }

        @Test func aPlaceNearObjectsThatAreGoneIsTheLast() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let receipt = try await client.transaction(.insert("a", "b", "c"))
                    let (a, b, c) = (receipt.insertedIDs[0], receipt.insertedIDs[1], receipt.insertedIDs[2])
                    let context = ObjectContext(client)
                    func insert(_ title: String, _ left: ObjectID?, _ right: ObjectID?) async throws {
                        let place = Place.near(
                            left: left.map { .object($0) },
                            right: right.map { .object($0) }
                        )
                        try context.insert(item, ["title": title], under: ObjectID(1), at: place)
                        try await context.save()
                    }
                    try await insert("after a", a, b)
                    try await client.transaction(WriteTransaction(mutations: [.delete(.object(a))]))
                    try await insert("before b", a, b)
                    try await client.transaction(WriteTransaction(mutations: [.delete(.object(b))]))
                    try await insert("last", a, b)
                    try await insert("before c", nil, c)
                    let rows = try await client.fetch(.rootChildren, atLeast: .newest).sections[0].rows
                    let shown = rows.map { $0.values[0] }
                    #expect(shown == ["after a", "before b", "before c", "c", "last"].map { .string($0) })
                }
            }
        }
    }
}
