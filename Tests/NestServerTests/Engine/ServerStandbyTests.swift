import NIOCore
import NestEngine
import NestModel
import NestServerTestSupport
import NestServer
import NestStore
import NestProtocol
import NestTestSupport
import Testing
import NestFraming

extension SocketTests {
    /// Requests that the server answers during a long turn of the engine.
    struct StandbyAnswers {
        private static let root = ObjectID(1)

        private func withGate(
            _ configure: (inout ServerConfiguration) -> Void = { _ in },
            _ body: (Int, EngineGate, Server) async throws -> Void
        ) async throws {
            let gate = EngineGate()
            try await withServer {
                $0.onEngineStage = { gate.pass($0, $1) }
                // A checkpoint follows every commit; before it the standby must end its read transaction.
                $0.store.checkpointPages = 1
                configure(&$0)
            } _: { port, server in
                defer { gate.open() }
                try await body(port, gate, server)
            }
        }

        /// Waits until all frames sent before have reached the engine's mailbox.
        private func settle(_ connection: ServerRawConnection) throws {
            for payload in 1...2 as ClosedRange<UInt64> {
                try connection.send(Ping(payload: payload).frame(id: 0))
                #expect(try connection.expect(Pong.self, id: 0).payload == payload)
            }
        }

        private func childCount(_ connection: ServerRawConnection) throws -> Int {
            let id = try connection.request(GetObject(id: Self.root))
            return try self.childCount(try connection.expect(ObjectMessage.self, id: id))
        }

        private func childCount(_ message: ObjectMessage) throws -> Int {
            try #require(message.object.counts.first { $0.property == PropertyNumber(6) }).count
        }

        private func total(_ connection: ServerRawConnection, atLeast: Revision = Revision(0)) throws -> (Int, Revision)
        {
            let id = try connection.request(Fetch(.rootChildren, atLeast: atLeast))
            let header = try connection.expect(SnapshotMessage.self, id: id).header
            if header.total > 0 {
                let rows = try #require(try connection.frame())
                #expect(rows.type == MessageType.snapshotRows.rawValue && rows.id == id)
            }
            return (header.total, header.revision)
        }

        @Test func handshakesAndReadsAreAnsweredAtEveryStageOfATurn() async throws {
            try await self.withGate { port, gate, _ in
                let (writer, welcome) = try ServerRawConnection.ready(port: port)
                let before = welcome.revision
                gate.holdNextWrite()
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()

                let (reader, second) = try ServerRawConnection.ready(port: port, session: 2)
                #expect(second.revision == before && second.historyID == welcome.historyID)
                #expect(second.modelHash == welcome.modelHash && second.oldestRevision == welcome.oldestRevision)
                #expect(try self.childCount(reader) == 0)
                #expect(try self.total(reader) == (0, before))
                let missing = try reader.request(GetObject(id: ObjectID(99)))
                #expect(try reader.expectError(id: missing) == .notFound)

                // Committed, but no client has been notified.
                try gate.advance(to: .performed)
                #expect(try self.childCount(reader) == 0)
                #expect(try self.total(reader) == (0, before))
                let (_, third) = try ServerRawConnection.ready(port: port, session: 3)
                #expect(third.revision == before)

                // The clients are notified; the checkpoint follows.
                try gate.advance(to: .handedOut)
                let receipt = try writer.expect(ReceiptMessage.self, id: write).receipt
                #expect(receipt.revision == before.next)
                #expect(try self.childCount(reader) == 1)
                #expect(try self.total(reader, atLeast: receipt.revision) == (1, before.next))
                #expect(try self.childCount(writer) == 1)
                let (_, fourth) = try ServerRawConnection.ready(port: port, session: 4)
                #expect(fourth.revision == before.next)
                #expect(Set([welcome, second, third, fourth].map(\.sessionNumber)).count == 4)

                gate.open()
                // The engine knows all these connections.
                #expect(try self.childCount(reader) == 1)
                let own = try reader.request(TransactionMessage(.insert("Bread")))
                #expect(try reader.expect(ReceiptMessage.self, id: own).receipt.revision == before.next.next)
                #expect(try self.total(writer) == (2, before.next.next))
            }
        }

        @Test func aReadAfterAWriteOfItsConnectionSeesTheWrite() async throws {
            try await self.withGate { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (other, _) = try ServerRawConnection.ready(port: port, session: 2)
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 3)
                gate.holdNextWrite()
                let first = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                // One read follows a write in the turn, the other follows a waiting write.
                let firstRead = try writer.request(GetObject(id: Self.root))
                let second = try other.request(TransactionMessage(.insert("Bread")))
                let secondRead = try other.request(GetObject(id: Self.root))
                for connection in [writer, other] { try self.settle(connection) }
                for _ in 0..<3 { #expect(try self.childCount(reader) == 0) }
                for connection in [writer, other] { try self.settle(connection) }

                gate.open()
                _ = try writer.expect(ReceiptMessage.self, id: first)
                #expect(try self.childCount(writer.expect(ObjectMessage.self, id: firstRead)) >= 1)
                _ = try other.expect(ReceiptMessage.self, id: second)
                #expect(try self.childCount(other.expect(ObjectMessage.self, id: secondRead)) == 2)
            }
        }

        /// A copy that another thread reads has what is committed, but not durable yet.
        @Test func anExportWaitsForTheSync() async throws {
            let directory = TemporaryDirectory()
            try await self.withGate {
                $0.store.location = .file("\(directory.path)/nest.sqlite")
            } _: { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (exporter, _) = try ServerRawConnection.ready(port: port, session: 2)
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 3)
                gate.holdNextWrite()
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                #expect(try self.childCount(reader) == 0)
                try gate.advance(to: .performed)
                let children = SubtreeRequest(root: Self.root, relationship: PropertyNumber(6))
                let export = try exporter.request(FetchSubtree(children))
                // The standby answers after a while; until then an export that does not wait is answered, too.
                for _ in 0..<3 { #expect(try self.childCount(reader) == 0) }
                try self.settle(exporter)

                gate.open()
                let receipt = try writer.expect(ReceiptMessage.self, id: write).receipt
                let start = try exporter.expect(SubtreeStart.self, id: export)
                #expect(start.revision == receipt.revision)
            }
        }

        /// `isEarly`: a read before the commit makes the standby hold the state before it.
        @Test(arguments: [true, false])
        func noReplyOvertakesTheDiffs(isEarly: Bool) async throws {
            try await self.withGate { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 2)
                let (other, _) = try ServerRawConnection.ready(port: port, session: 3)
                let subscribe = try reader.request(Subscribe(.rootChildren))
                let view = try reader.expect(Subscribed.self, id: subscribe).view
                #expect(try reader.expect(SnapshotMessage.self, id: view).header.total == 0)
                gate.holdNextWrite(isEarly ? .begun : .performed)
                _ = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                if isEarly {
                    #expect(try self.childCount(reader) == 0)
                    try gate.advance(to: .performed)
                    #expect(try self.childCount(reader) == 0)
                }
                let reads = try (0..<3).map { _ in try reader.request(Fetch(.rootChildren)) }
                for _ in 0..<2 { try reader.send(Ping(payload: 1).frame(id: 0)) }
                // The handshake shows that the standby handles waiting requests.
                let (_, welcome) = try ServerRawConnection.ready(port: port, session: 4)
                try gate.advance(to: .handedOut)
                var notified = welcome.revision
                var left = Set(reads)
                while !left.isEmpty {
                    let frame = try #require(try reader.frame())
                    switch MessageType(rawValue: frame.type) {
                    case .diff: notified = try DiffBody(body: frame.body).diff(valueCount: 1).to
                    case .snapshot: #expect(try SnapshotMessage(body: frame.body).header.revision <= notified)
                    default: break
                    }
                    if !frame.flags.contains(.more) { left.remove(frame.id) }
                }
                gate.open()
                #expect(try self.childCount(other) == 1)
            }
        }

        @Test func largeResultsAreReadDuringATurn() async throws {
            try await self.withGate { port, gate, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let count = Limits.backgroundReadRowsMin + 500
                let titles = (0..<count).map { "\($0)" }
                for part in 0..<5 {
                    let mutations = titles[part * count / 5..<(part + 1) * count / 5].flatMap {
                        WriteTransaction.insert($0).mutations
                    }
                    let id = try writer.request(TransactionMessage(WriteTransaction(mutations: mutations)))
                    _ = try writer.expect(ReceiptMessage.self, id: id)
                }
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 2)
                gate.holdNextWrite()
                _ = try writer.request(TransactionMessage(.insert("last")))
                try gate.waitUntilHeld()
                let fetches = try (0..<3).map { _ in try reader.request(Fetch(.rootChildren)) }
                for id in fetches {
                    #expect(try reader.expect(SnapshotMessage.self, id: id).header.total == count)
                    var rowCount = 0
                    while rowCount < count {
                        let frame = try #require(try reader.frame())
                        #expect(frame.id == id && frame.type == MessageType.snapshotRows.rawValue)
                        rowCount += try ByteReader.read(Array(frame.body.readableBytesView)) {
                            (reader) throws(DecodingFailure) in try reader.rows(valueCount: 1).count
                        }
                    }
                }
            }
        }

        @Test func stoppingDuringATurnStillAnswersTheWrite() async throws {
            try await self.withGate { port, gate, server in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let (reader, _) = try ServerRawConnection.ready(port: port, session: 2)
                gate.holdNextWrite()
                let write = try writer.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()
                #expect(try self.childCount(reader) == 0)
                async let stopped: Void = server.stop()
                // After GOAWAY the writer stays connected because its write is not answered yet.
                _ = try writer.expect(GoAway.self, id: 0)
                gate.open()
                _ = try writer.expect(ReceiptMessage.self, id: write)
                try await stopped
            }
        }
    }
}
