import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// Clients of a server that makes the frames of small batches while the disk syncs the log.
    struct GateTests {
        /// Runs `body` with a server whose engine can be held between the delivery and the sync.
        private func withGate(
            directory: TemporaryDirectory = TemporaryDirectory(inMemory: true),
            _ body: (Int, EngineGate, Server) async throws -> Void
        ) async throws {
            let gate = EngineGate()
            try await withServer {
                Self.configure(&$0, gate, directory)
            } _: { port, server in
                defer { gate.open() }
                try await body(port, gate, server)
            }
        }

        private static func configure(
            _ configuration: inout ServerConfiguration,
            _ gate: EngineGate,
            _ directory: TemporaryDirectory
        ) {
            configuration.onEngineStage = { stage, inputs in
                gate.pass(stage, inputs)
                // A sync in memory would end before the event loops have made the frames.
                if stage == .ahead { usleep(500) }
            }
            configuration.store.location = .file("\(directory.path)/nest.sqlite")
            configuration.diskFreeBytesMin = 0
        }

        /// Returns after the event loops have carried out what they were given before. The connection gets no other
        /// frame before the answer.
        private func ping(_ connection: ServerRawConnection, _ payload: UInt64) throws {
            try connection.send(Ping(payload: payload).frame(id: 0))
            #expect(try connection.expect(Pong.self, id: 0).payload == payload)
        }

        @Test func nothingLeavesTheServerBeforeTheSync() async throws {
            try await self.withGate { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (subscriber, _) = try ServerRawConnection.ready(port: port, session: 2)
                let others = try (3...4).map { try ServerRawConnection.ready(port: port, session: $0).0 }
                let id = try subscriber.request(Subscribe(.rootChildren))
                let view = try subscriber.expect(Subscribed.self, id: id).view
                _ = try subscriber.frames(until: .snapshot)
                gate.holdNextWrite(.ahead)
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                // One of the others is on the event loop of the subscriber.
                for connection in others { try self.ping(connection, 1) }
                #expect(!subscriber.hasBytes)
                // The answer to the ping overtakes the receipt.
                try self.ping(writer, 2)
                #expect(!writer.hasBytes)

                try gate.advance(to: .handedOut)
                #expect(try writer.expect(ReceiptMessage.self, id: write).receipt.firstInserted != nil)
                let diff = try #require(try subscriber.frame())
                #expect(diff.type == MessageType.diff.rawValue && diff.id == view)
            }
        }

        /// The event loop of a connection that has nothing else to do takes no part in the end of a batch.
        @Test func theEnginesThreadSends() async throws {
            try await self.withGate { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (other, _) = try ServerRawConnection.ready(port: port, session: 2)
                gate.holdNextWrite(.ahead)
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                // With two event loops, one of these is on the writer's.
                let (third, _) = try ServerRawConnection.ready(port: port, session: 3)
                for connection in [other, third] { try self.ping(connection, 1) }
                #expect(!writer.hasBytes)
                try gate.advance(to: .handedOut)
                #expect(writer.hasBytes)
                _ = try writer.expect(ReceiptMessage.self, id: write)
            }
        }

        /// A WebSocket has a handler that must see the bytes.
        @Test func theFramesOfAWebSocketAreMadeAfterTheSync() async throws {
            let (gate, directory) = (EngineGate(), TemporaryDirectory(inMemory: true))
            let aheadCount = NIOLockedValueBox(0)
            try await withWebServer {
                Self.configure(&$0, gate, directory)
                $0.onEngineStage = { stage, inputs in
                    if stage == .ahead { aheadCount.withLockedValue { $0 += 1 } }
                    gate.pass(stage, inputs)
                }
            } _: { port, webPort, _ in
                defer { gate.open() }
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (subscriber, _) = try ServerRawConnection.ready(port: webPort, session: 2, isWebSocket: true)
                try subscriber.request(Subscribe(.rootChildren))
                _ = try subscriber.frames(until: .snapshot)
                gate.holdNextWrite(.ahead)
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                try self.ping(subscriber, 1)
                try self.ping(writer, 2)
                #expect(!subscriber.hasBytes && !writer.hasBytes)
                gate.open()
                _ = try writer.expect(ReceiptMessage.self, id: write)
                #expect(try #require(try subscriber.frame()).type == MessageType.diff.rawValue)
                _ = try subscriber.frame()
                // The next batches go the ordinary way.
                for _ in 0..<3 {
                    let id = try writer.request(TransactionMessage(.insert("Bread")))
                    _ = try writer.expect(ReceiptMessage.self, id: id)
                    #expect(try #require(try subscriber.frame()).type == MessageType.diff.rawValue)
                    _ = try subscriber.frame()
                }
                #expect(aheadCount.withLockedValue { $0 } == 1)
            }
        }

        /// The kernel gives the descriptor of a connection that has ended to the next one.
        @Test func clientsThatLeaveBeforeTheSyncDisturbNoOtherConnection() async throws {
            for _ in 1...5 {
                try await self.withGate { port, gate, _ in
                    let others = try (8...9).map { try ServerRawConnection.ready(port: port, session: $0).0 }
                    func leave() throws {
                        let (leaving, _) = try ServerRawConnection.ready(port: port)
                        gate.holdNextWrite(.ahead)
                        try leaving.request(TransactionMessage(.insert("Milk")))
                        try gate.waitUntilHeld()
                    }
                    try leave()
                    // The event loops note the end.
                    for _ in 0..<3 { for connection in others { try self.ping(connection, 1) } }
                    let next = try ServerRawConnection(port: port)
                    try next.send(Preface.client.bytes)
                    #expect(try next.preface() == [1, 1, 1, 0])
                    gate.open()
                    try next.send(ServerRawConnection.hello(session: 2))
                    _ = try next.expect(Welcome.self, id: 0)
                    let get = try next.request(GetObject(id: ObjectID(1)))
                    _ = try next.expect(ObjectMessage.self, id: get)
                }
            }
        }

        /// A stopping server answers what it has accepted: the connection waits for the sync before it ends.
        @Test func aStoppingServerWaitsForTheSync() async throws {
            try await self.withGate { port, gate, server in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                gate.holdNextWrite(.ahead)
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                async let stopped: Void = server.stop()
                _ = try writer.expect(GoAway.self, id: 0)
                #expect(!writer.hasBytes)
                gate.open()
                _ = try writer.expect(ReceiptMessage.self, id: write)
                #expect(try writer.frame() == nil)
                try await stopped
            }
        }

        /// GOAWAY comes before the engine begins, and the receipt through a gate.
        @Test func aDrainingConnectionGetsItsReceipt() async throws {
            try await self.withGate { port, gate, server in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                gate.holdNextWrite()
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                async let stopped: Void = server.stop()
                _ = try writer.expect(GoAway.self, id: 0)
                gate.open()
                _ = try writer.expect(ReceiptMessage.self, id: write)
                #expect(try writer.frame() == nil)
                try await stopped
            }
        }

        /// A connection that must end does not wait for the disk.
        @Test func anErrorOvertakesTheSync() async throws {
            try await self.withGate { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                gate.holdNextWrite(.ahead)
                try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                try writer.send([UInt8](repeating: 0xFF, count: 16))
                _ = try writer.expectError(id: 0)
                gate.open()
                #expect(try writer.frame() == nil)
            }
        }

        /// The socket of a client that does not read becomes full.
        @Test(arguments: [5, 6] as [UInt64]) func aSlowReaderGetsWholeFramesInOrder(seed: UInt64) async throws {
            try await self.withGate { port, gate, _ in
                gate.open()
                var random = SeededRandom(seed: seed)
                let (writer, _) = try ServerRawConnection.ready(port: port)
                try writer.insertWideRows(20)
                let (slow, welcome) = try ServerRawConnection.ready(port: port, session: 2, receiveBytes: 8 << 10)
                try slow.request(Subscribe(.rootChildren))
                _ = try slow.frames(until: .progress)
                var (written, shown) = (welcome.revision, welcome.revision)
                func read() throws {
                    let frame = try #require(try slow.frame())
                    switch MessageType(rawValue: frame.type) {
                    case .progress:
                        let revision = try Progress(body: frame.body).revision
                        #expect(revision > shown, "seed \(seed)")
                        shown = revision
                    case .snapshot:
                        let revision = try SnapshotMessage(body: frame.body).header.revision
                        #expect(revision > shown, "seed \(seed)")
                        shown = revision
                    case .diff, .snapshotRows: break
                    default: Issue.record("a frame of type \(frame.type), seed \(seed)")
                    }
                }
                func write(_ byteCount: Int) throws {
                    let title = String(repeating: "t", count: byteCount)
                    let id = try writer.request(TransactionMessage(.insert(title)))
                    _ = try writer.expect(ReceiptMessage.self, id: id)
                    written = written.next
                }
                // Batches through gates, until one finds a full socket.
                for _ in 0..<1_000 { try write(6_000) }
                // While the client reads again, what comes next must not overtake.
                for _ in 0..<200 {
                    if random.oneIn(4) { try write(10) }
                    for _ in 0...random.below(10) where shown < written { try read() }
                }
                while shown < written { try read() }
            }
        }

        @Test func afterAFailedSyncNothingIsSent() async throws {
            let directory = TemporaryDirectory(inMemory: true)
            let disk = FaultyDisk(watching: directory.path, isRecording: false)
            do {
                try await self.withGate(directory: directory) { port, gate, server in
                    let (writer, _) = try ServerRawConnection.ready(port: port)
                    let (subscriber, _) = try ServerRawConnection.ready(port: port, session: 2)
                    try subscriber.request(Subscribe(.rootChildren))
                    _ = try subscriber.frames(until: .snapshot)
                    gate.holdNextWrite(.ahead)
                    try writer.request(TransactionMessage(.insert("Milk")))
                    try gate.waitUntilHeld()
                    disk.set(.init([.sync], number: 1, .inputOutput, isLasting: true))
                    gate.open()
                    try await waitUntil("the failure") { disk.hits > 0 }
                    async let stopped: Void = server.stop()
                    for connection in [writer, subscriber] {
                        while let frame = try connection.frame() {
                            let type = try #require(MessageType(rawValue: frame.type))
                            #expect([.error, .goAway, .ping].contains(type), "\(type)")
                        }
                    }
                    try await stopped
                }
            } catch is ServerError {
                // Whether the server knows the failure before it is stopped is open.
            }
            disk.set(nil)
        }

        /// Other output of a connection may overtake a batch, but frames stay whole, and batches in their order.
        @Test(arguments: [3, 4] as [UInt64]) func framesStayWholeAndInOrder(seed: UInt64) async throws {
            try await self.withGate { port, gate, _ in
                gate.open()
                var random = SeededRandom(seed: seed)
                let (writer, welcome) = try ServerRawConnection.ready(port: port)
                let subscribers = try (2...3).map { try ServerRawConnection.ready(port: port, session: $0).0 }
                for subscriber in subscribers {
                    try subscriber.request(Subscribe(.rootChildren))
                    _ = try subscriber.frames(until: .snapshot)
                }
                var revision = welcome.revision
                for _ in 0..<300 {
                    var expected: [UInt8: Int] = [MessageType.receipt.rawValue: 1]
                    let write = try writer.request(TransactionMessage(.insert("x")))
                    for _ in 0..<random.below(4) {
                        try writer.send(Ping(payload: 1).frame(id: 0))
                        expected[MessageType.pong.rawValue, default: 0] += 1
                        if random.oneIn(3), let subscriber = subscribers.randomElement(using: &random) {
                            try subscriber.send(Ping(payload: 1).frame(id: 0))
                        }
                    }
                    var frames: [UInt8: Int] = [:]
                    for _ in 0..<expected.values.reduce(0, +) {
                        let frame = try #require(try writer.frame())
                        frames[frame.type, default: 0] += 1
                        guard frame.type == MessageType.receipt.rawValue else { continue }
                        #expect(frame.id == write)
                        revision = revision.next
                        #expect(try ReceiptMessage(body: frame.body).receipt.revision == revision)
                    }
                    #expect(frames == expected, "seed \(seed)")
                }
                for subscriber in subscribers {
                    var (shown, diffCount) = (welcome.revision, 0)
                    while shown < revision {
                        let frame = try #require(try subscriber.frame())
                        switch MessageType(rawValue: frame.type) {
                        case .diff: diffCount += 1
                        case .progress:
                            shown = shown.next
                            #expect(try Progress(body: frame.body).revision == shown, "seed \(seed)")
                        default: #expect(frame.type == MessageType.pong.rawValue, "seed \(seed)")
                        }
                    }
                    #expect(diffCount == 300)
                }
            }
        }
    }
}
