import NestClient
import NestModel
import NestProtocol
import Testing

extension SocketTests {
    /// Groups: several transactions form one undo entry or fail.
    struct ClientGroupTests {
        private struct Stop: Error {}

        private static func answer(_ server: FakeServer.Connection, _ revision: UInt64) async throws {
            let (id, _) = try await server.expect(TransactionMessage.self)
            try await server.send(ReceiptMessage(Receipt(revision: Revision(revision), isChanged: true)), id: id)
        }

        private static func begin(_ server: FakeServer.Connection, _ name: String?, joined: UInt64? = nil) async throws
        {
            let (id, message) = try await server.expect(BeginGroup.self)
            #expect(message == BeginGroup(name: name, joined: joined))
            try await server.send(Group(number: joined ?? 9), id: id)
        }

        private static func end(_ server: FakeServer.Connection) async throws {
            try await server.send(Done(), id: try await server.expect(EndGroup.self).id)
        }

        @Test func aGroupEndsWhetherItsBodySucceedsOrThrows() async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                try await Self.begin(server, "tidy up")
                try await Self.answer(server, 1)
                try await Self.answer(server, 2)
                try await Self.end(server)
                try await Self.begin(server, nil)
                try await Self.answer(server, 3)
                try await Self.end(server)
                try await Self.answer(server, 4)
                try await Self.begin(server, nil, joined: 300)
                try await Self.end(server)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let revisions = try await client.group("tidy up") { client in
                        [
                            try await client.transaction(Fixtures.insert).revision,
                            try await client.transaction(Fixtures.insert).revision,
                        ]
                    }
                    #expect(revisions == [Revision(1), Revision(2)])
                    await #expect(throws: Stop.self) {
                        try await client.group { client in
                            _ = try await client.transaction(Fixtures.insert)
                            throw Stop()
                        }
                    }
                    #expect(try await client.transaction(Fixtures.insert).revision == Revision(4))
                    try await client.joinGroup(300)
                    try await client.endGroup()
                }
            }
        }

        /// No transaction of a group is written outside the group. A sent write fails with OUTCOME_UNKNOWN, an unsent
        /// write with CONNECTION_LOST, and `endGroup` with NOT_FOUND.
        @Test func aLostConnectionEndsTheGroupWithAnError() async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                if server.number == 0 {
                    try await Self.begin(server, "g")
                    try await Self.answer(server, 1)
                    _ = try await server.expect(TransactionMessage.self)
                    return
                }
                // The first request on the next connection is the one after the group's end.
                let (id, message) = try await server.expect(TransactionMessage.self)
                #expect(message.transaction.name == "after")
                try await server.send(ReceiptMessage(Receipt(revision: Revision(3), isChanged: true)), id: id)
                try await Self.begin(server, "again")
                try await Self.end(server)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    #expect(try await client.beginGroup("g") == 9)
                    _ = try await client.transaction(Fixtures.insert)
                    let unknown = await #expect(throws: NestError.self) {
                        try await client.transaction(Fixtures.insert)
                    }
                    #expect(unknown?.code == .outcomeUnknown)
                    let refused = await #expect(throws: NestError.self) {
                        try await client.transaction(Fixtures.insert)
                    }
                    #expect(refused?.code == .connectionLost)
                    let upload = await #expect(throws: NestError.self) {
                        let placement = Placement(
                            relationship: PropertyNumber(5),
                            owner: .object(ObjectID(1)),
                            place: .last
                        )
                        let request = SubtreeImport(entity: EntityNumber(1), placement: placement, properties: [])
                        return try await client.importSubtree(request) { nil }
                    }
                    #expect(upload?.code == .connectionLost)
                    let ended = await #expect(throws: NestError.self) { try await client.endGroup() }
                    #expect(ended?.code == .notFound)
                    var after = Fixtures.insert
                    after.name = "after"
                    #expect(try await client.transaction(after).revision == Revision(3))
                    try await client.group("again") { _ in }
                }
            }
        }

        /// If the body does not notice that the group is lost, `group` throws at the end.
        @Test func endingALostGroupFails() async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                try await Self.begin(server, nil)
                let id = try await server.expect(EndGroup.self).id
                try await server.send(ErrorMessage(NestError(.notFound, "it has timed out")), id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let error = await #expect(throws: NestError.self) { try await client.group { _ in } }
                    #expect(error?.code == .notFound)
                }
            }
        }

        /// A caller that times out has no group to end: the client ends it.
        @Test func aGroupWhoseBeginTimedOutIsEnded() async throws {
            let (steps, step) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                try await server.welcome()
                let id = try await server.expect(BeginGroup.self).id
                #expect(try await server.expect(Cancel.self).id == id)
                try await server.send(Group(number: 1), id: id)
                try await Self.end(server)
                step.yield()
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port, timeout: .milliseconds(50))) { client in
                    let error = await #expect(throws: NestError.self) { try await client.beginGroup() }
                    #expect(error?.code == .timedOut)
                    for await _ in steps { break }
                }
            }
        }

        @Test func coalescedSavesSendTheirKey() async throws {
            let coalescing = Coalescing(key: "2.title", milliseconds: 800)
            try await FakeServer.run { server in
                try await server.welcome()
                let (id, message) = try await server.expect(TransactionMessage.self)
                #expect(message.transaction.coalescing == coalescing)
                try await server.send(ReceiptMessage(Receipt(revision: Revision(1), isChanged: true)), id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let context = ObjectContext(client)
                    context.set(.object(ObjectID(2)), PropertyNumber(1), to: .value(.string("M")))
                    let receipt = try await context.save(coalescing: coalescing)
                    #expect(receipt?.revision == Revision(1))
                }
            }
        }
    }
}
