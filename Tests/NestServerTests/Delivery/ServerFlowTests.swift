import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Slow readers, output limits and the server's shutdown, over real sockets.
    struct Flow {
        private static func rename(_ id: ObjectID, to title: String) -> TransactionMessage {
            TransactionMessage(
                WriteTransaction(mutations: [
                    .update(.object(id), values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))])
                ])
            )
        }

        /// Returns the state at `revision` that results from a subscriber's frames, and the number of diffs.
        private static func follow(_ connection: ServerRawConnection, to revision: Revision) throws -> (
            state: SectionedSnapshot, diffCount: Int
        ) {
            var state = SectionedSnapshot(revision: Revision(0), projection: [], sections: [])
            var header: SnapshotHeader?
            var rows: [Row] = []
            var diffCount = 0
            while true {
                let frame = try #require(try connection.frame(), "the server has closed")
                switch MessageType(rawValue: frame.type) {
                case .subscribed:
                    state.projection = try Subscribed(body: frame.body).projection
                case .snapshot:
                    header = try SnapshotMessage(body: frame.body).header
                    rows = []
                case .snapshotRows:
                    rows += try SnapshotRows(body: frame.body).rows(valueCount: state.projection.count)
                case .diff:
                    diffCount += 1
                    try state.apply(try DiffBody(body: frame.body).diff(valueCount: state.projection.count))
                case .progress:
                    let revision = try Progress(body: frame.body).revision
                    #expect(revision >= state.revision)
                    state.revision = revision
                default:
                    Issue.record("a frame of type \(frame.type)")
                }
                if let complete = header, !frame.flags.contains(.more) {
                    state.revision = complete.revision
                    state.sections = complete.sections.map { section in
                        defer { rows.removeFirst(section.rowCount) }
                        return ResultsSection(key: section.key, rows: Array(rows.prefix(section.rowCount)))
                    }
                    header = nil
                }
                if state.revision >= revision { return (state, diffCount) }
            }
        }

        @Test(arguments: [false, true])
        func aSlowReaderGetsNetDiffsAndDelaysNoOtherClient(isWebSocket: Bool) async throws {
            try await withWebServer {
                $0.socketSendBytes = 16 << 10
            } _: { port, webPort, _ in
                let (slow, _) = try ServerRawConnection.ready(
                    port: isWebSocket ? webPort : port,
                    session: 2,
                    receiveBytes: 8 << 10,
                    isWebSocket: isWebSocket
                )
                try slow.request(Subscribe(.rootChildren))
                let (writer, _) = try ServerRawConnection.ready(port: port)
                var id = try writer.request(TransactionMessage(.insert("first")))
                let item = try #require(try writer.expect(ReceiptMessage.self, id: id).receipt.firstInserted)
                var last = Revision(0)
                let count = 200
                for number in 1...count {
                    id = try writer.request(Self.rename(item, to: "\(number) " + ServerRawConnection.wideTitle))
                    last = try writer.expect(ReceiptMessage.self, id: id).receipt.revision
                }
                try await writer.wait(for: "connections_blocked_total") { $0 > 0 }

                let (state, diffCount) = try Self.follow(slow, to: last)
                #expect(diffCount < count / 2)
                #expect(state.total == 1)
                #expect(state[RowPosition(0, 0)].values == [.string("\(count) " + ServerRawConnection.wideTitle)])
            }
        }

        /// Marks for so many connections are sent in parts, while diffs go on: each connection gets both in order.
        @Test func marksForManyConnectionsArriveInOrder() async throws {
            try await withServer { port, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                func insert(_ title: String, under parent: ObjectID) throws -> Receipt {
                    let insertion = Mutation.insert(
                        entity: EntityNumber(1),
                        values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
                        placements: [Placement(relationship: PropertyNumber(5), owner: .object(parent), place: .last)]
                    )
                    let id = try writer.request(TransactionMessage(WriteTransaction(mutations: [insertion])))
                    return try writer.expect(ReceiptMessage.self, id: id).receipt
                }
                let watched = try #require(try insert("watched", under: ObjectID(1)).firstInserted)
                let other = try #require(try insert("other", under: ObjectID(1)).firstInserted)
                let request = ObjectFetchRequest(
                    entity: EntityNumber(1),
                    source: FetchSource(object: watched, relationship: PropertyNumber(6))
                )
                let readers = try (0..<Delivery.promptMarksMax + 40).map { number in
                    let (reader, _) = try ServerRawConnection.ready(port: port, session: UInt64(number + 2))
                    try reader.request(Subscribe(request))
                    return reader
                }
                var last = Revision(0)
                for round in 1...2 {
                    let marked = try insert("other \(round)", under: other).revision
                    // The first marks are sent, and the others may still wait, when the next diffs come.
                    var reached = Revision(0)
                    while reached < marked {
                        let frame = try #require(try readers[0].frame(), "the server has closed")
                        guard frame.type == MessageType.progress.rawValue else { continue }
                        reached = try Progress(body: frame.body).revision
                    }
                    for number in 1...3 { last = try insert("\(round).\(number)", under: watched).revision }
                }
                for reader in readers.dropFirst() {
                    let (state, diffCount) = try Self.follow(reader, to: last)
                    #expect(state.total == 6 && diffCount <= 6)
                }
            }
        }

        @Test(arguments: [false, true]) func aReaderThatStallsIsClosed(isWebSocket: Bool) async throws {
            try await withWebServer {
                $0.socketSendBytes = 16 << 10
                $0.timing.outputStall = .milliseconds(200)
            } _: { port, webPort, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                try writer.insertWideRows(40)
                let (stuck, _) = try ServerRawConnection.ready(
                    port: isWebSocket ? webPort : port,
                    session: 2,
                    receiveBytes: 8 << 10,
                    isWebSocket: isWebSocket
                )
                try stuck.request(Subscribe(.rootChildren))
                try await writer.wait(for: "connections_blocked_total") { $0 > 0 }
                try await writer.wait(for: "connections") { $0 == 1 }
            }
        }

        @Test func unreadRepliesAreLimited() async throws {
            try await withServer {
                $0.socketSendBytes = 16 << 10
                $0.outputBytesMax = 4 << 20
            } _: { port, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                try writer.insertWideRows(40)
                // 2 MB each: the server stops reading requests when much output waits.
                let (greedy, _) = try ServerRawConnection.ready(port: port, session: 2, receiveBytes: 8 << 10)
                let count = 4 * Limits.resultsInFlightPerConnectionMax
                for _ in 0..<count { try greedy.request(Fetch(.rootChildren)) }
                try await writer.wait(for: "connections_blocked_total") { $0 > 0 }
                // When the client reads, it gets all replies in order.
                for id in 1...UInt32(count) {
                    var frame = try #require(try greedy.frame())
                    #expect(frame.type == MessageType.snapshot.rawValue)
                    while frame.flags.contains(.more) { frame = try #require(try greedy.frame()) }
                    #expect(frame.id == id)
                }
            }
        }

        /// The socket accepts some replies at once, some in part, and some only when the client has read others.
        @Test func repliesStayInOrderWhenTheSocketIsFull() async throws {
            try await withServer {
                $0.socketSendBytes = 16 << 10
            } _: { port, _ in
                let (client, _) = try ServerRawConnection.ready(port: port, receiveBytes: 8 << 10)
                let objects = try ["small", ServerRawConnection.wideTitle].map { title in
                    let id = try client.request(TransactionMessage(.insert(title)))
                    return try #require(try client.expect(ReceiptMessage.self, id: id).receipt.firstInserted)
                }
                let bodies = try objects.map { object in
                    let id = try client.request(GetObject(id: object))
                    let frame = try #require(try client.frame())
                    #expect(frame.id == id)
                    return frame.body
                }
                #expect(bodies[0].readableBytes < bodies[1].readableBytes)
                for round in 0..<24 {
                    let first = client.lastRequestID + 1
                    let wanted = (0..<[1, 5, 60][round % 3]).map { ($0 + round) % 4 == 3 ? 1 : 0 }
                    for index in wanted { try client.request(GetObject(id: objects[index])) }
                    for (offset, index) in wanted.enumerated() {
                        let frame = try #require(try client.frame(), "the server has closed")
                        #expect(frame.id == first + UInt32(offset))
                        #expect(frame.body == bodies[index])
                    }
                }
            }
        }

        /// The kernel gives the descriptor of a connection that has ended to the next one.
        @Test func clientsThatLeaveDuringTheirOutputDisturbNoOtherConnection() async throws {
            try await withServer { port, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                try writer.insertWideRows(20)
                let id = try writer.request(TransactionMessage(.insert("first")))
                let object = try #require(try writer.expect(ReceiptMessage.self, id: id).receipt.firstInserted)
                for round in 1...40 {
                    func leave() throws {
                        let (leaving, _) = try ServerRawConnection.ready(port: port, session: 2, receiveBytes: 8 << 10)
                        try leaving.request(Subscribe(.rootChildren))
                        _ = try leaving.frame()
                        for _ in 0..<3 { try leaving.request(Fetch(.rootChildren)) }
                        try writer.request(Self.rename(object, to: "\(round)"))
                    }
                    try leave()
                    let (next, _) = try ServerRawConnection.ready(port: port, session: 3)
                    let get = try next.request(GetObject(id: object))
                    let frame = try #require(try next.frame())
                    #expect(frame.type == MessageType.object.rawValue)
                    #expect(frame.id == get)
                    _ = try writer.expect(ReceiptMessage.self, id: writer.lastRequestID)
                }
            }
        }

        @Test func stoppingAnswersAcceptedRequestsOnly() async throws {
            try await withServer { port, server in
                let count: UInt32 = 2_000
                let (writer, welcome) = try ServerRawConnection.ready(port: port)
                var bytes = ByteBuffer()
                for id in 1...count { bytes.writeImmutableBuffer(TransactionMessage(.insert("x")).frame(id: id)) }
                try writer.send(bytes)
                // Some writes are done; many are still on their way.
                for id in 1...UInt32(10) { _ = try writer.expect(ReceiptMessage.self, id: id) }
                async let stopped: Void = server.stop()
                var receipts: UInt32 = 10
                var refused: UInt32 = 0
                var goAway: GoAway?
                while let frame = try writer.frame() {
                    switch MessageType(rawValue: frame.type) {
                    case .receipt:
                        receipts += 1
                        #expect(frame.id == receipts)
                        let revision = try ReceiptMessage(body: frame.body).receipt.revision
                        #expect(revision.rawValue == welcome.revision.rawValue + UInt64(receipts))
                    case .goAway:
                        goAway = try GoAway(body: frame.body)
                    case .error:
                        refused += 1
                        #expect(try ErrorMessage(body: frame.body).error.code == .shuttingDown)
                    default:
                        Issue.record("a frame of type \(frame.type)")
                    }
                }
                try await stopped
                let last = try #require(goAway)
                #expect(last.code == .shuttingDown)
                #expect(last.lastRequestID == receipts)
                #expect(receipts + refused <= count)
            }
        }

        @Test func aStoppedServerReleasesItsPortAndClients() async throws {
            var freed = 0
            try await withServer {
                $0.timing.handshake = .hours(1)
            } _: { port, server in
                let (idle, _) = try ServerRawConnection.ready(port: port)
                let silent = try ServerRawConnection(port: port)
                try await server.stop()
                let goAway = try idle.expect(GoAway.self, id: 0)
                #expect(goAway.code == .shuttingDown)
                #expect(goAway.retryAfterMilliseconds > 0)
                #expect(try idle.frame() == nil)
                #expect(try silent.bytesUntilClosed() == 0)
                freed = port
            }
            try await withServer {
                $0.port = freed
            } _: { port, _ in
                #expect(port == freed)
                _ = try ServerRawConnection.ready(port: port)
            }
        }

        @Test func aPortInUseHasItsOwnError() async throws {
            try await withServer { port, _ in
                await #expect {
                    try await withServer {
                        $0.port = port
                    } _: { _, _ in
                    }
                } throws: { error in
                    if case ServerError.addressInUse(_, port, _) = error { true } else { false }
                }
            }
        }
    }
}
