import ChaosProxy
import NestClient
import NestHistory
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Presence of a real server, over connections that are lost.
    struct PresenceAgainstServerTests {
        private static func configuration(_ port: Int, _ user: String) -> ClientConfiguration {
            var configuration = Fixtures.configuration(port)
            configuration.user = user
            configuration.reconnectPauseMax = .milliseconds(20)
            return configuration
        }

        /// Waits for a state.
        private static func next(
            _ states: inout Presence.AsyncIterator,
            where isRight: (PresentClients) -> Bool
        ) async throws -> PresentClients {
            while let state = try await states.next() { if isRight(state) { return state } }
            throw NestError(.invalid, "the sequence has ended")
        }

        @Test func clientsSeeEachOtherAndWhoLeavesIsGone() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Self.configuration(port, "Ann")) { ann in
                    let presence = ann.presence(of: ListModel.root)
                    var states = presence.makeAsyncIterator()
                    try await NestClient.withClient(Self.configuration(port, "Bob")) { bob in
                        let others = bob.presence(of: ListModel.root)
                        let place = PresencePlace(
                            object: ListModel.root,
                            property: PropertyNumber(1),
                            selection: .init(anchor: 4, head: 2)
                        )
                        others.show(place)
                        presence.show(PresencePlace())
                        let both = try await Self.next(&states) { $0.clients.count == 2 }
                        #expect(both.isLive && both.clients.filter(\.isSelf).map { $0.user?.text } == ["Ann"])
                        #expect(both.others.map(\.place) == [place])
                        #expect(both.others.map(\.user) == [UserLabel("Bob", isClaimed: true)])
                        others.show(bytes: [0xff])
                        let unknown = try await Self.next(&states) { $0.others.first?.bytes == [0xff] }
                        #expect(unknown.others.first?.place == nil)
                    }
                    // Bob's client has been closed.
                    let left = try await Self.next(&states) { $0.clients.count == 1 }
                    #expect(left.others.isEmpty)
                }
            }
        }

        /// After each loss of the connection the client shows the newest place and knows all others again.
        @Test func lostConnectionsAreNotSeenByOthers() async throws {
            try await withServer { port, _ in
                let proxy = try await ChaosProxy.start(to: .init(port: port))
                try await NestClient.withClient(Self.configuration(port, "Ann")) { ann in
                    try await NestClient.withClient(Self.configuration(await proxy.port, "Bob")) { bob in
                        let (annsPresence, bobsPresence) = (
                            ann.presence(of: ListModel.root), bob.presence(of: ListModel.root)
                        )
                        var (anns, bobs) = (annsPresence.makeAsyncIterator(), bobsPresence.makeAsyncIterator())
                        annsPresence.show(PresencePlace(object: ListModel.root))
                        var numbers: Set<UInt64> = []
                        for step in 1...5 as ClosedRange<Int64> {
                            bobsPresence.show(PresencePlace(object: ObjectID(step)))
                            let seen = try await Self.next(&anns) { $0.others.first?.place?.object == ObjectID(step) }
                            numbers.formUnion(seen.others.map(\.number))
                            #expect(seen.others.count == 1)
                            await proxy.resetAll()
                        }
                        bobsPresence.show(PresencePlace())
                        _ = try await Self.next(&anns) { $0.others.first?.place == PresencePlace() }
                        _ = try await Self.next(&bobs) { $0.isLive && $0.others.map { $0.user?.text } == ["Ann"] }
                        #expect(numbers.count == 1, "a session that comes back keeps its number")
                    }
                }
                await proxy.stop()
            }
        }

        @Test func aScopeThatDoesNotExistEndsTheSequence() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Self.configuration(port, "Ann")) { client in
                    let presence = client.presence(of: ObjectID(99))
                    await #expect(throws: NestError.self) { for try await _ in presence {} }
                }
            }
        }
    }
}
