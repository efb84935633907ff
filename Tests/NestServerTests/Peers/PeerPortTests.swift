import NIOConcurrencyHelpers
import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestSecrets
import NestServer
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// What a leader does for the clients of other nodes.
    @Suite struct PeerPortTests {
        @Test func aNodeProvesItselfByTheSecretOfTheLeader() async throws {
            try await withLeader {
                $0.authentication = .required
            } _: { port, log in
                let stranger = try ServerRawConnection.proving(port: port, TokenSecret.random())
                #expect(try stranger.expectError(id: 0) == .unauthenticated)
                // The node needs no token.
                _ = try ServerRawConnection.node(port: port, log)
            }
            try await withServer { port, _ in
                let node = try ServerRawConnection.proving(port: port, TokenSecret.random())
                #expect(try node.expectError(id: 0) == .unauthenticated, "a single node has no secret")
            }
        }

        @Test func onlyNodesSendWhatIsForNodes() async throws {
            try await withLeader { port, log in
                let (client, _) = try ServerRawConnection.ready(port: port)
                let follow = try client.request(Follow(position: 0, chain: Identifier128(high: 0, low: 0)))
                #expect(try client.expectError(id: follow) == .notPermitted)
                let request = try client.forward(TransactionMessage(.insert("x")), port: 1)
                #expect(try client.expectError(id: request) == .notPermitted)
                try client.open(1)
                #expect(try client.expectError(id: 0) == .protocolViolation)
                let node = try ServerRawConnection.node(port: port, log)
                let fetch = try node.request(Fetch(.rootChildren))
                #expect(try node.expectError(id: fetch) == .notPermitted)
                let closed = try node.forward(TransactionMessage(.insert("x")), port: 1)
                #expect(try node.expectError(id: closed) == .invalid, "the port is not open")
                try node.open(1)
                let read = try node.forward(Fetch(.rootChildren), port: 1)
                #expect(try node.expectError(id: read) == .unsupportedMessage)
                try node.open(1)
                #expect(try node.expectError(id: 0) == .protocolViolation, "the port is open")
            }
        }

        @Test func eachPortIsAClientOfItsOwn() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                for number: UInt32 in [1, 2] { try node.open(number) }
                var group: [UInt32: UInt64] = [:]
                for number: UInt32 in [1, 2] {
                    let id = try node.forward(BeginGroup(name: "group \(number)"), port: number)
                    group[number] = try node.expect(Group.self, id: id).number
                }
                for round in 1...3 {
                    for number: UInt32 in [1, 2] {
                        _ = try node.insert("\(number).\(round)", port: number, group: group[number] ?? 0)
                    }
                }
                for number: UInt32 in [1, 2] {
                    let id = try node.forward(EndGroup(), port: number, group: group[number] ?? 0)
                    _ = try node.expect(Done.self, id: id)
                }
                // Each undoes its own group.
                let undo = try node.forward(Undo(key: nil), port: 1)
                #expect(try node.expect(ReceiptMessage.self, id: undo).receipt.name == "group 1")
                #expect(try ServerRawConnection.titles(port: port) == ["2.1", "2.2", "2.3"])
                try node.send(PeerClose(port: 2).frame(id: 0))
                let late = try node.forward(TransactionMessage(.insert("x")), port: 2)
                #expect(try node.expectError(id: late) == .invalid)
                _ = try node.insert("a", port: 1)
                #expect(try ServerRawConnection.titles(port: port) == ["2.1", "2.2", "2.3", "a"])
            }
        }

        /// A request that is not in the group any more must not be executed outside it; that is the engine's part. Here
        /// the port's group ends with the port.
        @Test func theEndOfAPortEndsItsGroup() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1)
                let begin = try node.forward(BeginGroup(name: "g"), port: 1)
                let group = try node.expect(Group.self, id: begin).number
                _ = try node.insert("a", port: 1, group: group)
                try node.send(PeerClose(port: 1).frame(id: 0))
                // The same session, by another port, cannot join it.
                let session = Identifier128(high: 0x706f_7274, low: 1)
                try node.send(PeerOpen(port: 2, session: session, token: 0).frame(id: 0))
                let join = try node.forward(BeginGroup(name: nil, joined: group), port: 2)
                #expect(try node.expectError(id: join) == .notFound)
            }
        }

        /// What is written through a port has the user of its token, or the printable claim of its client.
        @Test func aPortHasTheUserOfItsClient() async throws {
            try await withLeader {
                $0.authentication = .open
            } _: { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1, user: "Ann\u{1b}")
                _ = try node.insert("a", port: 1)
                let grant = TokenGrant(name: "t", role: .admin, user: "Bob")
                let create = try node.forward(CreateToken(grant, secretHash: TokenSecret.random().sha256), port: 1)
                let number = try node.expect(TokenCreated.self, id: create).number
                try node.open(2, token: number, user: "Ann")
                _ = try node.insert("b", port: 2)
                try node.open(3)
                _ = try node.insert("c", port: 3)
                let (client, _) = try ServerRawConnection.ready(port: port, session: 900)
                let id = try client.request(GetHistory(before: Revision(0), limit: 9, onlyMine: false))
                let users = try client.expect(History.self, id: id).entries.map(\.user)
                #expect(users == [nil, UserLabel("Bob"), UserLabel("Ann\u{fffd}", isClaimed: true)])
            }
        }

        /// The leader refuses what comes through the port of an expired token, whatever the clock of the other node.
        @Test func aPortOfAnExpiredTokenTakesNoRequests() async throws {
            let expires = Limits.tokenExpiryMax
            let time = NIOLockedValueBox<Int64>(0)
            try await withLeader {
                $0.authentication = .open
                $0.now = { time.withLockedValue { $0 } }
            } _: { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1)
                let grant = TokenGrant(name: "t", role: .admin, expires: expires)
                let create = try node.forward(CreateToken(grant, secretHash: TokenSecret.random().sha256), port: 1)
                let number = try node.expect(TokenCreated.self, id: create).number
                try node.open(2, token: number)
                _ = try node.insert("a", port: 2)
                time.withLockedValue { $0 = expires }
                try node.open(3, token: number)
                for port: UInt32 in [2, 3] {
                    let id = try node.forward(TransactionMessage(.insert("late")), port: port)
                    #expect(try node.expectError(id: id) == .tokenExpired)
                }
                #expect(try ServerRawConnection.titles(port: port) == ["a"])
            }
        }

        @Test func aPortHasTheRightsOfItsToken() async throws {
            try await withLeader {
                $0.authentication = .open
            } _: { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1)
                var numbers: [UInt64] = []
                for role in [AccessRole.admin, .read, .write] {
                    let message = CreateToken(
                        TokenGrant(name: "t", role: role),
                        secretHash: TokenSecret.random().sha256
                    )
                    let id = try node.forward(message, port: 1)
                    numbers.append(try node.expect(TokenCreated.self, id: id).number)
                }
                try node.open(2, token: numbers[1])
                let write = try node.forward(TransactionMessage(.insert("x")), port: 2)
                #expect(try node.expectError(id: write) == .notPermitted)
                try node.open(3, token: numbers[2])
                _ = try node.insert("a", port: 3)
                let create = try node.forward(RevokeToken(number: numbers[2]), port: 3)
                #expect(try node.expectError(id: create) == .notPermitted, "the token may not")
                try node.open(4, token: 1_000)
                let unknown = try node.forward(TransactionMessage(.insert("x")), port: 4)
                #expect(try node.expectError(id: unknown) == .unauthenticated)
                let revoke = try node.forward(RevokeToken(number: numbers[2]), port: 1)
                _ = try node.expect(Done.self, id: revoke)
                let revoked = try node.forward(TransactionMessage(.insert("x")), port: 3)
                #expect(try node.expectError(id: revoked) == .unauthenticated)
                #expect(try ServerRawConnection.titles(port: port) == ["a"])
            }
        }

        /// The leader may know a client's token later than the client's node.
        @Test func aPortWhoseTokenWasUnknownTakesRequestsWhenItIsKnown() async throws {
            try await withLeader {
                $0.authentication = .open
            } _: { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                for (number, token): (UInt32, UInt64) in [(1, 0), (2, 1)] { try node.open(number, token: token) }
                let early = try node.forward(TransactionMessage(.insert("x")), port: 2)
                #expect(try node.expectError(id: early) == .unauthenticated)
                let grant = TokenGrant(name: "t", role: .admin)
                let id = try node.forward(CreateToken(grant, secretHash: TokenSecret.random().sha256), port: 1)
                #expect(try node.expect(TokenCreated.self, id: id).number == 1)
                _ = try node.insert("a", port: 2)
                try node.send(PeerClose(port: 2).frame(id: 0))
                #expect(try ServerRawConnection.titles(port: port) == ["a"])
            }
        }

        /// A store without tokens is open; its first token ends the ports of clients without one, but no node.
        @Test func theFirstTokenEndsThePortsWithoutOne() async throws {
            try await withLeader { port, log in
                let (node, other) = (
                    try ServerRawConnection.node(port: port, number: 1, log),
                    try ServerRawConnection.node(port: port, number: 2, log)
                )
                try node.open(1)
                try other.open(1)
                _ = try other.insert("a", port: 1)
                let message = CreateToken(
                    TokenGrant(name: "t", role: .admin),
                    secretHash: TokenSecret.random().sha256
                )
                _ = try node.forward(message, port: 1)
                try await waitUntil("the port has ended") {
                    let id = try other.forward(TransactionMessage(.insert("a")), port: 1)
                    let frame = try #require(try other.frame())
                    #expect(frame.id == id)
                    guard frame.type == MessageType.error.rawValue else { return false }
                    let code = try ErrorMessage(body: frame.body).error.code
                    #expect([.unauthenticated, .storageFailure].contains(code), "unknown if the engine has it already")
                    return code == .unauthenticated
                }
                try other.open(2, token: 1)
                _ = try other.insert("b", port: 2)
            }
        }

        @Test func anImportArrivesThroughAPort() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                for number: UInt32 in [1, 2] { try node.open(number) }
                let request = SubtreeImport(
                    entity: EntityNumber(1),
                    placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
                    properties: [PropertyNumber(1)]
                )
                var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
                for title in ["a", "b"] {
                    writer.append(SubtreeRow(depth: 0, id: nil, values: [.string(title)]))
                }
                let chunk = SubtreeChunk(packing: writer.take(), nil)
                var checksum = SubtreeChecksum()
                checksum.add(chunk.bytes)
                let first = try node.forward(ImportSubtree(request), port: 1)
                try node.send(chunk.frame(id: first))
                #expect(try node.expect(Credit.self, id: first).bytes == chunk.bytes.count)
                // Meanwhile another client writes, and a third import is cancelled with its port.
                _ = try node.insert("between", port: 2)
                let second = try node.forward(ImportSubtree(request), port: 2)
                try node.send(chunk.frame(id: second))
                #expect(try node.expect(Credit.self, id: second).bytes == chunk.bytes.count)
                try node.send(PeerClose(port: 2).frame(id: 0))
                try node.send(SubtreeEnd(rowCount: 2, checksum: checksum.value).frame(id: first))
                #expect(try node.expect(ReceiptMessage.self, id: first).receipt.isChanged)
                #expect(try ServerRawConnection.titles(port: port) == ["between", "a", "b"])
                // The session is the client's: it undoes the import.
                let undo = try node.forward(Undo(key: nil), port: 1)
                #expect(try node.expect(ReceiptMessage.self, id: undo).receipt.isChanged)
                #expect(try ServerRawConnection.titles(port: port) == ["between"])
                let cancelled = try node.forward(ImportSubtree(request), port: 1)
                try node.send(chunk.frame(id: cancelled))
                _ = try node.expect(Credit.self, id: cancelled)
                try node.send(Cancel().frame(id: cancelled))
                #expect(try node.expectError(id: cancelled) == .cancelled)
                _ = try node.insert("z", port: 1)
            }
        }

        @Test func importsOfANodeAreLimited() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1)
                let request = SubtreeImport(
                    entity: EntityNumber(1),
                    placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
                    properties: [PropertyNumber(1)]
                )
                for _ in 0..<Limits.peerTransfersMax { try node.forward(ImportSubtree(request), port: 1) }
                let id = try node.forward(ImportSubtree(request), port: 1)
                #expect(try node.expectError(id: id) == .limitExceeded)
                try node.send(PeerClose(port: 1).frame(id: 0))
                try node.open(2)
                let next = try node.forward(ImportSubtree(request), port: 2)
                try node.send(Cancel().frame(id: next))
                #expect(try node.expectError(id: next) == .cancelled, "the imports of a closed port are gone")
            }
        }

        @Test func aNodeHasMoreRequestsInFlightThanAClient() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.proving(port: port, log.secret)
                let welcome = try node.expect(Welcome.self, id: 0)
                #expect(welcome.requestsInFlightMax == Limits.peerRequestsInFlightMax)
                try node.open(1)
                let ids = try (0..<2 * Limits.peerRequestsInFlightMax).map { _ in
                    try node.forward(TransactionMessage(.insert("a")), port: 1)
                }
                for id in ids { _ = try node.expect(ReceiptMessage.self, id: id) }
            }
        }

        @Test func theLargestRequestOfAClientIsForwarded() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1)
                let body = [UInt8](repeating: 0xff, count: Limits.frameBytesMax)
                let largest = PeerRequest(port: 1, group: 1 << 40, isAgain: true, request: .transaction, bytes: body)
                let id = try node.request(largest)
                #expect(try node.expectError(id: id) == .malformed, "it is read, and refused by itself")
                _ = try node.insert("a", port: 1)
                let tooLarge = [UInt8](repeating: 0xff, count: Limits.peerFrameBytesMax)
                try node.request(PeerRequest(port: 1, request: .transaction, bytes: tooLarge))
                #expect(try node.expectError(id: 0) == .frameTooLarge)
            }
        }

        /// Its requests must not be executed after those that the node sends again.
        @Test func aNewerConnectionOfANodeReplacesTheEarlier() async throws {
            try await withLeader { port, log in
                for round in 0..<6 {
                    let earlier = try ServerRawConnection.node(port: port, number: 1, log)
                    try earlier.open(1)
                    let begin = try earlier.forward(BeginGroup(name: "g"), port: 1)
                    let group = try earlier.expect(Group.self, id: begin).number
                    for _ in 0..<50 {
                        try earlier.forward(TransactionMessage(.insert("\(round)")), port: 1, group: group)
                    }
                    let newer = try ServerRawConnection.node(port: port, number: 1, log)
                    let titles = try ServerRawConnection.titles(port: port)
                    try newer.open(1)
                    let join = try newer.forward(BeginGroup(name: nil, joined: group), port: 1)
                    #expect(try newer.expectError(id: join) == .notFound, "the group has ended with its port")
                    #expect(
                        try earlier.frames(until: .goAway).last.map { try GoAway(body: $0.body).code } == .shuttingDown
                    )
                    _ = try earlier.bytesUntilClosed()
                    #expect(try ServerRawConnection.titles(port: port) == titles, "nothing of it comes later")
                }
            }
        }

        @Test func nodesFindAPlaceAtAFullLeader() async throws {
            try await withLeader {
                $0.connectionsMax = 1
            } _: { port, log in
                let (client, _) = try ServerRawConnection.ready(port: port)
                let other = try ServerRawConnection(port: port)
                try other.send(Preface.client.bytes)
                try other.send(ServerRawConnection.hello(session: 2))
                _ = try other.preface()
                #expect(try other.expectError(id: 0) == .busy)
                let nodes = try (0..<UInt64(Limits.peerHandshakesMax + 2)).map {
                    try ServerRawConnection.node(port: port, number: $0, log)
                }
                for node in nodes {
                    try node.open(1)
                    _ = try node.insert("a", port: 1)
                }
                let id = try client.request(GetClients(after: 0, limit: 100))
                let names = try client.expect(Clients.self, id: id).clients.map(\.name)
                #expect(names.contains("nestd 3"))
            }
        }

        /// A node may be of another version, or its machine may be broken.
        @Test func noDamagedByteOfANodeDoesHarm() async throws {
            try await withLeader { port, log in
                let session = Identifier128(high: 1, low: 1)
                let transaction = TransactionMessage(.insert("x")).body
                let request = PeerRequest(port: 1, group: 0, isAgain: true, request: .transaction, bytes: transaction)
                let frames = [
                    PeerOpen(port: 1, session: session, token: 0).frame(id: 0),
                    request.frame(id: 1),
                    Follow(position: 1, chain: Identifier128(high: 0, low: 0)).frame(id: 2),
                    PeerClose(port: 1).frame(id: 0),
                ].flatMap { Array($0.readableBytesView) }
                for index in frames.indices {
                    var damaged = frames
                    damaged[index] ^= 1 << UInt8(index % 8)
                    let node = try ServerRawConnection.node(port: port, log)
                    try node.send(damaged)
                    node.endSending()
                    _ = try node.bytesUntilClosed()
                }
                let node = try ServerRawConnection.node(port: port, log)
                try node.open(1)
                _ = try node.insert("last", port: 1)
                #expect(try ServerRawConnection.titles(port: port).last == "last")
            }
        }
    }
}
